"""Mutants of files: where they lie, their mode, their source."""

import re
from collections.abc import Iterator
from random import Random

from tests.support.ignition.faults import encoded, entries, find
from tests.sweeps.boot_mutants.bases import JOIN, Base, Json, Kind, misspelt

Mutants = Iterator[tuple[str, Json]]


def entry_of(base: Base, kind: str, name: str) -> tuple[Json, Json]:
    """A copy of the boot data, and the entry of that name in it."""
    config = base.config()
    return config, find(config, kind, name)


def without(kind: str) -> Kind:
    """Leaves out one entry of files or links after the other."""

    def drop(base: Base, _random: Random) -> Mutants:
        for name in base.names(kind):
            config, entry = entry_of(base, kind, name)
            entries(config, kind).remove(entry)
            yield name, config

    return drop


def moved(base: Base, random: Random) -> Mutants:
    for path in base.names("files"):
        folder, _, name = path.rpartition("/")
        new = random.choice(
            (f"{misspelt(folder, random)}/{name}", f"{path}.bak", f"{folder}/old/{name}")
        )
        if base.config() and path != "/etc/hostname":
            config, entry = entry_of(base, "files", path)
            entry["path"] = new
            yield f"{path} -> {new}", config


def name_misspelt(base: Base, random: Random) -> Mutants:
    for path in base.names("files"):
        folder, _, name = path.rpartition("/")
        config, entry = entry_of(base, "files", path)
        entry["path"] = f"{folder}/{misspelt(name, random)}"
        yield entry["path"], config


def relative(base: Base, random: Random) -> Mutants:
    for kind in ("files", "links"):
        for path in base.names(kind):
            config, entry = entry_of(base, kind, path)
            forms = (path[1:], f".{path}", path.replace("/", "//", 1), f"/etc/..{path}", f"{path}/")
            entry["path"] = random.choice(forms)
            yield entry["path"], config


def decimal_mode(base: Base, _random: Random) -> Mutants:
    for path in base.names("files"):
        config, entry = entry_of(base, "files", path)
        if entry.get("mode") is not None:
            entry["mode"] = int(f"{entry['mode']:o}")
            yield f"{path} {entry['mode']}", config


def open_mode(base: Base, random: Random) -> Mutants:
    for path in base.names("files"):
        config, entry = entry_of(base, "files", path)
        entry["mode"] = random.choice((0o666, 0o777, 0o4755, 0o664, 0o100, 0o040))
        yield f"{path} {entry['mode']:04o}", config


def secret_in_the_open(base: Base, _random: Random) -> Mutants:
    for path in base.names("files"):
        config, entry = entry_of(base, "files", path)
        if entry.get("mode") == 0o600:
            entry["mode"] = 0o644
            yield path, config


def not_executable(base: Base, _random: Random) -> Mutants:
    for path in base.names("files"):
        config, entry = entry_of(base, "files", path)
        if entry.get("mode", 0) & 0o111:
            entry["mode"] = 0o644
            yield path, config


def twice(base: Base, _random: Random) -> Mutants:
    for kind in ("files", "links", "units"):
        for name in base.names(kind):
            config, entry = entry_of(base, kind, name)
            entries(config, kind).append(entry)
            yield name, config


def file_and_link(base: Base, random: Random) -> Mutants:
    path = random.choice(base.names("files"))
    config = base.config()
    config["storage"].setdefault("links", []).append({"path": path, "target": "/dev/null"})
    yield path, config


def emptied(base: Base, _random: Random) -> Mutants:
    for path in base.texts:
        yield path, base.with_text(path, "")


def contents_exchanged(base: Base, random: Random) -> Mutants:
    # the certificates of the tests are made up, so that none belongs to a key
    paths = sorted(path for path in base.texts if "/pki/" not in path)
    one, other = random.sample(paths, 2)
    config = base.config()
    first, second = (find(config, "files", path)["contents"] for path in (one, other))
    first["source"], second["source"] = second["source"], first["source"]
    yield f"{one} and {other}", config


def data_damaged(base: Base, random: Random) -> Mutants:
    path = random.choice(sorted(base.texts))
    config, entry = entry_of(base, "files", path)
    source = encoded(base.texts[path])
    entry["contents"]["source"] = random.choice(
        (source.replace(",", "", 1), source.replace(",", ",*"), source.replace("data:", "date:"))
    )
    yield path, config


def _downloads(base: Base) -> Iterator[str]:
    for path in base.names("files"):
        if path not in base.texts:
            yield path


def source_in_the_open(base: Base, _random: Random) -> Mutants:
    for path in _downloads(base):
        config, entry = entry_of(base, "files", path)
        entry["contents"]["source"] = entry["contents"]["source"].replace("https:", "http:")
        yield path, config


def source_of_another_version(base: Base, _random: Random) -> Mutants:
    for path in _downloads(base):
        config, entry = entry_of(base, "files", path)
        source = entry["contents"]["source"]
        numbers = list(re.finditer(r"\d+", source.rpartition("/")[2]))
        if numbers:
            start = source.rindex("/") + 1
            at = numbers[min(1, len(numbers) - 1)]
            entry["contents"]["source"] = (
                source[: start + at.start()] + str(int(at[0]) + 1) + source[start + at.end() :]
            )
            yield entry["contents"]["source"], config


def hash_malformed(base: Base, random: Random) -> Mutants:
    downloads = list(_downloads(base))
    if not downloads:
        return
    path = random.choice(downloads)
    config, entry = entry_of(base, "files", path)
    wrong = random.choice(("sha512-abc", "md5-" + "0" * 32, "0" * 128, "sha256-" + "0" * 128))
    entry["contents"]["verification"] = {"hash": wrong}
    yield f"{path} {wrong[:20]}", config


def unread(base: Base, random: Random) -> Mutants:
    path = random.choice(
        (
            "/etc/sysctl.d/99-tuning",
            "/etc/sysctl.conf.d/99-tuning.conf",
            "/etc/coreos/update.conf",
            "/etc/modprobe.d/nvidia",
            "/etc/default/kubelet",
            "/etc/default/grub",
            "/etc/tuned/active_profile",
            "/etc/systemd/system.conf.d/99-affinity",
            "/etc/udev/rules.d/60-gpu.conf",
            "/etc/kubernetes/kubelet.conf.d/10-tuning.conf",
            "/etc/rc.local",
        )
    )
    config = base.config()
    config["storage"]["files"].append(
        {"path": path, "mode": 0o644, "contents": {"source": encoded("x = 1\n")}}
    )
    yield path, config


def on_read_only_usr(base: Base, random: Random) -> Mutants:
    ours = [path for path in base.names("files") if path.startswith("/opt/")]
    if not ours:
        return
    path = random.choice(ours)
    config, entry = entry_of(base, "files", path)
    entry["path"] = path.replace("/opt/", "/usr/local/")
    yield entry["path"], config


def join_file_dropped(base: Base, _random: Random) -> Mutants:
    if JOIN in base.texts:
        config, entry = entry_of(base, "files", JOIN)
        entries(config, "files").remove(entry)
        yield JOIN, config


KINDS: dict[str, Kind] = {
    "file dropped": without("files"),
    "file moved": moved,
    "file misspelt": name_misspelt,
    "relative or unclean path": relative,
    "mode in decimal": decimal_mode,
    "mode too open or closed": open_mode,
    "secret in the open": secret_in_the_open,
    "script not executable": not_executable,
    "entry twice": twice,
    "file and link of one path": file_and_link,
    "file emptied": emptied,
    "contents exchanged": contents_exchanged,
    "data damaged": data_damaged,
    "source without TLS": source_in_the_open,
    "source of another version": source_of_another_version,
    "hash malformed": hash_malformed,
    "file that nobody reads": unread,
    "file on the read-only /usr": on_read_only_usr,
    "join file missing": join_file_dropped,
}
