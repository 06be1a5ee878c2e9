"""A client of lakeFS, its Pulumi resources and a fake server; only `resources` loads Pulumi."""
