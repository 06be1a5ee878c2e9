"""fleet-join-tokens: deletes used bootstrap tokens, and gives burst machines fresh ones."""
