"""The pack of the idle rules alone."""

from policies.gates.pack import serve

serve("idle")
