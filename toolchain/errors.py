"""What the toolchain says when a program cannot be had."""

from __future__ import annotations


class ToolchainError(RuntimeError):
    """One sentence: what is missing, why, and what the user can do."""
