"""The pack of the isolation rules alone."""

from policies.gates.pack import serve

serve("isolation")
