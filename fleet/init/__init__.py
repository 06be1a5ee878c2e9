"""Writes the stack file of a new environment from a few answers."""
