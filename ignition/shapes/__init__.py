"""Which pods an empty node can ever admit, by the algorithms of kubelet's resource managers.

Held to kubelet's own code by tests/sweeps/test_kubelet_shapes.py.
"""
