"""Checks of parts of a stack file against each other and against the hardware catalogue."""
