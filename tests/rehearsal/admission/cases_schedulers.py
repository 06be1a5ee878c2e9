"""Objects that name a scheduler for their pods, in each kind and each place where one may stand.

The rows are called so that the table leaves none out: here the kinds differ.
"""

from collections.abc import Callable, Iterator
from typing import Any

from tests.rehearsal.admission.cases_structure import JOBS, OTHERS
from tests.rehearsal.admission.cases_structure import workflow as of_steps
from tests.support.admission.objects import (
    KINDS,
    Object,
    cron_workflow,
    gpus,
    limited,
    made,
    template,
    volcano,
    workflow,
)

Row = tuple[str, str, Object]
SCHEDULER = "idle/queue-scheduler"
_BY_DEFAULT = "default-scheduler"
_CLUSTER_WIDE, _NO_FIELD = "ClusterTrainingRuntime", "TrainJob"  # whose patches name no scheduler
EVERY: dict[str, Callable[[Object], Object]] = {
    name: of
    for name, of in {**KINDS, **JOBS, **OTHERS}.items()
    if name not in (_CLUSTER_WIDE, _NO_FIELD)
}


def _in(found: Object, space: str = "research") -> Object:
    return {**found, "metadata": {**found["metadata"], "namespace": space}}


def _is_of_kubernetes(found: Object) -> bool:
    return found["apiVersion"] in ("v1", "apps/v1", "batch/v1")


def _scheduled(name: str, *containers: Object, **spec: Any) -> Object:
    return _in(EVERY[name](template(*(containers or [gpus()]), **spec)))


def _job(scheduler: object, **task: Any) -> Object:
    return _in(volcano(template(gpus(), **task), schedulerName=scheduler))


def _tasks(scheduler: str) -> Object:
    tasks = [{"name": "worker", "replicas": 1, "template": template(gpus())}]
    spec = {"schedulerName": scheduler, "tasks": tasks}
    return _in(made("flow.volcano.sh/v1alpha1", "JobTemplate", spec))


def _of_all(of: Callable[[Object], Object], scheduler: object) -> Object:
    found = of(template(gpus()))
    inner = found["spec"].get("workflowSpec", found["spec"])
    inner["schedulerName"] = scheduler
    return _in(found)


def _by_default(scheduler: str) -> Object:
    of_template = template(gpus())
    main = {
        "name": "main",
        "metadata": of_template["metadata"],
        "container": of_template["spec"]["containers"][0],
    }
    return _in(of_steps(main, templateDefaults={"schedulerName": scheduler}))


def good() -> Iterator[Row]:
    """Objects that keep their rule."""
    for name in EVERY:
        yield SCHEDULER, f"{name}: for Volcano", _scheduled(name, schedulerName="volcano")
        yield SCHEDULER, f"{name}: that says nothing", _scheduled(name)
        without = _scheduled(name, limited(), schedulerName="mine")
        yield SCHEDULER, f"{name}: without GPUs", without
        if _is_of_kubernetes(without):
            written = _scheduled(name, schedulerName=_BY_DEFAULT)
            yield SCHEDULER, f"{name}: as the API server writes it", written
    yield SCHEDULER, "a pod in no queue", KINDS["Pod"](template(gpus(), schedulerName="mine"))
    yield SCHEDULER, "a task that goes before its job", _job("mine", schedulerName="volcano")
    yield SCHEDULER, "a job for Volcano", _job("volcano")
    yield SCHEDULER, "a workflow for Volcano", _of_all(workflow, "volcano")
    yield SCHEDULER, "a name that is empty", _scheduled("Workflow", schedulerName="")


def bad() -> Iterator[Row]:
    """Objects that break their rule, and are otherwise what an API server takes."""
    for name in EVERY:
        found = _scheduled(name, schedulerName="mine")
        yield SCHEDULER, f"{name}: for another scheduler", found
        if not _is_of_kubernetes(found):
            by_default = _scheduled(name, schedulerName=_BY_DEFAULT)
            yield SCHEDULER, f"{name}: for the default scheduler", by_default
    yield SCHEDULER, "a job that gives its tasks a scheduler", _job("mine")
    yield SCHEDULER, "a task beside its job", _job("volcano", schedulerName="mine")
    yield SCHEDULER, "a template of a flow", _tasks("mine")
    yield SCHEDULER, "a workflow that gives its pods a scheduler", _of_all(workflow, "mine")
    yield SCHEDULER, "a workflow at three o'clock that does", _of_all(cron_workflow, "mine")
    yield SCHEDULER, "the defaults of a workflow", _by_default("mine")


def malformed() -> Iterator[Row]:
    """Objects that nobody can read, and that both gates refuse."""
    yield from ()
