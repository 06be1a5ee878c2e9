"""The smoke set: jobs of five kinds that every environment runs in a rehearsal, at the same time.

`jobs` makes them from the settings.
"""
