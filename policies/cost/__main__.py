"""The pack of the cost rules alone."""

from policies.gates.pack import serve

serve("cost")
