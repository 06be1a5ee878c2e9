"""Predicts the pods that an empty node can admit, by the algorithms of kubelet's managers.

Held to kubelet's own code by tests/sweeps/test_kubelet_shapes.py.
"""

from ignition.shapes.admission import PodAdmission, admit
from ignition.shapes.kubelet import Share
from ignition.shapes.nearest import Nearest, Shape, largest, largest_on, nearest
from ignition.shapes.node import (
    POLICIES,
    SCOPES,
    ContainerRequest,
    EmptyNode,
    Policy,
    Scope,
    ShapeError,
)
from ignition.shapes.node_of_plan import from_plan

__all__ = [
    "POLICIES",
    "SCOPES",
    "ContainerRequest",
    "EmptyNode",
    "Nearest",
    "PodAdmission",
    "Policy",
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
