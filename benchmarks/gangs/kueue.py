"""Kueue, as its chart of the Go module installs it: Deployment, rights, CRDs and webhooks.

It admits a Job by the quota of its queue, then Kubernetes' scheduler places pod by pod. Of its
configuration these alone differ: it serves on ports of 127.0.0.1, elects no leader, and its
visibility server, which asks for a volume of its own, is off. Its Service has the name localhost in
the place of pods (an ExternalName, which the API server follows for webhooks). As the kubelet, this
puts the certificate that Kueue makes into the folder where it looks for it.
"""

import base64
from collections.abc import Mapping
from typing import Any

import yaml

from benchmarks.gangs.ground import Ground
from benchmarks.gangs.scenarios import QUEUES, Gang
from benchmarks.gangs.scheduler import Scheduler, batch_job
from rehearsal.certificates import write_private
from rehearsal.charts.ownership import Owner
from rehearsal.charts.render import Release, render
from rehearsal.charts.served import Served
from rehearsal.charts.wanted import Found
from rehearsal.control_plane import free_port
from rehearsal.controllers.chart_objects import ChartObjects
from rehearsal.controllers.controller import Controller
from rehearsal.providers.kubernetes.readiness import Discovery, until_established
from toolchain.programs import KUEUE as PROGRAM

NAME, NAMESPACE = "kueue-controller-manager", "kueue-system"
SERVICE, SECRET = "kueue-webhook-service", "kueue-webhook-server-cert"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
HOOKS = {
    "MutatingWebhookConfiguration": "mutatingwebhookconfigurations",
    "ValidatingWebhookConfiguration": "validatingwebhookconfigurations",
}
API = "kueue.x-k8s.io/v1beta2"
WITHIN_S = 60.0
RESOURCES = ("cpu", "memory", "nvidia.com/gpu")
WAITS: Mapping[str, object] = {"timeout": "30s", "requeuingStrategy": {"backoffBaseSeconds": 1}}
"""waitForPodsReady, which Kueue has on: it evicts a job whose pods are not ready in time, and lets
it in again later. Its own timeout is 30 minutes and its first pause 60 s (v0.19.2,
apis/config/v1beta2/defaults.go), here 60 times shorter, as the boot of a machine is."""


def _install(ground: Ground, **waits: object) -> None:
    """Installs the chart and makes the queues; `waits` is more of the setting waitForPodsReady."""
    webhook = free_port()
    ground.api.create("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    objects = _chart(ground)
    _define(ground, objects, webhook)
    service = {"type": "ExternalName", "externalName": "localhost"}
    services = f"/api/v1/namespaces/{NAMESPACE}/services"
    ground.api.create(services, {"metadata": {"name": SERVICE}, "spec": service})
    secret = {"metadata": {"name": SECRET}}
    ground.api.create(f"/api/v1/namespaces/{NAMESPACE}/secrets", secret)
    configuration = _configuration(objects) | {"waitForPodsReady": {**WAITS, **waits}}
    _start(ground, configuration, webhook)
    ground.wait(lambda: _mounted(ground), "Kueue has made no certificate", within_s=WITHIN_S)
    ground.wait(lambda: _queues(ground), "Kueue's webhook does not answer", within_s=WITHIN_S)


def _start(ground: Ground, given: Mapping[str, Any], webhook: int) -> None:
    """Starts Kueue with its configuration, as its own account."""
    folder, health = ground.place.folder(NAME), free_port()
    configuration = {
        **given,
        "health": {"healthProbeBindAddress": f"127.0.0.1:{health}"},
        "metrics": {"bindAddress": f"127.0.0.1:{free_port()}"},
        "webhook": {"host": "127.0.0.1", "port": webhook, "certDir": str(folder / "cert")},
        "leaderElection": {"leaderElect": False},
    }
    (folder / "configuration.yaml").write_text(yaml.safe_dump(configuration))
    command = (
        str(ground.tools.path("kueue")),
        f"--config={folder / 'configuration.yaml'}",
        "--feature-gates=VisibilityOnDemand=false",
        "--zap-log-level=2",
    )
    controller = Controller(
        name=NAME,
        system="kueue",
        namespace=NAMESPACE,
        service_account=NAME,
        command=command,
        variables={"KUBECONFIG": str(ground.place.kubeconfig(NAME))},
        port=health,
    )
    ground.place.start([controller])


def _chart(ground: Ground) -> list[dict[str, Any]]:
    found = Found(path=ground.tools.charts / "kueue", source="the module of Kueue")
    release = Release(name="kueue", namespace=NAMESPACE, values={})
    served = Served.by(ground.api)
    rendering = render(ground.tools.path("helm"), found, release, served)
    return [each.object for each in rendering.objects]


def _define(ground: Ground, objects: list[dict[str, Any]], port: int) -> None:
    """Applies CRDs, accounts and rights, and the webhooks at `port` of the Service."""
    kinds, names = Discovery(ground.api), []
    for each in objects:
        if each["kind"] == "CustomResourceDefinition":
            conversion = each["spec"].get("conversion", {}).get("webhook", {})
            _serve(conversion.get("clientConfig", {}), port)
            names.append(each["metadata"]["name"])
            ground.api.apply(f"{CRDS}/{names[-1]}", each)
    for name in names:
        until_established(ground.api, kinds, name, limit_s=WITHIN_S)
    owner = Owner(release="kueue", namespace=NAMESPACE)
    record = ground.directory / "kueue-objects.json"
    applied = ChartObjects(api=ground.api, kinds=kinds, owner=owner, record=record)
    applied.apply([each for each in objects if each["kind"] not in HOOKS], {})
    for each in objects:
        if each["kind"] in HOOKS:
            for hook in each["webhooks"]:
                _serve(hook["clientConfig"], port)
            path = f"/apis/admissionregistration.k8s.io/v1/{HOOKS[each['kind']]}"
            ground.api.apply(f"{path}/{each['metadata']['name']}", each)


def _serve(client: dict[str, Any], port: int) -> None:
    if "service" in client:
        client["service"]["port"] = port


def _configuration(objects: list[dict[str, Any]]) -> dict[str, Any]:
    (found,) = (each for each in objects if each["kind"] == "ConfigMap")
    (content,) = found["data"].values()
    read: dict[str, Any] = yaml.safe_load(content)
    return read


def _mounted(ground: Ground) -> bool:
    """Whether the certificate is where Kueue looks for it; puts it there once it is made."""
    found = ground.api.get(f"/api/v1/namespaces/{NAMESPACE}/secrets/{SECRET}") or {}
    data = found.get("data") or {}
    folder = ground.place.folder(NAME) / "cert"
    folder.mkdir(exist_ok=True, mode=0o700)
    for name in sorted(data, reverse=True):  # Kueue looks for tls.crt, so it comes after its key
        write_private(folder / name, base64.b64decode(data[name]))
    return "tls.crt" in data


def _queues(ground: Ground) -> bool:
    """Makes flavor, queues and namespaces; False while the webhook does not judge them yet."""
    flavor = {"metadata": {"name": "machine"}}
    made = [ground.offer(f"/apis/{API}/resourceflavors", _of("ResourceFlavor", flavor))]
    for queue, machines in QUEUES.items():
        ground.api.create("/api/v1/namespaces", {"metadata": {"name": queue}})
        quotas = {"cpu": 64 * machines, "memory": f"{512 * machines}Gi"}
        quotas["nvidia.com/gpu"] = 8 * machines
        amounts = [{"name": name, "nominalQuota": str(quotas[name])} for name in RESOURCES]
        group = {
            "coveredResources": [*RESOURCES],
            "flavors": [{"name": "machine", "resources": amounts}],
        }
        spec = {"namespaceSelector": {}, "resourceGroups": [group]}
        cluster = _of("ClusterQueue", {"metadata": {"name": queue}, "spec": spec})
        local = {"metadata": {"name": queue}, "spec": {"clusterQueue": queue}}
        made.append(ground.offer(f"/apis/{API}/clusterqueues", cluster))
        path = f"/apis/{API}/namespaces/{queue}/localqueues"
        made.append(ground.offer(path, _of("LocalQueue", local)))
    return all(made)


def _of(kind: str, body: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": API, "kind": kind, **body}


def _job(gang: Gang) -> dict[str, Any]:
    body = batch_job(gang)
    body["metadata"]["labels"] = {"kueue.x-k8s.io/queue-name": gang.queue}
    return body


WRITTEN = "Job with the label of a LocalQueue; Kueue admits it by quota, all pods at once"
OFF = "gate VisibilityOnDemand off"
SCALED = "timeout 30 s (for 30 min), backoffBaseSeconds 1 (for 60)"
TITLE = f"Kueue {PROGRAM.version()}"

KUEUE = Scheduler(
    name="kueue",
    title=TITLE,
    control_plane="control-plane",
    programs=("kueue",),
    settings=("as its chart installs it", f"waitForPodsReady with {SCALED}", OFF),
    written=WRITTEN,
    jobs="batch/v1/jobs",
    install=_install,
    job=_job,
)
KUEUE_BLOCKING = Scheduler(
    name="kueue-blocking",
    title=f"blocking {TITLE}",
    control_plane="control-plane",
    programs=("kueue",),
    settings=(f"waitForPodsReady with blockAdmission, {SCALED}", OFF),
    written=WRITTEN,
    jobs="batch/v1/jobs",
    install=lambda ground: _install(ground, blockAdmission=True),
    job=_job,
)
