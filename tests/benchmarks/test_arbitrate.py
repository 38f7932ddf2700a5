"""Rubric arbitration by a scripted panel: every exit of the funnel, what it costs, who answers, and what rows show."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.arbitration import JUDGES, META, TABLE, panel_specs, read_rows, table_options, table_rows, write_rows
from tests.support.corpus import each_row
from tests.support.runs import script
from tests.support.tables import row_of
from truebench_hf.benchmarks.rubric_eval import data as rubric_rows
from truebench_hf.benchmarks.rubric_eval.arbitration import ArbitrateOptions, arbitrate, prepare, question
from truebench_hf.benchmarks.rubric_eval.data import COLUMNS
from truebench_hf.benchmarks.rubric_eval.funnel import Trace, disputed, unanimous
from truebench_hf.data.rows import Record
from truebench_hf.data.rubrics import Item
from truebench_hf.data.sources.forms import SetForm, item_of
from truebench_hf.errors import UserError
from truebench_hf.loaders.export import export
from truebench_hf.prompts import Prompts, sections
from truebench_hf.results.folder import Results
from truebench_hf.types import Criterion, Message, Usage, Verdict

FORM = SetForm(published="here", title="s", category="constrained", language="EN")
SEEN = ("judge_arg", "meta_judge_arg")


def by_stage(folder: Path) -> dict[str, Usage]:
    """What a finished arbitration took, by stage."""
    spent: dict[str, Usage] = {}
    for role, usage in Results.open(folder / "out").spent.items():
        stage = role.partition(" ")[0]
        spent[stage] = spent.get(stage, Usage()) + usage
    return spent


def exits(folder: Path) -> dict[str, tuple[str, str | None]]:
    return {row["rubric"]: (row["exit"], row["label"]) for row in read_rows(folder / "out" / "exits.jsonl")}


def test_every_exit_equals_the_table(tmp_path: Path) -> None:
    result = arbitrate(table_options(tmp_path))
    assert exits(tmp_path) == {rubric: columns[3:] for rubric, columns in TABLE.items()}
    reasons = " ".join(row["reason"] for row in result["reasons"].rows if row["exit"] == "undecided")
    assert "fewer than two base judges decided" in reasons
    assert "a meta-judge did not decide" in reasons
    spent = by_stage(tmp_path)
    # Coarse: a call a judge, and two more for the one rubric that none of the judges' answers settles.
    # Fine: nine rubrics for four judges; an unreadable answer (4 of them) is asked again twice. Meta: five for two, too.
    assert {stage: usage.calls for stage, usage in spent.items()} == {
        "coarse": 4 * 3, "fine": 9 * 4 + 4 * 2, "meta": 5 * 2 + 2
    }  # fmt: skip
    assert all(usage.input_tokens > 0 for usage in spent.values())
    with pytest.raises(UserError, match="seed"):
        arbitrate(table_options(tmp_path, seed=5))
    arbitrate(table_options(tmp_path, judge_concurrency=3))  # shapes no label


def test_labels_stand_in_the_columns_of_rubric_eval(tmp_path: Path) -> None:
    arbitrate(table_options(tmp_path))
    easy, hard = (read_rows(tmp_path / "out" / "labels" / f"{split}.jsonl") for split in ("easy", "hard"))
    for split, rows in (("easy", easy), ("hard", hard)):
        assert {row["rubric"]: row["label"] for row in rows} == {k: v[4] for k, v in TABLE.items() if v[3] == split}
    assert set(COLUMNS) - {"pair_id", "trap", "measurable"} <= set(easy[0])
    assert easy[0]["checklist"] == list(TABLE), "the whole checklist, for judges at checklist level"
    assert [a["label"] for a in easy[0]["annotations"]] == ["yes"] * 4
    silent = next(row for row in hard if row["rubric"] == "silence is no agreement")
    assert [a["label"] for a in silent["annotations"]] == ["yes", "yes", "yes", None, "yes", "yes"]
    assert len(silent["rationales"]) == 6
    items = rubric_rows.items(rubric_rows.load(str(tmp_path / "out" / "labels")))
    assert Counter(rubric.split for item in items for rubric in item.rubrics) == {"easy": 3, "hard": 3}


def test_meta_judges_see_rationales_without_names_in_a_seeded_order(tmp_path: Path) -> None:
    def prompts(seed: int) -> list[str]:
        record = tmp_path / f"seen{seed}.jsonl"
        noted = dict.fromkeys(SEEN, (f"record={record}",))
        arbitrate(table_options(tmp_path, seed=seed, out=str(tmp_path / f"out{seed}"), **noted))
        return sorted(line[0] for line in map(json.loads, record.read_text().splitlines()) if line[0].startswith(META))

    first, other = prompts(0), prompts(1)
    names = ("scripted", ".json", *JUDGES, "mia", "max")
    reviews = [re.findall(r"<reviewers.*</reviewers", prompt, re.DOTALL)[0] for prompt in first]
    assert not [review for review in reviews if any(name in review for name in names)]
    assert all("You che" in prompt for prompt in first), "the rationales are there"
    assert first != other, "another seed, another order"
    lines = [sorted(sorted(prompt.splitlines()) for prompt in prompts) for prompts in (first, other)]
    assert lines[0] != lines[1], "a verdict moves with its place"
    letters = [sorted(sorted(prompt) for prompt in prompts) for prompts in (first, other)]
    assert letters[0] == letters[1], "of the same rationales"
    silent = next(prompt for prompt in first if "silence is no agreement" in prompt)
    assert "Reviewer 3:" in silent
    assert "Reviewer 4:" not in silent, "who did not decide has nothing to say"


def test_probabilities_are_not_asked_for_twice(tmp_path: Path) -> None:
    """P(yes) does not depend on what else is asked: the fine pass takes the coarse verdicts over, at no cost."""
    shares = {
        "ann": {"both": 0.9, "apart": 0.9},
        "bob": {"both": 0.8, "apart": 0.2},
        "mia": {"": 0.9},
        "max": {"": 0.8},
    }
    specs = {
        name: script(
            tmp_path / f"{name}.json",
            [{"contains": f"{rubric}?", "probability": share} for rubric, share in said.items()],
        )
        for name, said in shares.items()
    }
    texts = ["both?", "apart?"]
    rows = [row | {"checklist": texts, "rubric": text} for row, text in zip(table_rows(), texts, strict=False)]
    options = ArbitrateOptions(
        data=write_rows(tmp_path / "data.jsonl", rows), judge=(specs["ann"], specs["bob"]), judge_level="decision",
        meta_judge=(specs["mia"], specs["max"]), out=str(tmp_path / "out"),
        reference=write_rows(tmp_path / "trusted.jsonl", [row | {"label": "yes"} for row in rows]),
    )  # fmt: skip
    result = arbitrate(options)
    assert exits(tmp_path) == {"both?": ("coarse_unanimous", "yes"), "apart?": ("hard", "yes")}
    assert {stage: usage.calls for stage, usage in by_stage(tmp_path).items()} == {"coarse": 2, "meta": 2}
    assert result["reference"].rows[0]["rubrics"] == 2, "the comparison with trusted labels costs nothing more either"
    notes = json.loads((tmp_path / "out" / "scores.json").read_text())["notes"]
    assert any("2 of 2 base judges give probabilities" in note and "stays empty" in note for note in notes)


# Responses


def _item(number: int, rubrics: tuple[Criterion, ...] = (Criterion("Done?"),), **more: Any) -> Item:
    return item_of(FORM, Record("x", {}), rubrics, name=f"i{number}", messages=[Message("user", "Do it.")], **more)


def test_responders_are_drawn_by_seed_and_not_by_position() -> None:
    items = [_item(i) for i in range(60)]
    drawn = [item.model for item in prepare(items, ("a", "b", "c"), 0)]
    assert set(drawn) == {"a", "b", "c"}
    assert [item.model for item in prepare(items[30:], ("a", "b", "c"), 0)] == drawn[30:]
    assert [item.model for item in prepare(items, ("a", "b", "c"), 1)] != drawn
    for more, response, model, reason in (
        ({"response": "theirs"}, "theirs", "s", "a response is there already"),
        ({"example": "good"}, "", "a", "a reference is no answer of a model"),
        ({}, "", "a", "nothing is there"),
    ):
        (settled,) = prepare([_item(0, **more)], ("a",), 0)
        assert (settled.case.response, settled.model, settled.answered) == (response, model, bool(response)), reason


def test_a_source_without_responses_is_answered_first(tmp_path: Path) -> None:
    def row(name: str, prompt: str) -> dict[str, Any]:
        first = table_rows()[0] | {"id": name, "instruction_id": name, "response_id": f"{name}-r", "response": None}
        return first | {"messages": [{"role": "user", "content": prompt}]}

    path = write_rows(tmp_path / "bare.jsonl", [row("one", "Fine."), row("two", "This one is broken.")])
    writer = panel_specs(tmp_path)["writer"]
    result = arbitrate(table_options(tmp_path, data=f"rubric_eval:{path}", responder=(writer,)))
    unanswered = row_of(result["reasons"], exit="unanswered")
    assert unanswered["rubrics"] == len(TABLE), "every rubric of the failed answer is counted"
    assert unanswered["reason"] == f"{writer} gave no answer: the server burned down"
    assert by_stage(tmp_path)["answer"].calls == 1
    assert row_of(result["stages"], stage="answer")["rubrics_on"] == len(TABLE)
    assert result["responses"].rows == [{"model": writer, "responses": 1, "unanswered": 1, "truncated": 0}]
    labelled = read_rows(tmp_path / "out" / "labels" / "easy.jsonl")
    assert {(row["response"], row["response_model"]) for row in labelled} == {("no such answer", writer)}


# Verdicts and rows


def _verdicts(said: str, judge: str = "j") -> tuple[Verdict, ...]:
    labels: dict[str, Any] = {"y": "yes", "n": "no", "?": None}
    return tuple(Verdict(Criterion("r"), labels[word], "because", f"{judge}{i}") for i, word in enumerate(said))


@each_row(__file__, "arbitrate", "unanimous")
def test_unanimous(said: str, label: str | None, apart: bool) -> None:
    assert (unanimous(_verdicts(said)), disputed(_verdicts(said))) == (label, apart)
    trace = Trace(_item(0), 0, _verdicts("yyyy"), _verdicts(said))
    assert (trace.exit, trace.label) == ("coarse_unanimous", "yes"), "the first agreement decides"


def test_rows_show_what_judges_saw() -> None:
    """What a rubric rests on and the document beside it reach meta-evaluation and people in the judges' own words."""
    rubrics = (Criterion("Is it\n tea? "), Criterion("Does it rhyme? ", None, "Is it\n tea? / Is it a poem? "))
    item = _item(0, rubrics, response="Tea.")
    item = replace(item, case=replace(item.case, context="On tea."))
    shown = sections(item.case)
    assert shown["criteria"][1] == "Does it rhyme? (It rests on this: Is it tea? / Is it a poem?)"
    rows = [Trace(item, i, fine=_verdicts("yy")).row() for i in (0, 1)]
    (again,) = rubric_rows.items(rows)
    assert sections(again.case) == shown
    sheet = question(rows[1])
    assert (sheet.question.endswith(shown["criteria"][1]), sheet.material["Context"]) == (True, "On tea.")
    assert Trace(item, 1, fine=_verdicts("yy")).exit_row()["rubric"] == rows[1]["rubric"]
    (hinted,) = rubric_rows.items([table_rows()[0] | {"checklist": ["all pass alike"], "source_label": "Number"}])
    row = Trace(hinted, 0, fine=_verdicts("yy")).row()
    assert (row["rubric_type"], row["source_label"]) == (None, "Number"), "types outlive another arbitration"


CFBENCH = {
    "idx": 1, "prompt": "选一个成语。", "isanswer": "是", "gold": "耳熟能详", "split": "hard",
    "criteria": [["与标准答案中内容完全一致", "主需", "内容约束", "词法内容约束"], ["简短", "次需", "", ""]],
}  # fmt: skip


def test_the_right_answer_of_a_source_reaches_judges_people_and_later_readers(tmp_path: Path) -> None:
    """CFBench's criteria ask whether a response matches the reference answer, which nobody can tell without it."""
    (tmp_path / "cfbench.json").write_text(json.dumps([CFBENCH, CFBENCH | {"idx": 2, "gold": ""}]))
    items = [item.responded("耳熟能详。", "m") for item in rubric_rows.read(f"cfbench:{tmp_path}/cfbench.json")]
    assert [item.case.reference for item in items] == ["耳熟能详", None]
    kind = {"rubric_type": "content_inclusion", "split": "easy"}
    rows = [Trace(item, i, fine=_verdicts("yy")).row() | kind for item in items for i in (0, 1)]
    assert question(rows[0]).material["Reference answer"] == "耳熟能详"
    assert "Reference answer" not in question(rows[2]).material
    path = write_rows(tmp_path / "rows.jsonl", rows)
    export("rubric_eval", tmp_path / "built", source=path)
    wanted = [(item.case.reference, item.case.instruction) for item in items]
    for again in (path, str(tmp_path / "built"), f"rubric_eval:{path}"):
        assert [(item.case.reference, item.case.instruction) for item in rubric_rows.read(again)] == wanted
    assert [item.labelled.reference for item in rubric_rows.items(rubric_rows.load(path))] == ["耳熟能详", None]


def test_an_answer_that_is_only_an_example_sways_no_judge(tmp_path: Path) -> None:
    conversation = {"name": "c1", "user prompt": "Tea?", "assistant answer": "Yes.", "constraints": [
        {"type": "Style", "content": "Is it short?"}]}  # fmt: skip
    (tmp_path / "s.json").write_text(json.dumps([{"whole_conv": [conversation]}]))
    (item,) = rubric_rows.read(f"structflowbench:{tmp_path}/s.json")
    answered = item.responded("No.", "m")
    assert (item.reference, answered.case.reference) == ("Yes.", None)
    assert Trace(answered, 0, fine=_verdicts("yy")).row()["reference"] is None


@pytest.mark.parametrize("prefix", ["", "rubric_eval:"])
def test_a_context_of_the_data_reaches_every_judge(tmp_path: Path, prefix: str) -> None:
    path = write_rows(tmp_path / "context.jsonl", [row | {"context": "On tea."} for row in table_rows()])
    (item,) = rubric_rows.read(prefix + path)
    values = sections(item.only([0]))
    assert values["context"] == "On tea."
    for prompt in ("checklist", "rubric", "decision", "meta_judge"):
        text = Prompts().render(prompt, **values, opinions=[], decision=True, structured=True, reasoning=True)
        assert "On tea." in text, prompt
