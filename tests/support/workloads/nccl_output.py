"""What all_reduce_perf printed on real machines."""

H200 = """\
# nThread 1 nGpus 1 minBytes 8589934592 maxBytes 8589934592 step: 2(factor) warmup iters: 5 iters: 10 agg iters: 1 validation: 1 graph: 0
#
# Using devices
#  Rank  0 Group  0 Pid  23690 on test-h200-deb device  0 [0x00] NVIDIA H200
#  Rank  1 Group  0 Pid  23691 on test-h200-deb device  1 [0x00] NVIDIA H200
#  Rank  2 Group  0 Pid  23692 on test-h200-deb device  2 [0x00] NVIDIA H200
#  Rank  3 Group  0 Pid  23693 on test-h200-deb device  3 [0x00] NVIDIA H200
#  Rank  4 Group  0 Pid  23694 on test-h200-deb device  4 [0x00] NVIDIA H200
#  Rank  5 Group  0 Pid  23695 on test-h200-deb device  5 [0x00] NVIDIA H200
#  Rank  6 Group  0 Pid  23696 on test-h200-deb device  6 [0x00] NVIDIA H200
#  Rank  7 Group  0 Pid  23697 on test-h200-deb device  7 [0x00] NVIDIA H200
NCCL version 2.19.3+cuda12.2
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
  8589934592    2147483648     float     sum      -1    31517  272.55  476.96      0    31516  272.56  476.98      0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 476.967
#
"""  # noqa: E501  # as it was printed
"""Eight H200 of one Azure machine, from a guide to its driver on Debian 10 (AzHPC image)."""

SIXTEEN_H100 = """\
   134217728      33554432     float     sum      -1    738.7  181.69  340.67      0    739.9  181.40  340.12      0
   268435456      67108864     float     sum      -1   1278.7  209.93  393.62      0   1259.7  213.10  399.57      0
   536870912     134217728     float     sum      -1   2467.0  217.62  408.04      0   2481.0  216.39  405.73      0
  1073741824     268435456     float     sum      -1   4568.9  235.01  440.65      0   4527.2  237.18  444.71      0
  2147483648     536870912     float     sum      -1   9063.6  236.93  444.25      0   9089.4  236.26  442.99      0
h100-test-rg-1:31789:31789 [0] NCCL INFO comm 0x556b35426090 rank 0 nranks 16 cudaDev 0 busId 200010 - Destroy COMPLETE
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 406.034
"""  # noqa: E501  # as it was printed
"""Two machines, without the lines above: https://github.com/NVIDIA/nccl-tests/issues/294"""

WITH_RANKS_BEFORE_FIGURES = """\
[0]      1048576        262144     float     sum      -1[0]    1626.5    0.64    1.24      0[0]    2302.3    0.46    0.87      0
[0]      2097152        524288     float     sum      -1[0]    2325.3    0.90    1.73      0[0]     416.7    5.03    9.65      0
"""  # noqa: E501  # as it was printed
"""Through a launcher that names its ranks: https://github.com/NVIDIA/nccl/issues/1453"""

OLD = """\
       65536          8192   float    16.57    1.98    1.98  0e+00    13.83    2.37    2.37  0e+00
   134217728      16777216   float   3298.6   20.34   20.34  0e+00   3070.3   21.86   21.86  0e+00
"""
"""Version 2.6 of NCCL's time: https://github.com/NVIDIA/nccl/issues/340"""
