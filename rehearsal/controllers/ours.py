"""Runs fleet-pool-domains, on which gangs depend, from its ConfigMap and as its pod says."""

import sys
from urllib.parse import urlsplit

from rehearsal.controllers.controller import Controller, Controllers
from rehearsal.controllers.pod import container, contents
from settings.names import VOLCANO_NAMESPACE

NAME = "fleet-pool-domains"
DEPLOYMENT = f"/apis/apps/v1/namespaces/{VOLCANO_NAMESPACE}/deployments/{NAME}"
CONFIG_MAPS = f"/api/v1/namespaces/{VOLCANO_NAMESPACE}/configmaps"


def start_pool_domains(place: Controllers) -> None:
    """Start the program where the twin has it, or start it again where it has changed."""
    deployment = place.api.get(DEPLOYMENT)
    if deployment is None:
        place.end([NAME])
        return
    spec, folder = deployment["spec"]["template"]["spec"], place.folder(NAME)
    names = [each["configMap"]["name"] for each in spec["volumes"] if "configMap" in each]
    files = {name: contents(place.api.get(f"{CONFIG_MAPS}/{name}") or {}) for name in names}
    _, _, *words = container(spec, folder, files).words  # after `python3 -I`
    runner = (sys.executable, "-m", "rehearsal.controllers.in_pod", str(folder))
    place.start(
        [
            Controller(
                name=NAME,
                system="",
                namespace=VOLCANO_NAMESPACE,
                service_account=spec["serviceAccountName"],
                command=(*runner, urlsplit(place.api.server).netloc, *words),
            )
        ]
    )
