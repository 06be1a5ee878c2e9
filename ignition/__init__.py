"""From a machine's wiring to the Ignition it boots, and the check of that Ignition.

Pure: nothing here imports Pulumi.
"""
