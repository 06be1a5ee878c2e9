"""What `up` makes of an environment that Karpenter and its machines read, put into a twin."""

import base64
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rehearsal.api import Api
from settings.names import JOIN_TOKENS_NAMESPACE, RELEASE
from tests.support.recorder import Registered, Secret

CLASSES = "/apis/karpenter.k8s.aws/v1/ec2nodeclasses"
POOLS = "/apis/karpenter.sh/v1/nodepools"


def register(api: Api, directory: Path, made: Sequence[Registered]) -> None:
    """Makes pools, classes and join tokens, and records what AWS has, of what was registered."""
    cloud = [_recorded(each) for each in made if each.type.startswith("aws:") or _release(each)]
    (directory / "cloud.json").write_text(json.dumps(cloud))
    key = {"AWS_ACCESS_KEY_ID": "AKIATWIN", "AWS_SECRET_ACCESS_KEY": "twin"}
    data = {name: base64.b64encode(value.encode()).decode() for name, value in key.items()}
    secret = {"metadata": {"name": "karpenter-aws"}, "data": data}
    assert api.create("/api/v1/namespaces/kube-system/secrets", secret)
    api.create("/api/v1/namespaces", {"metadata": {"name": JOIN_TOKENS_NAMESPACE}})
    paths = {
        "ConfigMap": f"/api/v1/namespaces/{JOIN_TOKENS_NAMESPACE}/configmaps",
        "EC2NodeClass": CLASSES,
        "NodePool": POOLS,
    }
    for each in made:
        body: Any = whole(each.inputs)
        wanted = each.kind != "ConfigMap" or body["metadata"]["namespace"] == JOIN_TOKENS_NAMESPACE
        if each.kind in paths and wanted:
            assert api.create(paths[each.kind], body), each.name


def _release(each: Registered) -> bool:
    return each.type == RELEASE and each.inputs.get("name") in {"karpenter", "cilium"}


def _recorded(each: Registered) -> dict[str, Any]:
    inputs: Any = whole(each.inputs)
    outputs = {"tagsAll": inputs.get("tags", {}), "arn": "arn:aws:iam::1:x", "uniqueId": "AIPA1"}
    known = {"provider": each.type.partition(":")[0], "type": each.type, "id": each.name}
    return {**known, "name": each.name, "inputs": inputs, "outputs": outputs}


def whole(value: object) -> object:
    """A value without its secret marks, with integers in place of Pulumi's floats."""
    match value:
        case Secret():
            return whole(value.value)
        case Mapping():
            return {str(key): whole(each) for key, each in value.items()}
        case list():
            return [whole(each) for each in value]
        case float() if value.is_integer():
            return int(value)
        case _:
            return value
