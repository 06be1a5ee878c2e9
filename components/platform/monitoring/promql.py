"""The turns of PromQL that the rules need more than once."""

from collections.abc import Callable, Iterable, Mapping

PROFILE_SEVENTHS = {"": 7, "1g.*": 1, "2g.*": 2, "3g.*": 3, "4g.*": 4, "7g.*": 7}
"""Compute slices of a MIG profile (a GPU has seven) by pattern of its name; none is a whole GPU."""

RESOURCE_SEVENTHS = {
    "nvidia_com_gpu(_shared)?": 7,
    **{f"nvidia_com_mig_{slices}g_.+": slices for slices in (1, 2, 3, 4, 7)},
}
"""The same by pattern of a resource name as kube-state-metrics spells it."""


def moved(expr: str, labels: Mapping[str, str], *, by: Iterable[str] = ()) -> str:
    """`expr` with the value of each old label under its new name; of the others only `by` stay.

    `labels` is new -> old. Series that differ only in a label that is overwritten would clash, so
    `expr` must not carry a new name for anything else: aggregate it first.
    """
    for new, old in labels.items():
        expr = f'label_replace({expr}, "{new}", "$1", "{old}", "(.*)")'
    return f"max by ({', '.join((*by, *labels))}) (\n{expr}\n)"


def in_sevenths(label: str, sevenths: Mapping[str, int], term: Callable[[str], str]) -> str:
    """`term(matcher)` of each kind of GPU, times its sevenths of a GPU."""
    matchers = {f'{label}=~"{pattern}"': weight for pattern, weight in sevenths.items()}
    return "\nor ".join(f"{weight} * {term(matcher)}" for matcher, weight in matchers.items())
