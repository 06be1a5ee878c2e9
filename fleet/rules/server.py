"""Tries the CEL of rules of one's own at a real API server, on the objects of their cases.

Each rule is a policy of its own that warns, and each object a dry run, so that one bad rule leaves
the verdicts of the others alone. A policy is at work a moment after it is made: one that warns of
everything is made behind them, and when it warns, so do they.
"""

import os
import re
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any, cast

import yaml

from fleet.rules.cases import Case, Tried, at_preview
from policies.gates.admission import manifests
from policies.language.rule import Kind
from rehearsal.api import Api, ApiServerError
from rehearsal.control_plane import Launcher, Programs
from rehearsal.processes import Processes
from settings.yaml_reading import path_from_here
from toolchain.build import Tools

PROGRAMS = ("control-plane", "kwok", "admitter", "crds")
SEEN_S = 60.0
_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
_CANARY = "fleet-rules-test"
_ASKED: dict[str, Any] = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": _CANARY}}
_WARNED = re.compile(r"ValidatingAdmissionPolicy '([^']+)'")


@contextmanager
def control_plane(tools: Tools) -> Iterator[Api]:
    """Start an API server with its parts, and end them."""
    with tempfile.TemporaryDirectory() as folder:
        processes = Processes(Path(folder))
        programs = Programs.of(tools)
        launcher = Launcher(
            directory=Path(folder),
            processes=processes,
            programs=programs,
            environment=dict(os.environ),
        )
        try:
            plane = launcher.launch(service_cidr="10.96.0.0/16", pod_cidr="10.244.0.0/16")
            _install_kinds(plane.api, tools.crds)
            yield plane.api
        finally:
            processes.stop()


def _install_kinds(api: Api, folder: Path) -> None:
    """Install the kinds of Karpenter, Volcano and the others that the fleet uses."""
    every = [
        crd
        for file in sorted(folder.rglob("*.yaml"))
        for crd in yaml.safe_load_all(file.read_text(encoding="utf-8"))
        if crd
    ]
    places = [f"{_CRDS}/{crd['metadata']['name']}" for crd in every]
    for place, crd in zip(places, every, strict=True):
        api.apply(place, crd)
    until = time.monotonic() + SEEN_S
    while not all(_is_served(api.get(place)) for place in places):
        if time.monotonic() > until:
            raise TimeoutError(f"The API server serves no new kinds after {SEEN_S:.0f} s.")
        time.sleep(0.05)


def _is_served(crd: Mapping[str, Any] | None) -> bool:
    conditions = (crd or {}).get("status", {}).get("conditions", [])
    return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)


def mistakes(api: Api, every: Sequence[Tried], today: date) -> Iterator[str]:
    """Yield what the API server says of rules and objects otherwise than the cases."""
    held = [each for each in every if each.own.rule.admission]
    taken = []
    for each in held:
        try:
            _install(api, each, today)
            taken.append(each)
        except ApiServerError as error:
            yield (
                f"{path_from_here(each.own.file)}: the API server refuses the CEL of "
                f"{each.own.rule.id}: {_short(error)}"
            )
    _see_them_at_work(api)
    for each in taken:
        for case in each.cases:
            yield from _differs(api, each, case, today)


def _policy_name(each: Tried) -> str:
    return f"own-{each.own.rule.id.replace('/', '-')}"


def _install(api: Api, each: Tried, today: date) -> None:
    for made in cast(
        "list[dict[str, Any]]", manifests([each.configured], stage="audit", today=today)
    ):
        made["metadata"]["name"] = _policy_name(each)
        if "policyName" in made["spec"]:
            made["spec"]["policyName"] = _policy_name(each)
        _apply(api, made)


def _apply(api: Api, made: Mapping[str, Any]) -> None:
    bindings = _POLICIES.removesuffix("ies") + "ybindings"
    collection = bindings if made["kind"].endswith("Binding") else _POLICIES
    api.apply(f"{collection}/{made['metadata']['name']}", made)


def _see_them_at_work(api: Api) -> None:
    """Wait until a policy that was made last warns; raises TimeoutError where none does."""
    version = "admissionregistration.k8s.io/v1"
    kinds = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"]}
    rule = {**kinds, "resources": ["configmaps"]}
    spec = {
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": f"object.metadata.name != '{_CANARY}'"}],
    }
    bound = {"policyName": _CANARY, "validationActions": ["Warn"]}
    for kind, said in (("", spec), ("Binding", bound)):
        whole = f"ValidatingAdmissionPolicy{kind}"
        _apply(
            api,
            {"apiVersion": version, "kind": whole, "metadata": {"name": _CANARY}, "spec": said},
        )
    until = time.monotonic() + SEEN_S
    path = "/api/v1/namespaces/default/configmaps"
    while _CANARY not in _warned(api.client.post(path, json=_ASKED, params={"dryRun": "All"})):
        if time.monotonic() > until:
            raise TimeoutError(f"The API server holds no policy after {SEEN_S:.0f} s.")
        time.sleep(0.05)


def _warned(response: Any) -> dict[str, str]:
    """Return the warnings of an answer by the policy that warns."""
    return {
        found[1]: text
        for text in response.headers.get_list("warning")
        if (found := _WARNED.search(text))
    }


def _differs(api: Api, each: Tried, case: Case, today: date) -> Iterator[str]:
    kinds = each.own.rule.admission.kinds if each.own.rule.admission else ()
    path = _path(api, case.manifest, kinds)
    if path is None:
        yield (
            f"{case.place}: {case.name} is not tried, because the API server has no kind "
            f"{case.manifest['kind']} of {case.manifest.get('apiVersion')}, or the admission of "
            f"{each.own.rule.id} does not list it."
        )
        return
    answer = api.client.post(path, json=case.manifest, params={"dryRun": "All"})
    said = _warned(answer).get(_policy_name(each))
    if not answer.is_success:
        why = answer.json().get("message", "")
        yield f"{case.place}: {case.name} is not tried, because the API server refuses it: {why}"
    elif case.is_good and said:
        yield f"{case.place}: {case.name} is good, and the API server says: {_sentence(said)}"
    elif not case.is_good and not said:
        yield f"{case.place}: {case.name} is bad, and the API server takes it."
    elif said and f"{each.own.rule.id}: " not in said:
        yield f"{case.place}: the CEL of {each.own.rule.id} fails on it: {_sentence(said)}"
    elif said:
        found = at_preview(each.configured, case, today)
        sentences = [f"{one.rule}: {sentence}" for one in found for sentence in one.sentences]
        if sentences and _sentence(said) not in sentences:
            yield (
                f"{case.place}: the preview says: {sentences[0]} The API server says: "
                f"{_sentence(said)}"
            )


def _path(api: Api, manifest: Mapping[str, Any], kinds: Sequence[Kind]) -> str | None:
    """Return the collection of an object, None where the server or the rule has no such kind."""
    version = str(manifest.get("apiVersion"))
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    group = version.partition("/")[0] if "/" in version else ""
    for found in (api.get(root) or {"resources": []})["resources"]:
        if found["kind"] == manifest["kind"] and (group, found["name"]) in kinds:
            space = (manifest.get("metadata") or {}).get("namespace", "default")
            between = f"/namespaces/{space}" if found["namespaced"] else ""
            return f"{root}{between}/{found['name']}"
    return None


def _sentence(warning: str) -> str:
    """Return what a policy says, without the server's words around it."""
    _, _, said = warning.partition("with binding")
    return said.partition(": ")[2].strip('"').replace('\\"', '"') or warning


def _short(error: ApiServerError) -> str:
    """Return the first complaint; the server repeats the whole expression in front of each."""
    found = re.findall(r"compilation failed: (.*?)(?:\n|$)", str(error))
    return found[0] if found else str(error).splitlines()[0]
