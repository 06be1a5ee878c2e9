"""Measures one matrix product on each GPU of the container; needs PyTorch and nothing of ours.

Prints a line of JSON: the TFLOP/s of each GPU, the median of several rounds.
"""

import json
import statistics

SIZE = 8192
WARM_UP, ROUNDS, PRODUCTS = 20, 7, 50


def measure() -> list[float]:
    """Returns TFLOP/s by GPU; measured one by one, so that none takes power from another."""
    import torch  # type: ignore[import-not-found]  # noqa: PLC0415  # the image brings it

    found = []
    for index in range(torch.cuda.device_count()):
        device = torch.device("cuda", index)
        left, right = (
            torch.randn(SIZE, SIZE, device=device, dtype=torch.bfloat16) for _ in range(2)
        )
        for _ in range(WARM_UP):
            left @ right
        rounds = []
        for _ in range(ROUNDS):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            with torch.cuda.device(device):
                begin.record()
                for _ in range(PRODUCTS):
                    left @ right
                end.record()
                end.synchronize()
            seconds = begin.elapsed_time(end) / 1000
            rounds.append(2 * SIZE**3 * PRODUCTS / seconds / 1e12)
        found.append(statistics.median(rounds))
    return found


if __name__ == "__main__":
    print(json.dumps({"tflops": measure()}))  # noqa: T201  # the log of the pod
