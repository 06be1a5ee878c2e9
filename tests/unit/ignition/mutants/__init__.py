"""Faults by the thousand: changes to the final Ignition of every machine, drawn from a seed."""
