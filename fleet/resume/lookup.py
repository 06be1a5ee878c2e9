"""Under which id a pending create would be in its cloud, by its type.

Most ids follow from names that the program has given, and names are unique: of a bucket and its
settings, of IAM's users, roles and policies in an account, of an object in its namespace. Whether
it is there, its own provider says in a refresh. Hetzner gives out numbers, so its API is asked by
name, which is unique in a project (docs/resources of terraform-provider-hcloud v1.54.0 say so of
servers and networks; for the others the API answers `uniqueness_error`, "name is already used").
EC2 does so of security groups, and is asked by name and VPC.
The secret of an AWS access key is shown once, so another key takes its place.
"""

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import TypeAlias

from fleet.resume import releases
from fleet.resume.clouds import AskError, Clouds
from fleet.resume.pending import REQUEST_S, Answer, Pending
from lakefs.resources.action import ActionProvider
from lakefs.resources.administrator import AdministratorProvider
from lakefs.resources.branch_protection import BranchProtectionProvider
from lakefs.resources.connection import LakefsProvider
from lakefs.resources.gc_rules import GcRulesProvider
from lakefs.resources.repository import RepositoryProvider
from settings.names import RELEASE

Lookup: TypeAlias = Callable[[Pending, Clouds], Answer]

REPEATABLE = ("pulumi-python:dynamic/kube:", "pulumi:providers:")
"""How the types begin whose create may be done again: waits and acts in the cluster, which find
what they have done before, and providers, which are in no cloud."""
KUBERNETES = "kubernetes:"
ACCESS_KEY = "aws:iam/accessKey:AccessKey"
LAKEFS = "pulumi-python:dynamic/lakefs:"
LAKEFS_PROVIDERS: Mapping[str, type[LakefsProvider]] = {
    "Action": ActionProvider,
    "Administrator": AdministratorProvider,
    "BranchProtection": BranchProtectionProvider,
    "GcRules": GcRulesProvider,
    "Repository": RepositoryProvider,
}


def look_up(begun: Pending, clouds: Clouds) -> Answer:
    """Return the ids under which it may be there; raises AskError where nobody can be asked.

    Of a Helm release, raises HalfDoneError or KubeError.
    """
    if not begun.resource.get("custom") or begun.type.startswith(REPEATABLE):
        return Answer()
    if begun.type.startswith(LAKEFS):
        provider = LAKEFS_PROVIDERS[begun.type.removeprefix(LAKEFS)]()
        return Answer(ids=(provider.id_of(dict(begun.inputs)),))
    if begun.type == RELEASE:
        there = releases.is_there(begun, clouds.kubeconfig())
        return Answer(ids=(releases.id_of(begun.inputs),) if there else ())
    if begun.type.startswith(KUBERNETES):
        return _object(begun)
    lookup = BY_TYPE.get(begun.type)
    if lookup is None:
        raise AskError("look into its cloud whether it is there")
    return lookup(begun, clouds)


def _object(begun: Pending) -> Answer:
    """An object of the cluster: its namespace, where it has one, and its name."""
    metadata = begun.inputs.get("metadata") or {}
    parts = (metadata.get("namespace"), metadata.get("name"))
    return Answer(ids=("/".join(str(part) for part in parts if part),))


def _joined(*names: str, by: str = "/") -> Lookup:
    """An id that is made of inputs."""

    def look(begun: Pending, _clouds: Clouds) -> Answer:
        return Answer(ids=(by.join(_text(begun, name) for name in names),))

    return look


def _at_hetzner(kind: str) -> Lookup:
    def look(begun: Pending, clouds: Clouds) -> Answer:
        return Answer(ids=clouds.named_at_hetzner(kind, _text(begun, "name")))

    return look


def _iam_policy(begun: Pending, clouds: Clouds) -> Answer:
    whose, path = clouds.account, str(begun.inputs.get("path", "/"))
    name = f"policy{path}{_text(begun, 'name')}"
    return Answer(ids=(f"arn:{whose.partition}:iam::{whose.account}:{name}",))


def _queue(begun: Pending, clouds: Clouds) -> Answer:
    whose, name, region = clouds.account, _text(begun, "name"), clouds.region(begun)
    domain = "amazonaws.com.cn" if whose.partition == "aws-cn" else "amazonaws.com"
    return Answer(ids=(f"https://sqs.{region}.{domain}/{whose.account}/{name}",))


def _security_group(begun: Pending, clouds: Clouds) -> Answer:
    """EC2 gives out its id; its name is unique in its VPC."""
    name, vpc = _text(begun, "name"), _text(begun, "vpcId")
    return Answer(ids=clouds.security_groups(clouds.region(begun), vpc, name))


def _access_key(begun: Pending, clouds: Clouds) -> Answer:
    """The keys of its user that the state lacks and that were made when the engine was killed.

    Nobody has their secrets any more. One that was made before may be in somebody's use.
    """
    known = {each.get("id") for each in clouds.resources}
    made = clouds.access_keys(_text(begun, "user"))
    since = begun.written - timedelta(seconds=REQUEST_S)
    lost = tuple(key for key, when in made.items() if key not in known and when >= since)
    others = tuple(key for key in made if key not in known and key not in lost)
    return Answer(ids=lost, useless=True, others=others)


def _text(begun: Pending, name: str) -> str:
    """An input as an id has it; the ids of Hetzner's networks are numbers."""
    match begun.inputs.get(name):
        case str(value):
            return value
        case int() | float() as value if not isinstance(value, bool):
            return f"{value:.0f}"
    raise AskError(f"the state does not tell its {name}: look into its cloud")


OF_BUCKETS = (
    *("bucket:Bucket", "bucketLifecycleConfiguration:BucketLifecycleConfiguration"),
    *("bucketOwnershipControls:BucketOwnershipControls", "bucketPolicy:BucketPolicy"),
    "bucketPublicAccessBlock:BucketPublicAccessBlock",
    "bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration",
    "bucketVersioning:BucketVersioning",
)
BY_TYPE: Mapping[str, Lookup] = {
    **{f"aws:s3/{name}": _joined("bucket") for name in OF_BUCKETS},
    "aws:s3/bucketObjectv2:BucketObjectv2": _joined("bucket", "key"),
    "aws:cloudwatch/eventRule:EventRule": _joined("name"),
    "aws:cloudwatch/eventTarget:EventTarget": _joined("rule", "targetId", by="-"),
    "aws:ec2/placementGroup:PlacementGroup": _joined("name"),
    "aws:ec2/securityGroup:SecurityGroup": _security_group,
    ACCESS_KEY: _access_key,
    "aws:iam/instanceProfile:InstanceProfile": _joined("name"),
    "aws:iam/policy:Policy": _iam_policy,
    "aws:iam/role:Role": _joined("name"),
    "aws:iam/rolePolicy:RolePolicy": _joined("role", "name", by=":"),
    "aws:iam/user:User": _joined("name"),
    "aws:iam/userPolicy:UserPolicy": _joined("user", "name", by=":"),
    "aws:iam/userPolicyAttachment:UserPolicyAttachment": _joined("user", "policyArn"),
    "aws:sqs/queue:Queue": _queue,
    "aws:sqs/queuePolicy:QueuePolicy": _joined("queueUrl"),
    "hcloud:index/firewall:Firewall": _at_hetzner("firewalls"),
    "hcloud:index/network:Network": _at_hetzner("networks"),
    "hcloud:index/networkRoute:NetworkRoute": _joined("networkId", "destination", by="-"),
    "hcloud:index/networkSubnet:NetworkSubnet": _joined("networkId", "ipRange", by="-"),
    "hcloud:index/placementGroup:PlacementGroup": _at_hetzner("placement_groups"),
    "hcloud:index/primaryIp:PrimaryIp": _at_hetzner("primary_ips"),
    "hcloud:index/server:Server": _at_hetzner("servers"),
}
