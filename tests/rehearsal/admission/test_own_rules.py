"""`fleet rules test` at an API server: CEL that does not compile, fails, or says something else."""

from collections.abc import Callable
from datetime import date
from pathlib import Path

from fleet.rules.cases import tried
from fleet.rules.new import write
from fleet.rules.server import mistakes
from tests.support.admission.server import Server

FAULT = "?labels[?'owner'].orValue('')"


def test_the_cel_of_a_rule_is_held_to_its_cases(server: Server, tmp_path: Path) -> None:
    changes: dict[str, Callable[[str], str]] = {
        "right": lambda text: text,
        "broken": lambda text: text.replace(FAULT, "?labels[?'owner'.orValue('')"),
        "other": lambda text: text.replace("!= ''", "== ''"),
        "throws": lambda text: text.replace(FAULT, "labels['owner']"),
        "worded": lambda text: text.replace("f' {_MUST}'", "' must be owned.'"),
        "elsewhere": lambda text: text.replace('"deployments"', '"daemonsets"'),
    }
    for name, changed in changes.items():
        file, _ = write(f"acme/{name}", tmp_path)
        file.write_text(changed(file.read_text()))
    today = date(2026, 11, 21)

    every = tried(tmp_path, today)
    assert not any(each.mistakes for each in every), "at the preview all is well"
    found = list(mistakes(server.api, every, today))

    of = {name: [each for each in found if f"acme/{name}." in each] for name in changes}
    assert of["right"] == []
    (broken,) = of["broken"]
    assert "the API server refuses the CEL of acme/broken: ERROR: " in broken
    taken, refused = sorted(of["other"], key=lambda said: "takes it" not in said)
    assert taken.endswith("Deployment 'trainer' is bad, and the API server takes it.")
    assert "is good, and the API server says: acme/other: Deployment 'trainer' must" in refused
    (throws,) = of["throws"]
    assert "the CEL of acme/throws fails on it" in throws
    (worded,) = of["worded"]
    assert "the preview says: acme/worded: Deployment 'trainer' must say who owns it" in worded
    assert worded.endswith("The API server says: acme/worded: Deployment 'trainer' must be owned.")
    assert len(of["elsewhere"]) == 2
    assert all("the admission of acme/elsewhere does not list it" in one for one in of["elsewhere"])
    assert sum(map(len, of.values())) == len(found)
