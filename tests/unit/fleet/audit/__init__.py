"""`fleet audit`."""
