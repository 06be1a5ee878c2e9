"""The change itself, rehearsed: a commit with running jobs, and what `up` of the tree does to it.

Used for `fleet rehearse ENV --from REF`. The twin has REF running, then takes the working tree;
what happens to jobs and machines meanwhile is seen in the API server, not read from the settings.
"""
