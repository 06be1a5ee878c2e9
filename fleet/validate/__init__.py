"""Validates stack files without an engine: settings, and the rules that settings decide."""
