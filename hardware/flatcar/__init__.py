"""What a release of Flatcar brings with it: the versions of NVIDIA's drivers, read from its tag."""
