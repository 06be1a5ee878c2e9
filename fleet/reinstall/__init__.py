"""Reinstalls machines of one's own, one at a time: what `fleet reinstall` does."""
