"""The programs that gpu-fleet runs and does not write: taken from PATH or built from Go modules."""
