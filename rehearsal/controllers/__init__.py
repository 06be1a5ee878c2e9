"""The controllers of the cluster that run for real, with the rights that their charts give them.

When a Release of theirs is made, the objects of its rendered chart that they need are applied, and
its programs start beside the rehearsal, with the container's own arguments, files and account.
"""
