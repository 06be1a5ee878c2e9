"""Predicts the pods that an empty node can admit, by the algorithms of kubelet's managers.

Held to kubelet's own code by tests/sweeps/test_kubelet_shapes.py.
"""
