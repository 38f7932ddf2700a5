"""A score on a model's page: which runs may claim one, what it says, and that nothing is pushed by halves."""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.corpus import each_row
from tests.support.hub_client import HubClient
from tests.support.hub_stub import HubStub
from tests.support.runs import RELEASE, needs_release, run_scores
from truebench_hf.benchmarks.truebench import data
from truebench_hf.benchmarks.truebench.scores import score
from truebench_hf.data.judged import Judged
from truebench_hf.data.records import to_row
from truebench_hf.errors import UserError
from truebench_hf.hub.layout import PARTS
from truebench_hf.hub.publish import model_of_page, page
from truebench_hf.hub.push import ResultsOptions
from truebench_hf.results.report import score_tables
from truebench_hf.study.outcome import scores_json
from truebench_hf.types import Instance, Message, Response, Verdict

pytestmark = pytest.mark.slow  # round trips to a Hub


@functools.cache
def release_instances() -> list[Instance]:
    return data.load(str(RELEASE))


@functools.cache
def release_hash() -> str:
    return data.data_hash(release_instances())


def judged(instance: Instance, answers: int) -> Judged:
    """An instance whose first `answers` turns were answered, and passed unless its id ends with 7."""
    label: Any = "no" if instance.id.endswith("7") else "yes"
    messages = [
        m
        for turn in instance.turns[:answers]
        for m in (Message("user", turn.prompt), Message("assistant", "So be it."))
    ]
    verdicts = tuple(
        tuple(Verdict(c, label if number < answers else None, "") for c in turn.criteria)
        for number, turn in enumerate(instance.turns)
    )
    return Judged(instance, Response(instance.id, "openai:tea", tuple(messages)), verdicts)


def write_run(folder: Path, items: Sequence[Judged], **settings: Any) -> Path:
    """The folder of a finished run over the release."""
    folder.mkdir()
    rows = (json.dumps(to_row(item, "openai:judge")) + "\n" for item in items)
    (folder / "judgments.jsonl").write_text("".join(rows))
    tables = score_tables({"openai:tea": score(items)})
    (folder / "scores.json").write_text(json.dumps(scores_json(tables)))
    made = {"model": "openai:tea", "judge": "openai:judge", "data": "v0.6.1", "judging": {"level": "checklist"}}
    made |= {"data_sha256": release_hash()}
    info = {"settings": made | settings, "sessions": [{"finished": "2026-11-01T10:00:00Z"}]}
    info |= {"tables": {table.name: table.described() for table in tables}}
    (folder / "run.json").write_text(json.dumps(info))
    return folder


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    instances = release_instances()
    return write_run(tmp_path_factory.mktemp("release") / "run", [judged(i, len(i.turns)) for i in instances])


@needs_release
def test_the_entry_of_a_model_page(hub: HubStub, client: HubClient, release: Path) -> None:
    client.value("import huggingface_hub as h; print(len(h.create_repo('org/tea')))")
    arguments = ("publish", "results", release, "--model-repo", "org/tea", "--dataset", "org/truebench@v1")
    done = client.truebench(*arguments, "--repo-id", "org/results")
    assert done.returncode == 0, done.stderr
    assert len(hub.pulls("model", "org/tea")) == 1
    assert ".eval_results/truebench.yaml" not in hub.files("model", "org/tea")
    content = hub.files("model", "org/tea", "refs/pr/1")[".eval_results/truebench.yaml"]
    rows = yaml.safe_load(content)
    row = rows[0]
    scores = run_scores(release)
    assert row["dataset"] == {"id": "org/truebench", "task_id": "all", "revision": "v1"}
    assert row["value"] == round(100 * scores["overall"]["value"], 2)
    # All that eval.yaml promises: see test_cards. The whole, each language, each category.
    assert {row["dataset"]["task_id"] for row in rows} == set(PARTS["v0.6.1"])
    by_task = {row["dataset"]["task_id"]: row for row in rows}
    assert by_task["de"]["value"] == round(100 * scores["by_language"]["DE"]["value"], 2)
    assert by_task["multi_turn"]["value"] == round(100 * scores["by_category"]["Multi-Turn"]["value"], 2)
    assert f"n={scores['by_language']['DE']['n']};" in by_task["de"]["notes"]
    assert "evaluation_framework" not in row  # the Hub reads it from the data set's eval.yaml
    data = json.loads((release / "run.json").read_text())["settings"]["data_sha256"][:12]
    assert f"judge openai:judge at checklist level; data v0.6.1 (SHA-256 {data}); n=2485; 95% CI" in row["notes"]
    assert row["source"]["url"].startswith(f"{hub.url}/datasets/org/results/tree/main/runs/")
    assert row["source"] | {"url": ""} == {"url": "", "name": "Run with all judgments"}
    assert any(name.endswith("/scores.parquet") for name in hub.files("dataset", "org/results"))
    parsed = client.value(f"""
        import json, yaml
        from huggingface_hub import parse_eval_result_entries
        entry, *_ = parse_eval_result_entries(yaml.safe_load({content.decode()!r}))
        print(json.dumps([entry.dataset_id, entry.task_id, entry.value, entry.date]))""")
    assert parsed[:3] == ["org/truebench", "all", row["value"]]


@each_row(__file__, "publish", "what_may_claim_no_score")
def test_what_may_claim_no_score(runs: Path, run: str, dataset: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        entries(runs / run, dataset)


def entries(run: Path, dataset: str) -> list[dict[str, Any]]:
    """What a model page would get."""
    (content,) = page(
        ResultsOptions(run=str(run), model_repo="org/tea", dataset=dataset, dry_run=True, force=True)
    ).values()
    return list(yaml.safe_load(content))


@pytest.fixture(scope="module")
def german(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run over the German instances of the release."""
    chosen = data.select(release_instances(), ["de"], [])
    items = [judged(i, len(i.turns)) for i in chosen]
    settings = {"language": ["DE"], "data_sha256": data.data_hash(chosen)}
    return write_run(tmp_path_factory.mktemp("german") / "run", items, **settings)


@needs_release
def test_a_run_over_a_language_is_published_as_its_task(german: Path, tmp_path: Path) -> None:
    (only,) = entries(german, "org/truebench")
    assert (only["dataset"]["task_id"], only["value"]) == ("de", round(100 * score_of(german), 2))
    assert "n=182;" in only["notes"]
    chosen = ResultsOptions(run=str(german), model_repo="Any.Org/TEA", dataset="org/truebench", dry_run=True)
    assert list(page(chosen)) == [".eval_results/truebench-de.yaml"]  # beside that of the whole
    items = [judged(i, len(i.turns)) for i in data.select(release_instances(), ["de", "fr"], [])]
    both = {"language": ["DE", "FR"], "data_sha256": data.data_hash([item.instance for item in items])}
    twice = [
        replace(item, response=replace(item.response, sample=n))
        for item in items
        if item.instance.language == "DE"
        for n in (1, 2)
    ]
    settings = {"language": ["DE"], "samples": 2, "data_sha256": data.data_hash([item.instance for item in twice[::2]])}
    (entry,) = entries(write_run(tmp_path / "twice", twice, **settings), "org/truebench")
    assert "; mean of 2 samples; n=182;" in entry["notes"]
    with pytest.raises(UserError, match=r"was run with --language; .* one of its languages or one of its categories"):
        entries(write_run(tmp_path / "two", items, **both), "org/truebench")


def score_of(run: Path) -> float:
    return float(run_scores(run)["overall"]["value"])


@needs_release
def test_the_parts_of_a_release_are_known_by_their_hashes() -> None:
    every = release_instances()
    found = {"all": data.data_hash(every)}
    found |= {data.slug(name): data.data_hash(data.select(every, [name], [])) for name in data.LANGUAGES}
    found |= {data.slug(name): data.data_hash(data.select(every, [], [name])) for name in data.CATEGORIES}
    assert {"v0.6.1": found} == PARTS


@each_row(__file__, "publish", "only_a_models_own_runs_go_onto_its_page")
def test_only_a_models_own_runs_go_onto_its_page(tmp_path: Path, spec: str, repo: str, theirs: bool) -> None:
    models = {"model": {"provider": "huggingface:together", "model": "org/tea:together"}}
    (tmp_path / "run.json").write_text(json.dumps({"settings": {"model": spec, "models": models}}))
    if theirs:
        assert model_of_page(tmp_path, repo, force=False) == spec
    else:
        with pytest.raises(UserError, match=f"{spec.split(':')[-1]}.*add --force") as caught:
            model_of_page(tmp_path, repo, force=False)
        assert "\n" not in str(caught.value)
    assert model_of_page(tmp_path, repo, force=True) == spec


@needs_release
def test_a_conversation_that_broke_off_leaves_the_run_whole_but_a_missing_one_does_not(tmp_path: Path) -> None:
    instances = release_instances()
    broken = next(i for i, instance in enumerate(instances) if len(instance.turns) > 1)
    items = [judged(item, 1 if i == broken else len(item.turns)) for i, item in enumerate(instances)]
    assert "n=2484, 1 unscored" in entries(write_run(tmp_path / "whole", items), "org/truebench")[0]["notes"]
    with pytest.raises(UserError, match=r"not over the data that run\.json names"):
        entries(write_run(tmp_path / "less", items[:-1]), "org/truebench")


@needs_release
def test_nothing_is_pushed_where_the_model_is_not_there(hub: HubStub, client: HubClient, release: Path) -> None:
    both = ("--repo-id", "org/results", "--dataset", "org/truebench", "--model-repo", "org/absent", "--force")
    done = client.truebench("publish", "results", release, *both)
    assert done.returncode == 2
    assert "org/absent: the Hub refused with 404: " in done.stderr
    assert hub.repos == {}
