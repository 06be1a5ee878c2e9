"""The hardware catalogue: one YAML file per machine, and the pure code that reads it."""
