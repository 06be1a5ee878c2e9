"""The rehearsal's `aws` provider: one AWS account that costs nothing."""
