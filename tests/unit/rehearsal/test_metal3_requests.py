"""How often the stand-in of Metal3 asks the API server: not once for each machine."""

from collections import Counter
from collections.abc import Mapping
from typing import Any, cast

from rehearsal.api import Api
from rehearsal.metal3 import HOSTS, SECRET_FINALIZER, Metal3

SECRETS = "/api/v1/namespaces/metal3-dgx/secrets"


class FakeApi:
    """Hosts and their BMC Secrets, and how many requests of each method there were."""

    def __init__(self, count: int) -> None:
        self.asked = Counter[str]()
        self.secrets: dict[str, dict[str, Any]] = {
            f"{SECRETS}/bmc-{number}": {"metadata": {"name": f"bmc-{number}"}}
            for number in range(count)
        }
        self.hosts = [_host(number) for number in range(count)]

    def items(self, path: str, **query: str) -> list[dict[str, Any]]:
        self.asked["LIST"] += 1
        if path == HOSTS:
            return self.hosts
        (key, value) = query["labelSelector"].split("=")
        found = self.secrets.values()
        return [each for each in found if each["metadata"].get("labels", {}).get(key) == value]

    def get(self, path: str) -> dict[str, Any] | None:
        self.asked["GET"] += 1
        return self.secrets.get(path)

    def request(self, method: str, path: str, body: Mapping[str, Any], **_: object) -> None:
        self.asked[method] += 1
        if path in self.secrets:
            self.secrets[path]["metadata"].update(body["metadata"])


def _host(number: int) -> dict[str, Any]:
    metadata = {"namespace": "metal3-dgx", "name": f"dgx-{number}", "uid": str(number)}
    status = {"provisioning": {"state": "provisioned", "image": {"url": "a"}}, "poweredOn": True}
    return {
        "metadata": {**metadata, "finalizers": ["baremetalhost.metal3.io"]},
        "spec": {
            "bmc": {"credentialsName": f"bmc-{number}"},
            "online": True,
            "image": {"url": "a"},
        },
        "status": status,
    }


def test_a_round_that_has_nothing_to_do_asks_as_often_for_many_hosts_as_for_one() -> None:
    api = FakeApi(20)
    metal3 = Metal3(api=cast(Api, api))
    metal3.step()
    assert api.asked["PATCH"] == 20, "each host claims its Secret once"
    api.asked.clear()
    assert not metal3.step().busy
    assert api.asked == {"LIST": 2}


def test_a_secret_that_is_gone_is_missed_although_it_was_claimed() -> None:
    api = FakeApi(2)
    metal3 = Metal3(api=cast(Api, api))
    metal3.step()
    assert api.secrets[f"{SECRETS}/bmc-1"]["metadata"]["finalizers"] == [SECRET_FINALIZER]
    del api.secrets[f"{SECRETS}/bmc-1"]
    assert metal3.step().busy, "the host is told that its Secret does not exist"
