"""lakeFS as this program and its workloads use it. Nothing here imports Pulumi."""
