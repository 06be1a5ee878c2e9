"""The guard rails of the fleet: pure, one file each, and `ALL` of them for the gates.

Every module here with a `RULE` is one, so that a new one is its file and nothing else.
"""

from importlib import import_module
from pkgutil import iter_modules

from policies.rules.rule import Rule

_MODULES = [import_module(f"{__name__}.{each.name}") for each in iter_modules(__path__)]
ALL: tuple[Rule, ...] = tuple(module.RULE for module in _MODULES if hasattr(module, "RULE"))
