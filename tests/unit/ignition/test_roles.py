"""Control plane and gateways: what a machine of each role gets, and what is kept from view."""

import base64
import dataclasses
import json
from collections.abc import Callable
from typing import Any

import pytest
import yaml

from ignition.boot.node import boot
from ignition.write import control_plane, gateway
from ignition.write.control_plane import PKI, control_plane_ignition
from ignition.write.documents import RenderError
from ignition.write.gateway import LocksmithWindow, gateway_ignition
from ignition.write.render import JOIN_FILE, data_url, join_ignition, tuning_ignition, with_merge
from ignition.write.wireguard import (
    CREDENTIAL,
    NETWORK,
    Peer,
    WireGuard,
    WireGuardKey,
    address_file,
)
from ignition.write.wireguard_keys import public_key
from tests.support.ignition import roles
from tests.support.ignition.nodes import TOKEN, join, node
from tests.unit.ignition.test_render import files, text, units


def secret_files() -> dict[str, Any]:
    return files(control_plane.secret_ignition(roles.secrets()))


def documents(name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(text(secret_files()[name])))


def script(*, first: bool) -> str:
    return text(files(control_plane_ignition(roles.server(first=first)))["/opt/bin/control-plane"])


def test_every_server_has_the_same_authorities_and_keys_that_only_root_reads() -> None:
    found = secret_files()
    for name in PKI:
        file = found[f"/etc/kubernetes/pki/{name}"]
        assert text(file) == f"PEM of {name}\n"
        assert file["mode"] == (0o600 if name.endswith(".key") else 0o644)
    assert found["/etc/kubernetes/init.yaml"]["mode"] == 0o600
    assert found["/etc/kubernetes/join.yaml"]["mode"] == 0o600


def test_the_cluster_is_founded_with_a_token_that_does_not_end() -> None:
    init, cluster = documents("/etc/kubernetes/init.yaml")
    assert init["bootstrapTokens"] == [{"token": TOKEN, "ttl": "0s"}]
    assert cluster["controlPlaneEndpoint"] == roles.ENDPOINT
    assert cluster["kubernetesVersion"] == "v1.36.3"
    assert cluster["networking"] == {"podSubnet": "10.244.0.0/16", "serviceSubnet": "10.96.0.0/16"}


def test_the_others_join_the_control_plane() -> None:
    (joining,) = documents("/etc/kubernetes/join.yaml")
    assert joining["controlPlane"] == {}
    assert joining["discovery"]["bootstrapToken"]["apiServerEndpoint"] == roles.ENDPOINT
    assert joining["nodeRegistration"]["name"] == "fleet-test-control-1"


def test_nobody_but_the_clusters_own_api_server_is_believed() -> None:
    assert "--cacert /etc/kubernetes/pki/ca.crt" in script(first=True)
    assert "--insecure" not in script(first=True)


def test_etcd_has_its_own_disk_before_the_server_joins() -> None:
    config = json.loads(control_plane_ignition(roles.server()))
    (disk,) = config["storage"]["filesystems"]
    assert (disk["device"], disk["path"], disk["format"]) == (
        roles.DATA_VOLUME,
        "/var/lib/etcd",
        "xfs",
    )
    found = units(json.dumps(config))
    assert found["var-lib-etcd.mount"]["enabled"]
    assert "RequiresMountsFor=/var/lib/etcd" in found["control-plane.service"]["contents"]
    without = json.loads(control_plane_ignition(roles.server(etcd=None)))
    assert "filesystems" not in without["storage"]


def test_a_server_without_its_whole_pki_is_refused_and_no_key_is_shown() -> None:
    pki = {name: "PEM" for name in PKI if name != "sa.key"} | {"extra.key": "hidden-PEM"}
    with pytest.raises(RenderError, match=r"lacks \['sa.key'\] and has \['extra.key'\]") as caught:
        dataclasses.replace(roles.secrets(), pki=pki)
    assert "hidden-PEM" not in str(caught.value)


def test_a_gateway_forwards_and_knows_the_networks_behind_its_peers() -> None:
    found = files(gateway_ignition(roles.gateway()))
    assert "net.ipv4.ip_forward = 1" in text(found["/etc/sysctl.d/90-gpu-fleet.conf"])
    netdev = text(found["/etc/systemd/network/50-wg0.netdev"])
    assert "Kind=wireguard" in netdev
    assert "RouteTable=main" in netdev
    assert "AllowedIPs=10.99.0.2/32,10.10.0.0/16" in netdev
    assert netdev.count("Endpoint=") == netdev.count("PersistentKeepalive=25") == 1
    assert "Address=10.99.0.1/24" in text(found["/etc/systemd/network/50-wg0.network"])


def test_networkd_finds_the_private_key_by_the_name_of_the_netdev() -> None:
    (path,) = (p for p in files(gateway_ignition(roles.gateway())) if p.endswith(".netdev"))
    stem = path.rsplit("/", 1)[1].removesuffix(".netdev")
    assert f"/etc/credstore/network.wireguard.private.{stem}" == CREDENTIAL
    secret = files(gateway.secret_ignition(roles.key(), "gateway-hel1"))
    assert secret[CREDENTIAL]["mode"] == 0o600
    assert text(secret[CREDENTIAL]).strip() == roles.PRIVATE_KEY
    assert text(secret["/etc/hostname"]) == "gateway-hel1\n"


def test_a_gateway_reboots_in_its_window_because_no_cluster_drains_it() -> None:
    found = files(gateway_ignition(roles.gateway()))
    conf = text(found["/etc/flatcar/update.conf"]).splitlines()
    assert 'LOCKSMITHD_REBOOT_WINDOW_START="Thu 04:00"' in conf
    assert "LOCKSMITHD_REBOOT_WINDOW_LENGTH=1h" in conf
    assert "locksmithd.service" not in units(gateway_ignition(roles.gateway()))


def test_a_snippet_is_merged_into_each_role() -> None:
    snippet = "variant: flatcar\nversion: 1.1.0\nstorage: {files: [{path: /etc/motd}]}\n"
    made = (
        gateway_ignition(roles.gateway(snippet)),
        control_plane_ignition(dataclasses.replace(roles.server(), snippets=(snippet,))),
    )
    for config in made:
        (merge,) = json.loads(config)["ignition"]["config"]["merge"]
        assert "/etc/motd" in base64.b64decode(merge["source"].split(",", 1)[1]).decode()


def test_a_node_of_a_site_without_gateway_has_its_own_tunnel() -> None:
    boot = dataclasses.replace(node("ccx33"), wireguard=roles.wireguard())
    assert "/etc/systemd/network/50-wg0.netdev" in files(tuning_ignition(boot))
    joining = dataclasses.replace(join(), wireguard_key=roles.key())
    assert CREDENTIAL in files(join_ignition(joining))
    assert CREDENTIAL not in files(join_ignition(join()))


def test_machines_that_share_a_plain_part_have_their_own_address_and_key() -> None:
    shared = dataclasses.replace(roles.wireguard(), address=None)
    boot_data = dataclasses.replace(node("dgx-h200"), wireguard=shared)
    assert NETWORK not in files(tuning_ignition(boot_data))
    joining = dataclasses.replace(
        join(), wireguard_key=roles.key(), wireguard_address="10.99.0.11/24"
    )
    secret = join_ignition(joining)
    assert text(files(secret)[NETWORK]).endswith("[Network]\nAddress=10.99.0.11/24\n")
    whole = with_merge(tuning_ignition(boot_data), data_url(secret))
    assert boot(whole, boot_data.hardware).problems == ()
    nowhere = with_merge(
        tuning_ignition(boot_data),
        data_url(join_ignition(dataclasses.replace(joining, wireguard_address=None))),
    )
    (problem,) = boot(nowhere, boot_data.hardware).problems
    assert problem.startswith("wg0 gets no address; write a .network")


def test_a_node_with_a_tunnel_is_known_in_the_cluster_by_the_address_that_all_sites_reach() -> None:
    joining = dataclasses.replace(join(), wireguard_address="10.99.0.11/24")
    registration = json.loads(text(files(join_ignition(joining))[JOIN_FILE]))["nodeRegistration"]
    assert registration["kubeletExtraArgs"] == [{"name": "node-ip", "value": "10.99.0.11"}]
    without = json.loads(text(files(join_ignition(join()))[JOIN_FILE]))["nodeRegistration"]
    assert "kubeletExtraArgs" not in without


def test_a_public_key_follows_from_the_private_one_as_curve25519_has_it() -> None:
    # the pair of Bob in RFC 7748, section 6.1
    private = "5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb"
    public = "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f"
    key = WireGuardKey(private_key=base64.b64encode(bytes.fromhex(private)).decode())
    assert base64.b64decode(public_key(key)).hex() == public


def test_no_plain_part_and_no_repr_knows_a_secret() -> None:
    shown = [repr(roles.secrets()), repr(roles.key())]
    for butane, ignition in roles.rendered().values():
        sources = [file["contents"]["source"] for file in files(ignition).values()]
        shown += [butane, ignition, *map(decoded, sources)]
    assert not [secret for secret in roles.SECRETS if any(secret in each for each in shown)]


def decoded(source: str) -> str:
    return "" if source.startswith("http") else text({"contents": {"source": source}})


def peer(**changes: Any) -> Peer:
    fields = {"public_key": roles.public_key("a"), "allowed_ips": ("10.0.0.0/8",)}
    return Peer(**(fields | changes))


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (lambda: peer(public_key="abc"), 'public_key is "abc"; allowed: 32 bytes in base64'),
        (lambda: peer(allowed_ips=("10.0.0.1/8",)), "10.0.0.1/8 has host bits set"),
        (lambda: peer(endpoint="a b:1"), 'endpoint is "a b:1"; allowed: host:port'),
        (lambda: WireGuard(address="10.0.0.1", peers=()), "allowed: an address with the length"),
        (lambda: WireGuard(address="x/24", peers=()), "'x/24' does not appear to be"),
        (lambda: address_file("10.0.0.1"), "allowed: an address with the length"),
        (
            lambda: dataclasses.replace(
                roles.gateway(), wireguard=dataclasses.replace(roles.wireguard(), address=None)
            ),
            "a gateway has no WireGuard address; allowed: one such as 10.99.0.1/24",
        ),
        (lambda: LocksmithWindow(start="24:00", length="1h"), 'start is "24:00"; allowed: HH:MM'),
        (lambda: LocksmithWindow(start="04:00", length="1"), 'length is "1"; allowed: such as 1h'),
        (lambda: dataclasses.replace(roles.server(), endpoint="x"), "allowed: host:port"),
    ],
)
def test_what_cannot_work_is_refused_in_a_sentence(made: Callable[[], object], says: str) -> None:
    with pytest.raises(RenderError) as caught:
        made()
    assert says in str(caught.value)


def test_a_malformed_private_key_is_refused_without_showing_it() -> None:
    with pytest.raises(RenderError, match="what `wg genkey` prints") as caught:
        WireGuardKey(private_key="nearly-a-key")
    assert "nearly-a-key" not in str(caught.value)
    assert caught.value.__suppress_context__
