"""fleet-bind: starts each rank of a pod beside its GPU; Python's standard library alone."""
