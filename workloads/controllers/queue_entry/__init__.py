"""fleet-queue-entry: lets a gang into its queue whose own pods fill the queue's quota."""
