"""The acceptance of a GPU machine, before the first job and after every repair.

    python -m workloads.acceptance manifests --hardware dgx-h200 --node dgx-01 | kubectl apply -f -
    python -m workloads.acceptance logs --node dgx-01 > collect.sh && sh collect.sh
    python -m workloads.acceptance judge --hardware dgx-h200 --logs .

Five measurements: NCCL's all_reduce over all GPUs, one matrix product (GEMM) in a pod and the same
beside Kubernetes on the host, for each NUMA node whether memory comes from where it is asked, and
what the tuning gives (pinned memory, huge pages, ranks beside their GPUs) against the same without.
"""
