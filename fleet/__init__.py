"""The command `fleet`: everything that a user types or reads."""

import gc

# A preview is a short process that keeps nearly all it makes: at Python's own thresholds it spends
# a tenth of its time walking through that.
gc.set_threshold(200_000, 50, 50)
