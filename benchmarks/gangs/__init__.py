"""Gangs with autoscalers: the same scenarios with several schedulers, each beside real Karpenter.

`python -m benchmarks.gangs` runs them on this machine and writes docs/gangs-and-autoscalers.md.
Each machine has eight GPUs and each pod takes all of them, so that a gang has as many machines as
members.
"""
