"""Compares two versions of an environment by what the program would register of each."""
