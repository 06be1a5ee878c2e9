"""Operations of the installation, of repositories and their settings, of branches and tags."""

import json
import re
from hashlib import md5
from typing import Any

from lakefs.fake.http import Answer, HttpRequest, page, route
from lakefs.fake.model import AnswerError, Branch, Model, Repo


def shown_repository(repository: Repo) -> dict[str, Any]:
    return {
        "id": repository.id,
        "creation_date": repository.creation_date,
        "default_branch": repository.default_branch,
        "storage_namespace": repository.storage_namespace,
        "read_only": repository.read_only,
    }


@route("GET", "/healthcheck")
def health(_model: Model, _request: HttpRequest) -> Answer:
    return Answer(status=204)


@route("GET", "/setup_lakefs")
def setup_state(model: Model, _request: HttpRequest) -> Answer:
    return Answer.of(200, {"state": "initialized" if model.initialized else "not_initialized"})


@route("POST", "/setup_lakefs")
def setup(model: Model, request: HttpRequest) -> Answer:
    body = request.json()
    if model.initialized:
        raise AnswerError(409, "lakeFS already initialized")
    if not body.get("username"):
        raise AnswerError(400, "empty user display name")
    key = body.get("key") or {}
    model.access_key_id = key.get("access_key_id", model.access_key_id)
    model.secret_access_key = key.get("secret_access_key", model.secret_access_key)
    model.initialized = True
    return Answer.of(
        200,
        {
            "access_key_id": model.access_key_id,
            "secret_access_key": model.secret_access_key,
            "creation_date": 0,
        },
    )


@route("GET", "/user")
def user(_model: Model, _request: HttpRequest) -> Answer:
    return Answer.of(200, {"user": {"id": "admin", "creation_date": 0}})


@route("GET", "/repositories")
def list_repositories(model: Model, request: HttpRequest) -> Answer:
    prefix = request.query.get("prefix", "")
    found = sorted(model.repositories.items())
    return page(request, ((n, shown_repository(r)) for n, r in found if n.startswith(prefix)))


@route("POST", "/repositories")
def create_repository(model: Model, request: HttpRequest) -> Answer:
    body = request.json()
    if not body.get("name") or not body.get("storage_namespace"):
        raise AnswerError(400, "request body has an error: property is missing")
    repository = model.create_repository(
        body["name"],
        body["storage_namespace"],
        body.get("default_branch") or "main",
        read_only=bool(body.get("read_only")),
    )
    return Answer.of(201, shown_repository(repository))


@route("GET", "/repositories/{repository}")
def get_repository(_model: Model, _request: HttpRequest, repository: Repo) -> Answer:
    return Answer.of(200, shown_repository(repository))


@route("DELETE", "/repositories/{repository}")
def delete_repository(model: Model, request: HttpRequest, repository: Repo) -> Answer:
    repository.writable(force=request.flag("force"))
    del model.repositories[repository.id]
    return Answer(status=204)


def etag(repository: Repo) -> str:
    return md5(json.dumps(repository.protection).encode(), usedforsecurity=False).hexdigest()


@route("GET", "/repositories/{repository}/settings/branch_protection")
def get_protection(_model: Model, _request: HttpRequest, repository: Repo) -> Answer:
    rules = [{"pattern": pattern} for pattern in repository.protection]
    return Answer.of(200, rules, ETag=etag(repository))


@route("PUT", "/repositories/{repository}/settings/branch_protection")
def set_protection(_model: Model, request: HttpRequest, repository: Repo) -> Answer:
    repository.writable()
    rules = json.loads(request.body or b"[]")
    expected = request.headers.get("if-match")
    if expected is not None and expected.strip('"') != etag(repository):
        raise AnswerError(412, "setting precondition failed: the ETag does not match")
    if not isinstance(rules, list) or not all(rule.get("pattern") for rule in rules):
        raise AnswerError(400, "request body has an error: minimum string length is 1")
    repository.protection = tuple(rule["pattern"] for rule in rules)
    return Answer(status=204)


@route("GET", "/repositories/{repository}/settings/gc_rules")
def get_gc_rules(_model: Model, _request: HttpRequest, repository: Repo) -> Answer:
    if repository.gc_rules is None:
        raise AnswerError(404, "not found")
    # the server has an empty list as null
    return Answer.of(
        200, {**repository.gc_rules, "branches": repository.gc_rules["branches"] or None}
    )


@route("PUT", "/repositories/{repository}/settings/gc_rules")
def set_gc_rules(_model: Model, request: HttpRequest, repository: Repo) -> Answer:
    rules = request.json()
    if not isinstance(rules.get("default_retention_days"), int) or "branches" not in rules:
        raise AnswerError(400, "request body has an error: property is missing")
    # a message of defaults alone is written as an empty file, which is read as none
    empty = rules["default_retention_days"] == 0 and not rules["branches"]
    repository.gc_rules = None if empty else rules
    return Answer(status=204)


@route("DELETE", "/repositories/{repository}/settings/gc_rules")
def delete_gc_rules(_model: Model, _request: HttpRequest, repository: Repo) -> Answer:
    repository.gc_rules = None
    return Answer(status=204)


def shown_branch(name: str, branch: Branch) -> dict[str, Any]:
    return {"id": name, "commit_id": branch.head}


@route("GET", "/repositories/{repository}/branches")
def list_branches(_model: Model, request: HttpRequest, repository: Repo) -> Answer:
    prefix, hidden = request.query.get("prefix", ""), request.flag("show_hidden")
    found = sorted(repository.branches.items())
    shown = ((n, shown_branch(n, b)) for n, b in found if n.startswith(prefix))
    return page(request, (i for i in shown if hidden or not repository.branches[i[0]].hidden))


@route("POST", "/repositories/{repository}/branches")
def create_branch(_model: Model, request: HttpRequest, repository: Repo) -> Answer:
    body = request.json()
    repository.writable(force=bool(body.get("force")))
    name = body.get("name", "")
    if not re.fullmatch(r"\w[-\w]*", name, re.ASCII):
        raise AnswerError(400, "branch id: invalid value: validation error")
    if name in repository.branches:
        raise AnswerError(409, "branch already exists: not unique")
    head = repository.resolve(body["source"])
    repository.branches[name] = Branch(head=head.id, hidden=bool(body.get("hidden")))
    return Answer(status=201, body=head.id.encode(), headers={"Content-Type": "text/html"})


@route("GET", "/repositories/{repository}/branches/{branch}")
def get_branch(_model: Model, _request: HttpRequest, repository: Repo, branch: str) -> Answer:
    return Answer.of(200, shown_branch(branch, repository.branch(branch)))


@route("DELETE", "/repositories/{repository}/branches/{branch}")
def delete_branch(_model: Model, request: HttpRequest, repository: Repo, branch: str) -> Answer:
    repository.writable(force=request.flag("force"))
    repository.branch(branch)
    if branch == repository.default_branch:
        raise AnswerError(403, "cannot delete repository default branch")
    del repository.branches[branch]
    return Answer(status=204)


@route("PUT", "/repositories/{repository}/branches/{branch}")
def reset_branch(_model: Model, request: HttpRequest, repository: Repo, branch: str) -> Answer:
    body = request.json()
    repository.writable(branch, force=bool(body.get("force")))
    staged = repository.branch(branch).staged
    path = body.get("path", "")
    undone = {
        "reset": list(staged),
        "object": [staged_path for staged_path in staged if staged_path == path],
        "common_prefix": [staged_path for staged_path in staged if staged_path.startswith(path)],
    }
    for staged_path in undone[body["type"]]:
        del staged[staged_path]
    return Answer(status=204)


@route("GET", "/repositories/{repository}/tags")
def list_tags(_model: Model, request: HttpRequest, repository: Repo) -> Answer:
    found = sorted(repository.tags.items())
    return page(request, ((n, {"id": n, "commit_id": c}) for n, c in found))


@route("POST", "/repositories/{repository}/tags")
def create_tag(_model: Model, request: HttpRequest, repository: Repo) -> Answer:
    body = request.json()
    repository.writable(force=bool(body.get("force")))
    if body["id"] in repository.tags:
        raise AnswerError(409, "tag already exists")
    commit = repository.resolve(body["ref"])
    repository.tags[body["id"]] = commit.id
    return Answer.of(201, {"id": body["id"], "commit_id": commit.id})


@route("GET", "/repositories/{repository}/tags/{tag}")
def get_tag(_model: Model, _request: HttpRequest, repository: Repo, tag: str) -> Answer:
    if tag not in repository.tags:
        raise AnswerError(404, "tag not found")
    return Answer.of(200, {"id": tag, "commit_id": repository.tags[tag]})


@route("DELETE", "/repositories/{repository}/tags/{tag}")
def delete_tag(_model: Model, request: HttpRequest, repository: Repo, tag: str) -> Answer:
    repository.writable(force=request.flag("force"))
    if repository.tags.pop(tag, None) is None:
        raise AnswerError(404, "tag not found")
    return Answer(status=204)
