"""What is imported is declared, and what an extra brings is missed in one line that names the extra."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bench import install_size
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


@pytest.mark.slow
def test_the_page_of_installing_says_what_is_installed_and_how_large_it_is() -> None:
    base, _ = install_size.closure("truebench-hf")
    told = {
        name: float(size.replace(",", ""))
        for name, size in re.findall(r"^\| `(\w+)` \|.*\| ([\d,]+) MB", INSTALL, re.M)
    }
    whole = float(re.findall(r"([\d,]+) MB", INSTALL)[0].replace(",", ""))
    assert whole == pytest.approx(sum(map(install_size.size, base)), rel=0.15)
    assert set(told) == set(EXTRAS) - {"dev", "slow", "inspect", "vllm"}
    for extra, megabytes in told.items():
        found, missing = install_size.closure("truebench-hf", frozenset({extra}))
        assert not missing
        # Of torch there are builds of very different size.
        assert megabytes == pytest.approx(sum(map(install_size.size, found - base)), rel=0.25), extra
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
