"""Prometheus with its rules, and a dashboard of the GPUs' use and cost."""
