"""The smoke set: jobs of five kinds that every environment runs in a rehearsal, at the same time.

`jobs` makes them from the settings, with `places` for their pools, queues and sizes. `run` starts
them and follows each (`followed`); `rented` sees to the machines that Karpenter rents for one of
them. `results` is what the report has of it, `words` what it says.
"""
