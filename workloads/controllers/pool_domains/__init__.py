"""fleet-pool-domains: keeps machines that cannot take work out of the domains of Volcano."""
