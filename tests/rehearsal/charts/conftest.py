"""A control plane with dev's admission policies, and the releases that dev's program registers."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from policies.environment import load
from rehearsal.api import Api, ApiServerError
from rehearsal.charts.rehearse import Equipment, find_all, rehearse
from rehearsal.charts.results import RenderedChart
from rehearsal.control_plane import Launcher, Programs
from rehearsal.processes import Processes
from rehearsal.providers.cloud import CloudObject
from rehearsal.providers.kubernetes.readiness import install_crds
from settings import stack_file
from settings.names import RELEASE
from tests.conftest import ROOT
from tests.support.admission.server import DEADLINE_S
from tests.support.environments import resources
from tests.support.recorder import plain
from toolchain.build import Tools, ensure

ADMISSION = "/apis/admissionregistration.k8s.io/v1"
POLICIES = {
    "ValidatingAdmissionPolicy": "validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings",
}
GREEDY: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "greedy", "namespace": "default"},
    "spec": {
        "containers": [
            {"name": "c", "image": "c:1", "resources": {"limits": {"nvidia.com/gpu": "3"}}}
        ]
    },
}


@pytest.fixture(scope="session")
def tools() -> Tools:
    return ensure(console=None)


@pytest.fixture(scope="package")
def api(tmp_path_factory: pytest.TempPathFactory, tools: Tools) -> Iterator[Api]:
    directory = tmp_path_factory.mktemp("plane")
    processes = Processes(directory)
    programs = Programs(control_plane=tools.path("control-plane"), kwok=tools.path("kwok"))
    launcher = Launcher(
        directory=directory, processes=processes, programs=programs, environment=dict(os.environ)
    )
    try:
        api = launcher.launch(service_cidr="10.96.0.0/16", pod_cidr="10.244.0.0/16").api
        install_crds(api, tools.crds / "volcano")
        install_crds(api, tools.crds / "karpenter")
        for each in resources("dev"):
            inputs: Any = plain(each.inputs)
            if each.kind in POLICIES:
                api.apply(f"{ADMISSION}/{POLICIES[each.kind]}/{inputs['metadata']['name']}", inputs)
        for release in dev_releases():
            _make_namespace(api, str(release.inputs["namespace"]))
        _until_policies_hold(api)
        yield api
    finally:
        processes.stop()


def _make_namespace(api: Api, name: str) -> None:
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    api.apply(f"/api/v1/namespaces/{name}", body)


def _until_policies_hold(api: Api) -> None:
    waited = 0.0
    while waited < DEADLINE_S:
        try:
            api.apply("/api/v1/namespaces/default/pods/greedy", GREEDY, dry_run=True)
        except ApiServerError as error:
            if "ValidatingAdmissionPolicy" in str(error):
                return
        api.pause(0.1)
        waited += 0.1
    pytest.fail("no policy refused a pod with 3 GPUs")


def dev_releases() -> list[CloudObject]:
    """The releases of dev, as the twin records them."""
    found = []
    for each in resources("dev"):
        inputs: Any = plain(each.inputs)
        if each.type == RELEASE:
            found.append(release(**inputs))
    return found


def release(**inputs: Any) -> CloudObject:
    """A recorded release with these inputs."""
    whole = {"namespace": "default", **inputs}
    return CloudObject(
        provider="kubernetes",
        type=RELEASE,
        id=str(inputs["name"]),
        name=str(inputs["name"]),
        inputs=whole,
        outputs={},
    )


@pytest.fixture
def equipment(api: Api, tools: Tools, tmp_path: Path) -> Equipment:
    """Where charts are found; what is fetched lies in a folder of the test's own."""
    return Equipment(
        api=api,
        helm=tools.path("helm"),
        toolchain=tools.charts,
        store=tmp_path / "store",
        folder=tmp_path,
    )


def rendered(equipment: Equipment, *releases: CloudObject) -> dict[str, RenderedChart]:
    """What becomes of the charts of these releases under dev's rules, by release."""
    rules = load(stack_file(ROOT, "dev")).rules
    charts = rehearse(equipment, releases, find_all(equipment, releases), rules)
    return {each.name: each for each in charts.rendered}
