"""The rules of the fleet: pure, one file each, and `ALL` of them for the gates.

A rule `<pack>/<name>` is the module `<pack>.<name>` here; a new rule is its file and nothing else.
"""

from importlib import import_module
from pkgutil import walk_packages

from policies.language.rule import Rule

_MODULES = [
    import_module(each.name) for each in walk_packages(__path__, f"{__name__}.") if not each.ispkg
]
ALL: tuple[Rule, ...] = tuple(module.RULE for module in _MODULES)
