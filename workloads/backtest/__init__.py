"""A backtest on a branch of the data: open it, commit with its provenance, merge it, replay it."""
