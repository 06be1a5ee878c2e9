"""The pack of the cost rules alone."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # a clone need not be installed

from policies.gates.pack import serve  # which that path makes known

serve("cost")
