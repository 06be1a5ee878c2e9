"""Objects that come to GPUs by another door than asking for them: `(rule, what it is, object)`."""

from collections.abc import Iterator
from itertools import chain
from typing import Any

from tests.rehearsal.admission.facts import FACTS
from tests.support.admission.objects import (
    GPU,
    KINDS,
    Object,
    container,
    gpus,
    job,
    kubeflow,
    limited,
    made,
    pod,
    template,
    volcano,
    workflow,
)

Row = tuple[str, str, Object]
VARIABLE, NODE = "isolation/unrequested-gpus", "isolation/node-name"
LIMITS, WHOLE_POD = "numa/memory-limit", "numa/pod-level-resources"
CLAIMS, QUANTITIES = "numa/resource-claims", "numa/quantities"
LAYER, LAUNCHER, NOTEBOOK = "idle/writable-layer", "idle/launcher", "idle/notebooks"
SHARE, PURPOSE, EXCLUSIVE = "numa/share", "numa/pod-purpose", "numa/exclusive-pods"
QOS, WARM = "numa/guaranteed-qos", "idle/keep-warm"
VISIBLE = "NVIDIA_VISIBLE_DEVICES"
ANY_TAINT: Object = {"tolerations": [{"operator": "Exists"}]}
GPU_TAINT: Object = {"tolerations": [{"key": GPU, "operator": "Exists", "effect": "NoSchedule"}]}
SLICES: Object = {"nodeSelector": {"fleet.gpu/sharing": "time-slicing"}}


def _seeing(value: object, found: Object | None = None) -> Object:
    return {**(found or limited()), "env": [{"name": VISIBLE, "value": value}]}


def _map(key: str, value: str) -> Object:
    found: Object = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "mine"}}
    return {**found, "data": {key: value}}


def _running(*words: str, count: int = 8, **more: object) -> Object:
    return {**gpus(count), "command": list(words[:1]), "args": list(words[1:]), **more}


def _required(*terms: Object) -> Object:
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [*terms]}}
    return {"affinity": {"nodeAffinity": required}}


def _labelled(key: str, *values: str, operator: str = "In") -> Object:
    asked: Object = {"key": key, "operator": operator, **({"values": values} if values else {})}
    return {"matchExpressions": [asked]}


_NOT_BARE: Object = {
    "matchExpressions": [
        {"key": "fleet.gpu/pool", "operator": "NotIn", "values": ["bare"]},
        {"key": "fleet.gpu/pool", "operator": "Exists"},
    ]
}
_WITH_GPUS = tuple(each["name"] for each in FACTS["pools"] if each["gpus"])


def _named(node: str) -> Object:
    return {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}


def _claim(kind: str, request: Object, version: str = "v1") -> Object:
    spec: Object = {"devices": {"requests": [{"name": "gpu", **request}]}}
    whole = {"spec": spec} if kind == "ResourceClaimTemplate" else spec
    return made(f"resource.k8s.io/{version}", kind, whole)


def _claiming(found: Object, **spec: Any) -> Object:
    named = {"name": "gpu", "resourceClaimTemplateName": "gpu"}
    return pod(found, resourceClaims=[named], **spec)


def _of_class(name: str) -> Object:
    return limited(**{f"deviceclass.resource.kubernetes.io/{name}": 1})


def _device_class(resource: str) -> Object:
    return made("resource.k8s.io/v1", "DeviceClass", {"extendedResourceName": resource})


def _by_variable(**spec: Any) -> Object:
    mine = {**container("c"), "command": ["python", "mine.py"]}
    return pod(_seeing("all", mine), **spec)


def good() -> Iterator[Row]:
    """Objects that keep their rule."""
    yield from chain(_good_doors(), _good_claims(), _good_parts(), _good_words())


def _good_doors() -> Iterator[Row]:
    for value in ("none", "void", ""):
        yield VARIABLE, f"{value!r} to be seen", job(template(_seeing(value)))
    yield VARIABLE, "GPUs that are asked for", pod(gpus())
    for key, value in ((VISIBLE, "none"), (VISIBLE, ""), ("CUDA_VISIBLE_DEVICES", "0")):
        yield VARIABLE, f"a ConfigMap with {key} {value!r}", _map(key, value)
    whole = [{"prefix": "NVIDIA_", "configMapRef": {"name": "mine"}}, {"secretRef": {"name": "a"}}]
    yield VARIABLE, "other variables", pod({**limited(), "envFrom": whole})
    system = pod(_seeing("all"))
    system["metadata"]["namespace"] = "kube-system"
    yield VARIABLE, "a part of the system", system
    other = {"name": "d", "mountPath": "/var/run/nvidia-container-devices-of-mine"}
    data: Object = {"volumes": [{"name": "d", "emptyDir": {}}]}
    yield VARIABLE, "another directory", pod({**limited(), "volumeMounts": [other]}, **data)
    host: Object = {"nodeSelector": {"kubernetes.io/hostname": "dev-dgx-01"}}
    yield NODE, "a node by its label", job(template(gpus(), **host))
    mirror = pod(limited(), nodeName="dev-dgx-01")
    mirror["metadata"]["annotations"]["kubernetes.io/config.mirror"] = "x"
    yield NODE, "a mirror of a static pod", mirror
    plain = container()
    yield LIMITS, "a host without the taint's toleration", job(template(plain, **host))
    yield LIMITS, "tolerations of a daemon", KINDS["DaemonSet"](template(plain, **ANY_TAINT))
    either = _required(_labelled("fleet.gpu/pool", "dgx"), _labelled("a", "b"))
    yield LIMITS, "GPU nodes as one of two ways", pod(plain, **either)
    yield LIMITS, "a pool without GPUs", pod(plain, **GPU_TAINT, **_on("bare"))
    small = _required(_labelled("node.kubernetes.io/instance-type", "m7i.large", "p5en.48xlarge"))
    yield LIMITS, "a type without GPUs among others", pod(plain, **small)
    none = _required(_labelled("nvidia.com/gpu.present", operator="DoesNotExist"))
    yield LIMITS, "nodes without GPUs", pod(plain, **none)
    yield LIMITS, "a pool, without its taint", pod(plain, **_required(_NOT_BARE))
    others = _labelled("fleet.gpu/pool", *_WITH_GPUS, operator="NotIn")
    yield LIMITS, "no pool with GPUs", pod(plain, **_required(others), **ANY_TAINT)
    either = _required(_NOT_BARE, _labelled("a", "b"))
    yield LIMITS, "a pool as one of two ways", pod(plain, **either, **ANY_TAINT)
    for operator, value in (("Lt", "1"), ("DoesNotExist", "")):
        found = _labelled("nvidia.com/gpu.count", *([value] if value else []), operator=operator)
        yield LIMITS, f"GPUs that are {operator} {value}", pod(plain, **_required(found))
    of_pod: Object = {"resources": {"limits": {"cpu": "1", "memory": "1Gi"}}}
    yield LIMITS, "a limit of the whole pod", pod(plain, **of_pod, **_on("dgx"))
    yield WHOLE_POD, "a pod elsewhere", job(template(plain, **of_pod))
    yield WHOLE_POD, "resources in containers", job(template(gpus()))
    yield SHARE, "a pool by affinity", pod(gpus(cpu=27), **_required(_in_pool("serve")))


def _on(pool: str) -> Object:
    return {"nodeSelector": {"fleet.gpu/pool": pool}}


def _in_pool(pool: str) -> Object:
    return _labelled("fleet.gpu/pool", pool)


def _good_claims() -> Iterator[Row]:
    yield CLAIMS, "no claim", job(template(gpus()))
    yield CLAIMS, "a pool without GPUs", _claiming(limited(), **_on("bare"))
    of_network = {"exactly": {"deviceClassName": "dra.net", "allocationMode": "All"}}
    yield CLAIMS, "devices of a network", _claim("ResourceClaimTemplate", of_network)
    yield CLAIMS, "a class of cards", _device_class("example.com/card")
    yield CLAIMS, "a card without GPUs", job(template(_of_class("card.example"), **_on("bare")))
    yield QUANTITIES, "quantities", workflow(template(gpus(cpu="8000m", memory="64Gi")))


def _good_parts() -> Iterator[Row]:
    yield QOS, "a part of a GPU", job(template(gpus(cpu="0.5"), **SLICES))
    pause = {**gpus(), "image": f"registry.k8s.io/pause@sha256:{'a' * 64}"}
    said = {
        "fleet.gpu/keep-warm-schedule": "mon-fri 08:00-18:00",
        "fleet.gpu/keep-warm-usd-per-day": "200",
        "fleet.gpu/keep-warm-until": "2027-01-31",
    }
    kept = template(pause, annotations=said)
    yield WARM, "annotations of a template", KINDS["Deployment"](kept)


def _good_words() -> Iterator[Row]:
    mount = [{"name": "out", "mountPath": "/out"}]
    volumes = [{"name": "out", "emptyDir": {}}]
    written = _running("python", "t.py", "--output_dir=/out/run", volumeMounts=mount)
    yield LAYER, "a mount", job(template(written, volumes=volumes))
    of_job = [{"mountPath": "/out", "volumeClaimName": "out"}]
    lone = template(_running("python", "t.py", "--output_dir", "/out"))
    yield LAYER, "a volume of Volcano's", volcano(lone, volumes=of_job)
    for words in ("--output_dir=$OUT", "--output_dir=/out/${RUN}", "--output_dir out", "--dir /o"):
        yield LAYER, words, job(template(_running("sh", "-c", f"python t.py {words}")))
    yield LAYER, "no GPUs", job(template({**limited(), "args": ["--output_dir", "/out"]}))
    for script in (
        "CUDA_VISIBLE_DEVICES=0 python prep.py; torchrun --nproc-per-node=gpu train.py",
        "# --nproc_per_node=1    1 GPU per node\ntorchrun --nproc_per_node=${GPU_PER_NODE} t.py",
        "torchrun \\\n  --nproc_per_node=8 t.py  # not --nproc_per_node=1",
        "CUDA_VISIBLE_DEVICES=0 python a.py & python b.py",
        "for i in $(seq 0 7); do vllm serve m --port 80$i & done; wait",
        'echo "torchrun t.py; now"; python train.py',
        "torchrun --nproc-per-node=$(nvidia-smi -L | wc -l) t.py",
        "pip install deepspeed && deepspeed train.py && CUDA_VISIBLE_DEVICES=0 python eval.py",
    ):
        yield LAUNCHER, script, workflow(template(_running("bash", "-c", script)))
    lab = {**gpus(), "image": f"quay.io/jupyter/pytorch@sha256:{'a' * 64}"}
    yield NOTEBOOK, "a program in its image", job(template({**lab, "args": ["python", "train.py"]}))
    script = "pip install jupyter notebook\n# jupyter lab\npython train.py"
    yield NOTEBOOK, "installed alone", job(template(_running("sh", "-c", script)))


def bad() -> Iterator[Row]:
    """Objects that break their rule, and are otherwise what an API server takes."""
    yield from chain(_bad_doors(), _bad_places(), _bad_claims(), _bad_words())


def _bad_doors() -> Iterator[Row]:
    yield VARIABLE, "by nodeName", _by_variable(nodeName="dev-dgx-01", **ANY_TAINT)
    host: Object = {"nodeSelector": {"kubernetes.io/hostname": "dev-dgx-01"}}
    yield VARIABLE, "by hostname", _by_variable(**host, **ANY_TAINT)
    yield VARIABLE, "by affinity", _by_variable(**_required(_in_pool("dgx")), **ANY_TAINT)
    for name, of in KINDS.items():
        yield VARIABLE, f"a {name} that sees all", of(template(_seeing("all")))
    for value in ("0", "0,1", "GPU-8dbf4d35", "ALL", "$(MINE)"):
        yield VARIABLE, f"{value} to be seen", workflow(template(_seeing(value)))
    yield VARIABLE, "a number", workflow(template(_seeing(0)))
    reference = {"configMapKeyRef": {"name": "mine", "key": "gpus"}}
    elsewhere = {**limited(), "env": [{"name": VISIBLE, "valueFrom": reference}]}
    yield VARIABLE, "by a ConfigMap", pod(elsewhere)
    yield (
        VARIABLE,
        "an init container",
        pod(limited(), initContainers=[_seeing("all", limited("first"))]),
    )
    yield VARIABLE, "a sidecar of GPUs", pod(gpus(), _seeing("all", limited("beside")))
    yield VARIABLE, "more than it asks for", pod(_seeing("all", gpus()))
    for key in (VISIBLE, "VISIBLE_DEVICES"):
        yield VARIABLE, f"a ConfigMap with {key}", _map(key, "all")
    prefix = {"prefix": "NVIDIA_VISIBLE_", "configMapRef": {"name": "mine"}}
    yield VARIABLE, "a prefix of variables", pod({**limited(), "envFrom": [prefix]})
    mount = {"name": "d", "mountPath": "/var/run/nvidia-container-devices/all"}
    volumes = [{"name": "d", "emptyDir": {}}]
    yield VARIABLE, "a mount", pod({**limited(), "volumeMounts": [mount]}, volumes=volumes)
    yield NODE, "the manifest of a pod", _by_variable(nodeName="dev-dgx-01", **ANY_TAINT)
    for name, of in KINDS.items():
        if "Workflow" not in name:
            yield NODE, f"a {name} on a node", of(template(gpus(), nodeName="dev-dgx-01"))


def _bad_places() -> Iterator[Row]:
    plain = container()
    host: Object = {"nodeSelector": {"kubernetes.io/hostname": "dev-dgx-01"}}
    yield LIMITS, "a node by its name", pod(plain, nodeName="dev-dgx-01")
    yield LIMITS, "a node by its host name", volcano(template(plain, **host, **ANY_TAINT))
    yield LIMITS, "a pool by affinity", job(template(plain, **_required(_in_pool("dgx"))))
    several = _required(_labelled("fleet.gpu/pool", "bare", "dgx"))
    yield LIMITS, "one of two pools", pod(plain, **several)
    both = _required(_in_pool("dgx"), _in_pool("serve"))
    yield LIMITS, "one pool or another", workflow(template(plain, **both))
    yield LIMITS, "the taint of GPU nodes", job(template(plain, **GPU_TAINT))
    present: Object = {"nodeSelector": {"nvidia.com/gpu.present": "true"}}
    yield LIMITS, "a label of the GPU Operator", pod(plain, **present)
    exists = _required(_labelled("nvidia.com/gpu.product", operator="Exists"))
    yield LIMITS, "a label by affinity", pod(plain, **exists)
    for operator, key, value in (
        ("Gt", "nvidia.com/gpu.count", "0"),
        ("Lt", "nvidia.com/gpu.count", "9"),
        ("NotIn", "nvidia.com/gpu.present", "false"),
    ):
        found = _required(_labelled(key, value, operator=operator))
        yield LIMITS, f"{key} {operator} {value}", pod(plain, **found)
    there = _labelled("fleet.gpu/pool", operator="Exists")
    yield LIMITS, "any pool", job(template(plain, **_required(there), **ANY_TAINT))
    yield LIMITS, "all but one pool", pod(plain, **_required(_NOT_BARE), **ANY_TAINT)
    typed: Object = {"nodeSelector": {"node.kubernetes.io/instance-type": "p5en.48xlarge"}}
    yield LIMITS, "an instance type", pod(plain, **typed)
    fields = _required(_named("dev-dgx-01"))
    yield LIMITS, "a node by its field", pod(plain, **fields, **ANY_TAINT)
    much = pod(gpus(cpu=60), **_required(_in_pool("serve")))
    yield SHARE, "a pool by affinity", much
    inference = pod(gpus(), labels={"fleet.gpu/purpose": "inference"}, **_required(_in_pool("dgx")))
    yield PURPOSE, "a pool by affinity", inference
    half = pod(limited(cpu="7.5"), **_required(_in_pool("dgx")))
    yield EXCLUSIVE, "a pool by affinity", half


def _bad_claims() -> Iterator[Row]:
    yield CLAIMS, "a pod with a claim", _claiming(limited())
    yield CLAIMS, "a claim beside GPUs", _claiming(gpus(), **_on("dgx"))
    of_job = template(limited(), resourceClaims=[{"name": "g", "resourceClaimName": "g"}])
    yield CLAIMS, "a task with a claim", volcano(of_job)
    every: Object = {"deviceClassName": "gpu.nvidia.com", "allocationMode": "All"}
    one: Object = {"deviceClassName": "gpu.nvidia.com"}
    for kind in ("ResourceClaim", "ResourceClaimTemplate"):
        yield CLAIMS, f"all GPUs by a {kind}", _claim(kind, {"exactly": every})
    yield CLAIMS, "a GPU", _claim("ResourceClaim", {"exactly": one})
    slice_of_one = {"exactly": {"deviceClassName": "mig.nvidia.com"}}
    yield CLAIMS, "a MIG device", _claim("ResourceClaimTemplate", slice_of_one)
    first = {"firstAvailable": [{"name": "a", "deviceClassName": "dra.net"}, {"name": "b", **one}]}
    yield CLAIMS, "a GPU as an alternative", _claim("ResourceClaim", first)
    selector = {"cel": {"expression": 'device.driver == "gpu.nvidia.com"'}}
    mine = {"exactly": {"deviceClassName": "mine", "selectors": [selector]}}
    yield CLAIMS, "a class of one's own", _claim("ResourceClaim", mine)
    yield CLAIMS, "a GPU by its class", job(template(_of_class("gpu.nvidia.com"), **_on("bare")))
    yield CLAIMS, "a card on a pool with GPUs", job(template(_of_class("card.example")))
    yield CLAIMS, "a class of GPUs", _device_class("nvidia.com/gpu")
    whole = {"resources": {"limits": {"cpu": "8", "memory": "64Gi"}}}
    for name in ("Pod", "Job", "Volcano's Job", "PyTorchJob"):
        yield WHOLE_POD, f"a {name} with GPUs", KINDS[name](template(gpus(), **whole))
    beside = template(limited(), **_on("serve"), **whole)
    yield WHOLE_POD, "beside GPUs", job(beside)
    much = {"resources": {"requests": {"cpu": "200"}, "limits": {"cpu": "200", "memory": "64Gi"}}}
    yield SHARE, "CPUs of the whole pod", pod(gpus(cpu=2), **much, **_on("serve"))
    for value in ("$GPU_PER_NODE", "${GPUS}", "{{ gpus }}", "<gpus>", "many"):
        yield QUANTITIES, f"{value} GPUs", workflow(template(gpus(value)))
    yield QUANTITIES, "CPUs by a placeholder", JOB(template(gpus(cpu="$CPUS")))
    yield QUANTITIES, "a null", workflow(template(gpus(**{"hugepages-2Mi": None})))
    for pool in ("", "dgx", "slices"):
        on = {"nodeSelector": {"fleet.gpu/pool": pool}} if pool else {}
        yield QUANTITIES, f"GPUs without a number on '{pool}'", JOB(template(gpus(None), **on))


JOB = kubeflow("PyTorchJob", "pytorchReplicaSpecs")


def _bad_words() -> Iterator[Row]:
    for words in ("--output_dir=/out", "--checkpoint-file=/a.pt", "--save_path '/out/x'"):
        found = _running("sh", "-c", f"torchrun --nproc-per-node=8 t.py {words}")
        yield LAYER, words, workflow(template(found))
    for name in ("HF_HOME", "CKPT_DIR", "MY_CHECKPOINT_PATH"):
        kept = {**gpus(), "env": [{"name": name, "value": "/root/kept"}]}
        yield LAYER, name, job(template(kept))
    mount = [{"name": "out", "mountPath": "/output"}]
    written = _running("python", "t.py", "--output_dir", "/out", volumeMounts=mount)
    volumes = [{"name": "out", "emptyDir": {}}]
    yield LAYER, "a mount beside it", job(template(written, volumes=volumes))
    for script in (
        "cd /app\ntorchrun train.py # --nproc_per_node=8",
        "export CUDA_VISIBLE_DEVICES=0,1\npython train.py",
        "python prep.py; torchrun --nproc_per_node=4 t.py",
        "pip install x && CUDA_VISIBLE_DEVICES=0 python t.py 2>&1 | tee log",
        "torchrun \\\n  --nproc_per_node=2 \\\n  t.py",
    ):
        yield LAUNCHER, script, workflow(template(_running("bash", "-c", script)))
    short: Object = {"activeDeadlineSeconds": 36000}
    lab = {**gpus(), "image": f"quay.io/jupyter/pytorch@sha256:{'a' * 64}", "args": ["--no-auth"]}
    yield NOTEBOOK, "an image with flags", job(template(lab, **short))
    script = "pip install jupyterlab && jupyter lab --ip 0.0.0.0"
    yield NOTEBOOK, "installed and run", job(template(_running("sh", "-c", script), **short))


def malformed() -> Iterator[Row]:
    """Objects that nobody can read, and that both gates refuse."""
    yield QUANTITIES, "a placeholder in a Pod", pod(gpus("$GPU_PER_NODE"))
