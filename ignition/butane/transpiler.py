"""Butane to Ignition: decode by the schema, turn Butane's sugar into Ignition, validate."""

from ignition.butane import storage_trees, validation
from ignition.butane.document import YamlDocument, YamlError
from ignition.butane.local_files import FilesDir
from ignition.butane.problems import ButaneError, Path, Problem, display
from ignition.butane.schema import document, snake
from ignition.butane.translation import Translation, Values, with_units

_IGNITION_VERSIONS = {"1.0.0": "3.3.0", "1.1.0": "3.4.0"}


def transpile(source: str) -> dict[str, object]:
    """The Ignition configuration of a Butane document, keys in Ignition's order.

    Strict and without local files; ButaneError has what is wrong.
    """
    return translate(source)[0]


def translate(
    source: str, *, strict: bool = True, files: FilesDir | None = None
) -> tuple[dict[str, object], tuple[Problem, ...]]:
    """Return the Ignition configuration and the warnings; `strict` refuses what has warnings.

    Local files are read from `files`. ButaneError has what is wrong.
    """
    try:
        text = YamlDocument(source)
    except YamlError as error:
        raise ButaneError((f"the text is not YAML: {error}",)) from error
    butane = _version(text)
    struct = document(butane)
    values = text.decode(struct)
    if text.refused:
        raise _refusal(text)
    translation = Translation(text, _IGNITION_VERSIONS[butane], files)
    config = translation.config(values, struct)
    mounts = translation.mount_units(values)
    if text.refused:
        raise _refusal(text)
    sources = storage_trees.add(config, values, files, text.say) if values.get("storage") else {}
    if not _valid(text, config, _IGNITION_VERSIONS[butane], sources) or not mounts:
        return _finished(text, config, strict=strict)
    # a second look, because a mount unit can meet a unit or a file of the document
    said = [problem for problem in text.problems if problem.path[:1] != ("systemd",)]
    sources |= with_units(config, mounts)
    text.problems = []
    _valid(text, config, _IGNITION_VERSIONS[butane], sources)
    text.problems = list(dict.fromkeys([*said, *text.problems]))
    return _finished(text, config, strict=strict)


def _valid(text: YamlDocument, config: Values, version: str, sources: dict[Path, Path]) -> bool:
    """Hold the config to Ignition's rules; `sources` says where what was generated comes from."""

    def say(path: Path, sentence: str) -> None:
        made = sources.get(path[:3])
        if made is None:
            made = tuple(part if isinstance(part, int) else snake(part) for part in path)
        elif made[-1:] != ("with_mount_unit",) and made[:2] != ("storage", "trees"):
            made += tuple(part if isinstance(part, int) else snake(part) for part in path[3:])
        text.say(made, sentence)

    validation.validate(config, version, say)
    return not text.refused


def _finished(
    text: YamlDocument, config: Values, *, strict: bool
) -> tuple[dict[str, object], tuple[Problem, ...]]:
    if text.refused or (strict and text.problems):
        raise _refusal(text)
    return config, tuple(text.problems)


def _refusal(text: YamlDocument) -> ButaneError:
    return ButaneError(tuple(map(str, text.problems)), tuple(text.problems))


def _version(text: YamlDocument) -> str:
    variant, version = text.header("variant"), text.header("version")
    if variant != "flatcar":
        raise ButaneError((f'{display(("variant",))}: must be flatcar, not "{variant or ""}"',))
    if version not in _IGNITION_VERSIONS:
        known = " or ".join(_IGNITION_VERSIONS)
        raise ButaneError(
            (f'{display(("version",))}: must be {known} for flatcar, not "{version or ""}"',)
        )
    return version
