"""From what a machine says about itself (lscpu, lspci or sysfs, nvidia-smi) to a catalogue file."""
