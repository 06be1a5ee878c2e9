"""The archive of a release: what is packed is taken elsewhere, and nothing else is."""

import hashlib
import io
import tarfile
from pathlib import Path

import pytest

from tests.unit.toolchain.conftest import Workshop
from toolchain import __main__ as command_line
from toolchain.archive import USUAL, pack, take
from toolchain.build import ToolchainError
from toolchain.layout import Layout
from toolchain.programs import KWOK


def checksum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def archive(workshop: Workshop, tmp_path: Path) -> Path:
    path = tmp_path / "toolchain.tar.gz"
    pack(path, console=None, layout=workshop.layout)
    return path


def elsewhere(workshop: Workshop, tmp_path: Path) -> Layout:
    """The same checkout on a machine that has built nothing."""
    return Layout(home=tmp_path / "elsewhere", sources=workshop.layout.sources)


def test_what_was_packed_is_taken_instead_of_built(
    workshop: Workshop, archive: Path, tmp_path: Path
) -> None:
    there = elsewhere(workshop, tmp_path)
    taken = take(archive, checksum(archive), console=None, layout=there)
    assert taken == USUAL
    assert all(there.is_built(program) for program in USUAL)
    assert (there.directory(KWOK) / "kwok").stat().st_mode & 0o111
    assert [*there.crds.glob("*/*.yaml")]
    assert there.leftovers() == []


def test_programs_on_path_are_packed_all_the_same(workshop: Workshop, tmp_path: Path) -> None:
    workshop.install("kwok", f"kwok version v{KWOK.version()}")
    path = tmp_path / "toolchain.tar.gz"
    pack(path, console=None, layout=workshop.layout)
    assert "kwok" in workshop.builds()


def test_the_same_programs_give_the_same_bytes(
    workshop: Workshop, archive: Path, tmp_path: Path
) -> None:
    again = tmp_path / "again.tar.gz"
    pack(again, console=None, layout=workshop.layout)
    assert checksum(again) == checksum(archive)


def test_an_archive_with_another_checksum_is_refused_and_nothing_taken(
    workshop: Workshop, archive: Path, tmp_path: Path
) -> None:
    there = elsewhere(workshop, tmp_path)
    with pytest.raises(ToolchainError, match=r'has the SHA-256 [0-9a-f]{64}, and "0{64}" was'):
        take(archive, "0" * 64, console=None, layout=there)
    assert not there.finished.exists()


def test_a_program_of_another_pin_stays_out(
    workshop: Workshop, archive: Path, tmp_path: Path
) -> None:
    workshop.pin("kwok", f"v{KWOK.version()}", "v0.99.0")
    there = elsewhere(workshop, tmp_path)
    taken = take(archive, checksum(archive), console=None, layout=there)
    assert {program.name for program in USUAL} - {program.name for program in taken} == {"kwok"}


def test_an_archive_without_any_fitting_program_is_a_sentence(
    workshop: Workshop, tmp_path: Path
) -> None:
    path = tmp_path / "other.tar.gz"
    with tarfile.open(path, "w:gz") as other:
        other.addfile(tarfile.TarInfo("kwok-0.0.1-00000000/kwok"), io.BytesIO())
    with pytest.raises(ToolchainError, match="none of the programs that this checkout needs"):
        take(path, checksum(path), console=None, layout=elsewhere(workshop, tmp_path))


@pytest.mark.parametrize(
    "kind", [tarfile.REGTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE]
)
def test_a_file_outside_of_its_folder_is_refused(
    workshop: Workshop, tmp_path: Path, kind: bytes
) -> None:
    path = tmp_path / "evil.tar.gz"
    entry = tarfile.TarInfo("../../../evil")
    entry.type, entry.linkname = kind, "/etc/passwd"
    if kind != tarfile.REGTYPE:
        entry.name = "kwok/kwok"
    with tarfile.open(path, "w:gz") as evil:
        evil.addfile(entry, io.BytesIO())
    with pytest.raises(ToolchainError, match="cannot be unpacked"):
        take(path, checksum(path), console=None, layout=elsewhere(workshop, tmp_path))
    assert not (tmp_path / "evil").exists()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["take"], "the archive, and its SHA-256 as SHA256SUMS"),
        (["take", "/nowhere.tar.gz", "0" * 64], "/nowhere.tar.gz cannot be read"),
        (["take", __file__, ""], "take the checksum from SHA256SUMS"),
        (["pack"], "the file to write"),
    ],
)
def test_a_wrong_command_line_is_a_sentence(
    words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command_line.main(words) == 1
    assert sentence in capsys.readouterr().err
