"""Merges a value over its defaults as Kubernetes' strategic merge patch does, here and in CEL.

A form says which fields are merged: those with a form of their own are mappings, `LIST` are lists
whose items are joined. What a form does not name is the value's where it has it, else the default.
See https://kubernetes.io/docs/tasks/manage-kubernetes-objects/update-api-object-kubectl-patch/.
"""

from collections.abc import Mapping
from typing import Any

from policies.language.manifest import items, mapping

LIST: Mapping[str, Any] = {"[]": None}
"""The form of a list whose items are joined with those of the default."""
Form = Mapping[str, Any]
"""Forms by field; a recursive type, which annotations cannot say."""


def merged(default: object, own: object, form: Form) -> dict[str, object]:
    """Return a mapping over its defaults; a null counts as if it were not there."""
    of_all, mine = (
        {key: value for key, value in mapping(each).items() if value is not None}
        for each in (default, own)
    )
    result = {**of_all, **mine}
    for key, inner in form.items():
        if key in of_all and key in mine:
            result[key] = (
                [*items(of_all[key]), *items(mine[key])]
                if inner is LIST
                else merged(of_all[key], mine[key], inner)
            )
    return result


def cel_merged(default: str, own: str, form: Form, depth: int = 0) -> str:
    """CEL: `merged` of two maps."""
    a, b, k = (f"{letter}{depth}" for letter in "abk")
    inner = "".join(
        f"{k} in {keys} ? {_both(f'{a}[{k}]', f'{b}[{k}]', each, depth)} : "
        for each, keys in _grouped(form)
    )
    value = f"!({k} in {a}) ? dyn({b}[{k}]) : !({k} in {b}) ? dyn({a}[{k}]) : {inner}dyn({b}[{k}])"
    keys = f"({a}.map(k, k).filter(k, !(k in {b})) + {b}.map(k, k))"
    entries = f"{keys}.transformMapEntry(i, {k}, {{{k}: {value}}})"
    return f"[{_present(default)}].map({a}, [{_present(own)}].map({b}, {entries})[0])[0]"


def _grouped(form: Form) -> list[tuple[Form, list[str]]]:
    """The keys of a form by their own form."""
    groups: list[tuple[Form, list[str]]] = []
    for key, inner in form.items():
        same = next((keys for other, keys in groups if other == inner), None)
        if same is None:
            groups.append((inner, [key]))
        else:
            same.append(key)
    return groups


def _present(value: str) -> str:
    return f"{value}.transformMap(k, v, v != null, v)"


def _both(a: str, b: str, form: Form, depth: int) -> str:
    return f"dyn({a} + {b})" if form is LIST else f"dyn({cel_merged(a, b, form, depth + 1)})"
