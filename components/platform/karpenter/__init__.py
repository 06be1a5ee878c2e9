"""Karpenter outside EKS: its charts, its AWS user, and the queue of AWS's warnings."""
