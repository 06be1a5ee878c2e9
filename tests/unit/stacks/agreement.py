"""Finds names in an environment's resources that no resource defines."""

import json
import re
from collections.abc import Iterator, Mapping

from settings import versions
from tests.unit.stacks.described import Environment, Where, walk

BUILT_IN_NAMESPACES = {"default", "kube-system"}
BUILT_IN_PRIORITIES = {"system-cluster-critical", "system-node-critical"}

# What charts and controllers make themselves, each with where that can be read.
LABELS_BY_OTHERS = {
    # kubelet: well-known labels of every node
    "kubernetes.io/os": {"linux"},
    # hcloud-cloud-controller-manager, docs/reference: labels of nodes
    "instance.hetzner.cloud/provided-by": {"cloud", "robot"},
}
LABELS_OF_KARPENTER = {  # on nodes of its NodePools, or asked of EC2: karpenter.sh, scheduling
    "karpenter.sh/nodepool",
    "karpenter.sh/capacity-type",
    "node.kubernetes.io/instance-type",
    "kubernetes.io/arch",
    "topology.kubernetes.io/zone",
}
STORAGE_CLASSES_OF_CHARTS = {"hcloud-csi": {"hcloud-volumes"}}  # its values.yaml, storageClasses
TAINTS_TAKEN_CARE_OF = {
    "nvidia.com/gpu": "gpu-operator",  # its values.yaml: daemonsets.tolerations, and NFD's worker
    "karpenter.sh/unregistered": "karpenter",  # which removes it from the nodes that it knows
}
GROUPS_OF_CHARTS = {
    "karpenter-crd": {"karpenter.sh", "karpenter.k8s.aws", "autoscaling.x-k8s.io"},
    "karpenter": {"karpenter.sh", "karpenter.k8s.aws", "autoscaling.x-k8s.io"},
    "volcano": {
        "batch.volcano.sh",
        "bus.volcano.sh",
        "scheduling.volcano.sh",
        "flow.volcano.sh",
        "nodeinfo.volcano.sh",
        "topology.volcano.sh",
    },
    "gpu-operator": {"nvidia.com", "nfd.k8s-sigs.io"},
    "cilium": {"cilium.io"},  # its operator makes them
    "kube-prometheus-stack": {"monitoring.coreos.com"},
    "hcloud-cloud-controller-manager": set[str](),
    "hcloud-csi": set[str](),
    "kured": set[str](),
    "lakefs": set[str](),
}
PREREQUISITES = {"metal3.io"}  # a cluster with bare-metal machines has Metal3


def undefined_names(environment: Environment) -> Iterator[str]:
    """Yield a sentence about each name that nothing defines."""
    for check in (
        namespaces, secrets, labels, taints, priorities, queues, storage_classes, config_maps,
        services, kinds, pins, karpenter, hetzner,
    ):  # fmt: skip
        yield from check(environment)


def namespaces(environment: Environment) -> Iterator[str]:
    made = {name for _, name in environment.of("Namespace")} | BUILT_IN_NAMESPACES
    made |= {r["namespace"] for r in environment.releases.values() if r.get("createNamespace")}
    named = {each["metadata"].get("namespace") for each in environment.objects}
    named |= {each["namespace"] for each in environment.releases.values()}
    yield from (f"namespace {name} is made by nobody" for name in sorted(named - {None} - made))


def secrets(environment: Environment) -> Iterator[str]:
    made = set(environment.of("Secret"))
    named: set[Where] = set()
    for release in environment.releases.values():
        for key, part in walk(release.get("values", {})):
            if key in ("secretRef", "secretKeyRef", "existingSecret"):
                name = part["name"] if isinstance(part, Mapping) else part
                named.add((release["namespace"], name))
    for host in environment.of("BareMetalHost").values():
        named.add((host["metadata"]["namespace"], host["spec"]["bmc"]["credentialsName"]))
        named.add((host["spec"]["userData"]["namespace"], host["spec"]["userData"]["name"]))
    if "hcloud-csi" in environment.releases:  # its values.yaml: controller.hcloudToken
        named.add(("kube-system", "hcloud"))
    yield from (f"Secret {space}/{name} is made by nobody" for space, name in sorted(named - made))


def labels(environment: Environment) -> Iterator[str]:
    """Yield node labels in selectors that no node registers with."""
    known: dict[str, set[str]] = {key: set(found) for key, found in LABELS_BY_OTHERS.items()}
    for _, registered, _, _ in environment.nodes():
        for key, value in registered.items():
            known.setdefault(key, set()).add(value)
    sources = [each.get("values", {}) for each in environment.releases.values()]
    sources += [each["spec"] for each in environment.of("NodePool").values()]
    for source in sources:
        for key, wanted in selected(source):
            if key not in known and key not in LABELS_OF_KARPENTER:
                yield f"the node label {key} is given by nobody"
            elif wanted is not None and key in known and wanted not in known[key]:
                yield f"no node has {key}={wanted}"


def selected(source: object) -> Iterator[tuple[str, str | None]]:
    for key, part in walk(source):
        if key == "nodeSelector" and isinstance(part, Mapping):
            yield from part.items()
        if key in ("matchExpressions", "requirements"):
            for each in part:
                given = each.get("values") if each["operator"] == "In" else None
                yield from ((each["key"], wanted) for wanted in given or [None])


def taints(environment: Environment) -> Iterator[str]:
    registered = {pool: found for pool, _, found, _ in environment.nodes()}
    for pool, found in registered.items():
        for taint in found:
            chart = TAINTS_TAKEN_CARE_OF.get(taint["key"])
            if chart not in environment.releases:
                yield f"nobody tolerates or removes the taint {taint['key']} of pool {pool}"
    for (_, name), node_pool in environment.of("NodePool").items():
        template = node_pool["spec"]["template"]
        own = registered.get(template["metadata"]["labels"]["fleet.gpu/pool"], [])
        for taint in template["spec"]["taints"]:
            if taint not in own:
                yield f"NodePool {name} promises the taint {taint['key']}, its nodes have it not"


def priorities(environment: Environment) -> Iterator[str]:
    made = {name for _, name in environment.of("PriorityClass")} | BUILT_IN_PRIORITIES
    for each in (*environment.releases.values(), *environment.objects):
        for key, name in walk(each):
            if key == "priorityClassName" and name and name not in made:
                yield f"priority class {name} is made by nobody"


def queues(environment: Environment) -> Iterator[str]:
    made = {name for _, name in environment.of("Queue")}
    for each in environment.objects:
        for key, name in walk(each):
            if key in ("queue", "scheduling.volcano.sh/queue-name") and name not in made:
                yield f"queue {name} is made by nobody"


def storage_classes(environment: Environment) -> Iterator[str]:
    made = {name for _, name in environment.of("StorageClass")}
    for chart, names in STORAGE_CLASSES_OF_CHARTS.items():
        made |= names if chart in environment.releases else set()
    for each in (*environment.releases.values(), *environment.objects):
        for key, name in walk(each):
            if key in ("storageClassName", "storageClass") and name and name not in made:
                yield f"storage class {name} is made by nobody"


def config_maps(environment: Environment) -> Iterator[str]:
    """Yield missing ConfigMaps of charts, and missing entries that node labels name."""
    made = set(environment.of("ConfigMap"))
    for chart, release in environment.releases.items():
        for key, part in walk(release.get("values", {})):
            if key == "config" and isinstance(part, Mapping) and part.get("name"):
                place = (release["namespace"], part["name"])
                if not part.get("create") and place not in made:
                    yield f"{chart} is told of the ConfigMap {part['name']}, made by nobody"
    operator = environment.releases.get("gpu-operator", {}).get("values", {})
    ways = operator.get("devicePlugin", {}).get("config", {}).get("data", {})
    layouts = str(operator.get("migManager", {}).get("config", {}).get("data", {}))
    for pool, registered, _, _ in environment.nodes():
        way = registered.get("nvidia.com/device-plugin.config")
        if way is not None and way not in ways:
            yield f"pool {pool} wants the device plugin's configuration {way}, made by nobody"
        layout = registered.get("nvidia.com/mig.config")
        if layout is not None and f"{layout}:" not in layouts:
            yield f"pool {pool} wants the MIG layout {layout}, made by nobody"


def services(environment: Environment) -> Iterator[str]:
    """Yield addresses without a service in the cluster; a chart's is named like its release."""
    made = {(name, space) for space, name in environment.of("Service")}
    made |= {(each["name"], each["namespace"]) for each in environment.releases.values()}
    for each in (*environment.releases.values(), *environment.objects):
        for name, space in re.findall(r"//([a-z0-9-]+)\.([a-z0-9-]+)\.svc", json.dumps(each)):
            if (name, space) not in made:
                yield f"service {name}.{space} is made by nobody"


def kinds(environment: Environment) -> Iterator[str]:
    """Yield API groups of custom objects that no chart, or more than one, installs."""
    brought: dict[str, str] = {}
    for chart, release in environment.releases.items():
        for group in GROUPS_OF_CHARTS[chart] if not release.get("skipCrds") else ():
            if group in brought:
                yield f"the kinds of {group} are brought by {brought[group]} and by {chart}"
            brought[group] = chart
    for each in environment.objects:
        group = each["apiVersion"].rpartition("/")[0]
        built_in = "." not in group or group.endswith(".k8s.io")
        if not built_in and group not in brought and group not in PREREQUISITES:
            yield f"the kind {each['kind']} of {group} is brought by nobody"


def pins(environment: Environment) -> Iterator[str]:
    charts = [value for value in vars(versions).values() if isinstance(value, versions.Chart)]
    pinned = {(chart.name, chart.version, chart.repository) for chart in charts}
    constants = {value for value in vars(versions).values() if isinstance(value, str)}
    for chart, release in environment.releases.items():
        repository = release.get("repositoryOpts", {}).get("repo")
        if (release["chart"], release["version"], repository) not in pinned:
            yield f"chart {chart} {release['version']} is not pinned in settings/versions.py"
        for key, value in walk(release.get("values", {})):
            if key in ("tag", "image_tag_version") and value not in constants:
                yield f"{chart} sets the image {value}, not pinned in settings/versions.py"


def karpenter(environment: Environment) -> Iterator[str]:
    """Yield what Karpenter needs and nothing defines, and roles that it may not pass."""
    classes = {name for _, name in environment.of("EC2NodeClass")}
    for (_, name), pool in environment.of("NodePool").items():
        if pool["spec"]["template"]["spec"]["nodeClassRef"]["name"] not in classes:
            yield f"NodePool {name} refers to an EC2NodeClass that nobody makes"
    profiles = {each["name"]: each["role"] for each in environment.aws(PROFILE)}
    policies = "".join(str(each["policy"]) for each in environment.aws(POLICY))
    for (_, name), node_class in environment.of("EC2NodeClass").items():
        profile = node_class["spec"]["instanceProfile"]
        if profile not in profiles:
            yield f"EC2NodeClass {name} has the instance profile {profile}, made by nobody"
        elif f":role/{profiles[profile]}" not in policies:
            yield f"Karpenter may not pass the role of EC2NodeClass {name}"
    given = environment.releases.get("karpenter", {}).get("values", {}).get("settings", {})
    if given and given["interruptionQueue"] not in {
        each["name"] for each in environment.aws(QUEUE)
    }:
        yield f"Karpenter listens to the queue {given['interruptionQueue']}, made by nobody"
    if classes and not given:
        yield "there are EC2NodeClasses and no Karpenter"


PROFILE = "aws:iam/instanceProfile:InstanceProfile"
POLICY = "aws:iam/policy:Policy"
QUEUE = "aws:sqs/queue:Queue"


def hetzner(environment: Environment) -> Iterator[str]:
    """Yield nodes that wait for a cloud controller without one, and the reverse."""
    controller = "hcloud-cloud-controller-manager" in environment.releases
    for pool, registered, _, arguments in environment.nodes():
        waits = "--cloud-provider=external" in arguments.split()
        if waits and not controller:
            yield f"nodes of pool {pool} wait for a cloud controller that nobody installs"
        if waits and "nvidia.com/device-plugin.config" in registered:
            yield f"nodes of pool {pool} have GPUs and wait for a cloud controller"
