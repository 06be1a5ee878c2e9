"""lakeFS: versions of data as branches and commits, above an object store per site."""

import sys
from importlib import import_module

# A stack's state names the modules of its dynamic providers. States of 0.1.0 name them here, and a
# `destroy` loads what the state names.
for _name in ("action", "administrator", "branch_protection", "gc_rules", "repository"):
    sys.modules[f"{__name__}.{_name}"] = import_module(f"lakefs.resources.{_name}")
