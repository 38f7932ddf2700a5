"""What binds the folder of a RubricEval study: who its models are, but not how they are reached."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.openai_server import OpenAIServer
from tests.support.rubric_rows import few
from truebench_hf.benchmarks.rubric_eval.arbitration import ArbitrateOptions, arbitrate
from truebench_hf.benchmarks.rubric_eval.calibration import CalibrateOptions, calibrate
from truebench_hf.benchmarks.rubric_eval.contrast import ContrastOptions, contrast
from truebench_hf.benchmarks.rubric_eval.metaeval import MetaevalOptions, metaeval
from truebench_hf.benchmarks.rubric_eval.taxonomy import TaxonomyOptions, taxonomy
from truebench_hf.errors import UserError

Study = Callable[..., object]  # (out, *arguments of the models, further options)


def _arbitrate(out: Path, *given: str, **more: Any) -> object:
    named = {
        "data": few(out.parent),
        "judge": ("openai:a", "openai:b"),
        "meta_judge": ("openai:c", "openai:d"),
        "limit": 2,
    }
    return arbitrate(
        ArbitrateOptions(**{**named, "out": str(out), "judge_arg": given, "meta_judge_arg": given, **more})
    )


def _metaeval(out: Path, *given: str, **more: Any) -> object:
    named = {"data": few(out.parent), "judge": ("openai:a",), "paradigms": "checklist", "limit": 4}
    return metaeval(MetaevalOptions(**{**named, "out": str(out), "judge_arg": given, **more}))


def _calibrate(out: Path, *given: str, **more: Any) -> object:
    named = {"data": few(out.parent), "judge": "openai:a", "limit": 12}
    return calibrate(CalibrateOptions(**{**named, "out": str(out), "judge_arg": given, **more}))


def _contrast(out: Path, *given: str, **more: Any) -> object:
    named = {"data": few(out.parent), "writer": "openai:a", "judge": "openai:b", "limit": 4}
    return contrast(ContrastOptions(**{**named, "out": str(out), "writer_arg": given, "judge_arg": given, **more}))


def _taxonomy(out: Path, *given: str, **more: Any) -> object:
    named = {"data": few(out.parent), "model": "openai:a", "limit": 4, "tsne": False}
    return taxonomy(TaxonomyOptions(**{**named, "out": str(out), "model_arg": given, **more}))


every_study = pytest.mark.parametrize(
    "study", [_arbitrate, _metaeval, _calibrate, _contrast, _taxonomy], ids=lambda made: made.__name__[1:]
)


@pytest.fixture
def servers(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[OpenAIServer, OpenAIServer]]:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)  # a login in a URL goes without one
    with OpenAIServer() as one, OpenAIServer() as other:
        yield one, other


def with_login(server: OpenAIServer) -> str:
    return server.url.replace("http://", "http://somebody:geheim@") + "?key=geheim"


def written(out: Path) -> str:
    files = [file for file in out.rglob("*") if file.is_file()]
    return "".join(file.read_bytes().decode("utf-8", "replace") for file in files)


@every_study
def test_a_study_goes_on_at_another_address(
    tmp_path: Path, servers: tuple[OpenAIServer, OpenAIServer], study: Study
) -> None:
    one, other = servers
    study(tmp_path / "out", f"base_url={one.url}", "timeout=30")
    assert one.stats()["total"] > 0
    study(tmp_path / "out", f"base_url={with_login(other)}", "timeout=99")
    assert other.stats()["total"] == 0, "everything was paid for"
    kept = json.loads((tmp_path / "out" / "run.json").read_text())["settings"]
    noted = kept["model_arg" if "model_arg" in kept else "judge_arg"]
    assert noted == [f"base_url={other.url}", "timeout=99"], "what is noted is what was last given, without the login"
    assert "geheim" not in written(tmp_path / "out")


@every_study
def test_what_shapes_a_models_answers_binds(
    tmp_path: Path, servers: tuple[OpenAIServer, OpenAIServer], study: Study
) -> None:
    one, other = servers
    study(tmp_path / "out", f"base_url={one.url}")
    with pytest.raises(UserError, match=r'other options \(.*models\..*reasoning_effort: null there, "high" now'):
        study(tmp_path / "out", f"base_url={other.url}", "reasoning_effort=high")
    assert other.stats()["total"] == 0


@pytest.mark.parametrize(
    ("study", "option"),
    [
        (_metaeval, "judge_base_url"),
        (_calibrate, "judge_base_url"),
        (_taxonomy, "model_base_url"),
    ],
)
def test_a_login_in_the_url_of_a_server_is_not_written(
    tmp_path: Path, servers: tuple[OpenAIServer, OpenAIServer], study: Study, option: str
) -> None:
    one, other = servers
    study(tmp_path / "out", f"base_url={one.url}")
    study(tmp_path / "out", f"base_url={one.url}", **{option: with_login(other)})
    assert json.loads((tmp_path / "out" / "run.json").read_text())["settings"][option] == other.url
    assert "geheim" not in written(tmp_path / "out")


@pytest.mark.parametrize("flag", ["2.base_url", "base_url", " base_url "])
def test_an_argument_for_one_model_is_noted_without_its_login(flag: str) -> None:
    from truebench_hf.text.redaction import shown

    assert shown({"judge_arg": (f"{flag}=http://u:geheim@h:1/v1",)}) == {"judge_arg": [f"{flag}=http://h:1/v1"]}


def test_a_judge_joins_with_an_option_of_its_own(tmp_path: Path, servers: tuple[OpenAIServer, OpenAIServer]) -> None:
    one, other = servers
    _metaeval(tmp_path / "out", f"base_url={one.url}")
    both = ("openai:a", "openai:b")
    _metaeval(tmp_path / "out", f"base_url={other.url}", "2.timeout=30", "2.reasoning_effort=low", judge=both)
    assert other.stats()["total"] == 4, "only the new one is asked"
    with pytest.raises(UserError, match=r'judge_models\.judge openai:b.*reasoning_effort: "low" there, "high" now'):
        _metaeval(tmp_path / "out", f"base_url={other.url}", "2.reasoning_effort=high", judge=both)


@pytest.mark.parametrize("name", ["calibration", "taxonomy"])
def test_a_session_is_finished_when_its_files_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, servers: tuple[OpenAIServer, OpenAIServer], name: str
) -> None:
    from truebench_hf.engine.folder import RunFolder

    write = RunFolder.write_lines

    def full(self: RunFolder, file: str, parts: Any) -> Path:
        if file == "report.html":
            raise UserError("no room")
        return write(self, file, parts)

    monkeypatch.setattr(RunFolder, "write_lines", full)
    with pytest.raises(UserError, match="no room"):
        {"calibration": _calibrate, "taxonomy": _taxonomy}[name](tmp_path / "out", f"base_url={servers[0].url}")
    (session,) = json.loads((tmp_path / "out" / "run.json").read_text())["sessions"]
    assert session["finished"] is None
