"""The program beside Volcano that lets gangs into their queues, and what it may do."""

from typing import Any

import pulumi

from components.platform.queue_entry import QueueEntry, QueueEntryArgs
from components.platform.teams import Teams, TeamsArgs
from components.platform.volcano import Volcano, VolcanoArgs
from settings import Queue, Team
from settings.names import VOLCANO_NAMESPACE
from tests.support.recorder import named, render
from workloads.controllers.queue_entry.entry import QUOTA


def program() -> None:
    queues = {"a": Queue(weight=1, gpus=64, pool="dgx"), "b": Queue(weight=1, gpus=8, pool="dgx")}
    crds: pulumi.Resource = Volcano("volcano", VolcanoArgs(pools={"a": "dgx", "b": "dgx"})).release
    teams = {"team": Team(cost_centre="1", queues=queues)}
    made = Teams("teams", TeamsArgs(teams=teams, pools={"dgx": 64}, rented=frozenset(), crds=crds))
    QueueEntry("queue-entry", QueueEntryArgs(queues=queues, teams=made))


def test_it_serves_every_queue_with_rights_there_and_nowhere_else() -> None:
    made = render(program)
    (pod,) = named(made, "Deployment").values()
    inputs: Any = pod.inputs
    (container,) = inputs["spec"]["template"]["spec"]["containers"]
    assert container["command"][-2:] == ["a", "b"]
    roles = named(made, "Role")
    assert {"queue-entry-a", "queue-entry-b"} <= set(roles)
    assert not [name for name in named(made, "ClusterRole") if name.startswith("queue-entry")]
    assert inputs["metadata"]["namespace"] == VOLCANO_NAMESPACE


def test_it_writes_podgroups_alone_and_reads_the_quota_that_the_teams_have() -> None:
    made = render(program)
    role: Any = named(made, "Role")["queue-entry-a"].inputs
    rules = list(role["rules"])
    writes = [rule["resources"] for rule in rules if set(rule["verbs"]) - {"list", "get"}]
    assert writes == [["podgroups"]]
    assert [rule["resourceNames"] for rule in rules if "resourceNames" in rule] == [[QUOTA]]
    quotas: list[Any] = [each.inputs["metadata"] for each in named(made, "ResourceQuota").values()]
    assert [each["name"] for each in quotas] == [QUOTA, QUOTA]
