"""Action files: the checks that lakeFS itself runs, above all before a merge.

For a merge lakeFS reads them from the *source* branch, so a branch can leave a check out. Protect
the destination, so that a merge is the only way in, and refuse to merge a branch whose checks
differ from those of its destination.
"""

from collections.abc import Mapping, Sequence

import yaml

FOLDER = "_lakefs_actions/"

EVENTS = frozenset(
    {"prepare-commit"}
    | {
        f"{when}-{what}"
        for when in ("pre", "post")
        for what in (
            "commit",
            "merge",
            "create-branch",
            "delete-branch",
            "create-tag",
            "delete-tag",
            "revert",
            "cherry-pick",
        )
    }
)
# the properties of each type of hook; of a tuple one must be there
HOOK_NEEDS = {
    "webhook": (("url",),),
    "lua": (("script", "script_path"),),
    "airflow": (("url",), ("dag_id",), ("username",), ("password",)),
}

# The program's own changes to the action files are merges too, without an experiment behind them.
_METADATA_SCRIPT = """\
local metadata = action.commit.metadata or {}
if metadata["managed-by"] ~= "gpu-fleet" then
  for key, _ in pairs(args) do
    if metadata[key] == nil or metadata[key] == "" then
      error("a merge into " .. action.branch_id .. " must carry the metadata field " .. key)
    end
  end
end
"""


def metadata_gate(name: str, *, branches: Sequence[str], required: Sequence[str]) -> str:
    """Returns an action that refuses a merge into `branches` without these metadata fields.

    It is Lua inside lakeFS, so it needs no server of its own.
    """
    hook = {
        "id": "required_metadata",
        "type": "lua",
        "description": "Every merge says which experiment it comes from",
        "properties": {"args": {key: {} for key in required}, "script": _METADATA_SCRIPT},
    }
    return _rendered(name, branches, hook)


def webhook_gate(name: str, *, branches: Sequence[str], url: str, timeout_seconds: int = 60) -> str:
    """Returns an action that asks `url` before a merge into `branches`; only 2xx lets it pass.

    lakeFS also asks it about the merge that installs this action (metadata `managed-by:
    gpu-fleet`), so the server behind `url` must run before.
    """
    hook = {
        "id": "webhook",
        "type": "webhook",
        "description": "Asks before a merge",
        "properties": {"url": url, "timeout": f"{timeout_seconds}s"},
    }
    return _rendered(name, branches, hook)


def problems(content: str) -> list[str]:
    """Returns why lakeFS would not run this action file, a sentence each.

    lakeFS itself accepts the file and says so at the first event.
    """
    try:
        action = yaml.safe_load(content)
    except yaml.YAMLError as error:
        return [f"It is not YAML: {' '.join(str(error).split())}."]
    if not isinstance(action, dict):
        return ["It must be a mapping with `on` and `hooks`."]
    # YAML 1.1 reads a bare `on` as a boolean, lakeFS as the word
    return _event_problems(action.get("on", action.get(True))) + _hook_problems(action.get("hooks"))


def _event_problems(events: object) -> list[str]:
    if not isinstance(events, dict) or not events:
        return ["`on` must name at least one event, such as pre-merge."]
    found = []
    for event, limits in events.items():
        if event not in EVENTS:
            found.append(f"`on` names the event {event!r}; lakeFS has {', '.join(sorted(EVENTS))}.")
        branches = limits.get("branches", []) if isinstance(limits, dict) else limits
        if branches is not None and not isinstance(branches, list):
            found.append(f"`on.{event}.branches` must be a list of globs, not {branches!r}.")
    return found


def _hook_problems(hooks: object) -> list[str]:
    if not isinstance(hooks, list) or not hooks:
        return ["`hooks` must be a list with at least one hook."]
    found, seen = [], set()
    for number, hook in enumerate(hooks):
        if not isinstance(hook, dict) or not isinstance(hook.get("id"), str):
            found.append(f"`hooks[{number}]` must have an id.")
            continue
        if hook["id"] in seen:
            found.append(f"`hooks[{number}]` repeats the id {hook['id']!r}; ids must be unique.")
        seen.add(hook["id"])
        kind, properties = hook.get("type"), hook.get("properties") or {}
        if kind not in HOOK_NEEDS:
            found.append(
                f"Hook {hook['id']!r} has the type {kind!r}; allowed: "
                f"{', '.join(sorted(HOOK_NEEDS))}."
            )
            continue
        found += [
            f"Hook {hook['id']!r} of type {kind} must have {' or '.join(keys)}."
            for keys in HOOK_NEEDS[kind]
            if not any(properties.get(key) for key in keys)
        ]
    return found


def _rendered(name: str, branches: Sequence[str], hook: Mapping[str, object]) -> str:
    action = {"name": name, "on": {"pre-merge": {"branches": list(branches)}}, "hooks": [hook]}
    return yaml.safe_dump(action, sort_keys=False)
