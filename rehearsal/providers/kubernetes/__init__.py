"""The rehearsal's `kubernetes` provider: server-side apply to a real API server."""
