"""What `numactl --hardware` and `numactl --cpunodebind=N --membind=N` show, without numactl."""
