"""Runs action files: the YAML files under _lakefs_actions/ of an event's source."""

import json
import time
import urllib.error
import urllib.request
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import yaml

from lakefs.fake.model import (
    ACTIONS_FOLDER,
    AnswerError,
    Commit,
    HookRun,
    Repo,
    Run,
    matches,
)

HOOK_TYPES = ("webhook", "lua", "airflow")
WEBHOOK_SECONDS = 60


@dataclass(frozen=True)
class Event:
    """An event of `type` on `branch`; `source` is the ref that the change comes from."""

    type: str
    branch: str
    source: str
    commit: Commit


def run_actions(repository: Repo, event: Event) -> None:
    """Runs the actions of an event; AnswerError where a hook before the event fails."""
    matching = list(_matching(repository, event))
    if not matching:
        return
    run = Run(
        run_id=f"{2**63 - time.time_ns():x}{uuid.uuid4().hex[:4]}",
        branch=event.branch,
        event_type=event.type,
        commit_id=event.commit.id,
        time=time.time(),
    )
    repository.runs.insert(0, run)
    failures = [
        failure
        for number, action in enumerate(matching)
        for failure in _run_hooks(repository, event, action, run, number)
    ]
    if failures and event.type.startswith("pre-"):
        raise AnswerError(412, f"{event.type} hook aborted, run id '{run.run_id}': {failures[0]}")


def _matching(repository: Repo, event: Event) -> list[dict[str, Any]]:
    if event.type.startswith("post-"):
        tree = event.commit.tree
    elif event.type == "pre-merge":
        tree = repository.resolve(event.source).tree
    else:
        tree = repository.view(event.source)
    return [
        action
        for path, entry in tree.items()
        if path.startswith(ACTIONS_FOLDER)
        for action in [_parsed(path, entry.content)]
        if _concerns(action, event)
    ]


def _parsed(path: str, content: bytes) -> dict[str, Any]:
    try:
        action = yaml.safe_load(content)
        # a bare `on` is a boolean to PyYAML
        events = action.get("on", action.get(True))
        hooks = action["hooks"]
        if not events or not hooks or any(hook["type"] not in HOOK_TYPES for hook in hooks):
            raise ValueError(path)
        name = action.get("name", path.removeprefix(ACTIONS_FOLDER))
    except (AttributeError, KeyError, TypeError, ValueError, yaml.YAMLError) as error:
        raise AnswerError(412, f"parse action file {path}: invalid action") from error
    return {"name": name, "on": events, "hooks": hooks}


def _concerns(action: dict[str, Any], event: Event) -> bool:
    if event.type not in action["on"]:
        return False
    branches = (action["on"][event.type] or {}).get("branches") or ["*"]
    return any(matches(pattern, event.branch) for pattern in branches)


def _run_hooks(
    repository: Repo, event: Event, action: dict[str, Any], run: Run, number: int
) -> list[str]:
    """Runs the hooks of one action in their order up to the first failure; returns that."""
    for position, hook in enumerate(action["hooks"]):
        failure, output = _run_hook(repository, event, action["name"], hook)
        record = HookRun(
            hook_run_id=f"{number:04d}_{position:04d}",
            action=action["name"],
            hook_id=hook["id"],
            status="failed" if failure else "completed",
            output=output,
            time=time.time(),
        )
        run.hooks.append(record)
        if failure:
            where = f"hook run id '{record.hook_run_id}' failed on action '{record.action}'"
            return [f"{where} hook '{record.hook_id}': {failure}"]
    return []


def _run_hook(
    repository: Repo, event: Event, action: str, hook: dict[str, Any]
) -> tuple[str | None, str]:
    """Returns the failure of the hook, or None, and its log."""
    if hook["type"] != "webhook":
        return None, f"a {hook['type']} hook: recorded, not run\n"
    body = {
        "event_type": event.type,
        "event_time": datetime.now(tz=UTC).isoformat(timespec="seconds"),
        "action_name": action,
        "hook_id": hook["id"],
        "repository_id": repository.id,
        "branch_id": event.branch,
        "source_ref": event.source,
        "commit_message": event.commit.message,
        "commit_id": event.commit.id,
        "committer": event.commit.committer,
        "commit_metadata": dict(event.commit.metadata),
    }
    request = urllib.request.Request(  # noqa: S310  # the action file's own webhook
        hook["properties"]["url"],
        data=json.dumps(body).encode(),
        headers={"Content-Type": "application/json"},
        method="POST",
    )
    try:
        with urllib.request.urlopen(  # noqa: S310  # as above
            request, timeout=WEBHOOK_SECONDS
        ) as answer:
            return None, f"{answer.status}\n"
    except urllib.error.HTTPError as error:
        text = error.read().decode()
        return f"webhook request failed (status code: {error.code})", f"{error.code} {text}\n"
    except OSError as error:
        return f"failed executing request: {error}", f"{error}\n"
