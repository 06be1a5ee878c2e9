"""Operations on objects: upload, delete, list, stat and get."""

from typing import Any

from lakefs.fake.http import Answer, HttpRequest, page, route
from lakefs.fake.model import AnswerError, Model, Repo, StoredObject


def shown_entry(path: str, entry: StoredObject) -> dict[str, Any]:
    return {
        "path": path,
        "path_type": "object",
        "physical_address": entry.physical_address,
        "checksum": entry.checksum,
        "size_bytes": len(entry.content),
        "mtime": entry.mtime,
        "metadata": dict(entry.metadata),
        "content_type": entry.content_type,
    }


@route("POST", "/repositories/{repository}/branches/{branch}/objects")
def upload(model: Model, request: HttpRequest, repository: Repo, branch: str) -> Answer:
    repository.writable(branch, force=request.flag("force"))
    staging, path = repository.branch(branch), request.query.get("path", "")
    if not path:
        raise AnswerError(400, "path: empty path: required value")
    present = repository.view(branch).get(path)
    if request.headers.get("if-none-match") == "*" and present is not None:
        raise AnswerError(412, "path already exists")
    expected = request.headers.get("if-match")
    if expected is not None and (present is None or present.checksum != expected.strip('"')):
        raise AnswerError(412, "precondition failed: the object has another ETag")
    content, kind = request.file()
    entry = model.entry(content, repository, kind)
    staging.staged[path] = entry
    return Answer.of(201, shown_entry(path, entry))


@route("DELETE", "/repositories/{repository}/branches/{branch}/objects")
def delete_object(_model: Model, request: HttpRequest, repository: Repo, branch: str) -> Answer:
    repository.writable(branch, force=request.flag("force"))
    staging, path = repository.branch(branch), request.query["path"]
    if path in repository.commits[staging.head].tree:
        staging.staged[path] = None
    else:
        staging.staged.pop(path, None)
    return Answer(status=204)


@route("GET", "/repositories/{repository}/refs/{ref}/objects/ls")
def list_objects(_model: Model, request: HttpRequest, repository: Repo, ref: str) -> Answer:
    prefix, delimiter = request.query.get("prefix", ""), request.query.get("delimiter", "")
    listed: dict[str, dict[str, Any]] = {}
    for path, entry in repository.view(ref).items():
        if not path.startswith(prefix):
            continue
        below, found, _ = path[len(prefix) :].partition(delimiter) if delimiter else (path, "", "")
        if found:
            folder = prefix + below + delimiter
            empty = {"physical_address": "", "checksum": "", "mtime": 0}
            listed[folder] = {"path": folder, "path_type": "common_prefix", **empty}
        else:
            listed[path] = shown_entry(path, entry)
    return page(request, listed.items())


def found(request: HttpRequest, repository: Repo, ref: str) -> tuple[str, StoredObject]:
    path = request.query.get("path", "")
    entry = repository.view(ref).get(path)
    if entry is None:
        raise AnswerError(404, "not found")
    return path, entry


@route("GET", "/repositories/{repository}/refs/{ref}/objects/stat")
def stat(_model: Model, request: HttpRequest, repository: Repo, ref: str) -> Answer:
    return Answer.of(200, shown_entry(*found(request, repository, ref)))


@route("HEAD", "/repositories/{repository}/refs/{ref}/objects")
@route("GET", "/repositories/{repository}/refs/{ref}/objects")
def get_object(_model: Model, request: HttpRequest, repository: Repo, ref: str) -> Answer:
    _, entry = found(request, repository, ref)
    headers = {"Content-Type": entry.content_type, "ETag": f'"{entry.checksum}"'}
    return Answer(status=200, body=entry.content, headers=headers)
