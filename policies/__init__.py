"""The rules of a fleet, and the gates that hold it to them."""

import gc

# As in `fleet`; a pack is loaded without it.
gc.set_threshold(200_000, 50, 50)
