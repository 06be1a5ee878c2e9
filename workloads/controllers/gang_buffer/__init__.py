"""fleet-gang-buffer: asks Karpenter for the machines that a waiting gang lacks, in one round."""
