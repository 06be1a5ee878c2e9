"""Mistakes that show only when parts of a stack file are compared, or one with the catalogue."""
