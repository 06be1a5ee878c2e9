"""Judges what runs in a cluster by the rules of an environment, with what it holds and costs."""
