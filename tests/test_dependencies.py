"""What is imported is declared, an extra that is missed is one line with its name, and the wheel holds it all."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.support.runs import ROOT, command_here, script
from tests.test_house import PROJECT, names_of

EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
INSTALL = (ROOT / "docs" / "install.md").read_text("utf-8")


def test_the_pins_hold_all_that_is_declared() -> None:
    lines = (ROOT / "constraints.txt").read_text("utf-8").split()
    pinned = {line.partition("==")[0].lower().replace("_", "-") for line in lines}
    needed = names_of(PROJECT["dependencies"]).union(*map(names_of, EXTRAS.values()))
    # Which live in environments of their own: tests/vllm, tests/integrations.
    assert needed - pinned <= {"vllm", "inspect-ai", "truebench-hf"}


def closure(name: str, extras: frozenset[str] = frozenset()) -> tuple[set[str], set[str]]:
    """Return the distributions that `name` needs with some extras, itself too: (those installed here, those missing)."""
    here, missing, waiting = set[str](), set[str](), [(name, extras)]
    seen = set[tuple[str, frozenset[str]]]()
    while waiting:
        needing = name, extras = waiting.pop()
        if needing in seen:
            continue
        seen.add(needing)
        try:
            installed = distribution(name)
        except PackageNotFoundError:
            missing.add(name)
            continue
        here.add(name.lower().replace("_", "-"))
        for line in installed.requires or ():
            needed = Requirement(line)
            if any(needed.marker is None or needed.marker.evaluate({"extra": extra}) for extra in extras or {""}):
                waiting.append((needed.name, frozenset(needed.extras)))
    return here, missing


def size(name: str) -> float:
    """Return the megabytes of a distribution's files; of a module twice, since its compiled form takes as much again."""
    installed = distribution(name)
    paths = [Path(str(installed.locate_file(file))) for file in installed.files or ()]
    sizes = {path: path.stat().st_size for path in paths if path.is_file() and path.suffix != ".pyc"}
    return sum(size * (1 + (path.suffix == ".py")) for path, size in sizes.items()) / 1e6


@pytest.mark.slow
def test_the_page_of_installing_says_what_is_installed_and_how_large_it_is() -> None:
    base, _ = closure("truebench-hf")
    told = {
        name: float(size.replace(",", ""))
        for name, size in re.findall(r"^\| `(\w+)` \|.*\| ([\d,]+) MB", INSTALL, re.M)
    }
    whole = float(re.findall(r"([\d,]+) MB", INSTALL)[0].replace(",", ""))
    assert whole == pytest.approx(sum(map(size, base)), rel=0.15)
    assert set(told) == set(EXTRAS) - {"dev", "slow", "inspect", "vllm"}
    for extra, megabytes in told.items():
        found, missing = closure("truebench-hf", frozenset({extra}))
        assert not missing
        # Of torch there are builds of very different size.
        assert megabytes == pytest.approx(sum(map(size, found - base)), rel=0.25), extra
    for extra in set(EXTRAS) - {"dev", "slow"}:
        assert f"`{extra}`" in INSTALL


# Modules that only an extra brings, as absent as where nobody installed it.
ABSENT = "gradio starlette sklearn statsmodels sacrebleu rouge_score torch transformers accelerate gguf vllm bert_score ray trl peft"
BARE = f"""
import sys
sys.modules.update(dict.fromkeys({ABSENT.split()!r}))
sys.argv[0] = "truebench"
from truebench_hf.cli.main import main
main()
"""


def bare(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A command where only the base is installed."""
    return subprocess.run(
        [sys.executable, "-c", BARE, *arguments], cwd=folder, capture_output=True, text=True, timeout=100
    )


@pytest.fixture
def here(tmp_path: Path) -> Path:
    script(tmp_path / "m.json", [{"contains": "<criteria", "verdicts": {}}], {"reply": "So be it."})
    return tmp_path


SPECS = ("--model", "scripted:m.json", "--judge", "scripted:m.json")
MISSED = [
    (["space"], "the Space needs gradio: pip install 'truebench-hf[space]'"),
    (["run", "--data", "mini", "--model", "smollm2", *SPECS[2:], "--out", "o"], "smollm2 needs transformers: pip install 'truebench-hf[local]'"),
    (["run", "--data", "mini", "--model", "vllm:org/m", *SPECS[2:], "--out", "o"], "vllm:org/m needs vllm: pip install 'truebench-hf[vllm]'"),
    (["run", "--data", "mini", *SPECS, "--engine", "ray", "--out", "o"], "--engine ray needs ray: pip install 'truebench-hf[ray]'"),
    (["study", "calibrate", "--data", "rubric_mini", *SPECS[2:], "--out", "o"], "this command needs sklearn: pip install 'truebench-hf[stats]'"),
    (["study", "checklist", "validate", "--data", "checklists_mini", *SPECS[2:], "--out", "o"], "this command needs sacrebleu: pip install 'truebench-hf[stats]'"),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("arguments", "told"), MISSED, ids=[" ".join(case[0][:2]) for case in MISSED])
def test_a_missing_extra_is_one_line_before_anything_is_paid_for(here: Path, arguments: list[str], told: str) -> None:
    done = bare(here, *arguments)
    assert (done.returncode, done.stderr) == (2, f"truebench: {told}\n")
    assert not (here / "o").exists()


@pytest.mark.slow
def test_a_run_and_a_meta_evaluation_need_no_extra(here: Path) -> None:
    done = bare(here, "run", "--data", "mini", "--limit", "3", *SPECS, "--out", "run")
    assert done.returncode == 0, done.stderr
    assert "Pass rate" in (here / "run" / "report.html").read_text("utf-8")
    done = bare(here, "metaeval", "--data", "rubric_mini", "--limit", "4", *SPECS[2:], "--out", "meta")
    assert "Traceback" not in done.stderr
    assert (here / "meta" / "scores.json").is_file(), done.stderr


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    done = command_here(capsys, "--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"truebench-hf {PROJECT['version']}\n", "")


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


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_every_file_is_in_the_wheel_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        inside = {name for name in archive.namelist() if ".dist-info/" not in name}
        texts = [
            name for name in archive.namelist() if name.endswith((".dist-info/licenses/LICENSE", "entry_points.txt"))
        ]
    assert inside == sources(ROOT / "truebench_hf", "truebench_hf") | sources(ROOT / "loaders", "truebench_hf/loaders")
    assert len(texts) == 2


@pytest.mark.slow
@pytest.mark.timeout(600)
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
