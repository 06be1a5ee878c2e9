"""Butane (flatcar 1.0.0 and 1.1.0) to Ignition in pure Python, equal to `butane --strict`.

Strict: what Butane warns of is refused. Local files and trees are refused too, because a pure
transpiler reads none, and a few slips that Butane lets pass: explicit YAML tags, empty list items,
a fraction where an integer is wanted, a second YAML document. Nothing is compressed.
"""

from ignition.butane.transpiler import ButaneError, transpile

__all__ = ["ButaneError", "transpile"]
