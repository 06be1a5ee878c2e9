"""Helm releases: pinned, recorded, and not installed."""

from dataclasses import replace

import pytest

from rehearsal.api import Api
from rehearsal.errors import RefusedError
from rehearsal.providers import cloud
from rehearsal.providers.values import UNKNOWN, Properties, Secret, Value
from settings.names import RELEASE
from tests.support.rehearsal.fake_cluster import FakeCluster
from tests.support.rehearsal.provider_engine import FakeEngine, Refused

GOOD: Properties = {
    "chart": "kured",
    "version": "1.18.3",
    "name": "kured",
    "namespace": "kube-system",
    "createNamespace": True,
    "repositoryOpts": {"repo": "https://kubereboot.github.io/charts"},
    "values": {"operator": {"replicas": 1}},
}

REFUSED: dict[str, tuple[Properties, str]] = {
    "no version": (
        {**GOOD, "version": None},
        "version is missing: the release it of the chart kured must be pinned to one version.",
    ),
    "a range of versions": (
        {**GOOD, "version": "^1.18"},
        'version is "^1.18", but it must be one version, as 1.14.1.',
    ),
    "no chart": ({**GOOD, "chart": None}, "chart is missing, but Release needs it: a string."),
    "values that are no mapping": (
        {**GOOD, "values": "operator.replicas=1"},
        'values is "operator.replicas=1", but it must be an object',
    ),
    "a chart from nowhere": (
        {**GOOD, "repositoryOpts": None},
        'repositoryOpts is missing: the chart "kured" is no oci:// address',
    ),
    "an unknown property": (
        {**GOOD, "verison": "1"},
        "verison is not a property of Release; did you mean version?",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_release_is_refused(case: str, kubernetes: FakeEngine) -> None:
    inputs, expected = REFUSED[case]
    assert expected in kubernetes.refusal(RELEASE, inputs)


def test_an_unnamed_release_gets_a_name_and_keeps_it(kubernetes: FakeEngine) -> None:
    unnamed: Properties = {**GOOD, "name": None}
    first = kubernetes.checked(RELEASE, unnamed)
    assert str(first["name"]).startswith("it-")
    assert kubernetes.checked(RELEASE, unnamed, old=first)["name"] == first["name"]


def test_a_preview_does_not_know_the_status(kubernetes: FakeEngine) -> None:
    outputs = kubernetes.previewed(RELEASE, GOOD)
    assert (outputs["status"], outputs["resourceNames"]) == (UNKNOWN, UNKNOWN)
    assert cloud.read(kubernetes.directory) == []


def test_a_release_is_recorded_with_its_chart(kubernetes: FakeEngine, cluster: FakeCluster) -> None:
    made = kubernetes.created(RELEASE, {**GOOD, "values": {"token": Secret("hunter2")}})
    (thing,) = cloud.read(kubernetes.directory)
    assert (thing.provider, thing.id) == ("kubernetes", "kube-system/kured")
    assert made.outputs["values"] == {"token": Secret("hunter2")}
    match made.outputs["status"]:
        case {"status": "deployed", "revision": 1, "chart": "kured", "version": "1.18.3"}:
            pass
        case other:
            pytest.fail(f"{other}")
    assert "/api/v1/namespaces/kube-system" in cluster.objects


def test_a_release_does_not_make_a_namespace_unasked(kubernetes: FakeEngine) -> None:
    with pytest.raises(Refused, match='namespaces "kube-system" not found'):
        kubernetes.created(RELEASE, {**GOOD, "createNamespace": False})


def test_a_name_is_in_use_once(kubernetes: FakeEngine) -> None:
    kubernetes.created(RELEASE, GOOD)
    with pytest.raises(Refused, match="kube-system/kured is still in use by another release"):
        kubernetes.created(RELEASE, GOOD)


def test_an_upgrade_is_the_next_revision(kubernetes: FakeEngine, cluster: FakeCluster) -> None:
    made = kubernetes.created(RELEASE, GOOD)
    match kubernetes.updated(made, {**GOOD, "version": "1.18.4"})["status"]:
        case {"revision": 2, "version": "1.18.4"}:
            pass
        case other:
            pytest.fail(f"{other}")
    assert statuses(cluster) == ["superseded", "deployed"]
    kubernetes.delete(made)
    assert statuses(cluster) == []


def test_a_release_is_pending_until_it_is_there(
    kubernetes: FakeEngine, cluster: FakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine is killed while it is installed; the name is taken from then on."""
    seen: list[str] = []

    def killed(self: Api, _seconds: float) -> None:
        seen.extend(statuses(cluster))
        self.cancelled.set()
        raise RefusedError("Cancelled")

    with monkeypatch.context() as while_killed:
        while_killed.setattr(Api, "pause", killed)
        with pytest.raises(Refused, match="Cancelled"):
            kubernetes.created(RELEASE, GOOD)
    assert (seen, statuses(cluster)) == (["pending-install"], ["pending-install"])
    assert cloud.read(kubernetes.directory) == []
    kubernetes.configure({})
    with pytest.raises(Refused, match="is still in use"):
        kubernetes.created(RELEASE, GOOD)


def test_a_release_that_is_refused_leaves_its_name(
    kubernetes: FakeEngine, cluster: FakeCluster
) -> None:
    with pytest.raises(Refused, match="has no CustomResourceDefinition"):
        kubernetes.created(RELEASE, {**GOOD, "chart": "volcano"})
    assert statuses(cluster) == []


def test_a_release_without_its_inputs_among_its_outputs_is_read_as_an_import(
    kubernetes: FakeEngine,
) -> None:
    made = kubernetes.created(RELEASE, GOOD)
    outputs = {key: value for key, value in made.outputs.items() if key != "__inputs"}
    read = kubernetes.read(replace(made, outputs=outputs))
    assert read
    assert list(kubernetes.diff(read, GOOD).diffs)


def statuses(cluster: FakeCluster) -> list[str]:
    """The status of each revision that Helm has kept, as its Secret says."""
    kept = [each for path, each in cluster.objects.items() if "/sh.helm.release.v1.kured." in path]
    return [str(label(each, "status")) for each in kept]


def label(secret: Properties, name: str) -> Value:
    match secret["metadata"]:
        case {"labels": dict(labels)}:
            return labels[name]
    return None


def test_what_is_gone_cannot_be_upgraded(kubernetes: FakeEngine) -> None:
    made = kubernetes.created(RELEASE, GOOD)
    kubernetes.delete(made)
    with pytest.raises(Refused, match='"kured" has no deployed releases'):
        kubernetes.updated(made, {**GOOD, "version": "1.18.4"})


def test_another_name_is_another_release(kubernetes: FakeEngine) -> None:
    made = kubernetes.created(RELEASE, GOOD)
    assert list(kubernetes.diff(made, {**GOOD, "name": "other"}).replaces) == ["name"]
    assert list(kubernetes.diff(made, {**GOOD, "version": "1.18.4"}).replaces) == []


def test_a_release_is_stable_and_goes_again(kubernetes: FakeEngine) -> None:
    made = kubernetes.created(RELEASE, GOOD)
    assert kubernetes.read(made) == made
    kubernetes.delete(made)
    assert kubernetes.read(made) is None


def test_a_chart_whose_kinds_are_not_there_is_a_sentence(kubernetes: FakeEngine) -> None:
    with pytest.raises(Refused, match="crds/volcano has no CustomResourceDefinition"):
        kubernetes.created(RELEASE, {**GOOD, "chart": "volcano"})
