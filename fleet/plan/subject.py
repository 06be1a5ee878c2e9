"""The subject of a plan: a machine of the catalogue, or a pool of an environment."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import yaml
from pydantic import TypeAdapter, ValidationError

from hardware import catalogue
from hardware.catalogue import Hardware
from ignition.plan.numa_plan import NumaPlan, PlanError, plan
from ignition.plan.tuning import PURPOSES, Purpose, Tuning
from settings import SettingsError, load, stack_file
from settings.karpenter import launchable_memory_mib, memory_overhead
from settings.problems import sentences

DEFAULT_PURPOSE: Purpose = "training"


class SubjectError(ValueError):
    """The words name no plan; one sentence a line, each with what is allowed."""


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A machine with a purpose, choices and the resulting plan; `name` is the word given.

    `most_memory_mib` is the most memory of a pod for which Karpenter would rent a machine of AWS.
    """

    name: str
    hardware: Hardware
    tuning: Tuning
    plan: NumaPlan
    most_memory_mib: int | None = None


def subject(root: Path, word: str, purpose: str | None, choices: Sequence[str]) -> Subject:
    """`dgx-h200`, or `dev/dgx` for a pool of dev in the checkout at `root`.

    `choices` are `key=value` of the tuning, over what the pool chose. Raises SubjectError.
    """
    machine, meant, tuning, overhead = word, DEFAULT_PURPOSE, Tuning(), None
    if "/" in word:
        machine, meant, tuning, overhead = _pool(root, word)
    if purpose is not None:
        meant = _purpose(purpose)
    tuning = _changed(tuning, choices)
    try:
        hardware = catalogue.load(machine)
        made = plan(hardware, tuning, meant)
    except (catalogue.HardwareError, PlanError) as error:
        raise SubjectError(f"{error}.") from error
    most = None
    if hardware.kind == "aws":
        share = memory_overhead([hardware]) if overhead is None else overhead
        most = launchable_memory_mib(hardware, made, share)
    return Subject(name=word, hardware=hardware, tuning=tuning, plan=made, most_memory_mib=most)


def _pool(root: Path, word: str) -> tuple[str, Purpose, Tuning, float]:
    environment, _, name = word.partition("/")
    if not environment.strip(".") or not name or "/" in name:
        raise SubjectError(
            f'"{word}" names no plan; allowed: a machine of the catalogue (dgx-h200), a pool of an '
            "environment (prod/dgx), or where two plans are compared a file of "
            "`fleet plan NAME --json` whose name ends with .json."
        )
    try:
        found = load(stack_file(root, environment)).pools
    except SettingsError as error:
        raise SubjectError(str(error)) from error
    pools = {pool.title: pool for pool in found.values()}
    if name not in pools:
        known = ", ".join(f"{environment}/{pool}" for pool in pools)
        raise SubjectError(f'{word}: {environment} has no pool "{name}"; it has {known}.')
    pool = pools[name]
    return pool.hardware.name, pool.plan.purpose, pool.declared.tuning, pool.memory_overhead


def _purpose(word: str) -> Purpose:
    for purpose in PURPOSES:
        if purpose == word:
            return purpose
    raise SubjectError(f'--purpose is "{word}"; allowed: {", ".join(PURPOSES)}.')


def _changed(tuning: Tuning, choices: Sequence[str]) -> Tuning:
    values = asdict(tuning)
    for choice in choices:
        key, equals, text = choice.partition("=")
        if not equals:
            raise SubjectError(f'--set "{choice}" is not KEY=VALUE, such as power=performance.')
        try:
            values[key] = yaml.safe_load(text)
        except yaml.YAMLError as error:
            raise SubjectError(f"--set {key}: its value is no YAML.") from error
    try:
        return TypeAdapter(Tuning).validate_python(values)
    except ValidationError as error:
        raise SubjectError("\n".join(sentences("tuning", Tuning, error))) from error
