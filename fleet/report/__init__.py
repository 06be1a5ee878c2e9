"""The report of the last rehearsal of an environment, as a page, Markdown or text."""
