"""Takes an environment down in an order that leaks nothing: what `fleet destroy` does."""
