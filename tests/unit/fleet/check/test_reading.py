"""Objects from files as people and charts write them, each at its line."""

import io
from pathlib import Path
from typing import Any

import pytest

from fleet.check.reading import ReadResult, read

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n"


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Writes a file below a folder of its own, which is the current one."""
    monkeypatch.chdir(tmp_path)

    def write(text: str | bytes, name: str = "a.yaml") -> ReadResult:
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return read([name])

    return write


def test_documents_are_told_with_the_line_where_each_begins(made: Any) -> None:
    found = made(f"# first\n\n{POD}---\n---\n# nothing here\n---\n{POD}")

    assert [
        (each.resource.file, each.resource.line, each.resource.path) for each in found.objects
    ] == [
        ("a.yaml", 3, "Pod/p"),
        ("a.yaml", 10, "Pod/p"),
    ]
    assert (found.others, found.unreadable) == (0, [])


def test_the_template_of_a_rendered_chart_is_known_from_helms_comment(made: Any) -> None:
    text = (
        f"---\n# Source: c/templates/a.yaml\n{POD}---\n# Source: c/templates/none.yaml\n---\n{POD}"
    )

    assert [each.resource.template for each in made(text).objects] == ["c/templates/a.yaml", ""]


def test_an_object_without_a_namespace_is_in_the_given_one(made: Any) -> None:
    template = POD.replace("kind: Pod", "kind: ClusterWorkflowTemplate")
    made(f"{POD}---\n{POD.replace('p}', 'p, namespace: other}')}---\n{template}")

    found = [each.manifest["metadata"] for each in read(["a.yaml"], "lakefs").objects]

    assert found == [
        {"name": "p", "namespace": "lakefs"},
        {"name": "p", "namespace": "other"},
        {"name": "p"},  # of the whole cluster
    ]


def test_a_list_is_its_items(made: Any) -> None:
    item = "- apiVersion: v1\n  kind: Pod\n  metadata: {name: %s}\n"
    inner = "- apiVersion: v1\n  kind: List\n  items: []\n"

    found = made(f"apiVersion: v1\nkind: List\nitems:\n{item % 'a'}{inner}{item % 'b'}")

    assert [(each.resource.path, each.resource.line) for each in found.objects] == [
        ("Pod/a", 4),
        ("Pod/b", 10),
    ]


def test_an_item_of_a_typed_list_is_of_its_type(made: Any) -> None:
    (one,) = made(
        "apiVersion: apps/v1\nkind: DeploymentList\nitems:\n- metadata: {name: d}\n"
    ).objects

    assert (one.manifest["apiVersion"], one.resource.path) == ("apps/v1", "Deployment/d")


def test_json_is_read_too(made: Any) -> None:
    (one,) = made('{"apiVersion": "v1", "kind": "Pod",\n "spec": {"x": 8.0}}', "a.json").objects

    assert one.manifest["spec"] == {"x": 8}
    assert isinstance(one.manifest["spec"]["x"], int)


def test_a_folder_is_all_manifests_below_it_in_order(made: Any) -> None:
    for name in ("d/b/z.yml", "d/a.json", "d/c.yaml", "d/readme.md"):
        made(POD if not name.endswith("json") else '{"apiVersion": "v1", "kind": "Pod"}', name)

    assert [each.resource.file for each in read(["d"]).objects] == [
        "d/a.json",
        "d/b/z.yml",
        "d/c.yaml",
    ]


def test_a_folder_has_what_its_links_lead_to_once(made: Any) -> None:
    made(POD, "d/b/z.yml")
    made(POD, "other/y.yaml")
    Path("d/a").symlink_to("b")
    Path("d/around").symlink_to("../d")
    Path("d/link").symlink_to("../other")

    assert [each.resource.file for each in read(["d"]).objects] == ["d/b/z.yml", "d/link/y.yaml"]


def test_a_name_that_no_file_can_have_is_told_like_a_missing_file() -> None:
    (said,) = read(["x" * 5000]).unreadable

    assert said.endswith(":1: it cannot be read: File name too long.")


def test_a_file_that_is_named_twice_is_read_once(made: Any) -> None:
    made(POD)

    assert len(read(["a.yaml", "a.yaml"]).objects) == 1


def test_standard_input_is_a_file_of_the_name_dash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(POD.encode())))

    assert [(each.resource.file, each.resource.line) for each in read(["-"]).objects] == [("-", 1)]


def test_documents_that_are_no_kubernetes_objects_are_counted_and_left_out(made: Any) -> None:
    found = made(f"replicas: 3\n---\n- a\n---\ntext\n---\n{POD}")

    assert (len(found.objects), found.others, found.unreadable) == (1, 3, [])


@pytest.mark.parametrize(
    "text",
    [
        "apiVersion: v2\nname: chart\nversion: 0.1.0\n",  # Chart.yaml
        "kind: DaemonSet\nreplicas: 1\n",  # values of a chart
        "kind: Kustomization\nresources: [a.yaml]\n",  # Kustomize fills in its apiVersion
        "apiVersion: 1\ndatasources: []\n",  # Grafana
    ],
)
def test_files_beside_manifests_are_no_objects(made: Any, text: str) -> None:
    found = made(text)

    assert (len(found.objects), found.others, found.unreadable) == (0, 1, [])


def test_a_key_may_be_merged_and_overridden_wherever_its_anchor_stands(made: Any) -> None:
    (one,) = made(
        "x: &base {a: 1, b: 1}\ny:\n  z: &more {<<: *base, a: 2}\ndata: {<<: *more, c: 3}\n" + POD
    ).objects

    assert one.manifest["data"] == {"a": 2, "b": 1, "c": 3}


def test_anchors_that_make_much_of_little_are_refused(made: Any) -> None:
    lines = ["a0: &a0 [x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]

    (said,) = made("\n".join(lines)).unreadable

    assert said == "a.yaml:1: it is no YAML: its anchors repeat too much."


def test_characters_that_json_writes_as_two_escapes_are_read(made: Any) -> None:
    text = '{"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "\\ud83d\\ude00 \\\\ud83d"}}'

    (one,) = made(text, "a.json").objects

    assert one.manifest["data"] == {"a": "\N{GRINNING FACE} \\ud83d"}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("{name: a}", "a"),
        ("{generateName: job-}", "job-"),
        ("{name: 7}", "7"),
        ("{}", ""),
        ("null", ""),
        ("text", ""),
    ],
)
def test_an_object_has_a_name_or_the_beginning_of_one(made: Any, name: str, expected: str) -> None:
    (one,) = made(f"apiVersion: v1\nkind: Pod\nmetadata: {name}\n").objects

    assert one.resource.path == f"Pod/{expected}"


def test_scalars_are_those_of_kubectl(made: Any) -> None:
    (one,) = made(
        f"{POD}data: {{day: 2026-11-21, at: 12:30, on: 1_000, n: 0x1F, e: 1e3, m: 0o17, "
        "p: 0b1001, q: y, r: Y, s: N, t: 1_0.5, u: _5, v: yess, w: -0b11}\n"
    ).objects

    data = one.manifest["data"]
    assert data == {
        "day": "2026-11-21",
        "at": "12:30",
        "true": 1000,
        "false": 31,
        "e": 1000,
        "m": 15,
        "p": 9,
        "q": True,
        "r": True,
        "s": False,
        "t": 10.5,
        "u": "_5",
        "v": "yess",
        "w": -3,
    }


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a: b\nc: [d\n", "a.yaml:3: it is no YAML: "),
        (
            f"{POD}---\nkind: Pod\nmetadata: {{name: p}}\n",
            "a.yaml:5: an object here has no apiVersion.",
        ),
        ("apiVersion: v1\nmetadata: {name: p}\n", "a.yaml:1: an object here has no kind."),
        ("x:\n- !!bool maybe\n", "a.yaml:2: it is no YAML: a value here cannot be read as bool."),
        (f"x:\n  y: {'9' * 5000}\n", "a.yaml:2: it is no YAML: a value here cannot be read as"),
        ("x:\n  a: &a [*a]\n", "a.yaml:2: it is no YAML: an anchor here holds itself."),
        (f"a: {'[' * 900}{']' * 900}\n", "a.yaml:1: it is no YAML for kubectl: it is nested"),
        (f"a: {'[' * 200_000}\n", "a.yaml:1: it is no YAML for kubectl: it is nested"),
        (
            "# \u00e4\u00e4\u00e4\u00e4\u00e4\nb: \x01\n\n\n\n\n\n",
            "a.yaml:2: it is no YAML: control",
        ),
        ("apiVersion: v1\nkind: 3\n", "a.yaml:1: an object here has no kind."),
        (
            "kind: Pod\nspec:\n  a: 1\n  a: 2\n",
            "a.yaml:4: it is no YAML: the key 'a' is there twice.",
        ),
        (
            "kind: Pod\nname: {{ .Values.name }}\n",
            "a.yaml:2: it is no YAML: found unhashable key; is it a template",
        ),
        (b"kind: Pod\nname: \xff\n", "a.yaml:2: it is no UTF-8."),
        ("kind: Pod\nname: \x01\n", "a.yaml:2: it is no YAML: "),
        ("a: &x\n  b: *y\n", "a.yaml:2: it is no YAML: found undefined alias."),
        ("a: !thing 3\n", "a.yaml:1: it is no YAML: could not determine a constructor"),
    ],
)
def test_a_document_that_cannot_be_read_is_a_sentence_with_file_and_line(
    made: Any, text: str | bytes, sentence: str
) -> None:
    (said,) = made(text).unreadable

    assert said.startswith(sentence)
    assert said.endswith(".")


def test_the_rest_is_read_beside_what_cannot_be(made: Any) -> None:
    made(POD)
    made("[", "b.yaml")

    found = read(["a.yaml", "b.yaml", "missing.yaml"])

    assert [each.resource.file for each in found.objects] == ["a.yaml"]
    assert [said.split(":")[0] for said in found.unreadable] == ["b.yaml", "missing.yaml"]


@pytest.mark.parametrize(
    ("head", "spec", "fault"),
    [
        ("v1 Pod", "5", "spec is 5; allowed: a mapping."),
        ("v1 Pod", "{containers: {a: b}}", "spec.containers is a mapping; allowed: a list."),
        ("v1 Pod", "{containers: [a]}", "spec.containers[0] is text; allowed: a mapping."),
        (
            "apps/v1 Deployment",
            "{template: {spec: {containers: [{resources: {limits: []}}]}}}",
            "spec.template.spec.containers[0].resources.limits is an empty list; allowed: ",
        ),
        ("batch.volcano.sh/v1alpha1 Job", "{tasks: 1}", "spec.tasks is 1; allowed: a list."),
        (
            "kubeflow.org/v1 PyTorchJob",
            "{pytorchReplicaSpecs: {Worker: {template: 7}}}",
            "spec.pytorchReplicaSpecs.Worker.template is 7; allowed: a mapping.",
        ),
        ("kubeflow.org/v1 MPIJob", "{mpiReplicaSpecs: []}", "spec.mpiReplicaSpecs is an empty "),
    ],
)
def test_a_pod_of_another_shape_is_named_and_not_judged(
    made: Any, head: str, spec: str, fault: str
) -> None:
    version, kind = head.split()
    found = made(f"apiVersion: {version}\nkind: {kind}\nmetadata: {{name: p}}\nspec: {spec}\n")

    assert found.objects == []
    (said,) = found.unreadable
    assert said.startswith(f"a.yaml:1: {kind} 'p' is not judged: {fault}")


def test_what_is_null_counts_as_missing_and_other_kinds_have_their_own_shape(made: Any) -> None:
    other = "apiVersion: example.org/v1\nkind: Job\nmetadata: {name: p}\nspec: 5\n"
    labelled = POD.replace("name: p", "name: p, labels: {spec: gpu, tasks: '3'}")
    found = made(f"{POD}spec: {{containers: [], volumes: null}}\n---\n{other}---\n{labelled}")

    assert (len(found.objects), found.unreadable) == (3, [])
