"""How long a job holds its GPUs at most, in seconds; in Python and in CEL.

A limit of the whole job ends it, whatever its controller makes again. A limit of a pod, or of one
job of a JobSet, begins anew with each pod that the controller makes in place of one that ended, so
that it counts once for each time that this may be.

- A Pod is made once, and a template of Argo once for each of its retries.
- A Job makes pods one after the other up to its `completions`, and again up to its `backoffLimit`,
  for good where its `podFailurePolicy` ignores exit codes.
- Volcano makes pods again up to `maxRetry` times where a policy restarts them; that Volcano does so
  for pods that somebody removed (`PodEvicted`) does not count.
- A JobSet is made again up to `maxRestarts` times. A rule that ignores them has no end, but for one
  on `PodFailurePolicy` alone, by which machines are maintained.
- KubeRay makes the pods of a RayCluster again for good. A RayJob that has reached its limit leaves
  its cluster running unless `shutdownAfterJobFinishes` is true, or a deletion rule speaks of the
  `jobDeploymentStatus` Failed; `jobStatus` and the older `onFailure` do not see this end.
- Of all other kinds a pod's limit does not count, as they have one of the whole job.

Read in Volcano v1.14.1 (pkg/controllers/job/state), JobSet v0.12.0 (pkg/controllers/
failure_policy.go), KubeRay v1.7.0 (ray-operator/controllers/ray/rayjob_controller.go) and Argo
Workflows v4.1.2 (workflow/controller/operator.go).
"""

import re
from collections.abc import Iterable, Mapping

from policies.language import cel
from policies.language.annotations import count, is_count
from policies.language.gpu_work import counted
from policies.language.manifest import at, is_true, items
from policies.language.pod_kinds import KUBEFLOW, group_kind
from policies.language.pods import Pod
from policies.language.replicas import JOB, volcano_job
from policies.language.rule import Manifest

NEVER = 1_000_000_000
"""Seconds, or times, that are as good as for ever: more than `counted` reads."""
_LIMIT = "activeDeadlineSeconds"
_NUMBER = re.compile(r"[0-9]{1,9}")
_WHOLE: Mapping[str, tuple[str, ...]] = {
    "batch/Job": ("spec",),
    "batch/CronJob": ("spec", "jobTemplate", "spec"),
    "keda.sh/ScaledJob": ("spec", "jobTargetRef"),
    "trainer.kubeflow.org/TrainJob": ("spec",),
    **{f"kubeflow.org/{kind}": ("spec", "runPolicy") for kind in KUBEFLOW},
    **{f"argoproj.io/{kind}Template": ("spec",) for kind in ("Workflow", "ClusterWorkflow")},
    "argoproj.io/Workflow": ("spec",),
    "argoproj.io/CronWorkflow": ("spec", "workflowSpec"),
}
"""Where the limit of the whole job is, in the kinds that have one and keep it."""
_ARGO = tuple(name for name in _WHOLE if name.startswith("argoproj.io/"))
_VOLCANO = ("batch.volcano.sh/Job", "batch.volcano.sh/CronJob", "flow.volcano.sh/JobTemplate")
_JOB_SET, _RAY_JOB, _RAY_CRON_JOB = "jobset.x-k8s.io/JobSet", "ray.io/RayJob", "ray.io/RayCronJob"
_JOBS = ("batch/Job", "batch/CronJob", "keda.sh/ScaledJob")
_MADE_AGAIN = (
    *(name for name in _WHOLE if name not in (*_ARGO, *_JOBS)),
    *(_RAY_JOB, _RAY_CRON_JOB, "ray.io/RayCluster"),
)
_RESTARTS = ("RestartJob", "RestartTask", "RestartPod", "RestartPartition")
_REMOVED = ("", "PodEvicted")
_IGNORE = ("RestartJobSetAndIgnoreMaxRestarts", "RestartJobAndIgnoreMaxRestarts")
_MAINTAINED = "PodFailurePolicy"
_DELETE = ("DeleteCluster", "DeleteSelf")
_BY_ERRORS = ("OnError", "OnTransientError")


def is_limited_ray_job(manifest: Manifest) -> bool:
    """Return whether an object is a RayJob with a limit, which alone does not end its cluster."""
    return counted(at(_ray_job(manifest), _LIMIT)) is not None


def of_whole_job(manifest: Manifest) -> int:
    """The seconds after which all pods of a job have ended, by its own limit."""
    spec = _ray_job(manifest)
    if spec is not None:
        runs = _times(at(spec, "backoffLimit"), 0) + 1
        return _seconds(at(spec, _LIMIT)) * runs + _until_deleted(spec)
    path = _WHOLE.get("/".join(group_kind(manifest)))
    return NEVER if path is None else _seconds(at(manifest, *path, _LIMIT))


def of_pod(manifest: Manifest, pod: Pod) -> int:
    """The seconds that a pod may run by its own limit, or by that of its job in a JobSet."""
    if "/".join(group_kind(manifest)) != _JOB_SET:
        return _seconds(pod.spec.get(_LIMIT))
    jobs = items(at(manifest, "spec", "replicatedJobs"))
    own = (at(job, "template", "spec", _LIMIT) for job in jobs if at(job, "name") == pod.name)
    return _seconds(next(own, None))


def runs(manifest: Manifest, pod: Pod) -> int:
    """How often the limit of a pod may begin."""
    name = "/".join(group_kind(manifest))
    if name in _MADE_AGAIN:
        return NEVER
    if name in _JOBS:
        return _of_job(at(manifest, *_WHOLE[name]))
    if name in _VOLCANO:
        return _of_volcano(volcano_job(manifest))
    if name == _JOB_SET:
        return _of_job_set(at(manifest, "spec", "failurePolicy"))
    return _of_argo(pod.spec.get("retryStrategy")) if name in _ARGO else 1


def _ray_job(manifest: Manifest) -> object:
    """The spec of a RayJob, or of those that a RayCronJob makes; None of any other kind."""
    way = {_RAY_JOB: ("spec",), _RAY_CRON_JOB: ("spec", "jobTemplate")}
    path = way.get("/".join(group_kind(manifest)))
    return None if path is None else at(manifest, *path)


def _until_deleted(ray_job: object) -> int:
    """The seconds between the end of a RayJob that failed and that of its cluster."""
    strategy = at(ray_job, "deletionStrategy")
    if strategy is None:
        stays = not is_true(at(ray_job, "shutdownAfterJobFinishes"))
        return NEVER if stays else _times(at(ray_job, "ttlSecondsAfterFinished"), 0)
    waits = (
        _times(at(rule, "condition", "ttlSeconds"), 0)
        for rule in items(at(strategy, "deletionRules"))
        if at(rule, "condition", "jobDeploymentStatus") == "Failed"
        and at(rule, "policy") in _DELETE
    )
    return min(waits, default=NEVER)


def _of_job(job: object) -> int:
    rules = items(at(job, "podFailurePolicy", "rules"))
    if any(at(rule, "action") == "Ignore" and at(rule, "onExitCodes") for rule in rules):
        return NEVER
    at_once = max(1, _times(at(job, "parallelism"), 1))
    rounds = -(-_times(at(job, "completions"), 1) // at_once)
    each = at(job, "backoffLimitPerIndex")
    if each is not None:
        return min(rounds * (_times(each, 0) + 1), NEVER)
    return rounds + _times(at(job, "backoffLimit"), 6)


def _of_volcano(job: object) -> int:
    policies = [*items(at(job, "policies"))]
    for task in items(at(job, "tasks")):
        policies += items(at(task, "policies"))
    most = _times(at(job, "maxRetry"), 0) or 3  # as Volcano's webhook fills it in
    return most if any(map(_restarts, policies)) else 1


def _restarts(policy: object) -> bool:
    events: Iterable[object] = (at(policy, "event") or "", *items(at(policy, "events")))
    ends = at(policy, "exitCode") is not None or any(each not in _REMOVED for each in events)
    return ends and at(policy, "action") in _RESTARTS


def _of_job_set(policy: object) -> int:
    if any(map(_ignores, items(at(policy, "rules")))):
        return NEVER
    return _times(at(policy, "maxRestarts"), 0) + 1


def _ignores(rule: object) -> bool:
    reasons = items(at(rule, "onJobFailureReasons"))
    maintained = reasons and all(each == _MAINTAINED for each in reasons)
    return at(rule, "action") in _IGNORE and not maintained


def _of_argo(retries: object) -> int:
    """Argo retries for good without a limit; a limit with a parameter counts as one."""
    bounded = at(retries, "expression"), at(retries, "backoff", "maxDuration")
    if retries is None or any(bounded) or at(retries, "retryPolicy") in _BY_ERRORS:
        return 1
    limit = at(retries, "limit")
    return NEVER if limit is None else 1 + (counted(limit) or 0)


def _seconds(value: object) -> int:
    return counted(value) or NEVER


def _times(value: object, otherwise: int) -> int:
    if value is None:
        return otherwise
    return int(str(value)) if _NUMBER.fullmatch(str(value)) else NEVER


def _resources(names: Iterable[str]) -> list[str]:
    return [f"{name.lower()}s" for name in names]


def _cel_seconds(optional: str) -> str:
    return f"({is_count(optional)} ? {count(optional)} : {NEVER})"


def _cel_times(optional: str, otherwise: int) -> str:
    text = f"'%s'.format([{optional}.value()])"
    number = f"({text}.matches('^[0-9]{{1,9}}$') ? int({text}) : {NEVER})"
    return f"({optional}.orValue(null) == null ? {otherwise} : {number})"


def _by_path() -> str:
    paths: dict[tuple[str, ...], list[str]] = {}
    for name, path in _WHOLE.items():
        paths.setdefault(path, []).append(name)
    return "".join(
        f"variables.resource in {_resources(names)} ? "
        + _cel_seconds(f"dyn(object).?{'.?'.join((*path, _LIMIT))}")
        + " : "
        for path, names in paths.items()
    )


_SPEC = "dyn(object).?spec"
_CRON_OF_RAY = f"variables.resource == '{_resources([_RAY_CRON_JOB])[0]}'"
_RAY = f"({_CRON_OF_RAY} ? {_SPEC}.?jobTemplate : {_SPEC})"
_RULES = (
    f"{cel.listed(f'{_RAY}.?deletionStrategy', 'deletionRules')}.filter(r, "
    f"r.?condition.?jobDeploymentStatus.orValue('') == 'Failed' && "
    f"r.?policy.orValue('') in {list(_DELETE)})"
    f".map(r, {_cel_times('r.?condition.?ttlSeconds', 0)})"
)
_DELETED = (
    f"({_RAY}.?deletionStrategy.orValue(null) != null ? ({_RULES} + [{NEVER}]).min() : "
    f"{_RAY}.?shutdownAfterJobFinishes.orValue(false) == true ? "
    f"{_cel_times(f'{_RAY}.?ttlSecondsAfterFinished', 0)} : {NEVER})"
)
_IS_RAY_JOB = f"variables.resource in {_resources([_RAY_JOB, _RAY_CRON_JOB])}"
IS_LIMITED_RAY_JOB = f"({_IS_RAY_JOB} && {is_count(f'{_RAY}.?{_LIMIT}')})"
"""CEL: `is_limited_ray_job`."""
_OF_RAY_JOB = (
    f"{_cel_seconds(f'{_RAY}.?{_LIMIT}')} * ({_cel_times(f'{_RAY}.?backoffLimit', 0)} + 1) + "
    f"{_DELETED}"
)
_SPEC_OF_JOB = f"(variables.resource == '{_resources(_JOBS)[2]}' ? {_SPEC}.?jobTargetRef : {JOB})"
_ROUNDS = (
    f"[[1, {_cel_times('j.?parallelism', 1)}].max()]"
    f".map(n, ({_cel_times('j.?completions', 1)} + n - 1) / n)[0]"
)
_CEL_JOB = (
    f"[dyn({_SPEC_OF_JOB}.orValue({{}}))].map(j, "
    f"{cel.listed('j.?podFailurePolicy', 'rules')}.exists(r, "
    f"r.?action.orValue('') == 'Ignore' && r.?onExitCodes.hasValue()) ? {NEVER} : "
    f"j.?backoffLimitPerIndex.orValue(null) != null ? "
    f"[{_ROUNDS} * ({_cel_times('j.?backoffLimitPerIndex', 0)} + 1), {NEVER}].min() : "
    f"{_ROUNDS} + {_cel_times('j.?backoffLimit', 6)})[0]"
)
_EVENTS = f"[l.?event.orValue('')] + {cel.listed('l', 'events')}"
_RESTARTED = (
    f"exists(l, l.?action.orValue('') in {list(_RESTARTS)} && "
    f"(l.?exitCode.orValue(null) != null || "
    f"({_EVENTS}).exists(e, !(e in {list(_REMOVED)}))))"
)
_OF_TASKS = f"{cel.listed(JOB, 'tasks')}.exists(t, {cel.listed('t', 'policies')}.{_RESTARTED})"
_MOST = f"[{_cel_times(f'{JOB}.?maxRetry', 0)}].map(n, n == 0 ? 3 : n)[0]"
_CEL_VOLCANO = f"({cel.listed(JOB, 'policies')}.{_RESTARTED} || {_OF_TASKS} ? {_MOST} : 1)"
_REASONS = cel.listed("r", "onJobFailureReasons")
_CEL_JOB_SET = (
    f"({cel.listed(f'{_SPEC}.?failurePolicy', 'rules')}.exists(r, "
    f"r.?action.orValue('') in {list(_IGNORE)} && (size({_REASONS}) == 0 || "
    f"{_REASONS}.exists(e, e != '{_MAINTAINED}'))) ? {NEVER} : "
    f"{_cel_times(f'{_SPEC}.?failurePolicy.?maxRestarts', 0)} + 1)"
)
_RETRIES = "p.spec.?retryStrategy"
_CEL_ARGO = (
    f"({_RETRIES}.orValue(null) == null || {_RETRIES}.?expression.orValue('') != '' || "
    f"{_RETRIES}.?backoff.?maxDuration.orValue('') != '' || "
    f"{_RETRIES}.?retryPolicy.orValue('') in {list(_BY_ERRORS)} ? 1 : "
    f"{_RETRIES}.?limit.orValue(null) == null ? {NEVER} : "
    f"{is_count(f'{_RETRIES}.?limit')} ? {count(f'{_RETRIES}.?limit')} + 1 : 1)"
)
_JOBS_OF_SET = cel.listed(_SPEC, "replicatedJobs")
_OF_ITS_JOB = (
    f"({_JOBS_OF_SET}.filter(j, j.?name.orValue('') == p.name)"
    f".map(j, {_cel_seconds(f'j.?template.?spec.?{_LIMIT}')}) + [{NEVER}])[0]"
)

VARIABLES: Mapping[str, str] = {
    "ofTheJob": f"{_IS_RAY_JOB} ? {_OF_RAY_JOB} : {_by_path()}{NEVER}",
    "runs": (
        f"variables.resource in {_resources(_MADE_AGAIN)} ? {NEVER} : "
        f"variables.resource in {_resources(_JOBS)} ? {_CEL_JOB} : "
        f"variables.resource in {_resources(_VOLCANO)} ? {_CEL_VOLCANO} : "
        f"variables.resource in {_resources([_JOB_SET])} ? {_CEL_JOB_SET} : 1"
    ),
}
"""Variables: `ofTheJob` is `of_whole_job`, and `runs` the same as far as no pod decides it."""
OF_POD = (
    f"(variables.resource in {_resources([_JOB_SET])} ? {_OF_ITS_JOB} : "
    f"{_cel_seconds(f'p.spec.?{_LIMIT}')})"
)
"""CEL: `of_pod` of a pod `p`."""
RUNS = f"(variables.resource in {_resources(_ARGO)} ? {_CEL_ARGO} : variables.runs)"
"""CEL: `runs` of a pod `p`."""
