"""Says what the pools of an environment cost by its settings, and what a setting would change."""
