"""The command `fleet`: everything that a user types or reads."""

import atexit
import gc

# A command is a short process that keeps nearly all it makes: at Python's own thresholds it spends
# a tenth of its time walking through that, and another tenth once more at its end.
gc.set_threshold(200_000, 50, 50)
atexit.register(gc.freeze)
