"""Objects for the rules of isolation: `(rule, what it is, object)`."""

from collections.abc import Iterator, Mapping

from tests.rehearsal.admission.objects import KINDS, Object, container, pod, template

Row = tuple[str, str, Object]
IMAGE = "isolation/image-digest"
SETTINGS: Mapping[str, Mapping[str, object]] = {}
_DIGEST = "b" * 64


def _of(image: str, name: str = "main") -> Object:
    return {**container(name), "image": image}


def good() -> Iterator[Row]:
    """Objects that keep their rule."""
    for kind, made in KINDS.items():
        yield IMAGE, f"a {kind} by digest", made(template(container()))
    for image in (f"train@sha256:{_DIGEST}", f"registry.example:5000/a/b:1@sha256:{_DIGEST}"):
        yield IMAGE, image[:28], pod(_of(image))


def bad() -> Iterator[Row]:
    """Objects that break their rule."""
    for kind, made in KINDS.items():
        yield IMAGE, f"a {kind} by tag", made(template(container(), _of("train:1.0", "side")))
    for image in ("train", "train:latest", f"train:sha256-{_DIGEST}"):
        yield IMAGE, image[:28], pod(_of(image))
    first = [_of("busybox:1.37", "first")]
    yield IMAGE, "an init container by tag", pod(container(), initContainers=first)


def malformed() -> Iterator[Row]:
    """Objects that both gates refuse, in whatever words."""
    yield IMAGE, "a short digest", pod(_of("train@sha256:abc"))
