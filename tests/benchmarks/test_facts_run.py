"""`facts run`: phases, scores, what is undecided, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.corpus import each_row
from tests.support.facts import baselines, log, mini, oracle, sentence_oracle
from tests.support.runs import held, script
from tests.support.scenarios import Scenario, scenarios
from truebench_hf.benchmarks.facts.run import FactsOptions, FactsRun
from truebench_hf.benchmarks.facts.scores import read_frame, scores_by_document
from truebench_hf.errors import UserError


@scenarios(__file__, "facts_run")
def test_runs(scenario: Scenario, tmp_path: Path) -> None:
    scenario.play(tmp_path)
    if scenario.name == "documents are the units of several answers":
        by_document = scores_by_document(read_frame(tmp_path / "at-once"))
        assert by_document == {"a": 0.75, "b": 1.0}, "what models are compared by"


@pytest.fixture(scope="module")
def judges(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str, str]:
    folder = tmp_path_factory.mktemp("judges")
    return oracle(folder / "a.json"), oracle(folder / "b.json"), oracle(folder / "c.json")


def ran(out: Path, **options: Any) -> tuple[Any, dict[str, Any], list[dict[str, Any]]]:
    """(the outcome, scores.json, verdicts.jsonl) of a run on all 36 answers."""
    given = {"data": "facts_mini", "answers": log(out.with_name("log.jsonl")), "out": str(out)}
    outcome = FactsRun(FactsOptions(**given | {"baseline": baselines(out.with_name("b.json"))} | options)).run()
    return outcome, held(out / "scores.json"), held(out / "verdicts.jsonl")


def test_all_36_answers_by_judges_who_know(tmp_path: Path, judges: tuple[str, ...]) -> None:
    outcome, scores, rows = ran(tmp_path / "run", judge=judges, template=("response",), model_name="three kinds")
    assert (outcome.value.mean["answers"], outcome.value.mean["ineligible"], outcome.incomplete) == (36, 12, 0)
    assert [row["judge"] for row in scores["judges"]] == [*judges, "mean"]
    for row in scores["judges"]:
        assert [row[name]["value"] for name in ("unadjusted", "final")] == pytest.approx([2 / 3, 1 / 3])
        assert row["final"]["n"] == 36
    assert [row["id"] for row in rows[:3]] == ["facts-mini-01", "facts-mini-01#2", "facts-mini-01#3"]
    assert [row["ineligible"] for row in rows] == [False, False, True] * 12
    assert [set(row["grounded"].values()) for row in rows] == [{"yes"}, {"no"}, {"yes"}] * 12
    assert {row["document"] for row in rows[:3]} == {"facts-mini-01"}
    groups = scores["groups"]
    assert list(dict.fromkeys(row["by"] for row in groups)) == ["domain", "task", "length", "language"], "no splits"
    domains = {row["group"]: row["answers"] for row in groups if row["by"] == "domain"}
    assert domains == {"finance": 9, "technology": 9, "retail": 6, "medical": 6, "legal": 6}
    assert all(row["final"]["value"] == pytest.approx(1 / 3) for row in groups if row["by"] == "task")
    assert len(scores["groups_by_judge"]) == 3 * len(groups)


FILE = {"judges": {"scripted:a": {"template": "span", "eligibility": "full"}, "scripted:b": {}}}


@each_row(__file__, "facts_run", "templates")
def test_templates_by_judge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, template: list[str], eligibility: Any, chosen: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("chosen.json").write_text(json.dumps(FILE))
    Path("half.json").write_text('{"judges": {"scripted:a": {}}}')
    judge = ("scripted:a", "scripted:b")
    options = FactsOptions(out="o", answers="f", judge=judge, template=tuple(template), eligibility=eligibility)
    if isinstance(chosen, list):
        assert [*(choice.template for choice in options.chosen.values()), *options.variants.values()] == chosen
    else:
        with pytest.raises(UserError, match=chosen):
            assert options.chosen | options.variants


def test_an_estimate_counts_both_questions_of_every_judge(tmp_path: Path, judges: tuple[str, ...]) -> None:
    model, other = script(tmp_path / "m.json", []), script(tmp_path / "o.json", [])
    options = FactsOptions(
        data="facts_mini", model=model, baseline=other, judge=judges[:2], template=("json", "2.response"),
        out=str(tmp_path / "run"), estimate=True,
    )  # fmt: skip
    spent: Any = FactsRun(options).run().value
    calls = {part: usage.calls for part, usage in spent.items()}
    assert calls == {"model": 12, "baseline": 12, "judge": 24, "judge 2": 24}
    assert not (tmp_path / "run").exists()


def test_sentences_are_labelled_as_the_sample_knows_them_and_coloured_on_the_page(tmp_path: Path) -> None:
    """By the usual template, json, against the sentences that facts_mini made up."""
    outcome, _, rows = ran(tmp_path / "run", judge=(sentence_oracle(tmp_path / "judge.json"),), template=("json",))
    mean = outcome.value.mean
    assert (mean["unadjusted"].value, mean["final"].value, outcome.incomplete) == pytest.approx((2 / 3, 1 / 3, 0))
    for known, (grounded, ungrounded, evasive) in zip(mini(), zip(*[iter(rows)] * 3, strict=True), strict=True):
        (units,) = (grounding["units"] for grounding in ungrounded["grounding"].values())
        wrong = {unit["text"] for unit in units if unit["label"] in ("unsupported", "contradictory")}
        assert wrong == {entry["sentence"] for entry in known["ungrounded_sentences"]}, known["id"]
        assert all(ungrounded["answer"][unit["start"] : unit["end"]] == unit["text"] for unit in units)
        for other in (grounded, evasive):
            (grounding,) = other["grounding"].values()
            assert {unit["label"] for unit in grounding["units"]} == {"supported"}
            assert all(excerpt["place"] == "document" for unit in grounding["units"] for excerpt in unit["excerpts"])
    page = (tmp_path / "run" / "report.html").read_text()
    assert page.count('class="tb-piece tb-no"') == sum(len(row["ungrounded_sentences"]) for row in mini())
    assert '<blockquote dir="auto"><mark>“Harlow Valley Credit Union”</mark> (document)</blockquote>' in page
    first = page.index('<details class="tb-conversation" data-s="no" open>')
    assert first == page.index('<details class="tb-conversation"'), "what failed comes first, and the first is open"
