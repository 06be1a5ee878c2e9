"""The rehearsal's `hcloud` provider: a simulated Hetzner Cloud project."""
