"""The pack of the numa rules alone."""

from policies.gates.pack import serve

serve("numa")
