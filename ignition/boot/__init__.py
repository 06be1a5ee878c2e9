"""Boots a machine from its final Ignition as the machine would, or says why it would not come up.

Imports nothing of the plan, the renderer or the transpiler, and parses CPU lists, quantities and
data URLs itself, so that it cannot share their mistakes. GPUs, NUMA layout and memory come from the
catalogue; `BootedNode.decided_by_ignition` says what the configuration decided.
"""
