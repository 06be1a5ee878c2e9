"""What mutants are made of: the whole boot data of a machine, all its parts in one JSON."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from random import Random
from typing import Any

from hardware.catalogue import Hardware
from hardware.cpuset import parse_list
from tests.support.ignition.faults import changed, decoded, encoded, find

Json = dict[str, Any]
PATCH = "/etc/kubernetes/patches/kubeletconfiguration+merge.json"
JOIN = "/etc/kubernetes/join.yaml"
LABELS = "/etc/sysconfig/kubelet"
SYSEXT = "/etc/flatcar/enabled-sysext.conf"


@dataclass(frozen=True)
class Base:
    """A machine that boots without a problem."""

    label: str
    hardware: Hardware
    user_data: str
    role: str = "node"

    @cached_property
    def text(self) -> str:
        """The boot data with its merged parts put in."""
        return changed(self.user_data, lambda _: None)

    def config(self) -> Json:
        """A copy of the boot data to change."""
        config: Json = json.loads(self.text)
        return config

    @cached_property
    def arguments(self) -> tuple[str, ...]:
        """The items of the kernel command line."""
        return tuple(self.config().get("kernelArguments", {}).get("shouldExist", ()))

    @cached_property
    def texts(self) -> dict[str, str]:
        """The text of each file that the boot data itself carries."""
        return {
            each["path"]: decoded(each["contents"]["source"])
            for each in self.config()["storage"]["files"]
            if each["contents"].get("source", "").startswith("data:")
        }

    @cached_property
    def wide(self) -> frozenset[int]:
        """The CPUs that have an SMT sibling."""
        cores = [core for core in self.hardware.cores() if len(core) > 1]
        return frozenset().union(*cores)

    def names(self, kind: str) -> list[str]:
        """The paths of files or links, or the names of units."""
        section = self.config()["systemd" if kind == "units" else "storage"]
        return [each.get("path") or each["name"] for each in section.get(kind, ())]

    def cpus(self, name: str) -> frozenset[int]:
        """The CPUs that an argument names; none where it is not given."""
        for each in self.arguments:
            if each.startswith(f"{name}="):
                parts = each.partition("=")[2].split(",")
                return parse_list(",".join(part for part in parts if part[0].isdigit()))
        return frozenset()

    def with_arguments(self, arguments: list[str]) -> Json:
        """The boot data with another command line."""
        config = self.config()
        config["kernelArguments"] = {"shouldExist": arguments}
        return config

    def with_argument(self, old: str, new: str) -> Json:
        """The boot data with one item of the command line replaced."""
        return self.with_arguments([new if each == old else each for each in self.arguments])

    def with_text(self, path: str, text: str) -> Json:
        """The boot data with another text in a file."""
        config = self.config()
        find(config, "files", path)["contents"]["source"] = encoded(text)
        return config

    def document(self, path: str) -> Json:
        """A JSON file of the boot data, to change."""
        document: Json = json.loads(self.texts[path])
        return document

    def with_document(self, path: str, document: Json) -> Json:
        """The boot data with another document in a JSON file."""
        return self.with_text(path, json.dumps(document))


Kind = Callable[[Base, Random], Iterator[tuple[str, Json]]]
"""Yields mutants of a base, each with the words that say what is changed."""


def misspelt(word: str, random: Random) -> str:
    """A word with one letter left out or two exchanged, never the word itself."""
    letters = [place for place, letter in enumerate(word) if letter.isalpha()]
    place = random.choice(letters[1:-1] or letters)
    return word[:place] + word[place + 1 :]


def recased(word: str) -> str:
    """A word with its first letter in the other case."""
    place = next(place for place, letter in enumerate(word) if letter.isalpha())
    return word[:place] + word[place].swapcase() + word[place + 1 :]
