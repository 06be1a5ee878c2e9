"""Notebooks: on which GPUs, and for how long."""

from typing import Any

import pytest

from policies.rules.idle.notebooks import RULE
from tests.support.policies.asked import Resource, annotated, running, said
from tests.support.policies.gpu_pods import KINDS, container, gpu_container, pod
from tests.support.rule_facts import of, pool

SLICES = {"nodeSelector": {"fleet.gpu/sharing": "time-slicing"}}
WHOLE = "Pod 'p' must ask for a MIG device or a time-slice, as a notebook."
FOR_EVER = (
    "Pod 'p' must have activeDeadlineSeconds of at most 12 hours or the annotation "
    "fleet.gpu/time-to-live-hours of at most 12, as a notebook."
)


def lab(*command: str, **spec: Any) -> Resource:
    return pod(running(gpu_container(), *(command or ("jupyter", "lab"))), **spec)


def test_a_notebook_on_a_whole_gpu_for_ever_breaks_both_halves() -> None:
    assert said(RULE, lab()) == [WHOLE, FOR_EVER]


def test_a_notebook_on_a_slice_for_a_day_of_work_passes() -> None:
    assert said(RULE, lab(activeDeadlineSeconds=43_200, **SLICES)) == []
    assert said(RULE, annotated(lab(**SLICES), time_to_live_hours="12")) == []


def test_a_notebook_may_live_no_longer_than_the_setting() -> None:
    assert said(RULE, lab(activeDeadlineSeconds=43_201, **SLICES)) == [FOR_EVER]
    assert said(RULE, annotated(lab(**SLICES), time_to_live_hours="13")) == [FOR_EVER]
    assert said(RULE, lab(activeDeadlineSeconds=43_201, **SLICES), max_hours=13) == []


def test_a_pool_that_is_known_to_share_its_gpus_has_slices() -> None:
    found = lab(nodeSelector={"fleet.gpu/pool": "slices"}, activeDeadlineSeconds=60)

    assert said(RULE, found, facts=of(pool("slices", shares_gpus=True))) == []
    assert said(RULE, found) == [WHOLE]


def test_a_mig_device_is_a_part_of_a_gpu() -> None:
    instance = running(container(limits={"nvidia.com/mig-1g.18gb": 1}), "jupyter-lab")

    assert said(RULE, pod(instance, activeDeadlineSeconds=60)) == []


@pytest.mark.parametrize(
    "words",
    [
        ("jupyter-lab", "--ip=0.0.0.0"),
        ("jupyter", "notebook"),
        ("start-notebook.sh",),
        ("jupyterhub-singleuser",),
        ("sh", "-c", "exec code-server"),
        ("marimo", "edit"),
        ("rserver",),
    ],
)
def test_a_server_to_type_into_is_a_notebook(words: tuple[str, ...]) -> None:
    assert said(RULE, lab(*words)) == [WHOLE, FOR_EVER]


@pytest.mark.parametrize(
    "words", [("papermill", "a.ipynb"), ("jupyter", "nbconvert", "--execute"), ("marimo", "run")]
)
def test_a_run_of_a_notebook_is_a_job(words: tuple[str, ...]) -> None:
    assert said(RULE, lab(*words)) == []


def test_an_image_speaks_where_no_command_does() -> None:
    image = {"image": "quay.io/jupyter/pytorch-notebook:latest"}

    assert said(RULE, pod({**gpu_container(), **image})) == [WHOLE, FOR_EVER]
    assert said(RULE, pod({**running(gpu_container(), "python"), **image})) == []


@pytest.mark.parametrize(
    "args", [["python", "train.py"], ["bash", "-c", "python a.py # jupyter lab"], ["start.sh", "x"]]
)
def test_another_program_in_the_image_of_a_notebook_is_a_job(args: list[str]) -> None:
    image = {"image": "quay.io/jupyter/pytorch-notebook:latest", "args": args}

    assert said(RULE, pod({**gpu_container(), **image})) == []


@pytest.mark.parametrize("args", [["--ServerApp.token="], ["start-notebook.py"], ["-e", "x"], []])
def test_flags_for_the_image_leave_it_a_notebook(args: list[str]) -> None:
    image = {"image": "quay.io/jupyter/pytorch-notebook:latest", "args": args}

    assert said(RULE, pod({**gpu_container(), **image})) == [WHOLE, FOR_EVER]


def test_what_a_script_installs_does_not_run() -> None:
    for installs in ("pip install jupyter notebook", "uv pip install jupyter lab", "# jupyter lab"):
        assert said(RULE, lab("sh", "-c", f"{installs}\npython train.py")) == []
    for runs in ("pip install jupyterlab && jupyter lab", "uv run jupyter lab"):
        assert said(RULE, lab("sh", "-c", runs)) == [WHOLE, FOR_EVER]


def test_kubeflows_notebook_and_a_users_server_of_jupyterhub_are_notebooks() -> None:
    kubeflow = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "Notebook",
        "metadata": {"name": "n"},
        "spec": {"template": {"spec": {"containers": [gpu_container()]}}},
    }
    hub = pod(gpu_container(), labels={"component": "singleuser-server"})

    assert len(said(RULE, kubeflow)) == 2
    assert said(RULE, hub) == [WHOLE, FOR_EVER]


@pytest.mark.parametrize("kind", KINDS)
def test_other_work_may_have_whole_gpus(kind: str) -> None:
    assert said(RULE, KINDS[kind]({"containers": [gpu_container()]})) == []


def test_a_notebook_without_gpus_is_not_judged() -> None:
    assert said(RULE, pod(running(container(), "jupyter-lab"))) == []


def test_kubeflows_notebook_says_its_time_to_live_itself() -> None:
    instance = container(limits={"nvidia.com/mig-1g.18gb": 1})
    spec = {"template": {"spec": {"containers": [instance]}}}
    found = {**pod(), "apiVersion": "kubeflow.org/v1", "kind": "Notebook", "spec": spec}

    assert said(RULE, annotated(found, time_to_live_hours="12")) == []
    assert said(RULE, annotated(found, time_to_live_hours="13")) != []
    template = KINDS["StatefulSet"]({"containers": [running(instance, "jupyter-lab")]})
    assert said(RULE, annotated(template, time_to_live_hours="12")) != []
