"""Checks Kubernetes manifests against an environment's rules before they are applied."""
