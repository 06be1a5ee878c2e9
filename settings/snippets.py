"""Whether the Butane documents of a pool are such, before anything is rendered from them."""

from collections.abc import Iterator

from settings.pools import Pool


def faults(path: str, pool: Pool) -> Iterator[str]:
    """What the transpiler says of each snippet of the pool at `path`."""
    if not pool.snippets:
        return
    from ignition.butane import ButaneError, transpile  # noqa: PLC0415  # slow, and rarely used

    for position, snippet in enumerate(pool.snippets):
        where = f"{path}.snippets[{position}]"
        try:
            config = transpile(snippet)
        except ButaneError as error:
            yield from (f"{where}: {problem}." for problem in error.problems)
            continue
        if "kernelArguments" in config:
            yield (
                f"{where} has kernel_arguments; allowed: {path}.tuning.extra_kernel_arguments, "
                "which knows what the plan writes and what the kernel ignores."
            )
