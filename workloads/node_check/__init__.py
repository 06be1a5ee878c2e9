"""fleet-node-check: compares the live machine with its plan; Python's standard library alone."""
