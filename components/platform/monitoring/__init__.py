"""Prometheus, its rules and the dashboard: what the fleet's GPUs do, and what that costs."""
