"""The stand-in for Pulumi's `hcloud` provider: a Hetzner Cloud project that costs nothing."""
