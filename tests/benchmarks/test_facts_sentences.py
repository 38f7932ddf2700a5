"""Sentence labels of a run against the sentences that facts_mini made up, and how they are shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.facts import baselines, log, mini, sentence_oracle
from tests.support.runs import script, write_jsonl
from truebench_hf.benchmarks.facts.run import FactsOptions, FactsRun
from truebench_hf.benchmarks.facts.scores import GroundingScores
from truebench_hf.space.board.store import BoardStore
from truebench_hf.space.site import Pages
from truebench_hf.study.outcome import Outcome

Ran = tuple[Path, Outcome[GroundingScores]]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """(the folder, the outcome) of a run over all 36 answers by the usual template, json."""
    folder = tmp_path_factory.mktemp("json")
    options = FactsOptions(
        data="facts_mini", answers=log(folder / "log.jsonl"), judge=(sentence_oracle(folder / "judge.json"),),
        baseline=baselines(folder / "b.json"), out=str(folder / "runs" / "x"), model_name="m",
    )  # fmt: skip
    return folder / "runs" / "x", FactsRun(options).run()


def test_sentences_are_labelled_as_the_sample_knows_them(run: Ran) -> None:
    out, outcome = run
    assert outcome.incomplete == 0
    mean = outcome.value.mean
    assert (mean["unadjusted"].value, mean["final"].value) == pytest.approx((2 / 3, 1 / 3))
    rows = [json.loads(line) for line in (out / "verdicts.jsonl").read_text().splitlines()]
    for known, (grounded, ungrounded, evasive) in zip(mini(), zip(*[iter(rows)] * 3, strict=True), strict=True):
        (units,) = (one["units"] for one in ungrounded["grounding"].values())
        wrong = {unit["text"] for unit in units if unit["label"] in ("unsupported", "contradictory")}
        assert wrong == {entry["sentence"] for entry in known["ungrounded_sentences"]}, known["id"]
        assert all(ungrounded["answer"][unit["start"] : unit["end"]] == unit["text"] for unit in units)
        for other in (grounded, evasive):
            (found,) = other["grounding"].values()
            assert {unit["label"] for unit in found["units"]} == {"supported"}
            assert all(excerpt["place"] == "document" for unit in found["units"] for excerpt in unit["excerpts"])


def test_the_page_colours_sentences_with_the_excerpt_beside(run: Ran) -> None:
    page = (run[0] / "report.html").read_text()
    assert page.count('class="tb-piece tb-no"') == sum(len(row["ungrounded_sentences"]) for row in mini())
    assert "✗ contradictory" in page
    assert '<blockquote dir="auto"><mark>“Harlow Valley Credit Union”</mark> (document)</blockquote>' in page
    first = page.index('<details class="tb-conversation" data-s="no" open>')
    assert first == page.index('<details class="tb-conversation"'), "what failed comes first, and the first is open"


def test_how_much_of_supported_can_be_checked(tmp_path: Path) -> None:
    """One sentence with a passage of the document, one with words that stand nowhere, one without."""
    document = "The shop opens at nine. It closes at six.\nDogs may come."
    units = [
        ("It opens at nine.", ["opens at nine"]),
        ("It closes at six.", ["closes at midnight"]),
        ("Dogs may come.", []),
    ]
    said = [{"sentence": text, "excerpts": quotes, "rationale": "", "label": "supported"} for text, quotes in units]
    answer = {"id": "a", "document": document, "request": "When?", "answer": " ".join(text for text, _ in units)}
    out = str(tmp_path / "run")
    outcome = FactsRun(FactsOptions(
        answers=write_jsonl(tmp_path / "a.jsonl", [answer]), eligibility="none", out=out,
        judge=(script(tmp_path / "j.json", [], {"reply": json.dumps({"sentences": said})}),),
    )).run()  # fmt: skip
    (row,) = json.loads((Path(out) / "scores.json").read_text())["evidence"]
    assert (row["supported"], row["unquoted"], row["unfound"], row["checkable"]["value"]) == (3, 1, 1, 1 / 3)
    (marked,) = outcome.conversations.rows[0].exchanges[0].marked if outcome.conversations else ()
    shown = [(mark.word, *mark.beside) for mark in marked.marks if mark.word]
    assert shown == [
        ("supported", "The shop “opens at nine”. It closes at six. (document)"),
        ("supported, excerpt not found", "“closes at midnight” (not in the prompt)"),
        ("supported, no excerpt",),
    ]


def test_the_explorer_shows_them_with_the_document(run: Ran) -> None:
    board = BoardStore([run[0].parent])
    (entry,) = (entry for entry in board.snapshot.entries if entry.kind == "facts" and entry.folder)
    page = Pages(board).html({"tab": "explorer", "run": entry.key, "id": "facts-mini-01#2"})
    for text in (
        "✗ contradictory",
        "✓ supported",
        "”</mark> (document)</blockquote>",
        "<summary>Document</summary>",
        "scripted:judge.json: ",
    ):
        assert text in page
    assert str(run[0].parents[1]) not in page, "no folder of this machine"
