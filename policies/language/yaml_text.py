"""YAML that stands as text in an object, as Kubernetes' programs read it: `=` is text.

PyYAML has a type of its own for `=`, which YAML 1.1 names and no program in Go knows.
"""

from typing import Any

import yaml


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]  # chosen when it runs
    """A safe loader without the type `value`."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, form) for tag, form in forms if not tag.endswith(":value")]
    for first, forms in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def read(text: str) -> Any:
    """Read one document; raises YAMLError."""
    return yaml.load(text, Loader=_Loader)  # noqa: S506  # a safe one
