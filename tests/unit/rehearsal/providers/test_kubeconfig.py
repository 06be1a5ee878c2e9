"""The API server that a kubeconfig names, and the refusal of an unusable kubeconfig."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from rehearsal.errors import RefusedError
from rehearsal.providers.cloud import Cloud
from rehearsal.providers.contract import Session
from rehearsal.providers.kubernetes import kubeconfig
from rehearsal.providers.kubernetes.provider import KubernetesProvider
from rehearsal.providers.values import UNKNOWN, Properties, Secret

TWIN = "https://127.0.0.1:6443"


def document(**changes: Any) -> str:
    return yaml.safe_dump(
        {
            "current-context": "twin",
            "contexts": [
                {"name": "twin", "context": {"cluster": "twin", "user": "admin"}},
                {
                    "name": "other",
                    "context": {"cluster": "other", "user": "admin", "namespace": "team"},
                },
            ],
            "clusters": [
                {"name": "twin", "cluster": {"server": TWIN}},
                {"name": "other", "cluster": {"server": "https://other:6443/"}},
            ],
            "users": [{"name": "admin", "user": {"token": "hunter2"}}],
            **changes,
        }
    )


@pytest.fixture
def provider(tmp_path: Path) -> KubernetesProvider:
    return KubernetesProvider(cloud=Cloud(tmp_path), crds=tmp_path)


def test_the_current_context_is_used() -> None:
    found = kubeconfig.cluster(document())
    assert (found.server, found.namespace) == (TWIN, "default")
    assert found.headers == {"Authorization": "Bearer hunter2"}


def test_another_context_can_be_named() -> None:
    found = kubeconfig.cluster(document(), context="other")
    assert (found.server, found.namespace) == ("https://other:6443", "team")


def test_a_path_is_as_good_as_the_contents(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text(document())
    assert kubeconfig.cluster(str(path)).server == TWIN


def test_a_kubeconfig_shows_no_secret() -> None:
    assert "hunter2" not in repr(kubeconfig.cluster(document()))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("/nowhere/kubeconfig", "neither the contents of a kubeconfig nor the path of one"),
        ("{", "it is not YAML"),
        ("- a\n- b\n", "it is not a mapping"),
        (document(**{"current-context": ""}), "it has no current-context"),
        (document(clusters=[]), 'it has no cluster "twin" among its clusters'),
        (
            document(clusters=[{"name": "twin", "cluster": {"server": "twin:6443"}}]),
            "has no server URL",
        ),
        (
            document(users=[{"name": "admin", "user": {"exec": {"command": "aws"}}}]),
            "its user logs in by exec; allowed are a client certificate or a token",
        ),
        (
            document(
                users=[
                    {
                        "name": "admin",
                        "user": {"client-certificate-data": "eA==", "client-key-data": "eA=="},
                    }
                ]
            ),
            "a certificate or key in it cannot be read",
        ),
    ],
)
def test_an_unusable_kubeconfig_is_refused_with_a_sentence(text: str, sentence: str) -> None:
    with pytest.raises(RefusedError) as error:
        kubeconfig.cluster(text)
    assert sentence in str(error.value)


def test_a_provider_without_kubeconfig_never_uses_the_users_own(
    provider: KubernetesProvider,
) -> None:
    (failure,) = provider.check_config({})
    assert failure.sentence == "kubeconfig is missing: a rehearsal never falls back on your own."
    with pytest.raises(RefusedError, match="has no kubeconfig"):
        provider.configure(Session(name="cluster", config={}))


@pytest.mark.parametrize(
    "config",
    [
        {"renderYamlToDirectory": "out"},
        {"enableServerSideApply": "false"},
        {"enablePatchForce": "true"},
    ],
)
def test_what_a_rehearsal_cannot_honour_is_refused(
    config: Properties, provider: KubernetesProvider
) -> None:
    (failure,) = provider.check_config({"kubeconfig": document(), **config})
    assert failure.path in config


def test_another_server_replaces_the_provider(provider: KubernetesProvider) -> None:
    old: Properties = {"kubeconfig": Secret(document())}
    same: Properties = {"kubeconfig": Secret(document(users=[{"name": "admin", "user": {}}]))}
    moved: Properties = {"kubeconfig": Secret(document()), "context": "other"}
    assert provider.diff_config(old, old).changes == {}
    assert provider.diff_config(old, same).replaces == frozenset()
    assert provider.diff_config(old, moved).replaces == {"context"}


def cluster_entry(**changes: object) -> Secret:
    entry = {"server": TWIN, **changes}
    return Secret(document(clusters=[{"name": "twin", "cluster": entry}]))


@pytest.mark.parametrize(
    "change",
    [
        {"certificate-authority-data": "bmV3"},
        {"proxy-url": "http://proxy:3128"},
        {"tls-server-name": "api.fleet.example"},
        {"server": "https://api.fleet.example:6443"},
    ],
)
def test_any_change_of_the_cluster_entry_replaces_a_provider_without_identifier(
    change: dict[str, object], provider: KubernetesProvider
) -> None:
    old: Properties = {"kubeconfig": cluster_entry()}
    new: Properties = {"kubeconfig": cluster_entry(**change)}
    assert provider.diff_config(old, new).replaces == {"kubeconfig"}
    known = {"clusterIdentifier": "fleet-prod"}
    changed = provider.diff_config({**old, **known}, {**new, **known})
    assert (set(changed.changes), changed.replaces) == ({"kubeconfig"}, frozenset())


def test_another_identifier_replaces_the_provider(provider: KubernetesProvider) -> None:
    old: Properties = {"kubeconfig": cluster_entry(), "clusterIdentifier": "fleet-dev"}
    assert provider.diff_config(old, {**old, "clusterIdentifier": "fleet-prod"}).replaces == {
        "clusterIdentifier"
    }


def test_adding_the_identifier_replaces_nothing_while_the_cluster_entry_stays(
    provider: KubernetesProvider,
) -> None:
    """The real one compares the entries in the update that adds it, too: add it before a new CA."""
    old: Properties = {"kubeconfig": cluster_entry()}
    named: Properties = {**old, "clusterIdentifier": "fleet-prod"}
    assert provider.diff_config(old, named).replaces == frozenset()
    moved: Properties = {**named, "kubeconfig": cluster_entry(server="https://other:6443")}
    assert provider.diff_config(old, moved).replaces == {"kubeconfig"}


def test_a_kubeconfig_that_a_preview_does_not_know_counts_as_another_cluster(
    provider: KubernetesProvider,
) -> None:
    old: Properties = {"kubeconfig": cluster_entry()}
    assert provider.diff_config(old, {"kubeconfig": UNKNOWN}).replaces == {"kubeconfig"}
    known = {"clusterIdentifier": "fleet-prod"}
    answer = provider.diff_config({**old, **known}, {"kubeconfig": UNKNOWN, **known})
    assert answer.replaces == frozenset()
