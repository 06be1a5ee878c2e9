"""Butane (flatcar 1.0.0 and 1.1.0) to Ignition in pure Python, equal to `butane --strict`.

Strict: what Butane warns of is refused, unless `translate` is asked to let it pass. Refused are
also a few slips that Butane lets pass: explicit YAML tags, empty list items, a fraction where an
integer is wanted, a second YAML document, local files that are no UTF-8 where text is wanted or no
Ignition where a configuration is merged. Nothing is compressed. Local files are read only by
`translate`, and only below the directory that it is given.
"""

from ignition.butane.local_files import FilesDir
from ignition.butane.problems import ButaneError, Problem
from ignition.butane.transpiler import translate, transpile

__all__ = ["ButaneError", "FilesDir", "Problem", "translate", "transpile"]
