"""Which pods an empty node can ever admit, by the algorithms of kubelet's resource managers.

Held to kubelet's own code by tests/sweeps/test_kubelet_shapes.py.
"""

from ignition.shapes.admission import Admission, admit
from ignition.shapes.kubelet import Share
from ignition.shapes.nearest import Nearest, Shape, largest, largest_on, nearest
from ignition.shapes.node import (
    POLICIES,
    SCOPES,
    Node,
    Policy,
    Request,
    Scope,
    ShapeError,
)
from ignition.shapes.plan import from_plan

__all__ = [
    "POLICIES",
    "SCOPES",
    "Admission",
    "Nearest",
    "Node",
    "Policy",
    "Request",
    "Scope",
    "Shape",
    "ShapeError",
    "Share",
    "admit",
    "from_plan",
    "largest",
    "largest_on",
    "nearest",
]
