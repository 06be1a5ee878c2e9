"""Small controllers of the fleet's own that run in its cluster; Python's standard library alone."""
