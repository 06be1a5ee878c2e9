"""The stand-in for Pulumi's `kubernetes` provider: server-side apply to a real API server."""
