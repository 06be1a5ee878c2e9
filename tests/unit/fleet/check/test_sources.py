"""`fleet check -k DIR --render`: what kustomize and helm make is checked, or named."""

import json
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fleet.check.reading import ReadResult
from fleet.check.sources import Sources, read_sources
from policies.language.manifest import at
from tests.support.fleet_check import run

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: rendered}\n"
POD_JSON = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "listed"}}
HELM_RELEASE: dict[str, Any] = {
    "apiVersion": "helm.toolkit.fluxcd.io/v2",
    "kind": "HelmRelease",
    "metadata": {"name": "train", "namespace": "flux"},
    "spec": {
        "chart": {"spec": {"chart": "./charts/train", "sourceRef": {"kind": "GitRepository"}}},
        "targetNamespace": "research",
        "values": {"token": "hunter2"},
    },
}
REPOSITORY = {
    "apiVersion": "source.toolkit.fluxcd.io/v1",
    "kind": "HelmRepository",
    "metadata": {"name": "charts", "namespace": "flux"},
    "spec": {"url": "https://charts.example.com"},
}
APPLICATION: dict[str, Any] = {
    "apiVersion": "argoproj.io/v1alpha1",
    "kind": "Application",
    "metadata": {"name": "app", "namespace": "argocd"},
    "spec": {"destination": {"namespace": "research"}},
}
SOURCE = {"kind": "HelmRepository", "name": "charts"}
Put = Callable[..., str]


@pytest.fixture
def put() -> Put:
    def write(*objects: Any, file: str = "release.yaml") -> str:
        Path(file).write_text("---\n".join(f"{json.dumps(each)}\n" for each in objects))
        return file

    return write


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A PATH with programs of ours alone, which write down how they were called."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def program(folder: Path, name: str, does: str) -> None:
    path = folder / name
    path.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > "{folder}/{name}.words"\n{does}\n')
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def words(folder: Path, name: str) -> list[str]:
    return (folder / f"{name}.words").read_text().splitlines()


def helm(folder: Path) -> None:
    """A helm that keeps its values and answers with a pod."""
    keep = 'for w in "$@"; do case "$w" in --values=*) /bin/cat "${w#--values=}";; esac; done'
    program(folder, "helm", f'{keep} > "{folder}/values"\nprintf -- "{POD}"')


def rendered(*files: str) -> ReadResult:
    return read_sources(Sources(files=files, render=True))


def pods(found: ReadResult) -> list[Any]:
    return [
        (at(each.manifest, "metadata", "namespace"), each.resource.file, each.resource.line)
        for each in found.objects
        if each.resource.kind == "Pod"
    ]


def test_a_kustomize_folder_is_rendered_and_told_by_its_name(programs: Path) -> None:
    listed = json.dumps({"apiVersion": "v1", "kind": "List", "items": [POD_JSON]}).replace('"', "'")
    program(programs, "kustomize", f'printf -- "---\n{POD}---\n\n{listed}\n"')

    found = read_sources(Sources(files=(), kustomize=["overlay"], namespace="x"))

    assert pods(found) == [("x", "overlay/kustomization.yaml", 1)] * 2
    assert words(programs, "kustomize") == ["build", "--", "overlay"]


def test_kubectl_renders_where_there_is_no_kustomize(programs: Path) -> None:
    program(programs, "kubectl", f'printf -- "{POD}"')

    assert pods(read_sources(Sources(files=(), kustomize=["-o"]))) != []
    assert words(programs, "kubectl") == ["kustomize", "--", "-o"]


@pytest.mark.parametrize(
    ("does", "said"),
    [
        (None, "neither kustomize nor kubectl is on PATH"),
        ("echo first >&2; echo no such folder >&2; exit 1", "kustomize says: no such folder"),
    ],
)
def test_a_folder_that_is_not_rendered_ends_with_2(
    programs: Path, does: str | None, said: str
) -> None:
    if does:
        program(programs, "kustomize", does)

    result = run("-k", "overlay")

    assert result.exit_code == 2
    assert result.stderr == f"overlay:1: it is not rendered: {said}.\n"


def test_a_release_is_named_until_somebody_asks_to_render_it(put: Put, programs: Path) -> None:
    helm(programs)
    file = put(HELM_RELEASE)

    result = run("-f", file)

    assert result.exit_code == 0
    told = " ".join(result.stdout.split())
    assert "release.yaml:1: HelmRelease 'train' is not looked into: its manifests are made" in told
    assert "all rules hold" not in told
    assert not (programs / "helm.words").exists()
    assert run("-f", file, "--strict").exit_code == 1


def test_a_chart_of_this_checkout_is_rendered_with_its_values_in_a_file(
    put: Put, programs: Path
) -> None:
    helm(programs)
    Path("charts/train").mkdir(parents=True)
    Path("charts/train/Chart.yaml").write_text("name: train")

    found = rendered(put(HELM_RELEASE))

    assert (pods(found), found.left) == ([("research", "release.yaml", 1)], [])
    told = words(programs, "helm")
    assert told[0] == "template"
    assert told[2:] == ["--namespace=research", "--", "train", "./charts/train"]
    assert not any("hunter2" in word for word in told)
    assert json.loads((programs / "values").read_text()) == {"token": "hunter2"}


def test_a_chart_of_a_repository_is_taken_by_its_address(put: Put, programs: Path) -> None:
    helm(programs)
    chart = {"chart": "volcano", "version": "1.2", "sourceRef": SOURCE}
    spec = {"chart": {"spec": chart}}

    rendered(put({**HELM_RELEASE, "spec": spec}, REPOSITORY))

    assert words(programs, "helm")[3:] == [
        *("--repo=https://charts.example.com", "--version=1.2", "--", "train", "volcano")
    ]


def test_an_application_takes_its_chart_by_oci(put: Put, programs: Path) -> None:
    helm(programs)
    source = {"repoURL": "registry.example.com/charts", "chart": "train", "targetRevision": "2"}

    rendered(put({**APPLICATION, "spec": {**APPLICATION["spec"], "source": source}}))

    assert words(programs, "helm")[2:] == [
        *("--namespace=research", "--version=2", "--", "app"),
        "oci://registry.example.com/charts/train",
    ]


def test_values_of_an_application_may_have_an_equals_sign(put: Put, programs: Path) -> None:
    helm(programs)
    helm_values = {"values": "op: =\n"}
    source = {"repoURL": "https://charts.example.com", "chart": "train", "helm": helm_values}

    rendered(put({**APPLICATION, "spec": {**APPLICATION["spec"], "source": source}}))

    assert json.loads((programs / "values").read_text()) == {"op": "="}


def test_an_application_of_a_folder_is_read_and_what_it_names_too(put: Put, programs: Path) -> None:
    helm(programs)
    Path("apps").mkdir()
    Path("charts/train").mkdir(parents=True)
    Path("charts/train/Chart.yaml").write_text("name: train")
    put(HELM_RELEASE, file="apps/release.yaml")
    source = {"repoURL": "https://git.example.com/x", "path": "apps"}
    spec = {**APPLICATION["spec"], "sources": [source]}

    found = rendered(put({**APPLICATION, "spec": spec}))

    assert pods(found) == [("research", "apps/release.yaml", 1)]
    # the folder may be among the files already
    assert len(rendered("release.yaml", "apps").objects) == len(found.objects)


def changed(path: str, value: object) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(HELM_RELEASE))
    *holders, last = path.split(".")
    inner = found
    for each in holders:
        inner = inner[each]
    inner[last] = value
    return found


@pytest.mark.parametrize(
    ("release", "said"),
    [
        (changed("spec.chart.spec.chart", "--post-renderer=x"), "no name of a chart"),
        (changed("spec.chart.spec.chart", "../other"), "no name of a chart"),
        (changed("spec.chart.spec.chart", "charts/../../other"), "no folder below this one"),
        (changed("spec.chart.spec.chart", "elsewhere"), "elsewhere is no folder below this one"),
        (changed("spec.releaseName", "-x"), "'-x' is no name of a chart, release or version"),
        (changed("spec.targetNamespace", "-x"), "'-x' is no name of a namespace"),
        (changed("spec.valuesFrom", [{"kind": "Secret"}]), "its valuesFrom are in the cluster"),
        (changed("spec.chart.spec.valuesFiles", ["../v.yaml"]), "is no file below this folder"),
        (
            changed("spec.chart.spec.sourceRef", {"kind": "HelmRepository", "name": "gone"}),
            "HelmRepository 'gone' is not in the input",
        ),
        (
            {**APPLICATION, "spec": {"source": {"chart": "c", "repoURL": "file:///etc"}}},
            "its repository file:///etc is none of HTTPS or OCI",
        ),
        ({**APPLICATION, "spec": {"source": {"plugin": {}}}}, "a plugin of Argo CD renders it"),
        (
            {**APPLICATION, "spec": {"source": {"path": ".", "helm": {"parameters": [{}]}}}},
            "it sets parameters",
        ),
    ],
)
def test_what_cannot_be_rendered_here_is_named_with_its_reason(
    put: Put, programs: Path, release: dict[str, Any], said: str
) -> None:
    helm(programs)
    Path("charts/train").mkdir(parents=True)
    Path("charts/train/Chart.yaml").write_text("name: train")
    Path("elsewhere").symlink_to("/")

    found = rendered(put(release))

    assert (len(found.left), pods(found)) == (1, [])
    assert said in found.left[0]
    assert not (programs / "helm.words").exists()


def test_without_helm_a_release_is_named(put: Put, programs: Path) -> None:
    Path("charts/train").mkdir(parents=True)
    Path("charts/train/Chart.yaml").write_text("name: train")

    assert rendered(put(HELM_RELEASE)).left == [
        "release.yaml:1: HelmRelease 'train' is not looked into: helm is not on PATH."
    ]


def test_gpus_that_helm_renders_are_judged_once_it_has(put: Put, programs: Path) -> None:
    helm(programs)
    Path("charts/train").mkdir(parents=True)
    Path("charts/train/Chart.yaml").write_text("name: train")
    values = {"resources": {"limits": {"nvidia.com/gpu": 8}}}
    file = put(changed("spec.values", values))

    assert "which Helm renders" in " ".join(run("-f", file).stdout.split())
    assert "which Helm renders" not in run("-f", file, "--render").stdout
