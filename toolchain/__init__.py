"""The programs of others that gpu-fleet runs: found on PATH or built from Go modules."""
