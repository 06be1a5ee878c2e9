"""Stand-ins for the Pulumi providers of a rehearsal: three packages, and Python's own resources.

The engine attaches to them through PULUMI_DEBUG_PROVIDERS, so the program is the one that would be
deployed. The clouds are simulated; `kubernetes` speaks to a real API server.
"""
