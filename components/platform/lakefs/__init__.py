"""lakeFS: versions of data as branches and commits, above an object store per site."""
