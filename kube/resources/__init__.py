"""Pulumi resources that act in the deployed cluster, through the stack's kubeconfig."""
