"""Operations on history (diff, commit, log, merge, revert) and the runs of actions."""

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from hashlib import md5
from typing import Any

from lakefs.fake import history
from lakefs.fake.http import Answer, HttpRequest, page, route
from lakefs.fake.model import AnswerError, Commit, HookRun, Model, Repo, Run, StoredObject


def moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, tz=UTC).isoformat(timespec="seconds")


def shown_commit(commit: Commit) -> dict[str, Any]:
    tree = json.dumps(sorted(history.identities(commit.tree).items()))
    return {
        "id": commit.id,
        "parents": list(commit.parents),
        "committer": commit.committer,
        "message": commit.message,
        "creation_date": commit.creation_date,
        "meta_range_id": md5(tree.encode(), usedforsecurity=False).hexdigest(),
        "metadata": dict(commit.metadata),
        "generation": commit.generation,
        "version": 1,
    }


def shown_diff(
    request: HttpRequest, changes: Iterable[tuple[str, str, StoredObject | None]]
) -> Answer:
    prefix = request.query.get("prefix", "")
    return page(
        request,
        (
            (
                path,
                {
                    "type": kind,
                    "path": path,
                    "path_type": "object",
                    "size_bytes": len(entry.content) if entry else 0,
                },
            )
            for path, kind, entry in changes
            if path.startswith(prefix)
        ),
    )


@route("GET", "/repositories/{repository}/branches/{branch}/diff")
def diff_branch(_model: Model, request: HttpRequest, repository: Repo, branch: str) -> Answer:
    head = repository.commits[repository.branch(branch).head]
    return shown_diff(request, history.two_dot(head.tree, repository.view(branch)))


@route("GET", "/repositories/{repository}/refs/{left}/diff/{right}")
def diff_refs(
    _model: Model, request: HttpRequest, repository: Repo, left: str, right: str
) -> Answer:
    kind = request.query.get("type", "three_dot")
    return shown_diff(request, history.diff(repository, left, right, kind))


@route("POST", "/repositories/{repository}/branches/{branch}/commits")
def commit(_model: Model, request: HttpRequest, repository: Repo, branch: str) -> Answer:
    body = request.json()
    if not body.get("message"):
        raise AnswerError(400, "commit message: empty commit message: required value")
    made = history.commit(
        repository,
        branch,
        body["message"],
        body.get("metadata") or {},
        allow_empty=bool(body.get("allow_empty")),
    )
    return Answer.of(201, shown_commit(made))


@route("GET", "/repositories/{repository}/commits/{commit}")
def get_commit(_model: Model, _request: HttpRequest, repository: Repo, commit: str) -> Answer:
    return Answer.of(200, shown_commit(repository.resolve(commit)))


@route("GET", "/repositories/{repository}/refs/{ref}/commits")
def log(_model: Model, request: HttpRequest, repository: Repo, ref: str) -> Answer:
    head = repository.resolve(ref)
    if request.flag("first_parent"):
        listed = [head]
        while listed[-1].parents:
            listed.append(repository.commits[listed[-1].parents[0]])
    else:
        before = repository.ancestors(head).values()
        listed = sorted(before, key=lambda c: c.generation, reverse=True)
    stop = request.query.get("stop_at")
    if stop in [c.id for c in listed]:
        listed = listed[: [c.id for c in listed].index(stop) + 1]
    return page(request, ((c.id, shown_commit(c)) for c in listed))


@route("GET", "/repositories/{repository}/refs/{source}/merge/{destination}")
def find_merge_base(
    _model: Model, _request: HttpRequest, repository: Repo, source: str, destination: str
) -> Answer:
    theirs, ours = repository.resolve(source), repository.resolve(destination)
    return Answer.of(
        200,
        {
            "source_commit_id": theirs.id,
            "destination_commit_id": ours.id,
            "base_commit_id": repository.merge_base(ours, theirs).id,
        },
    )


@route("POST", "/repositories/{repository}/refs/{source}/merge/{destination}")
def merge(
    _model: Model, request: HttpRequest, repository: Repo, source: str, destination: str
) -> Answer:
    body = request.json()
    merging = history.Merging(
        message=body.get("message") or "",
        metadata=body.get("metadata") or {},
        strategy=body.get("strategy") or "",
        allow_empty=bool(body.get("allow_empty")),
        squash=bool(body.get("squash_merge")),
        force=bool(body.get("force")),
    )
    made = history.merge(repository, source, destination, merging)
    return Answer.of(200, {"reference": made.id})


@route("POST", "/repositories/{repository}/branches/{branch}/revert")
def revert(_model: Model, request: HttpRequest, repository: Repo, branch: str) -> Answer:
    body = request.json()
    history.revert(repository, branch, body["ref"], int(body.get("parent_number", 0)))
    return Answer(status=204)


def shown_run(run: Run) -> dict[str, Any]:
    return {
        "run_id": run.run_id,
        "branch": run.branch,
        "start_time": moment(run.time),
        "end_time": moment(run.time),
        "event_type": run.event_type,
        "status": run.status,
        "commit_id": run.commit_id,
    }


def shown_hook(hook: HookRun) -> dict[str, Any]:
    return {
        "hook_run_id": hook.hook_run_id,
        "action": hook.action,
        "hook_id": hook.hook_id,
        "start_time": moment(hook.time),
        "end_time": moment(hook.time),
        "status": hook.status,
    }


def run_of(repository: Repo, run_id: str) -> Run:
    for run in repository.runs:
        if run.run_id == run_id:
            return run
    raise AnswerError(404, "run id not found")


@route("GET", "/repositories/{repository}/actions/runs")
def list_runs(_model: Model, request: HttpRequest, repository: Repo) -> Answer:
    branch, commit_id = request.query.get("branch"), request.query.get("commit")
    return page(
        request,
        (
            (run.run_id, shown_run(run))
            for run in repository.runs
            if branch in (None, run.branch) and commit_id in (None, run.commit_id)
        ),
    )


@route("GET", "/repositories/{repository}/actions/runs/{run}")
def get_run(_model: Model, _request: HttpRequest, repository: Repo, run: str) -> Answer:
    return Answer.of(200, shown_run(run_of(repository, run)))


@route("GET", "/repositories/{repository}/actions/runs/{run}/hooks")
def list_run_hooks(_model: Model, request: HttpRequest, repository: Repo, run: str) -> Answer:
    return page(request, ((h.hook_run_id, shown_hook(h)) for h in run_of(repository, run).hooks))


@route("GET", "/repositories/{repository}/actions/runs/{run}/hooks/{hook}/output")
def hook_output(
    _model: Model, _request: HttpRequest, repository: Repo, run: str, hook: str
) -> Answer:
    for record in run_of(repository, run).hooks:
        if record.hook_run_id == hook:
            return Answer(status=200, body=record.output.encode())
    raise AnswerError(404, "hook run id not found")
