"""What `fleet plan` and `fleet explain` show: a NUMA plan with its reasons, drawn and compared."""
