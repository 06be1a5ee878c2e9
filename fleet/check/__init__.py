"""Kubernetes manifests against the rules of an environment, before anybody applies them."""
