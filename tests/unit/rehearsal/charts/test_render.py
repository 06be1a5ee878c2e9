"""What Helm is asked, and what is made of its answer. A script stands in for Helm."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from rehearsal.charts.render import Release, RenderError, render
from rehearsal.charts.served import Served
from rehearsal.charts.wanted import Found

SERVED = Served(
    version="v1.34.1",
    kinds={("v1", "Service"): True, ("v1", "Namespace"): False, ("v1", "ConfigMap"): True},
)
RELEASE = Release(name="a", namespace="there", values={"password": "made-up"})


def helm(folder: Path, answer: Mapping[str, object] | None, error: str = "") -> Path:
    """A script that keeps its question and its arguments, and gives the answer."""
    (folder / "answer").write_text(json.dumps(answer or {}))
    path = folder / "helm"
    path.write_text(
        f'#!/bin/sh\ncat > {folder}/question\necho "$@" > {folder}/arguments\n'
        f"cat {folder}/answer\n" + (f"echo '{error}' >&2; exit 1\n" if error else "")
    )
    path.chmod(0o755)
    return path


def rendered(*objects: Mapping[str, Any]) -> dict[str, object]:
    return {
        "chart": {"name": "c"},
        "objects": [{"source": "c/templates/a.yaml", "object": each} for each in objects],
    }


def found(tmp_path: Path) -> Found:
    return Found(path=tmp_path / "c", source="here", version="1.0.0", defaults={"tag": "1"})


def test_helm_is_asked_by_its_standard_input_alone(tmp_path: Path) -> None:
    render(helm(tmp_path, rendered()), found(tmp_path), RELEASE, SERVED)

    question = json.loads((tmp_path / "question").read_text())
    assert (tmp_path / "arguments").read_text() == "\n"
    assert question == {
        "chart": str(tmp_path / "c"),
        "name": "a",
        "namespace": "there",
        "values": {"password": "made-up"},
        "defaults": {"tag": "1"},
        "version": "1.0.0",
        "skip_crds": False,
        "kube_version": "v1.34.1",
        "api_versions": ["v1", "v1/ConfigMap", "v1/Namespace", "v1/Service"],
    }


def test_objects_are_in_the_namespace_of_the_release_unless_they_say_another(
    tmp_path: Path,
) -> None:
    objects = (
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}},
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "b", "namespace": "else"}},
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "c"}},
    )

    rendering = render(helm(tmp_path, rendered(*objects)), found(tmp_path), RELEASE, SERVED)

    places = [each.object["metadata"].get("namespace") for each in rendering.objects]
    assert places == ["there", "else", None]


def test_a_list_is_taken_apart(tmp_path: Path) -> None:
    parts = [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}} for name in "ab"]
    listed = {"apiVersion": "v1", "kind": "ConfigMapList", "items": parts}

    rendering = render(helm(tmp_path, rendered(listed)), found(tmp_path), RELEASE, SERVED)

    assert [each["metadata"]["name"] for each in rendering.of_kind("ConfigMap")] == ["a", "b"]


def test_kinds_that_the_chart_brings_are_known(tmp_path: Path) -> None:
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.fleet.example"},
        "spec": {
            "group": "fleet.example",
            "scope": "Namespaced",
            "names": {"kind": "Thing"},
            "versions": [{"name": "v1", "served": True}, {"name": "v1alpha1", "served": False}],
        },
    }
    thing = {"apiVersion": "fleet.example/v1", "kind": "Thing", "metadata": {"name": "a"}}

    rendering = render(
        helm(tmp_path, rendered(definition, thing)), found(tmp_path), RELEASE, SERVED
    )

    assert rendering.of_kind("Thing")[0]["metadata"]["namespace"] == "there"
    assert rendering.all_crds == [definition]


def test_what_helm_refuses_is_said_in_its_words(tmp_path: Path) -> None:
    refusing = helm(tmp_path, None, error="replicas: got string, want integer")

    with pytest.raises(RenderError, match=r"^replicas: got string, want integer$"):
        render(refusing, found(tmp_path), RELEASE, SERVED)


def test_an_answer_that_is_no_object_is_refused(tmp_path: Path) -> None:
    text = {"chart": {}, "objects": [{"source": "c/templates/a.yaml", "object": "some words"}]}

    with pytest.raises(RenderError, match="no object"):
        render(helm(tmp_path, text), found(tmp_path), RELEASE, SERVED)


def test_of_what_helm_says_without_end_the_beginning_is_kept(tmp_path: Path) -> None:
    with pytest.raises(RenderError) as error:
        render(helm(tmp_path, None, "included " * 10_000), found(tmp_path), RELEASE, SERVED)

    assert str(error.value).startswith("included included")
    assert len(str(error.value)) < 600
