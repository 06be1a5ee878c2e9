"""What goes wrong in a running fleet, rehearsed: `fleet rehearse ENV --fault KIND@T`.

Gangs run, a fault is put in, and the watch of the API server says what Karpenter, Volcano and
Kubernetes' own controllers make of it, and the real Prometheus what the alerts do.
"""
