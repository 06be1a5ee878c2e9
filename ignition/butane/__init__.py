"""Butane (flatcar 1.0.0 and 1.1.0) to Ignition in pure Python, equal to `butane --strict`.

Strict: what Butane warns of is refused. Local files and trees are refused too, because a pure
transpiler reads none; so are aliases of mappings and explicit YAML tags. Nothing is compressed.
"""

from ignition.butane.transpiler import ButaneError, transpile

__all__ = ["ButaneError", "transpile"]
