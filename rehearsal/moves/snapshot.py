"""The jobs of a snapshot: `kubectl get jobs,vcjob,pods --all-namespaces -o yaml`.

Jobs of Kubernetes' and of Volcano's scheduler, and Volcano's own Jobs, are made as they are, and
placed by their scheduler; the PodGroups are made by Volcano's controllers. Any other pod is made
alone and put on the machine that it runs on, as what has made it does not run in the twin.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from rehearsal.errors import RehearsalError
from rehearsal.moves.job_shape import shape_fault
from rehearsal.moves.jobs import GANG, JOB, WHOLE_REHEARSAL, RunningJob, kind_of
from rehearsal.smoke.jobs import RUNS_FOR

COMMAND = "`kubectl get jobs,vcjob,pods --all-namespaces -o yaml`"
POD = "v1/Pod"
SCHEDULERS = ("default-scheduler", "volcano")
"""Those that run in the twin."""
OF_JOBS = ("controller-uid", "job-name", "batch.kubernetes.io/controller-uid")
OWN_LABELS = (*OF_JOBS, "batch.kubernetes.io/job-name")
OF_THE_CLUSTER = ("nodeName", "priority", "preemptionPolicy", "serviceAccount")
OF_ACCOUNTS = ("serviceAccountName", "schedulingGates", "ephemeralContainers")
OF_A_JOB = ("parallelism", "completions", "backoffLimit", "activeDeadlineSeconds", "completionMode")
NOT_OF_A_GANG = ("volumes", "ttlSecondsAfterFinished")
API_ACCESS = "kube-api-access-"
"""How the names of volumes begin that the API server adds."""
CLAIMED = ("persistentVolumeClaim", "ephemeral")


def of_snapshot(path: Path, now: datetime | None = None) -> list[RunningJob]:
    """Return what runs in a snapshot; raises RehearsalError for a file that is none."""
    at = now or datetime.now(UTC)
    objects = [each for each in _objects(path) if kind_of(each) in _READERS]
    for each in objects:
        if wrong := _wrong(each, at):
            raise RehearsalError(
                f"--jobs {path}: {_title(each)} {wrong}; allowed: the output of {COMMAND}."
            )
    found = [_READERS[kind_of(each)](each, at) for each in _running(objects)]
    times = Counter(_title(each.manifest) for each in found)
    if twice := [title for title, number in times.items() if number > 1]:
        raise RehearsalError(f"--jobs {path}: {twice[0]} is in it twice; allowed: each job once.")
    if not found:
        raise RehearsalError(
            f"--jobs {path}: no running Job or pod is in it; allowed: the output of {COMMAND}."
        )
    return found


def _objects(path: Path) -> list[dict[str, Any]]:
    try:
        documents = list(yaml.safe_load_all(path.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise RehearsalError(f"--jobs {path}: cannot be read: {why}.") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f":{mark.line + 1}:{mark.column + 1}" if mark else ""
        raise RehearsalError(f"--jobs {path}{where}: is not YAML.") from None
    except ValueError as error:  # a time without quotes, such as one with a 13th month
        raise RehearsalError(
            f"--jobs {path}: a time in it is none ({error}); allowed: one such as "
            "2026-11-23T06:00:00Z."
        ) from None
    except RecursionError:
        raise RehearsalError(
            f"--jobs {path}: it is nested too deeply to be read; allowed: the output of {COMMAND}."
        ) from None
    listed = []
    for each in (one for one in documents if isinstance(one, dict)):
        items = each.get("items") or [each]
        if not isinstance(items, list):
            of = each.get("kind") or "an object"
            raise RehearsalError(
                f'--jobs {path}: {of} has items "{str(items)[:40]}"; allowed: the list that '
                f"{COMMAND} prints."
            )
        listed += items
    return [
        each
        for each in listed
        if isinstance(each, dict) and {"kind", "metadata", "spec"} <= each.keys()
    ]


def _wrong(found: dict[str, Any], now: datetime) -> str:
    """Return in which way an object is not as kubectl prints it; empty where it is."""
    try:
        if fault := shape_fault(found):
            return fault
        _READERS[kind_of(found)](found, now)
        _running([found])
    except KeyError as error:
        return f"has no {error.args[0]}"
    except ValueError as error:
        return f"has {error}"
    except (TypeError, AttributeError):
        return "is not as kubectl prints it"
    return ""


def _title(found: Mapping[str, Any]) -> str:
    metadata = found["metadata"] if isinstance(found["metadata"], dict) else {}
    name = metadata.get("name")
    return f"{found['kind']} {_key(metadata, name) if name else 'without a name'}"


def _running(objects: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the gangs and Jobs that run, and the pods of others."""
    gangs = [each for each in objects if kind_of(each) == GANG and _runs(each)]
    jobs = [each for each in objects if kind_of(each) == JOB and _is_active(each)]
    made = {_key(each["metadata"], each["metadata"]["name"]) for each in (*gangs, *jobs)}
    pods = [each for each in objects if kind_of(each) == POD and _runs_alone(each, made)]
    return [*gangs, *jobs, *pods]


def _runs(gang: Mapping[str, Any]) -> bool:
    """Return whether a Job of Volcano runs, by the scheduler that runs in the twin."""
    state = (gang.get("status") or {}).get("state") or {}
    of_volcano = gang["spec"].get("schedulerName", "volcano") == "volcano"
    return of_volcano and state.get("phase") == "Running"


def _is_active(job: Mapping[str, Any]) -> bool:
    """Return whether a Job has pods, by a scheduler that runs in the twin."""
    scheduler = job["spec"]["template"]["spec"].get("schedulerName", SCHEDULERS[0])
    return scheduler in SCHEDULERS and _active(job) > 0


def _active(job: Mapping[str, Any]) -> int:
    active = (job.get("status") or {}).get("active") or 0
    if not isinstance(active, int):
        raise ValueError(f'status.active "{active}", which is no whole number')
    return active


def _runs_alone(pod: Mapping[str, Any], made: Iterable[str]) -> bool:
    """Return whether a pod runs that neither a Job of the twin nor another controller makes."""
    owners = pod["metadata"].get("ownerReferences") or []
    others = ("DaemonSet", "Node", "ReplicaSet", "StatefulSet")
    return (
        (pod.get("status") or {}).get("phase") == "Running"
        and not any(each["kind"] in others for each in owners)
        and not any(_key(pod["metadata"], each["name"]) in made for each in owners)
    )


def _key(metadata: Mapping[str, Any], name: str) -> str:
    return f"{metadata.get('namespace', 'default')}/{name}"


def _of_gang(job: Mapping[str, Any], now: datetime) -> RunningJob:
    spec = {key: value for key, value in job["spec"].items() if key not in NOT_OF_A_GANG}
    spec["tasks"] = [
        {
            **{key: value for key, value in task.items() if key != "template"},
            "template": _template(task["template"]),
        }
        for task in job["spec"]["tasks"]
    ]
    state = (job.get("status") or {}).get("state") or {}
    return RunningJob(
        manifest=_manifest(job, spec), hours=_hours(state.get("lastTransitionTime"), now)
    )


def _of_job(job: Mapping[str, Any], now: datetime) -> RunningJob:
    spec = {key: value for key, value in job["spec"].items() if key in OF_A_JOB}
    spec["template"] = _template(job["spec"]["template"])
    return RunningJob(manifest=_manifest(job, spec), hours=_hours(_started(job), now))


def _of_pod(pod: Mapping[str, Any], now: datetime) -> RunningJob:
    return RunningJob(
        manifest=_manifest(pod, _pod_spec(pod["spec"])),
        hours=_hours(_started(pod), now),
        node=pod["spec"].get("nodeName") or None,
    )


_READERS = {GANG: _of_gang, JOB: _of_job, POD: _of_pod}


def _manifest(found: Mapping[str, Any], spec: dict[str, Any]) -> dict[str, Any]:
    metadata = found["metadata"]
    named = {"name": metadata["name"], "namespace": metadata.get("namespace", "default")}
    return {
        "apiVersion": found["apiVersion"],
        "kind": found["kind"],
        "metadata": {**named, **_metadata(metadata)},
        "spec": spec,
    }


def _template(template: Mapping[str, Any]) -> dict[str, Any]:
    """Return the template of a job's pods, which run as long as the rehearsal."""
    metadata = _metadata(template.get("metadata") or {})
    metadata["annotations"] = {**metadata["annotations"], RUNS_FOR: WHOLE_REHEARSAL}
    return {"metadata": metadata, "spec": _pod_spec(template["spec"])}


def _metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    labels = metadata.get("labels") or {}
    return {
        "labels": {key: value for key, value in labels.items() if key not in OWN_LABELS},
        "annotations": dict(metadata.get("annotations") or {}),
    }


def _pod_spec(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return a pod's spec without what a cluster has added to it; its disks are empty folders."""
    left = {k: v for k, v in spec.items() if k not in (*OF_THE_CLUSTER, *OF_ACCOUNTS)}
    left["automountServiceAccountToken"] = False
    left["volumes"] = [
        {"name": each["name"], "emptyDir": {}} if any(kind in each for kind in CLAIMED) else each
        for each in _not_of_accounts(spec.get("volumes"))
    ]
    for part in ("containers", "initContainers"):
        if part in spec:
            left[part] = [
                {**each, "volumeMounts": _not_of_accounts(each.get("volumeMounts"))}
                for each in spec[part]
            ]
    return left


def _not_of_accounts(named: Sequence[Mapping[str, Any]] | None) -> list[Mapping[str, Any]]:
    return [each for each in named or () if not str(each["name"]).startswith(API_ACCESS)]


def _started(found: Mapping[str, Any]) -> object:
    return (found.get("status") or {}).get("startTime")


def _hours(started: object, now: datetime) -> float:
    """Return for how long it has run; 0 where the snapshot does not say since when."""
    if not started:
        return 0.0
    try:
        at = started if isinstance(started, datetime) else datetime.fromisoformat(str(started))
    except ValueError:
        raise ValueError(
            f'a start of "{started}", which is no time such as 2026-11-23T06:00:00Z'
        ) from None
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return round(max(0.0, (now - at).total_seconds()) / 3600, 2)
