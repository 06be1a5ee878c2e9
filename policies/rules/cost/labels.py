"""What costs money must carry the labels of who pays for it.

- Pods that ask for GPUs carry the labels of `pod_labels`, each `fleet.gpu/<name>`, on the template
  of whatever makes them: the cost of a shared machine is divided by its pods. Kubeflow's
  Notebook has them itself: its controller copies them to the pod, whose template has no metadata.
  In the namespace of a queue `fleet.gpu/team` is the queue's team, where the settings name it.
- What is rented from a cloud carries those of `cloud_labels` as AWS tags or Hetzner labels:
  servers, volumes, buckets, addresses, balancers, file systems, databases, reservations. What costs
  nothing (roles, networks, firewalls) needs none.
- Machines, and the EC2NodeClass by which Karpenter rents them, also carry `fleet.gpu/pool`.
"""

from policies.language import cel
from policies.language.cel_forms import GPU_PODS, Fault, of_pods, pods_or_object
from policies.language.gpu_work import gpu_pods
from policies.language.manifest import at, describe, items, mapping
from policies.language.pods import KINDS, subject
from policies.language.pool_table import facts
from policies.language.rule import Admission, Kind, Manifest, Rule, Settings
from policies.language.warm_capacity import said
from settings.names import PREFIX, SERVER, TEAM_LABEL

ID = "cost/labels"
_MUST = "must have on its pods the labels"
_OTHER_TEAM = "must have the team '{team}' of its queue in {label}; it has '{said}'."
_MUST_CLOUD = "must have the tags or labels"
_MUST_CLASS = "must have in spec.tags"
_MACHINES = (SERVER, "aws:ec2/instance:Instance")
_BILLED = frozenset(
    (
        *_MACHINES,
        *(
            f"hcloud:index/{kind}:{kind[0].upper()}{kind[1:]}"
            for kind in ("volume", "loadBalancer", "floatingIp", "primaryIp", "snapshot")
        ),
        "aws:alb/loadBalancer:LoadBalancer",
        "aws:autoscaling/group:Group",
        "aws:cloudwatch/logGroup:LogGroup",
        "aws:dynamodb/table:Table",
        "aws:ebs/volume:Volume",
        "aws:ec2/capacityBlockReservation:CapacityBlockReservation",
        "aws:ec2/capacityReservation:CapacityReservation",
        "aws:ec2/eip:Eip",
        "aws:ec2/natGateway:NatGateway",
        "aws:ec2/vpcEndpoint:VpcEndpoint",
        "aws:efs/fileSystem:FileSystem",
        "aws:eks/cluster:Cluster",
        "aws:eks/nodeGroup:NodeGroup",
        "aws:fsx/lustreFileSystem:LustreFileSystem",
        "aws:fsx/openZfsFileSystem:OpenZfsFileSystem",
        "aws:kms/key:Key",
        "aws:lb/loadBalancer:LoadBalancer",
        "aws:rds/instance:Instance",
        "aws:s3/bucket:Bucket",
        "aws:s3/bucketV2:BucketV2",
        "aws:sqs/queue:Queue",
    )
)


def violations(manifest: Manifest, settings: Settings) -> list[str]:
    """Returns which labels of the cost are missing on what costs."""
    kind = str(manifest.get("kind"))
    if kind in _BILLED:
        found = {
            **mapping(at(manifest, "spec", "tagsAll")),
            **said(manifest),
            **mapping(at(manifest, "spec", "labels")),
        }
        extra = ["pool"] if kind in _MACHINES else []
        missing = _missing(found, [*items(settings["cloud_labels"]), *extra])
        return [f"{describe(manifest)} {_MUST_CLOUD} {missing}."] if missing else []
    if kind == "EC2NodeClass":
        tags = mapping(at(manifest, "spec", "tags"))
        missing = _missing(tags, [*items(settings["cloud_labels"]), "pool"])
        return [f"{describe(manifest)} {_MUST_CLASS} {missing}."] if missing else []
    of_notebook = mapping(at(manifest, "metadata", "labels")) if kind == "Notebook" else {}
    space = at(manifest, "metadata", "namespace")
    teams = {each["name"]: each["team"] for each in facts(settings)["queues"] if "team" in each}
    faults = []
    for pod in gpu_pods(manifest):
        if pod.partial:  # its runtime may have them
            continue
        found = {**of_notebook, **pod.labels}
        missing = _missing(found, items(settings["pod_labels"]))
        team, named = teams.get(str(space)), found.get(TEAM_LABEL)
        if missing:
            faults.append(f"{subject(manifest, pod)} {_MUST} {missing}.")
        elif team and named and named != team:
            other = _OTHER_TEAM.format(team=team, label=TEAM_LABEL, said=named)
            faults.append(f"{subject(manifest, pod)} {other}")
    return faults


def _missing(found: object, wanted: object) -> str:
    names = (f"{PREFIX}/{name}" for name in items(wanted))
    return ", ".join(name for name in names if not mapping(found).get(name))


def _lacking(found: str, names: str) -> str:
    """CEL for a list of the labels that a map lacks."""
    return (
        f"{names}.map(n, '{PREFIX}/' + n).filter(n, '%s'.format([{found}[?n].orValue('')]) == '')"
    )


def _admission() -> Admission:
    own = "(object.kind == 'Notebook' ? object.metadata.?labels.orValue({}) : {})"
    lacking = (
        f"{_lacking('p.labels', cel.setting(ID, 'pod_labels'))}"
        f".filter(l, '%s'.format([{own}[?l].orValue('')]) == '')"
    )
    of_class = _lacking(
        "dyn(object).spec.?tags.orValue({})", f"({cel.setting(ID, 'cloud_labels')} + ['pool'])"
    )
    team = f"dyn(p.labels)[?'{TEAM_LABEL}'].or({own}[?'{TEAM_LABEL}'])"
    named = f"'%s'.format([{team}.orValue('')])"
    others = (
        "variables.queues.filter(q, q.name == object.metadata.?namespace.orValue('') && "
        f"q.?team.hasValue() && {named} != '' && {named} != string(q.team))"
    )
    of_others = Fault(
        broken=f"size({others}) > 0",
        says=cel.text(
            _OTHER_TEAM, team=f"string({others}[0].team)", label=f"'{TEAM_LABEL}'", said=named
        ),
    )
    nodes: Kind = ("karpenter.k8s.aws", "ec2nodeclasses")
    return pods_or_object(
        (*KINDS, nodes),
        [
            Fault(
                broken=f"object.kind == 'EC2NodeClass' && size({of_class}) > 0",
                says=f"'{_MUST_CLASS} ' + {of_class}.join(', ') + '.'",
            )
        ],
        of_pods(
            f"(object.kind == 'EC2NodeClass' ? [] : {GPU_PODS})",
            [
                Fault(
                    broken=f"size({lacking}) > 0", says=f"'{_MUST} ' + {lacking}.join(', ') + '.'"
                ),
                of_others,
            ],
        ),
    )


RULE = Rule(
    id=ID,
    sentence="What costs money must carry the labels that say who pays for it.",
    why="A cost without an owner is paid by everybody and reduced by nobody.",
    source="https://docs.aws.amazon.com/awsaccountbilling/latest/aboutv2/cost-alloc-tags.html",
    schema={
        "pod_labels": {
            "type": "array",
            "items": {"type": "string", "pattern": "^[a-z-]+$"},
            "minItems": 1,
            "default": ["team", "cost-centre", "project", "experiment", "branch"],
            "description": "Labels that pods with GPUs carry, without fleet.gpu/.",
        },
        "cloud_labels": {
            "type": "array",
            "items": {"type": "string", "pattern": "^[a-z-]+$"},
            "minItems": 1,
            "default": ["cluster"],
            "description": "Tags or labels of what is rented from a cloud, without fleet.gpu/.",
        },
    },
    predicate=violations,
    admission=_admission(),
)
