"""What a stranger, or an edit by hand, could smuggle into results: own data in public, foreign files, other scores."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.golden.compare import EXPECTED
from tests.support.finished import finished, golden
from tests.support.hub_client import HubClient
from tests.support.hub_stub import HubStub
from tests.support.runs import row, script, write_jsonl
from truebench_hf import build_data, run
from truebench_hf.errors import UserError
from truebench_hf.hub.staging import stage
from truebench_hf.integrations.export import export

pytestmark = pytest.mark.slow
REAL = Path(__file__).parents[3] / "shared" / "data" / "truebench" / "TRUEBench-v0.6.1.jsonl"


@pytest.mark.parametrize("called", ["truebench", "mini"])
def test_own_rows_in_a_folder_called_like_a_benchmark_want_private_or_public(
    hub: HubStub, client: HubClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, called: str
) -> None:
    monkeypatch.chdir(tmp_path)
    source = write_jsonl(tmp_path / "own.jsonl", [row(0, [("A secret of ours.", ["is short"])])])
    build_data("truebench", called, source=source)
    model = script(tmp_path / "model.json", [], {"reply": "So."})
    run(data=called, model=model, judge="none", out="out", no_cache=True)
    done = client.truebench("publish", "results", tmp_path / "out", "--repo-id", "org/r", "--force")
    assert done.returncode == 2
    assert "its data is no known benchmark, and runs/" in done.stderr
    assert not hub.repos


def test_the_steps_of_an_own_procedure_are_not_public_unasked(hub: HubStub, client: HubClient, tmp_path: Path) -> None:
    run_folder = golden("flex", tmp_path / "scored", "scored")
    arguments = ("publish", "results", run_folder, "--repo-id", "org/r", "--force")
    done = client.truebench(*arguments)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "its data is no known benchmark, and its tables may quote it; add --private" in done.stderr
    assert not hub.repos
    assert client.truebench(*arguments, "--private").returncode == 0
    assert hub.repo("dataset", "org/r").private


def edit_score(folder: Path, file: str, old: Any, new: Any) -> None:
    """Put another value in place of one, in every score of a file."""
    text = (folder / file).read_text(encoding="utf-8")
    edited = json.loads(text, object_hook=lambda entry: {**entry, "value": new} if entry.get("value") == old else entry)
    assert edited != json.loads(text)
    (folder / file).write_text(json.dumps(edited), encoding="utf-8")


@pytest.mark.parametrize("file", ["scores.json", "run.json"])
def test_a_score_that_was_edited_is_neither_published_nor_exported(tmp_path: Path, file: str) -> None:
    folder = Path(shutil.copytree(EXPECTED / "tick" / "out", tmp_path / "tick"))
    edit_score(folder, file, 0.8, 0.9)  # DRFR of a model
    for attempt in (lambda: stage(folder, tmp_path / "staged"), lambda: export(str(folder), "csv", tmp_path / "csv")):
        with pytest.raises(
            UserError, match=r"scores\.json does not hold the drfr of scripted:two\.json that run\.json"
        ):
            attempt()


@pytest.mark.skipif(not REAL.is_file(), reason="the real file ../shared/data/truebench is not here")
def test_the_same_scores_are_proposed_to_a_page_once(hub: HubStub, client: HubClient, tmp_path: Path) -> None:
    client.value("import huggingface_hub as h; h.create_repo('org/tea'); print(1)")
    model = script(tmp_path / "tea.json", [], {"reply": "So."})
    judge = script(tmp_path / "judge.json", [{"contains": "<criteria", "verdicts": {}}])
    run(data=str(REAL), language="DE", model=model, judge=judge, out=str(tmp_path / "run"), no_cache=True)
    arguments = ("publish", "results", tmp_path / "run", "--force", "--model-repo", "org/tea", "--dataset")
    for version, pulls in (("v1", 1), ("v1", 1), ("v2", 2)):
        done = client.truebench(*arguments, f"org/truebench@{version}")
        assert (done.returncode, len(hub.pulls("model", "org/tea"))) == (0, pulls), done.stderr
    client.value("import huggingface_hub as h; h.change_discussion_status('org/tea', 1, 'closed'); print(1)")
    client.truebench(*arguments, "org/truebench@v1")
    assert len(hub.pulls("model", "org/tea")) == 3, "a refused one waits no longer"


@pytest.mark.parametrize("value", [0.25, "high", None])
def test_an_edited_score_that_no_board_shows_is_refused_in_a_line(tmp_path: Path, value: Any) -> None:
    folder = Path(finished(tmp_path, "ann", {"a": True, "b": False, "c": None}))
    content = json.loads((folder / "scores.json").read_text(encoding="utf-8"))
    next(score for score in content["scores"] if score["name"] == "soft_criterion")["score"]["value"] = value
    (folder / "scores.json").write_text(json.dumps(content), encoding="utf-8")
    for attempt in (lambda: stage(folder, tmp_path / "staged"), lambda: export(str(folder), "csv", tmp_path / "csv")):
        with pytest.raises(UserError, match=r"^scores: soft_criterion is given as .*, but the judgments give"):
            attempt()


def test_an_export_leaves_nothing_of_an_earlier_one(tmp_path: Path) -> None:
    ann, tick = finished(tmp_path, "ann", {"a": True, "b": False}), golden("tick", tmp_path / "tick")
    for form, earlier, later in (("csv", ann, str(EXPECTED / "metaeval" / "out")), ("verifiers", tick, ann)):
        used, fresh = tmp_path / form, tmp_path / f"fresh-{form}"
        export(earlier, form, used)
        before = files(used)
        export(later, form, used)
        export(later, form, fresh)
        assert files(used) == files(fresh) < before


def files(folder: Path) -> set[Path]:
    return {file.relative_to(folder) for file in folder.rglob("*") if file.is_file()}
