"""Rubric arbitration by a scripted panel: every exit of the funnel, what it costs, who answers, and what rows show."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.arbitration import JUDGES, META, TABLE, panel_specs, read_rows, table_options, table_rows, write_rows
from tests.support.corpus import each_row
from tests.support.scenarios import Scenario, scenarios
from tests.support.tables import row_of
from truebench_hf.benchmarks.rubric_eval import data as rubric_rows
from truebench_hf.benchmarks.rubric_eval.arbitration import (
    ArbitrationLabels,
    arbitrate,
    prepare,
    question,
)
from truebench_hf.benchmarks.rubric_eval.funnel import Trace, disputed, read_trusted, unanimous
from truebench_hf.data.rows import Record
from truebench_hf.data.rubrics import Item
from truebench_hf.data.sources.forms import SetForm, item_of
from truebench_hf.errors import UserError
from truebench_hf.loaders.export import export
from truebench_hf.prompts import Prompts, sections
from truebench_hf.report.table import PUBLISHED, Table
from truebench_hf.results.folder import Results
from truebench_hf.study.labelling import LabelOutOptions
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


@scenarios(__file__, "arbitrate")
def test_commands(scenario: Scenario, tmp_path: Path) -> None:
    scenario.play(tmp_path)


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


@pytest.mark.parametrize("prefix", ["", "rubric_eval:"])
def test_a_context_of_the_data_reaches_every_judge(tmp_path: Path, prefix: str) -> None:
    path = write_rows(tmp_path / "context.jsonl", [row | {"context": "On tea."} for row in table_rows()])
    (item,) = rubric_rows.read(prefix + path)
    values = sections(item.only([0]))
    assert values["context"] == "On tea."
    for prompt in ("checklist", "rubric", "decision", "meta_judge"):
        text = Prompts().render(prompt, **values, opinions=[], decision=True, structured=True, reasoning=True)
        assert "On tea." in text, prompt


# Held against labels that are trusted and against people (paper 003, 3.3 and 3.4)


GOLD = {rubric: "no" if i % 2 else "yes" for i, rubric in enumerate(TABLE)}  # yes, no, yes, ...


def _trusted(folder: Path, **changes: Any) -> str:
    rows = [row | {"label": GOLD[row["rubric"]]} | changes for row in table_rows()]
    return write_rows(folder / "trusted.jsonl", rows)


def test_validation_by_hand(tmp_path: Path) -> None:
    panel = panel_specs(tmp_path)
    options = table_options(tmp_path, reference=_trusted(tmp_path))
    found = arbitrate(options)
    # Gold by place: 0 yes, 1 no, 2 yes, ... 10 yes. Rubric 1 has no fine rule: no judge can be read there.
    # P ? P F P P P P P P F: right at 0, 2, 3, 4, 6, 8.
    assert figures(found["judges"], panel["ann"]) == (11, 1, 6 / 10, 6 / 11)
    # P ? F P F P F P F F ? F: right at 0 and 2 to 7.
    assert figures(found["judges"], panel["bob"]) == (11, 2, 7 / 9, 7 / 11)
    # Unanimous at the fine pass: 2 (yes, right), 3 (no, right), 10 (no, wrong).
    assert figures(found["methods"], "unanimous") == (3, 0, 2 / 3, 2 / 3)
    # Disputed: 0 (PPFF), 4 (PPPF), 5 and 7 and 8 (PFPF), 6 (PPP?). Majority: right at 4 and 6, tied at the others.
    assert found["reference"].rows == [
        {"rubrics": 11, "disputed": 6, "not_in_run": 0, "other_response": 0, "unanswered": 0}
    ]
    assert figures(found["methods"], "majority") == (6, 4, 1.0, 2 / 6), "ties are wrong in the strict figure"
    paper = row_of(found["methods"], method="majority", **{PUBLISHED: True})
    assert paper["accuracy_strict"].value == 0.695, "the paper's figure stands beside the strict one"
    for name in ("judges", "methods", "by_exit"):
        assert [column.name for column in found[name].columns][1:3] == ["accuracy_strict", "accuracy"]
    # Meta-judges agree on 0 and 4 (no, wrong), 5 (yes, wrong), 6 (yes, right).
    assert figures(found["methods"], "meta-judges")[1:3] == (2, 1 / 4)
    # Best single judge on the disputed: bob says P P F P F F against yes yes no yes no yes: 5 of 6.
    assert figures(found["methods"], "best single judge")[3] == 5 / 6
    assert found["judges_on_disputed"].rows[0]["method"] == panel["bob"]
    assert figures(found["by_exit"], "hard")[2] == 1 / 3
    assert figures(found["by_exit"], "coarse_unanimous")[2] == 1.0


def figures(table: Table, method: str) -> tuple[int, int, float | None, float | None]:
    """n, undecided, accuracy of decided, and accuracy with what is undecided as wrong."""
    row = row_of(table, method=method, **{PUBLISHED: None})
    return row["n"], row["undecided"], row["accuracy"].value, row["accuracy_strict"].value


def test_labels_of_other_responses_do_not_count(tmp_path: Path) -> None:
    found = arbitrate(table_options(tmp_path, reference=_trusted(tmp_path, response="Something else.")))
    (counts,) = found["reference"].rows
    assert (counts["rubrics"], counts["other_response"]) == (0, len(TABLE))
    assert figures(found["methods"], "unanimous") == (0, 0, None, None)


def test_an_id_may_be_labelled_only_once(tmp_path: Path) -> None:
    twice = [{"id": "a", "label": "yes"}, {"id": "b", "label": "no"}, {"id": "a", "label": "no"}]
    with pytest.raises(UserError, match="row 3: id 'a' is that of row 1 too"):
        read_trusted(write_rows(tmp_path / "twice.jsonl", twice))
    open_one = [{"id": "a", "label": None}, {"id": "a", "label": "no"}]  # an open row labels nothing
    assert read_trusted(write_rows(tmp_path / "open.jsonl", open_one)) == {"a": ("no", None)}


@each_row(__file__, "arbitrate", "trusted")
def test_trusted_labels_that_cannot_be_used(tmp_path: Path, row: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        read_trusted(write_rows(tmp_path / "t.jsonl", [row]))


def test_sheets_need_labels_of_their_own_run(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="holds no labels"):
        ArbitrationLabels(str(tmp_path)).draw(LabelOutOptions(folder=str(tmp_path)))
    (tmp_path / "labels").mkdir()
    for split in ("easy", "hard"):
        (tmp_path / "labels" / f"{split}.jsonl").touch()
    with pytest.raises(UserError, match="the judges left no rubric with a label"):
        ArbitrationLabels(str(tmp_path)).draw(LabelOutOptions(folder=str(tmp_path)))
