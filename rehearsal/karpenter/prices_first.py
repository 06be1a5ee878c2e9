"""Tells a Karpenter that has started where types are to be had after their prices.

It asks for places before its controllers start and once more beside the prices, and makes
offerings as soon as it knows a place. It remembers them for five minutes, without a price where
neither AWS nor its built-in list has named one yet, and makes no machine of them for as long
(karpenter-provider-aws 1.14.1: NewOperator in operator.go, instancetype/offering/base_resolver.go,
the time in cache/cache.go). Which comes first is chance, so the first answer has no place, and the
second waits for the prices.
"""

import threading
from collections import Counter

PLACES = "ec2:DescribeInstanceTypeOfferings"
PRICES = Counter({"ec2:DescribeSpotPriceHistory": 1, "pricing:GetProducts": 2})
"""What is asked for prices at a start: on demand those of shared and of bare metal machines."""
LIMIT_S = 10.0


class PricesFirst:
    """The order of answers to the Karpenter that has started last."""

    def __init__(self) -> None:
        self._started = False
        self._asked = 0
        self._told: Counter[str] = Counter()
        self._changed = threading.Condition()

    def starts(self) -> None:
        """Begins anew: a Karpenter that starts asks for types in a dry run before all else."""
        with self._changed:
            self._started, self._asked = True, 0
            self._told.clear()

    def is_early(self, action: str) -> bool:
        """Whether the answer is to name no place; else waits for the prices, 10 s at most."""
        if action != PLACES or not self._started:
            return False
        with self._changed:
            self._asked += 1
            if self._asked == 1:
                return True
            self._changed.wait_for(lambda: self._told >= PRICES, LIMIT_S)
        return False

    def told(self, action: str) -> None:
        """Counts an answer that was sent."""
        with self._changed:
            self._told[action] += 1
            self._changed.notify_all()
