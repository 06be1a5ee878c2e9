"""The pack of all rules."""

from policies.gates.pack import serve

serve()
