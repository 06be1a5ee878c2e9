"""`fleet plan` and `fleet explain`: show, draw and compare NUMA plans with their reasons."""
