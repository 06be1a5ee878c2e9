"""Goes on after an `up` that was killed: what `fleet resume` does."""
