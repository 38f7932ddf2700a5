"""Rubric arbitration: every way out of the funnel, its cost, its resumption, and its validation, by a scripted panel.

The panel stands in rule files, so that models are opened, called and recorded as in any run. Rubrics are named after
what the panel is to do with them.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.support.runs import script
from truebench_hf.benchmarks.rubric_eval import data as rubric_rows
from truebench_hf.benchmarks.rubric_eval.arbitration import output
from truebench_hf.benchmarks.rubric_eval.arbitration import sheets as arbitration_sheets
from truebench_hf.benchmarks.rubric_eval.arbitration.answering import prepare
from truebench_hf.benchmarks.rubric_eval.arbitration.funnel import disputed, leave, unanimous
from truebench_hf.benchmarks.rubric_eval.arbitration.options import ArbitrateOptions
from truebench_hf.benchmarks.rubric_eval.arbitration.run import arbitrate
from truebench_hf.benchmarks.rubric_eval.arbitration.subjects import Subject, from_source, load
from truebench_hf.benchmarks.rubric_eval.arbitration.trusted import read_trusted
from truebench_hf.benchmarks.rubric_eval.mini import COLUMNS
from truebench_hf.cli.main import app
from truebench_hf.errors import UserError
from truebench_hf.judging.case import sections
from truebench_hf.loaders.sources.common import RubricSource
from truebench_hf.models.spec import open_model
from truebench_hf.prompts import Prompts
from truebench_hf.types import Criterion, Message, Verdict

COARSE, FINE, META = "You check how well", "You check one requirement", "Several reviewers"
JUDGES = ("ann", "bob", "cat", "dan")

# Per rubric: what each base judge says in the coarse and in the fine pass (P pass, F fail, ? an answer that cannot be
# read), what the two meta-judges say, and the way out with its label, worked out by hand.
TABLE: dict[str, tuple[str, str, str, str, str | None]] = {
    "all pass alike": ("PPPP", "PPFF", "FF", "coarse_unanimous", "yes"),  # later stages only where validated
    "all fail alike": ("FFFF", "", "", "coarse_unanimous", "no"),
    "settled on a second look": ("PPPF", "PPPP", "", "easy", "yes"),
    "settled against the majority": ("PPPF", "FFFF", "", "easy", "no"),
    "three against one": ("PPFF", "PPPF", "FF", "hard", "no"),  # arguments count, not heads
    "two against two": ("PFPF", "PFPF", "PP", "hard", "yes"),
    "silence is no agreement": ("PPPF", "PPP?", "PP", "hard", "yes"),
    "metas apart": ("PFPF", "PFPF", "PF", "meta_disagree", None),
    "a meta is silent": ("PFPF", "PFPF", "P?", "undecided", None),
    "nearly all are silent": ("PFPF", "P???", "", "undecided", None),  # one rationale is no dispute to settle
    "all silent at first": ("????", "FFFF", "", "easy", "no"),
}


def _rules(side: int, stage: int) -> list[dict[str, Any]]:
    """One judge's answers in the pass `stage` of TABLE; a rubric it is never asked about there gets no rule."""
    words = {0: ("PASS", "FAIL", "MAYBE"), 1: ("YES", "NO", "MAYBE"), 2: ("YES", "NO", "MAYBE")}[stage]
    said = {
        rubric: dict(zip("PF?", words, strict=True))[columns[:3][stage][side]]
        for rubric, columns in TABLE.items()
        if columns[:3][stage]
    }
    if stage == 0:
        return [{"contains": COARSE, "verdicts": said}, {"contains": "cannot be used", "verdicts": said}]
    opening = FINE if stage == 1 else META
    return [
        {
            "contains": [opening, f"\n1. {rubric}\n"],
            "reply": f'1. {opening[:7]} {side} on it\n```json\n{{"criteria_1": "{word}"}}\n```',
        }
        for rubric, word in said.items()
    ]


def _panel(folder: Path) -> dict[str, str]:
    """Write the rule files; (name: spec) of base judges, meta-judges and a responder."""
    scripts: dict[str, Any] = {name: {"rules": _rules(i, 1) + _rules(i, 0)} for i, name in enumerate(JUDGES)}
    scripts |= {name: {"rules": _rules(i, 2)} for i, name in enumerate(("mia", "max"))}
    scripts["writer"] = {"rules": [{"contains": "broken", "error": "the server burned down"}]}
    for content in scripts.values():
        content["default"] = {"reply": "no such answer"}
    found = {}
    for name, content in scripts.items():
        (folder / f"{name}.json").write_text(json.dumps(content))
        found[name] = f"scripted:{folder / name}.json"
    return found


def _rows(response: str = "Here it is.") -> list[dict[str, Any]]:
    shared = {
        "instruction_id": "i1", "response_id": "r1", "response_model": "m", "instruction_category": "constrained",
        "source_benchmark": "hand-made", "language": "EN", "messages": [{"role": "user", "content": "Do it."}],
        "response": response, "checklist": list(TABLE),
    }  # fmt: skip
    return [
        shared | {"id": f"r1-c{i}", "rubric_index": i, "rubric": text, "label": None} for i, text in enumerate(TABLE)
    ]


def _write(path: Path, rows: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def _options(folder: Path, **more: Any) -> ArbitrateOptions:
    panel = _panel(folder)
    given = {
        "data": str(folder / "data.jsonl"),
        "judges": ",".join(panel[name] for name in JUDGES),
        "meta_judges": f"{panel['mia']},{panel['max']}",
        "out": str(folder / "out"),
    }
    if not (folder / "data.jsonl").exists():
        _write(folder / "data.jsonl", _rows())
    return ArbitrateOptions(**(given | more))


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_every_way_out_equals_the_table(tmp_path: Path) -> None:
    result = arbitrate(_options(tmp_path))
    exits = {row["rubric"]: (row["exit"], row["label"]) for row in _lines(tmp_path / "out" / "exits.jsonl")}
    assert exits == {rubric: columns[3:] for rubric, columns in TABLE.items()}
    assert {name: found["n"] for name, found in result["exits"].items()} == {
        "unanswered": 0, "coarse_unanimous": 2, "easy": 3, "hard": 3, "meta_disagree": 1, "undecided": 2,
    }  # fmt: skip
    assert "fewer than two base judges decided" in str(result["why_discarded"]["undecided"])
    assert "a meta-judge did not decide" in str(result["why_discarded"]["undecided"])


def test_the_funnel_adds_up_and_counts_its_cost(tmp_path: Path) -> None:
    result = arbitrate(_options(tmp_path))
    rows = {row["stage"]: row for row in result["funnel"]}
    assert [(row["rubrics_in"], row["rubrics_on"]) for row in rows.values()] == [(11, 11), (11, 9), (9, 5), (5, 0)]
    assert rows["fine"]["exits"] == {"easy": 3, "undecided": 1}
    assert rows["meta"]["exits"] == {"hard": 3, "meta_disagree": 1, "undecided": 1}
    # Coarse: a call a judge, and two more for the one rubric that none of the judges' answers settles.
    assert rows["coarse"]["calls"] == 4 * 3
    # Fine: nine rubrics for four judges; an unreadable answer (4 of them) is asked again twice. Meta: five for two, too.
    assert rows["fine"]["calls"] == 9 * 4 + 4 * 2
    assert rows["meta"]["calls"] == 5 * 2 + 2
    assert all(row["input_tokens"] > 0 for stage, row in rows.items() if stage != "answer")


def test_labels_stand_in_the_columns_of_rubric_eval(tmp_path: Path) -> None:
    arbitrate(_options(tmp_path))
    easy, hard = (_lines(tmp_path / "out" / "labels" / f"{split}.jsonl") for split in ("easy", "hard"))
    assert {row["rubric"]: row["label"] for row in easy} == {k: v[4] for k, v in TABLE.items() if v[3] == "easy"}
    assert {row["rubric"]: row["label"] for row in hard} == {k: v[4] for k, v in TABLE.items() if v[3] == "hard"}
    assert set(COLUMNS) - {"pair_id"} <= set(easy[0])
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
        options = _options(tmp_path, seed=seed, out=str(tmp_path / f"out{seed}"), model_arg=(f"record={record}",))
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
    options = _options(tmp_path, model_arg=(f"record={record}",))
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
    from truebench_hf.engine.ledger import Ledger

    panel = _panel(tmp_path)
    seen = {spec: tmp_path / f"{name}.seen" for name, spec in panel.items() if name != "writer"}
    options = _options(tmp_path, model_arg=tuple(f"{spec}@record={file}" for spec, file in seen.items()), concurrency=1)
    put, count = Ledger.put, 0

    def dying(self: Ledger, *args: Any) -> None:
        nonlocal count
        put(self, *args)
        count += 1
        if count == 30:
            raise KeyboardInterrupt

    monkeypatch.setattr(Ledger, "put", dying)
    with pytest.raises(KeyboardInterrupt):
        arbitrate(options)
    monkeypatch.undo()
    assert not (tmp_path / "out" / "exits.jsonl").exists(), "nothing half-written"
    arbitrate(options)
    asked = {name: file.read_text().splitlines() for name, file in seen.items()}
    # What was under way when the process died is asked again: one call at most of each judge, at a concurrency of 1.
    assert all(len(lines) - len(set(lines)) <= 1 for lines in asked.values())
    assert sum(map(len, asked.values())) <= 4 * 3 + 9 * 4 + 4 * 2 + 5 * 2 + 2 + len(asked)
    exits = {row["rubric"]: row["exit"] for row in _lines(tmp_path / "out" / "exits.jsonl")}
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
        row | {"checklist": ["both?", "apart?"], "rubric": ["both?", "apart?"][i]} for i, row in enumerate(_rows()[:2])
    ]
    reference = _write(tmp_path / "trusted.jsonl", [row | {"label": "yes"} for row in rows])
    options = ArbitrateOptions(
        data=_write(tmp_path / "data.jsonl", rows), judges=f"{specs['ann']},{specs['bob']}", judge_level="decision",
        meta_judges=f"{specs['mia']},{specs['max']}", out=str(tmp_path / "out"), reference=reference,
        model_arg=tuple(f"{specs[name]}@record={file}" for name, file in seen.items()),
    )  # fmt: skip
    result = arbitrate(options)
    exits = {row["rubric"]: (row["exit"], row["label"]) for row in _lines(tmp_path / "out" / "exits.jsonl")}
    assert exits == {"both?": ("coarse_unanimous", "yes"), "apart?": ("hard", "yes")}
    assert {row["stage"]: row["calls"] for row in result["funnel"]} == {"answer": 0, "coarse": 2, "fine": 0, "meta": 2}
    assert [len(_lines(seen[name])) for name in shares] == [1, 1, 1, 1]
    assert result["validation"]["n"] == 2, "the comparison with trusted labels costs nothing more either"
    assert any("2 of 2 base judges give probabilities" in note and "stays empty" in note for note in result["notes"])


def test_options_that_shape_labels_lock_the_folder(tmp_path: Path) -> None:
    arbitrate(_options(tmp_path))
    with pytest.raises(UserError, match="seed"):
        arbitrate(_options(tmp_path, seed=5))
    arbitrate(_options(tmp_path, concurrency=3))  # shapes no label


# --- responses -------------------------------------------------------------------------------------------------------


def _subject(number: int, **more: Any) -> Subject:
    given: dict[str, Any] = {
        "instruction_id": f"i{number}", "response_id": f"i{number}-r0", "source": "s", "category": "constrained",
        "language": "EN", "messages": (Message("user", "Do it."),), "rubrics": (Criterion("Done?"),),
        "ids": (f"i{number}-c0",),
    }  # fmt: skip
    return Subject(**(given | more))


def test_responders_are_drawn_by_seed_and_not_by_position() -> None:
    subjects = [_subject(i) for i in range(60)]
    drawn = [s.response_model for s in prepare(subjects, ("a", "b", "c"), False, 0)]
    assert set(drawn) == {"a", "b", "c"}
    assert [s.response_model for s in prepare(subjects[30:], ("a", "b", "c"), False, 0)] == drawn[30:]
    assert [s.response_model for s in prepare(subjects, ("a", "b", "c"), False, 1)] != drawn


@pytest.mark.parametrize(
    ("given", "use_reference", "expected", "reason"),
    [
        ({"response": "theirs", "response_model": "m"}, False, ("theirs", "m"), "a response is there already"),
        ({"response": "theirs", "response_model": "m"}, True, ("theirs", "m"), "even beside a reference"),
        ({"reference": "good"}, False, (None, "a"), "a reference is no answer unless asked for"),
        ({"reference": "good"}, True, ("good", "reference"), "asked for"),
        ({}, True, (None, "a"), "no reference to use"),
    ],
)
def test_where_a_response_comes_from(
    given: dict[str, str], use_reference: bool, expected: tuple[str | None, str], reason: str
) -> None:
    (settled,) = prepare([_subject(0, **given)], ("a",), use_reference, 0)
    assert (settled.response, settled.response_model) == expected, reason


def test_nobody_to_answer_is_said_before_anything_is_asked() -> None:
    with pytest.raises(UserError, match="name --responders"):
        prepare([_subject(0, reference="good")], (), False, 0)


def test_an_answer_that_fails_leaves_the_funnel_unanswered(tmp_path: Path) -> None:
    def source(name: str, prompt: str) -> Subject:
        record = RubricSource(
            name, "s", "constrained", "EN", (Message("user", prompt),), (Criterion("all pass alike"),)
        )
        return from_source(record)

    good, bad = source("one", "Fine."), source("two", "This one is broken.")
    assert (good.response, good.response_id, good.ids) == (None, "one-r0", ("one-r0-c0",))
    panel = _panel(tmp_path)
    import asyncio

    from truebench_hf.benchmarks.rubric_eval.arbitration.answering import answer
    from truebench_hf.engine.ledger import Ledger
    from truebench_hf.models.caller import Caller
    from truebench_hf.models.protocol import Sampling

    ledger = Ledger(tmp_path / "ledger.sqlite")
    caller = Caller(open_model(panel["writer"]), ledger, "answer", 1)
    settled = prepare([good, bad], ("w",), False, 0)
    first, second = (asyncio.run(answer(subject, {"w": caller}, Sampling())) for subject in settled)
    assert (first.subject.response, first.problem) == ("no such answer", None)
    assert second.subject.response is None
    assert second.problem == "w gave no answer: the server burned down"
    ledger.close()


def test_a_source_without_responses_is_answered_first(tmp_path: Path) -> None:
    def row(name: str, prompt: str) -> dict[str, Any]:
        first = _rows()[0] | {"id": name, "instruction_id": name, "response_id": f"{name}-r", "response": None}
        return first | {"messages": [{"role": "user", "content": prompt}]}

    path = _write(tmp_path / "bare.jsonl", [row("one", "Fine."), row("two", "This one is broken.")])
    options = _options(tmp_path, data=f"rubric_eval:{path}", responders=_panel(tmp_path)["writer"])
    result = arbitrate(options)
    assert result["exits"]["unanswered"]["n"] == len(TABLE), "every rubric of the failed answer is counted"
    assert list(result["why_discarded"]["unanswered"]) == [
        f"{options.responders} gave no answer: the server burned down"
    ]
    assert result["funnel"][0]["calls"] == 1
    assert result["funnel"][0]["rubrics_on"] == len(TABLE)
    assert result["responses_by_model"] == {options.responders: 1}
    labelled = _lines(tmp_path / "out" / "labels" / "easy.jsonl")
    assert {(row["response"], row["response_model"]) for row in labelled} == {("no such answer", options.responders)}


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
    trace = leave(_subject(0), 0, _verdicts("yyyy"), _verdicts("nnnn"), ())
    assert (trace.exit, trace.label) == ("coarse_unanimous", "yes")


def test_rows_show_what_judges_saw() -> None:
    """What a rubric rests on and the document beside it reach meta-evaluation and people in the judges' own words."""
    rubrics = (Criterion("Is it\n tea? "), Criterion("Does it rhyme? ", None, "Is it\n tea? / Is it a poem? "))
    subject = _subject(0, rubrics=rubrics, ids=("a", "b"), response="Tea.", context="On tea.")
    shown = sections(subject.case([0, 1]))
    assert shown["criteria"][1] == "Does it rhyme? (It rests on this: Is it tea? / Is it a poem?)"
    made = [output.row(leave(subject, i, (), _verdicts("yy"), ())) for i in (0, 1)]
    (item,) = rubric_rows.items(made)
    assert sections(item.case) == shown
    sheet = arbitration_sheets._question(made[1])
    assert sheet["question"].endswith(shown["criteria"][1])
    assert sheet["sections"]["Context"] == "On tea."
    assert output.exit_row(leave(subject, 1, (), _verdicts("yy"), ()))["rubric"] == made[1]["rubric"]


@pytest.mark.parametrize("prefix", ["", "rubric_eval:"])
def test_a_context_of_the_data_reaches_every_judge(tmp_path: Path, prefix: str) -> None:
    path = _write(tmp_path / "context.jsonl", [row | {"context": "On tea."} for row in _rows()])
    (subject,) = load(prefix + path)
    values = sections(subject.case([0]))
    assert values["context"] == "On tea."
    for prompt in ("checklist", "rubric", "decision", "meta_judge"):
        text = Prompts().render(prompt, **values, opinions=[], decision=True, structured=True, reasoning=True)
        assert "On tea." in text, prompt


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"judges": "smollm2"}, "at least two"),
        ({"judges": "smollm2,smollm2"}, "stands twice"),
        ({"meta_judges": "hf:a"}, "at least two"),
        ({"judge_level": "rubric"}, "unknown judge level"),
        ({"threshold": 1.0}, "between 0 and 1"),
        ({"concurrency": 0}, "must be at least 1"),
        ({"candidates": "hf:a"}, "name them with --reference"),
        ({"candidates": "hf:a", "reference": "rubric_mini"}, "is a base judge already"),
    ],
)
def test_options_that_make_no_sense(change: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {"data": "rubric_mini", "judges": "hf:a,hf:b", "meta_judges": "hf:c,hf:d", "out": "x"}
    with pytest.raises(UserError, match=message):
        ArbitrateOptions(**(given | change))


def test_model_arguments_for_all_and_for_one() -> None:
    from truebench_hf.benchmarks.rubric_eval.model_pool import arguments

    texts = ("openai:a@base_url=http://one", "timeout=9", "openai:b@timeout=3")
    assert arguments(texts, ("openai:a", "openai:b")) == {
        "openai:a": {"timeout": "9", "base_url": "http://one"},
        "openai:b": {"timeout": "3"},
    }
    with pytest.raises(UserError, match="openai:a"):
        arguments(("openai:aa@timeout=3",), ("openai:a",))


# --- validation (section 3.3) ----------------------------------------------------------------------------------------

GOLD = {rubric: "no" if i % 2 else "yes" for i, rubric in enumerate(TABLE)}  # yes, no, yes, ...


def _trusted(folder: Path, **changes: Any) -> str:
    rows = [row | {"label": GOLD[row["rubric"]]} | changes for row in _rows()]
    return _write(folder / "trusted.jsonl", rows)


def test_validation_by_hand(tmp_path: Path) -> None:
    panel = _panel(tmp_path)
    options = _options(tmp_path, reference=_trusted(tmp_path), candidates=panel["writer"])
    found = arbitrate(options)["validation"]
    # Gold by place: 0 yes, 1 no, 2 yes, ... 10 yes. Rubric 1 has no fine rule: no judge can be read there.
    ann = found["ranking"][panel["ann"]]  # P ? P F P P P P P P F: right at 0, 2, 3, 4, 6, 8
    assert (ann["n"], ann["undecided"], ann["accuracy"], ann["accuracy_strict"]) == (11, 1, 6 / 10, 6 / 11)
    bob = found["ranking"][panel["bob"]]  # P ? P F P F P F F ? F: right at 0 and 2 to 7
    assert (bob["n"], bob["undecided"], bob["accuracy"], bob["accuracy_strict"]) == (11, 2, 7 / 9, 7 / 11)
    assert list(found["ranking"])[-1] == panel["writer"], "a candidate that says nothing useful ranks last"
    assert found["ranking"][panel["writer"]]["accuracy"] is None
    # Unanimous at the fine pass: 2 (yes, right), 3 (no, right), 10 (no, wrong).
    assert (found["unanimous"]["n"], found["unanimous"]["accuracy"]) == (3, 2 / 3)
    # Disputed: 0 (PPFF), 4 (PPPF), 5 and 7 and 8 (PFPF), 6 (PPP?). Majority: right at 4 and 6, tied at the others.
    assert found["disputed"] == 6
    majority = found["on_disputed"]["majority"]
    assert (majority["undecided"], majority["accuracy"], majority["accuracy_strict"]) == (4, 1.0, 2 / 6)
    # Meta-judges agree on 0 and 4 (no, wrong), 5 (yes, wrong), 6 (yes, right).
    metas = found["on_disputed"]["meta-judges"]
    assert (metas["undecided"], metas["accuracy"]) == (2, 1 / 4)
    # Best single judge on the disputed: bob says P P F P F F against yes yes no yes no yes: 5 of 6.
    assert found["on_disputed"]["best single judge"]["accuracy_strict"] == 5 / 6
    assert next(iter(found["on_disputed"]["judges"])) == panel["bob"]
    assert found["by_exit"]["hard"]["accuracy"] == 1 / 3
    assert found["by_exit"]["coarse_unanimous"]["accuracy"] == 1.0
    assert (found["not_in_run"], found["other_response"]) == (0, 0)


def test_validation_joins_a_finished_run_and_pays_under_its_own_name(tmp_path: Path) -> None:
    before = arbitrate(_options(tmp_path))["funnel"]
    after = arbitrate(_options(tmp_path, reference=_trusted(tmp_path)))
    assert after["funnel"][:4] == before
    # Four judges look at two more rubrics; on one of them none can be read, so that each is asked three times. On the
    # other they differ, which brings in both meta-judges.
    assert after["funnel"][4]["stage"] == "validation"
    assert after["funnel"][4]["calls"] == 4 + 4 * 3 + 2


def test_labels_of_other_responses_do_not_count(tmp_path: Path) -> None:
    found = arbitrate(_options(tmp_path, reference=_trusted(tmp_path, response="Something else.")))["validation"]
    assert (found["n"], found["other_response"]) == (0, len(TABLE))
    assert found["unanimous"]["accuracy"] is None


def test_an_id_may_be_labelled_only_once(tmp_path: Path) -> None:
    twice = [{"id": "a", "label": "yes"}, {"id": "b", "label": "no"}, {"id": "a", "label": "no"}]
    with pytest.raises(UserError, match="row 3: id 'a' is that of row 1 too"):
        read_trusted(_write(tmp_path / "twice.jsonl", twice))
    open_one = [{"id": "a", "label": None}, {"id": "a", "label": "no"}]  # an open row labels nothing
    assert read_trusted(_write(tmp_path / "open.jsonl", open_one)).labels == {"a": ("no", None)}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"id": "a"}, "row 1: needs an id and a label"),
        ({"label": "yes"}, "row 1: needs an id"),
        ({"id": "a", "label": "maybe"}, "has 'maybe'"),
        ({"id": "a", "label": ["yes"]}, "needs an id and a label"),
        ({"id": "a", "label": None}, "holds no labels"),
    ],
)
def test_trusted_labels_that_cannot_be_used(tmp_path: Path, row: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        read_trusted(_write(tmp_path / "t.jsonl", [row]))


# --- data and command line -------------------------------------------------------------------------------------------


def test_rubric_mini_keeps_its_names_and_checklists() -> None:
    subjects = load("rubric_mini", 3)
    assert len(subjects) == 3
    built = {row["id"]: row for row in rubric_rows.load("rubric_mini")}
    for subject in subjects:
        for i, name in enumerate(subject.ids):
            assert built[name]["rubric"] == subject.rubrics[i].text
            assert built[name]["response"] == subject.response


def test_real_structflowbench_turns_need_an_answer() -> None:
    path = Path(__file__).parents[3] / "shared/data/structflowbench/StructFlowBench.json"
    if not path.exists():
        pytest.skip("../shared/data/structflowbench is not here")
    subjects = load(f"structflowbench:{path}", 100)
    assert len(subjects) == 100
    assert all(subject.response is None and subject.reference for subject in subjects)
    with pytest.raises(UserError, match="--use-reference"):
        prepare(subjects, (), False, 0)


def test_the_command_prints_the_funnel_and_the_papers_rows(tmp_path: Path) -> None:
    options = _options(tmp_path)
    arguments = ["arbitrate", "--data", options.data, "--judges", options.judges, "--meta-judges", options.meta_judges]
    done = CliRunner().invoke(app, [*arguments, "--out", options.out, "--reference", _trusted(tmp_path)])
    assert done.exit_code == 0, done.output
    shown = " ".join(done.output.split())
    for text in ("coarse_unanimous 2", "easy 3", "hard 3", "meta_disagree 1", "85.4", "0.69", "labelled 6"):
        assert text in shown, text


# --- people (section 3.4) --------------------------------------------------------------------------------------------


def _filled(sheet: Path, answers: dict[str, str]) -> None:
    """Write answers (by rubric, others `yes`) into a CSV sheet as a spreadsheet program would."""
    import csv

    with sheet.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    with sheet.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        for row in rows:
            rubric = next(text for text in TABLE if row["question"].endswith(text))
            writer.writerow(row | {"answer": answers.get(rubric, "yes")})


def test_sheets_are_blind_and_come_back_as_agreement(tmp_path: Path) -> None:
    arbitrate(_options(tmp_path))
    out = tmp_path / "out"
    run = CliRunner()
    done = run.invoke(app, ["arbitrate-sheets", str(out), "--annotators", "eva,jon"])
    assert done.exit_code == 0, done.output
    assert "3 easy constrained" in done.output
    assert "3 hard constrained" in done.output
    for sheet in (out / "sheets").iterdir():
        text = sheet.read_text(encoding="utf-8-sig")
        for telling in ("scripted", "on it", "hard", "easy", "ann.json"):
            assert telling not in text, f"{sheet.name} gives {telling!r} away"
    # Labels: easy yes, no, no; hard no, yes, yes (in the order of TABLE). Eva says yes throughout but for the first no.
    _filled(out / "sheets" / "eva.csv", {"settled against the majority": "no"})
    # Jon agrees with her but for "two against two", which is a tie and stays open.
    _filled(out / "sheets" / "jon.csv", {"settled against the majority": "no", "two against two": "no"})
    sheets = [str(out / "sheets" / f"{name}.csv") for name in ("eva", "jon")]
    done = run.invoke(
        app, ["arbitrate-sheets", str(out), "--read", sheets[0], "--read", sheets[1]], env={"COLUMNS": "200"}
    )
    assert done.exit_code == 0, done.output
    found = json.loads((out / "human.json").read_text())
    # People: yes, no, yes (easy), yes, open, yes (hard). Right: 1, 2, 6 of the five settled ones.
    assert (found["n"], found["accuracy"], len(found["open"])) == (5, 3 / 5, 1)
    assert (found["n_open"], found["accuracy_open_wrong"], found["upper_estimate"]) == (1, 3 / 6, True)
    assert not found["by_stratum"]["easy constrained"]["upper_estimate"], "nothing is open there"
    assert found["by_stratum"]["easy constrained"]["accuracy"] == pytest.approx(2 / 3)
    assert found["by_stratum"]["hard constrained"]["accuracy"] == 1 / 2
    assert found["annotators"]["raw"] == pytest.approx(5 / 6)
    shown = " ".join(done.output.split())
    for text in (
        "85.0",
        "0.702",
        "Open, left out: 1",
        "all (upper estimate) │ 5 │ 1 │ 60.0 │ 50.0",
        "accuracy and kappa are upper",
    ):
        assert text in shown, text
    human = out / "human.jsonl"
    assert len(read_trusted(str(human)).labels) == 5, "the open one is no label; the rest may validate a run"
    again = arbitrate(_options(tmp_path, reference=str(human)))
    assert again["validation"]["n"] == 5


def test_an_adjudicator_settles_ties(tmp_path: Path) -> None:
    arbitrate(_options(tmp_path))
    out, sheets = str(tmp_path / "out"), tmp_path / "sheets"
    arbitration_sheets.export(out, 160, ("eva", "jon", "kim"), str(sheets), 0)
    _filled(sheets / "eva.csv", {"two against two": "no"})
    _filled(sheets / "jon.csv", {})
    _filled(sheets / "kim.csv", {"two against two": "no"})
    found = arbitration_sheets.compare(
        out, [str(sheets / "eva.csv"), str(sheets / "jon.csv")], [str(sheets / "kim.csv")]
    )
    assert (found["n"], found["open"], found["upper_estimate"]) == (6, [], False)
    assert found["accuracy"] == found["accuracy_open_wrong"]
    assert found["annotators"]["names"] == ["eva", "jon"], "the adjudicator is not one of them"


def test_an_arbitration_that_labelled_nothing_has_nothing_to_send_out(tmp_path: Path) -> None:
    (tmp_path / "labels").mkdir()
    for split in ("easy", "hard"):
        (tmp_path / "labels" / f"{split}.jsonl").touch()
    with pytest.raises(UserError, match="the judges left no rubric with a label"):
        arbitration_sheets.export(str(tmp_path), 5, ("eva",), str(tmp_path / "s"), 0)


def test_sheets_need_labels_of_their_own_run(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="holds no labels"):
        arbitration_sheets.export(str(tmp_path), 5, ("eva",), str(tmp_path / "s"), 0)
