"""The wheel: it builds, installs into an empty environment, and holds every file the package needs."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def sources(folder: Path, prefix: str) -> set[str]:
    """The files of a source folder by the names they should have in the wheel."""
    files = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {f"{prefix}/{path.relative_to(folder).as_posix()}" for path in files}


def run(command: Sequence[str | Path], cwd: Path) -> str:
    done = subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy, so that the checkout stays clean."""
    folder = tmp_path_factory.mktemp("package")
    copy = folder / "source"
    copy.mkdir()
    for name in ("truebench_hf", "loaders"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy / name)
    run([sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder], copy)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def environment(wheel: Path) -> Path:
    """An environment with nothing but the wheel; it sees the dependencies of this one behind its own packages."""
    target = wheel.parent / "environment"
    venv.create(target, with_pip=False)
    python = target / "bin" / "python"
    run(
        [sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", "--quiet", wheel],
        target,
    )
    (site,) = target.glob("lib/python*/site-packages")
    (site / "dependencies.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    return target


def test_every_file_is_in_the_wheel_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        inside = {name for name in archive.namelist() if ".dist-info/" not in name}
        texts = [
            name for name in archive.namelist() if name.endswith((".dist-info/licenses/LICENSE", "entry_points.txt"))
        ]
    assert inside == sources(ROOT / "truebench_hf", "truebench_hf") | sources(ROOT / "loaders", "truebench_hf/loaders")
    assert len(texts) == 2


def test_it_runs_from_the_wheel(environment: Path, tmp_path: Path) -> None:
    code = (
        "import truebench_hf, truebench_hf.loaders\n"
        "from truebench_hf.benchmarks.truebench.data import load\n"
        "from truebench_hf.prompts import Prompts, names\n"
        "assert all(Prompts().source(name) for name in names())\n"
        "print(len(load('mini')), truebench_hf.__file__)"
    )
    shown = run([environment / "bin" / "python", "-c", code], tmp_path).split()
    assert shown[0] == "36"
    assert shown[1].startswith(str(environment))
    (tmp_path / "model.json").write_text('{"rules": []}')
    (tmp_path / "judge.json").write_text('{"rules": [{"contains": "<criteria", "verdicts": {}}]}')
    command = [environment / "bin" / "truebench", "run", "--data", "mini", "--limit", "3", "--out", "out"]
    shown = "".join(run([*command, "--model", "scripted:model.json", "--judge", "scripted:judge.json"], tmp_path))
    assert "100.00" in shown
    assert "Pass rate" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
