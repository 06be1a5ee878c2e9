"""Tells what is missing on this machine, and the command that mends it."""
