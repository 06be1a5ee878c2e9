"""Pool components as rules see them, with Ignition that a test may change by hand."""

import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from hardware.catalogue import load
from ignition.boot.config import load_resource as fetched
from ignition.plan.numa_plan import plan
from ignition.plan.tuning import Purpose, Tuning
from ignition.write.render import NodeBoot, Taint, data_url, tuning_ignition
from policies.language.rule import Rule

FABRIC_MANAGER = "https://images.fleet.example/nvidia-fabricmanager-570.195.03-x86-64.raw"
Config = dict[str, Any]
Pool = dict[str, Any]
Edit = Callable[[Config], None]


def pool(  # noqa: PLR0913  # each is one thing that a pool can have otherwise
    hardware: str = "dgx-h200",
    purpose: Purpose = "training",
    *,
    tuning: Tuning | None = None,
    driver: str = "570-open",
    sharing: str = "whole",
    fabric_manager: str = FABRIC_MANAGER,
    driver_extension: str | None = None,
    flatcar: str | None = "4593.2.5",
) -> Pool:
    """A pool of the machine, whose Ignition is what the program renders."""
    machine, chosen = load(hardware), tuning or Tuning()
    numa = plan(machine, chosen, purpose)
    gpu = bool(machine.gpus)
    boot = NodeBoot(
        hardware=machine,
        plan=numa,
        labels={"fleet.gpu/pool": "p", "fleet.gpu/sharing": sharing},
        taints=(Taint(key="nvidia.com/gpu", value="present", effect="NoSchedule"),) if gpu else (),
        kubernetes_version="1.36.3",
        nvidia_driver=driver if gpu else None,
        nvidia_runtime="v1.18.1" if gpu else None,
        fabric_manager=fabric_manager if machine.nvswitch else None,
        driver_extension=driver_extension,
    )
    defaults = asdict(Tuning())
    inputs = {
        "pool": "p",
        "hardware": hardware,
        "purpose": purpose,
        "tuning": {name: it for name, it in asdict(chosen).items() if it != defaults[name]},
        "numaPlan": numa.digest,
        "flatcar": flatcar,
        "ignition": tuning_ignition(boot),
    }
    return {"kind": "gpu:pools:BareMetalPool", "metadata": {"name": "p"}, "spec": inputs}


def edited(found: Pool, *edits: Edit) -> Pool:
    """The pool with its Ignition changed by hand."""
    config = json.loads(found["spec"]["ignition"])
    for edit in edits:
        edit(config)
    return {**found, "spec": {**found["spec"], "ignition": json.dumps(config)}}


def argument(*words: str) -> Edit:
    """Adds kernel arguments."""
    return lambda config: (
        config.setdefault("kernelArguments", {}).setdefault("shouldExist", []).extend(words)
    )


def without_argument(start: str) -> Edit:
    """Takes away the kernel arguments that start so."""

    def edit(config: Config) -> None:
        given = config["kernelArguments"]["shouldExist"]
        config["kernelArguments"]["shouldExist"] = [
            each for each in given if not each.startswith(start)
        ]

    return edit


def file(path: str, text: str) -> Edit:
    """Writes a file, in place of another where there is one."""

    def edit(config: Config) -> None:
        files = [each for each in config["storage"]["files"] if each["path"] != path]
        files.append({"path": path, "contents": {"source": data_url(text)}})
        config["storage"]["files"] = files

    return edit


def replaced(path: str, old: str, new: str) -> Edit:
    """Changes a text in a file."""

    def edit(config: Config) -> None:
        (found,) = (each for each in config["storage"]["files"] if each["path"] == path)
        text = text_of(found)
        assert old in text, text
        file(path, text.replace(old, new))(config)

    return edit


def text_of(found: Config) -> str:
    """The text of a file of Ignition."""
    return fetched(found["contents"], None).decode()


def unit(name: str, **fields: Any) -> Edit:
    """Adds a unit, or changes fields of one."""

    def edit(config: Config) -> None:
        units = config["systemd"]["units"]
        found = next((each for each in units if each["name"] == name), None)
        if found is None:
            found = {"name": name}
            units.append(found)
        found.update(fields)

    return edit


def told(rule: Rule, manifest: Pool) -> list[str]:
    """What a rule says of a pool."""
    assert rule.predicate is not None
    return rule.predicate(manifest, rule.defaults())
