"""Runs the programs of ours beside Volcano, on which gangs depend, as their pods say."""

import sys
from urllib.parse import urlsplit

from rehearsal.api import Api
from rehearsal.controllers.controller import Controller, Controllers
from rehearsal.controllers.pod import container, contents
from settings.names import PROGRAM_LABEL, VOLCANO_NAMESPACE

NAMES = ("fleet-pool-domains", "fleet-queue-entry", "fleet-gang-buffer")
DEPLOYMENTS = f"/apis/apps/v1/namespaces/{VOLCANO_NAMESPACE}/deployments"
ALL_DEPLOYMENTS = "/apis/apps/v1/deployments"
CONFIG_MAPS = f"/api/v1/namespaces/{VOLCANO_NAMESPACE}/configmaps"


def start_ours(place: Controllers) -> None:
    """Start the programs that the twin has, and again those that have changed."""
    for name in NAMES:
        _start(place, name)


def not_run(api: Api) -> tuple[str, ...]:
    """Return the programs of ours that are made and that no twin runs, by the names of their pods.

    They are found by the label of their pods.
    """
    found = api.items(ALL_DEPLOYMENTS)
    labels = (each["spec"]["template"]["metadata"].get("labels") or {} for each in found)
    programs = {each[PROGRAM_LABEL] for each in labels if PROGRAM_LABEL in each}
    return tuple(sorted(programs.difference(NAMES)))


def _start(place: Controllers, name: str) -> None:
    deployment = place.api.get(f"{DEPLOYMENTS}/{name}")
    if deployment is None:
        place.end([name])
        return
    spec, folder = deployment["spec"]["template"]["spec"], place.folder(name)
    maps = [each["configMap"]["name"] for each in spec["volumes"] if "configMap" in each]
    files = {each: contents(place.api.get(f"{CONFIG_MAPS}/{each}") or {}) for each in maps}
    _, _, *words = container(spec, folder, files).words  # after `python3 -I`
    runner = (sys.executable, "-m", "rehearsal.controllers.in_pod", str(folder))
    place.start(
        [
            Controller(
                name=name,
                system="",
                namespace=VOLCANO_NAMESPACE,
                service_account=spec["serviceAccountName"],
                command=(*runner, urlsplit(place.api.server).netloc, *words),
            )
        ]
    )
