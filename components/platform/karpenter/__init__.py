"""Karpenter outside EKS: its charts, its own access to AWS, and the warnings that AWS sends it."""
