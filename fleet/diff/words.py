"""The verdict on a change in one sentence, and the lines beside its tables."""

from collections.abc import Iterator

from fleet.diff.comparison import Difference
from fleet.diff.rules import Kind, RuleChange
from fleet.preview.cost import HOURS_PER_DAY
from fleet.preview.pool_sentences import count


def verdict(found: Difference) -> str:
    """Returns what changes, in one sentence."""
    told = found.summary
    where = f"{told.environment} against {found.against}"
    parts = [*_parts(found)]
    if not parts:
        return f"{where}: nothing changes."
    if told.beyond:
        parts.append("`up` refuses it")
    return f"{where}: {'; '.join(parts)}."


def _parts(found: Difference) -> Iterator[str]:
    told = found.summary
    if found.is_new:
        yield f"new, with {count(len(found.usd_per_day), 'pool')}"
    elif told.changes:
        changed = len(told.pools)
        yield f"{count(changed, 'pool')} {'changes' if changed == 1 else 'change'}"
    if money := change_of_cost(found):
        yield money
    kinds = [change.kind for change in found.rules]
    broken, mended = kinds.count("broken"), kinds.count("mended")
    if broken or mended or told.changes:
        ends = f", {mended} mended" if mended else ""
        yield (count(broken, "rule") if broken else "no rule") + f" broken{ends}"


def change_of_cost(found: Difference) -> str:
    """Returns the change of what a day costs, of what always runs and at most; empty for none."""
    cost = found.summary.cost
    fixed, burst = (span.change * HOURS_PER_DAY for span in (cost.fixed, cost.burst))
    parts = []
    if abs(fixed) >= 0.005:
        parts.append(f"{abs(fixed):,.2f} USD a day {_more(fixed)}")
    if abs(burst) >= 0.005:
        parts.append(f"up to {abs(burst):,.2f} USD a day {_more(burst)} in bursts")
    return ", ".join(parts)


def _more(amount: float) -> str:
    return "more" if amount > 0 else "less"


def not_compared(found: Difference) -> str:
    """Returns how many resources only a preview can compare; empty for none."""
    if not found.unknown:
        return ""
    have = "has a value" if found.unknown == 1 else "have values"
    return (
        f"{count(found.unknown, 'resource')} {have} that only a cloud knows: `fleet preview` "
        "compares them."
    )


def of_kind(found: Difference, *kinds: Kind) -> list[RuleChange]:
    """Returns the rules of which this is true."""
    return [change for change in found.rules if change.kind in kinds]


def rule_line(change: RuleChange) -> str:
    """Returns what becomes of a rule that is not broken by the change."""
    if change.kind == "mended":
        return "mended"
    if change.kind == "still broken":
        return "broken before and after"
    return f"{change.before} → {change.after}"
