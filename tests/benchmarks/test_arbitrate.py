"""Rubric arbitration by a scripted panel: every exit of the funnel, its cost and its resumption."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.arbitration import JUDGES, META, TABLE, panel_specs, read_rows, table_options, table_rows, write_rows
from tests.support.runs import script
from tests.support.tables import row_of
from truebench_hf.benchmarks.rubric_eval import data as rubric_rows
from truebench_hf.benchmarks.rubric_eval.arbitration import ArbitrateOptions, answer, arbitrate, prepare, question
from truebench_hf.benchmarks.rubric_eval.data import COLUMNS
from truebench_hf.benchmarks.rubric_eval.funnel import Trace, disputed, unanimous
from truebench_hf.data.rows import Record
from truebench_hf.data.rubrics import Item
from truebench_hf.data.sources.forms import SetForm, item_of
from truebench_hf.errors import UserError
from truebench_hf.loaders.export import export
from truebench_hf.models.spec import open_model
from truebench_hf.prompts import Prompts, sections
from truebench_hf.results.folder import Results
from truebench_hf.types import Criterion, Message, Usage, Verdict

FORM = SetForm(published="here", title="s", category="constrained", language="EN")


def by_stage(folder: Path) -> dict[str, Usage]:
    """What a finished arbitration took, by stage."""
    found: dict[str, Usage] = {}
    for role, usage in Results.open(folder / "out").spent.items():
        found[role.partition(" ")[0]] = found.get(role.partition(" ")[0], Usage()) + usage
    return found


def test_every_exit_equals_the_table(tmp_path: Path) -> None:
    result = arbitrate(table_options(tmp_path))
    exits = {row["rubric"]: (row["exit"], row["label"]) for row in read_rows(tmp_path / "out" / "exits.jsonl")}
    assert exits == {rubric: columns[3:] for rubric, columns in TABLE.items()}
    assert {row["exit"]: row["rubrics"] for row in result["exits"].rows} == {
        "unanswered": 0, "coarse_unanimous": 2, "easy": 3, "hard": 3, "meta_disagree": 1, "undecided": 2,
    }  # fmt: skip
    reasons = [row["reason"] for row in result["reasons"].rows if row["exit"] == "undecided"]
    assert any("fewer than two base judges decided" in reason for reason in reasons)
    assert any("a meta-judge did not decide" in reason for reason in reasons)


def test_the_funnel_adds_up_and_counts_its_cost(tmp_path: Path) -> None:
    result = arbitrate(table_options(tmp_path))
    rows = result["stages"].rows
    assert [(row["rubrics_in"], row["rubrics_on"]) for row in rows] == [(11, 11), (11, 9), (9, 5), (5, 0), (11, None)]
    assert [row["exits"] for row in rows[2:]] == [
        "easy 3, undecided 1",
        "hard 3, meta_disagree 1, undecided 1",
        "labelled 6",
    ]
    spent = by_stage(tmp_path)
    # Coarse: a call a judge, and two more for the one rubric that none of the judges' answers settles.
    assert spent["coarse"].calls == 4 * 3
    # Fine: nine rubrics for four judges; an unreadable answer (4 of them) is asked again twice. Meta: five for two, too.
    assert spent["fine"].calls == 9 * 4 + 4 * 2
    assert spent["meta"].calls == 5 * 2 + 2
    assert all(usage.input_tokens > 0 for usage in spent.values())


def test_labels_stand_in_the_columns_of_rubric_eval(tmp_path: Path) -> None:
    arbitrate(table_options(tmp_path))
    easy, hard = (read_rows(tmp_path / "out" / "labels" / f"{split}.jsonl") for split in ("easy", "hard"))
    assert {row["rubric"]: row["label"] for row in easy} == {k: v[4] for k, v in TABLE.items() if v[3] == "easy"}
    assert {row["rubric"]: row["label"] for row in hard} == {k: v[4] for k, v in TABLE.items() if v[3] == "hard"}
    assert set(COLUMNS) - {"pair_id", "trap", "measurable"} <= set(easy[0])
    assert easy[0]["checklist"] == list(TABLE), "the whole checklist, for judges at checklist level"
    assert [a["label"] for a in easy[0]["annotations"]] == ["yes"] * 4
    silent = next(row for row in hard if row["rubric"] == "silence is no agreement")
    assert [a["label"] for a in silent["annotations"]] == ["yes", "yes", "yes", None, "yes", "yes"]
    assert len(silent["rationales"]) == 6
    # The folder is a data set that meta-evaluation reads as it is.
    items = rubric_rows.items(rubric_rows.load(str(tmp_path / "out" / "labels")))
    assert Counter(rubric.split for item in items for rubric in item.rubrics) == {"easy": 3, "hard": 3}


def test_meta_judges_see_rationales_without_names_in_a_seeded_order(tmp_path: Path) -> None:
    def prompts(seed: int) -> list[str]:
        record = tmp_path / f"seen{seed}.jsonl"
        noted = {"judge_arg": (f"record={record}",), "meta_judge_arg": (f"record={record}",)}
        options = table_options(tmp_path, seed=seed, out=str(tmp_path / f"out{seed}"), **noted)
        arbitrate(options)
        return sorted(line[0] for line in map(json.loads, record.read_text().splitlines()) if line[0].startswith(META))

    first, other = prompts(0), prompts(1)
    names = ("scripted", ".json", *JUDGES, "mia", "max")
    reviews = [re.search(r"<reviewers.*</reviewers", prompt, re.DOTALL) for prompt in first]
    assert all(review is not None and not any(name in review.group(0) for name in names) for review in reviews)
    assert all("You che" in prompt for prompt in first), "the rationales are there"
    assert first != other, "another seed, another order"
    lines = [sorted(sorted(prompt.splitlines()) for prompt in prompts) for prompts in (first, other)]
    assert lines[0] != lines[1], "a verdict moves with its place"
    letters = [sorted(sorted(prompt) for prompt in prompts) for prompts in (first, other)]
    assert letters[0] == letters[1], "of the same rationales"
    silent = next(prompt for prompt in first if "silence is no agreement" in prompt)
    assert "Reviewer 3:" in silent
    assert "Reviewer 4:" not in silent, "who did not decide has nothing to say"


def test_a_stopped_run_goes_on_and_asks_nothing_twice(tmp_path: Path) -> None:
    record = tmp_path / "seen.jsonl"
    options = table_options(tmp_path, judge_arg=(f"record={record}",), meta_judge_arg=(f"record={record}",))
    max_file = tmp_path / "max.json"
    whole = max_file.read_text()
    max_file.write_text("not a script")  # the last model cannot be opened: nothing may be asked
    with pytest.raises(UserError, match="not a usable script"):
        arbitrate(options)
    max_file.write_text(whole)
    arbitrate(options)
    asked = record.read_text()
    files = {name: (tmp_path / "out" / name).read_text() for name in ("exits.jsonl", "labels/hard.jsonl")}
    arbitrate(options)
    assert record.read_text() == asked, "everything came from the ledger"
    assert files == {name: (tmp_path / "out" / name).read_text() for name in files}


def test_a_run_killed_in_the_middle_keeps_what_it_paid_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from truebench_hf.engine.ledger import Calls

    seen = {name: tmp_path / f"{name}.seen" for name in (*JUDGES, "mia", "max")}
    options = table_options(
        tmp_path, judge_concurrency=1, meta_judge_concurrency=1,
        judge_arg=tuple(f"{n}.record={seen[name]}" for n, name in enumerate(JUDGES, 1)),
        meta_judge_arg=tuple(f"{n}.record={seen[name]}" for n, name in enumerate(("mia", "max"), 1)),
    )  # fmt: skip
    put, count = Calls.put, 0

    def dying(self: Calls, *args: Any, **more: Any) -> Any:
        nonlocal count
        found = put(self, *args, **more)
        count += 1
        if count == 30:
            raise KeyboardInterrupt
        return found

    monkeypatch.setattr(Calls, "put", dying)
    with pytest.raises(KeyboardInterrupt):
        arbitrate(options)
    monkeypatch.undo()
    assert not (tmp_path / "out" / "exits.jsonl").exists(), "nothing half-written"
    arbitrate(options)
    asked = {name: file.read_text().splitlines() for name, file in seen.items()}
    # What was under way when the process died is asked again: one call at most of each judge, at a concurrency of 1.
    assert all(len(lines) - len(set(lines)) <= 1 for lines in asked.values())
    assert sum(map(len, asked.values())) <= 4 * 3 + 9 * 4 + 4 * 2 + 5 * 2 + 2 + len(asked)
    exits = {row["rubric"]: row["exit"] for row in read_rows(tmp_path / "out" / "exits.jsonl")}
    assert exits == {rubric: columns[3] for rubric, columns in TABLE.items()}


def test_probabilities_are_not_asked_for_twice(tmp_path: Path) -> None:
    """P(yes) does not depend on what else is asked: the fine pass takes the coarse verdicts over, at no cost."""
    shares = {
        "ann": {"both": 0.9, "apart": 0.9},
        "bob": {"both": 0.8, "apart": 0.2},
        "mia": {"": 0.9},
        "max": {"": 0.8},
    }
    specs, seen = {}, {}
    for name, said in shares.items():
        rules = [{"contains": f"{rubric}?", "probability": share} for rubric, share in said.items()]
        specs[name] = script(tmp_path / f"{name}.json", rules)
        seen[name] = tmp_path / f"{name}.seen"
    rows = [
        row | {"checklist": ["both?", "apart?"], "rubric": ["both?", "apart?"][i]}
        for i, row in enumerate(table_rows()[:2])
    ]
    reference = write_rows(tmp_path / "trusted.jsonl", [row | {"label": "yes"} for row in rows])
    options = ArbitrateOptions(
        data=write_rows(tmp_path / "data.jsonl", rows), judge=(specs["ann"], specs["bob"]), judge_level="decision",
        meta_judge=(specs["mia"], specs["max"]), out=str(tmp_path / "out"), reference=reference,
        judge_arg=(f"1.record={seen['ann']}", f"2.record={seen['bob']}"),
        meta_judge_arg=(f"1.record={seen['mia']}", f"2.record={seen['max']}"),
    )  # fmt: skip
    result = arbitrate(options)
    exits = {row["rubric"]: (row["exit"], row["label"]) for row in read_rows(tmp_path / "out" / "exits.jsonl")}
    assert exits == {"both?": ("coarse_unanimous", "yes"), "apart?": ("hard", "yes")}
    assert {stage: usage.calls for stage, usage in by_stage(tmp_path).items()} == {"coarse": 2, "meta": 2}
    assert [len(read_rows(seen[name])) for name in shares] == [1, 1, 1, 1]
    assert result["reference"].rows[0]["rubrics"] == 2, "the comparison with trusted labels costs nothing more either"
    notes = json.loads((tmp_path / "out" / "scores.json").read_text())["notes"]
    assert any("2 of 2 base judges give probabilities" in note and "stays empty" in note for note in notes)


def test_options_that_shape_labels_lock_the_folder(tmp_path: Path) -> None:
    arbitrate(table_options(tmp_path))
    with pytest.raises(UserError, match="seed"):
        arbitrate(table_options(tmp_path, seed=5))
    arbitrate(table_options(tmp_path, judge_concurrency=3))  # shapes no label


# --- responses -------------------------------------------------------------------------------------------------------


def _item(number: int, rubrics: tuple[Criterion, ...] = (Criterion("Done?"),), **more: Any) -> Item:
    return item_of(FORM, Record("x", {}), rubrics, name=f"i{number}", messages=[Message("user", "Do it.")], **more)


def test_responders_are_drawn_by_seed_and_not_by_position() -> None:
    items = [_item(i) for i in range(60)]
    drawn = [one.model for one in prepare(items, ("a", "b", "c"), 0)]
    assert set(drawn) == {"a", "b", "c"}
    assert [one.model for one in prepare(items[30:], ("a", "b", "c"), 0)] == drawn[30:]
    assert [one.model for one in prepare(items, ("a", "b", "c"), 1)] != drawn


@pytest.mark.parametrize(
    ("given", "expected", "reason"),
    [
        ({"response": "theirs"}, ("theirs", "s"), "a response is there already"),
        ({"example": "good"}, ("", "a"), "a reference is no answer of a model"),
        ({}, ("", "a"), "nothing is there"),
    ],
)
def test_where_a_response_comes_from(given: dict[str, str], expected: tuple[str, str], reason: str) -> None:
    (settled,) = prepare([_item(0, **given)], ("a",), 0)
    assert (settled.case.response, settled.model) == expected, reason
    assert settled.answered is bool(expected[0])


def test_nobody_to_answer_is_said_before_anything_is_asked() -> None:
    with pytest.raises(UserError, match="name a --responder"):
        prepare([_item(0, example="good")], (), 0)


def test_an_answer_that_fails_leaves_the_funnel_unanswered(tmp_path: Path) -> None:
    def source(name: str, prompt: str) -> Item:
        return item_of(
            FORM, Record("x", {}), [Criterion("all pass alike")], name=name, messages=[Message("user", prompt)]
        )

    good, bad = source("one", "Fine."), source("two", "This one is broken.")
    assert (good.answered, good.id, good.rubrics[0].id) == (False, "one-r0", "one-r0-c0")
    panel = panel_specs(tmp_path)
    import asyncio

    from truebench_hf.engine.ledger import Calls
    from truebench_hf.models.caller import Caller
    from truebench_hf.models.protocol import Sampling

    ledger = Calls(tmp_path / "ledger.sqlite")
    caller = Caller(open_model(panel["writer"]), ledger, "answer", 1)
    settled = prepare([good, bad], ("w",), 0)
    first, second = (asyncio.run(answer(item, {"w": caller}, Sampling())) for item in settled)
    assert (first.item.case.response, first.problem) == ("no such answer", "")
    assert not second.item.answered
    assert second.problem == "w gave no answer: the server burned down"
    ledger.close()


def test_a_source_without_responses_is_answered_first(tmp_path: Path) -> None:
    def row(name: str, prompt: str) -> dict[str, Any]:
        first = table_rows()[0] | {"id": name, "instruction_id": name, "response_id": f"{name}-r", "response": None}
        return first | {"messages": [{"role": "user", "content": prompt}]}

    path = write_rows(tmp_path / "bare.jsonl", [row("one", "Fine."), row("two", "This one is broken.")])
    writer = panel_specs(tmp_path)["writer"]
    options = table_options(tmp_path, data=f"rubric_eval:{path}", responder=(writer,))
    result = arbitrate(options)
    unanswered = row_of(result["reasons"], exit="unanswered")
    assert unanswered["rubrics"] == len(TABLE), "every rubric of the failed answer is counted"
    assert unanswered["reason"] == f"{writer} gave no answer: the server burned down"
    assert by_stage(tmp_path)["answer"].calls == 1
    assert row_of(result["stages"], stage="answer")["rubrics_on"] == len(TABLE)
    assert result["responses"].rows == [{"model": writer, "responses": 1, "unanswered": 1, "truncated": 0}]
    labelled = read_rows(tmp_path / "out" / "labels" / "easy.jsonl")
    assert {(row["response"], row["response_model"]) for row in labelled} == {("no such answer", writer)}


# --- pure parts ------------------------------------------------------------------------------------------------------


def _verdicts(said: str, judge: str = "j") -> tuple[Verdict, ...]:
    labels: dict[str, Any] = {"y": "yes", "n": "no", "?": None}
    return tuple(Verdict(Criterion("r"), labels[word], "because", f"{judge}{i}") for i, word in enumerate(said))


@pytest.mark.parametrize(
    ("said", "label", "reason"),
    [
        ("yyyy", "yes", "all alike"),
        ("nnnn", "no", "all alike"),
        ("yyyn", None, "one differs"),
        ("yyy?", None, "an undecided judge makes nothing unanimous"),
        ("????", None, "silence is not agreement"),
        ("", None, "nobody was asked"),
    ],
)
def test_unanimous(said: str, label: str | None, reason: str) -> None:
    assert unanimous(_verdicts(said)) == label, reason


@pytest.mark.parametrize(
    ("said", "expected", "reason"),
    [
        ("yynn", True, "two sides"),
        ("yyy?", True, "three rationales and no unanimity"),
        ("y???", False, "one rationale alone"),
        ("????", False, "no rationale"),
        ("yyyy", False, "settled"),
    ],
)
def test_disputed(said: str, expected: bool, reason: str) -> None:
    assert disputed(_verdicts(said)) is expected, reason


def test_the_first_agreement_decides_even_where_later_looks_differ() -> None:
    trace = Trace(_item(0), 0, _verdicts("yyyy"), _verdicts("nnnn"))
    assert (trace.exit, trace.label) == ("coarse_unanimous", "yes")


def test_rows_show_what_judges_saw() -> None:
    """What a rubric rests on and the document beside it reach meta-evaluation and people in the judges' own words."""
    rubrics = (Criterion("Is it\n tea? "), Criterion("Does it rhyme? ", None, "Is it\n tea? / Is it a poem? "))
    item = _item(0, rubrics, response="Tea.")
    item = replace(item, case=replace(item.case, context="On tea."))
    shown = sections(item.case)
    assert shown["criteria"][1] == "Does it rhyme? (It rests on this: Is it tea? / Is it a poem?)"
    made = [Trace(item, i, fine=_verdicts("yy")).row() for i in (0, 1)]
    (again,) = rubric_rows.items(made)
    assert sections(again.case) == shown
    sheet = question(made[1])
    assert sheet.question.endswith(shown["criteria"][1])
    assert sheet.material["Context"] == "On tea."
    assert Trace(item, 1, fine=_verdicts("yy")).exit_row()["rubric"] == made[1]["rubric"]


CFBENCH = {
    "idx": 1, "prompt": "选一个成语。", "isanswer": "是", "gold": "耳熟能详", "split": "hard",
    "criteria": [["与标准答案中内容完全一致", "主需", "内容约束", "词法内容约束"], ["简短", "次需", "", ""]],
}  # fmt: skip


def test_the_right_answer_of_a_source_reaches_judges_people_and_later_readers(tmp_path: Path) -> None:
    """CFBench's criteria ask whether a response matches the reference answer, which nobody can tell without it."""
    (tmp_path / "cfbench.json").write_text(json.dumps([CFBENCH, CFBENCH | {"idx": 2, "gold": ""}]))
    items = [one.responded("耳熟能详。", "m") for one in rubric_rows.read(f"cfbench:{tmp_path}/cfbench.json")]
    assert [item.case.reference for item in items] == ["耳熟能详", None]
    made = [
        Trace(one, i, fine=_verdicts("yy")).row() | {"rubric_type": "content_inclusion", "split": "easy"}
        for one in items
        for i in (0, 1)
    ]
    sheet = question(made[0]).material
    assert sheet["Reference answer"] == "耳熟能详"
    assert "Reference answer" not in question(made[2]).material
    path = write_rows(tmp_path / "rows.jsonl", made)
    export("rubric_eval", tmp_path / "built", source=path)
    cases = [item.case for item in items]
    for again in (path, str(tmp_path / "built"), f"rubric_eval:{path}"):
        assert [(item.case.reference, item.case.instruction) for item in rubric_rows.read(again)] == [
            (case.reference, case.instruction) for case in cases
        ]
    assert [item.labelled.reference for item in rubric_rows.items(rubric_rows.load(path))] == ["耳熟能详", None]


def test_an_answer_that_is_only_an_example_sways_no_judge(tmp_path: Path) -> None:
    conversation = {"name": "c1", "user prompt": "Tea?", "assistant answer": "Yes.", "constraints": [
        {"type": "Style", "content": "Is it short?"}]}  # fmt: skip
    (tmp_path / "s.json").write_text(json.dumps([{"whole_conv": [conversation]}]))
    (item,) = rubric_rows.read(f"structflowbench:{tmp_path}/s.json")
    assert item.reference == "Yes."
    answered = item.responded("No.", "m")
    assert answered.case.reference is None
    assert Trace(answered, 0, fine=_verdicts("yy")).row()["reference"] is None


def test_the_types_of_a_source_outlive_another_arbitration() -> None:
    (item,) = rubric_rows.items([table_rows()[0] | {"checklist": ["all pass alike"], "source_label": "Number"}])
    row = Trace(item, 0, fine=_verdicts("yy")).row()
    assert (row["rubric_type"], row["source_label"]) == (None, "Number")


@pytest.mark.parametrize("prefix", ["", "rubric_eval:"])
def test_a_context_of_the_data_reaches_every_judge(tmp_path: Path, prefix: str) -> None:
    path = write_rows(tmp_path / "context.jsonl", [row | {"context": "On tea."} for row in table_rows()])
    (item,) = rubric_rows.read(prefix + path)
    values = sections(item.only([0]))
    assert values["context"] == "On tea."
    for prompt in ("checklist", "rubric", "decision", "meta_judge"):
        text = Prompts().render(prompt, **values, opinions=[], decision=True, structured=True, reasoning=True)
        assert "On tea." in text, prompt


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"judge": ("smollm2",)}, "at least two"),
        ({"meta_judge": ("hf:a",)}, "at least two"),
        ({"judge_level": "text"}, "unknown judge level"),
        ({"judge_level": "rubric"}, "is not for this command; checklist or decision"),
        ({"threshold": 1.0}, "between 0 and 1"),
        ({"max_tokens": 0}, "must be at least 1"),
    ],
)
def test_options_that_make_no_sense(change: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {
        "data": "rubric_mini",
        "judge": ("hf:a", "hf:b"),
        "meta_judge": ("hf:c", "hf:d"),
        "out": "x",
    }
    with pytest.raises(UserError, match=message):
        ArbitrateOptions(**(given | change))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda spec: {"judge": (spec["ann"], spec["ann"])}, "--judge .* stands twice"),
        (lambda spec: {"meta_judge": (spec["mia"], spec["mia"])}, "--meta-judge .* stands twice"),
        (lambda spec: {"judge_concurrency": 0}, "--judge-concurrency 0: must be at least 1"),
        (lambda spec: {"responder_arg": ("seed=1",)}, "are about --responder; name one"),
    ],
)
def test_models_that_make_no_sense_are_refused_before_the_folder_is_opened(
    tmp_path: Path, change: Any, message: str
) -> None:
    with pytest.raises(UserError, match=message):
        arbitrate(table_options(tmp_path, **change(panel_specs(tmp_path))))
    assert not (tmp_path / "out").exists()
