"""The providers of a rehearsal: `aws`, `hcloud`, `kubernetes` and Python's dynamic resources.

The engine attaches to them through PULUMI_DEBUG_PROVIDERS, so the program runs unmodified. The
clouds are simulated; `kubernetes` uses a real API server.
"""
