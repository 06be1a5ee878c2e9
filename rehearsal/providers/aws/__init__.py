"""The stand-in for Pulumi's `aws` provider: one AWS account that costs nothing."""
