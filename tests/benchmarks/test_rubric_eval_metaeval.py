"""Meta-evaluation end to end with scripted judges: exact numbers by hand, calls in the ledger, resuming, panels."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.support.openai_server import OpenAIServer
from tests.support.rubric_rows import few
from tests.support.runs import command, script, write_jsonl
from tests.support.tables import row_of
from truebench_hf.benchmarks.rubric_eval.data import items, load, selection
from truebench_hf.benchmarks.rubric_eval.metaeval import MetaevalOptions, metaeval
from truebench_hf.benchmarks.rubric_eval.scores import MEAN, MetaEvaluation
from truebench_hf.data.rubrics import Item
from truebench_hf.errors import UserError
from truebench_hf.judging.judge import Calibrated, calibration_json
from truebench_hf.metrics.calibration import Calibrator
from truebench_hf.prompts import Prompts
from truebench_hf.study.roles import Roles
from truebench_hf.types import Score

CATEGORIES = ("constrained", "compositional", "multi_turn", "system")
TYPES = ("quantity_limit", "style_tone", "content_inclusion")  # dimensions form, style, content


def rows(labels: Mapping[str, Sequence[str | None]], **more: Any) -> list[dict[str, Any]]:
    """One instruction with one response per category; its rubrics carry the labels given."""
    found: list[dict[str, Any]] = []
    for category, given in labels.items():
        checklist = [f"{category} rubric {i}" for i in range(len(given))]
        shared = {
            "instruction_id": f"i-{category}", "response_id": f"r-{category}", "instruction_category": category,
            "language": "EN", "messages": [{"role": "user", "content": f"Do {category}."}],
            "response": f"Answer to {category}.", "checklist": checklist,
        }  # fmt: skip
        found += [
            shared | {"rubric_index": i, "rubric": text, "label": label, "rubric_type": TYPES[i % 3]} | more
            for i, (text, label) in enumerate(zip(checklist, given, strict=True))
        ]
    return found


GOLD: dict[str, list[str | None]] = {
    "constrained": ["yes", "no", "yes"],
    "compositional": ["no", "yes"],
    "multi_turn": ["yes", "no"],
    "system": ["no", "no", "yes"],
}
Says = Callable[[Item, int], str | None]  # what a judge says about the i-th rubric of an item


def judge(path: Path, chosen: Sequence[Item], checklist: Says, rubric: Says) -> str:
    """A scripted judge that says one thing when shown the whole checklist, another when asked rubric by rubric."""
    rules = []
    for item in chosen:
        shown = f">\n{item.case.response}\n</response"
        for words, says in (("You check how well", checklist), ("You check one requirement", rubric)):
            answers = {
                criterion.text: {"yes": "PASS", "no": "FAIL"}.get(says(item, i) or "", "perhaps")
                for i, criterion in enumerate(item.case.criteria)
            }
            rules.append({"contains": [words, shown], "verdicts": answers})
    return script(path, rules)


def gold(item: Item, index: int) -> str | None:
    return item.rubrics[index].label


def neighbour(item: Item, index: int) -> str | None:
    return item.rubrics[(index + 1) % len(item.rubrics)].label


def agreed(study: MetaEvaluation, by: str = "", group: str = "", split: str = "all", **who: str) -> Mapping[str, Any]:
    """A row of the table of all agreement."""
    return row_of(study.tables["agreement"], by=by, group=group, split=split, **who)


def paradigms(study: MetaEvaluation) -> list[str]:
    return [row["paradigm"] for row in study.tables["judges"].rows]


def run(tmp_path: Path, *judges: str, data: str = "", **more: Any) -> MetaEvaluation:
    return metaeval(MetaevalOptions(data=data or few(tmp_path), judge=judges, out=str(tmp_path / "out"), **more))


def calls(tmp_path: Path) -> dict[str, int]:
    with closing(sqlite3.connect(tmp_path / "out" / "ledger.sqlite")) as db:
        return dict(db.execute("SELECT role, COUNT(*) FROM calls GROUP BY role").fetchall())


def test_numbers_by_hand(tmp_path: Path) -> None:
    data = write_jsonl(tmp_path / "data.jsonl", rows(GOLD))

    def says(item: Item, index: int) -> str | None:
        # constrained yes no yes -> yes yes yes; compositional right; multi_turn yes no -> no no; system undecided at 2.
        said = {
            "constrained": ["yes", "yes", "yes"], "compositional": ["no", "yes"],
            "multi_turn": ["no", "no"], "system": ["no", "no", None],
        }  # fmt: skip
        return said[item.category][index]

    spec = judge(tmp_path / "judge.json", items(load(data)), gold, says)
    study = run(tmp_path, spec, data=data, paradigms="rubric,checklist")
    assert paradigms(study) == ["checklist", "rubric"]
    right = agreed(study, paradigm="checklist")
    assert {right[name].value for name in ("balanced_accuracy", "macro_f1", "accuracy", "tpr", "tnr", "kappa")} == {1.0}
    pooled = agreed(study, paradigm="rubric")
    # Decided: yes 2 + 1 of 4 (one of multi_turn missed), no 0 + 1 + 1 + 2 of 5. Undecided: one yes of system.
    assert pooled["tpr"].value == pytest.approx(0.75)
    assert pooled["tnr"].value == pytest.approx(0.8)
    assert pooled["balanced_accuracy"].value == pytest.approx(0.775)
    assert (pooled["balanced_accuracy"].n, pooled["balanced_accuracy"].unscored) == (9, 1)
    assert (pooled["n"], pooled["undecided"], pooled["tp"], pooled["fn"], pooled["tn"], pooled["fp"]) == (
        9,
        1,
        3,
        1,
        4,
        1,
    )
    assert pooled["balanced_accuracy_strict"].value == pytest.approx((3 / 5 + 0.8) / 2)
    assert pooled["accuracy"].value == pytest.approx(7 / 9)
    categories = [agreed(study, "instruction_category", c, paradigm="rubric") for c in CATEGORIES]
    assert [row["balanced_accuracy"].value for row in categories] == [0.5, 1.0, 0.5, None]
    wide = row_of(study.tables["by_category"], paradigm="rubric")
    assert [wide[f"instruction_category:{c}"].value for c in CATEGORIES] == [0.5, 1.0, 0.5, None]
    assert wide["overall"].value is None, "system has no decided yes"
    assert agreed(study, MEAN, paradigm="checklist")["balanced_accuracy"].value == 1.0
    # The first rubrics: right, right, wrong, right.
    assert agreed(study, "dimension", "form", paradigm="rubric")["accuracy"].value == 0.75
    assert agreed(study, "rubric_type", "content_inclusion", paradigm="rubric")["accuracy"].unscored == 1
    assert row_of(study.tables["judges"], paradigm="rubric")["pass_rate"].value == pytest.approx(4 / 9)
    why = row_of(study.tables["undecided"], paradigm="rubric")
    assert why["rows"] == 1
    assert "criteria_1" in why["reason"], "what was wrong with the answer"


def test_refusals_are_told_by_gold_label(tmp_path: Path) -> None:
    """A judge whose answers cannot be read exactly where the truth is no: its scores say nothing of that, this does."""
    data = write_jsonl(tmp_path / "data.jsonl", rows(GOLD))
    no_is_garbled = lambda item, index: gold(item, index) if gold(item, index) == "yes" else None  # noqa: E731
    spec = judge(tmp_path / "judge.json", items(load(data)), gold, no_is_garbled)
    study = run(tmp_path, spec, data=data, paradigms="checklist,rubric,decision").tables["judges"]
    refused = row_of(study, paradigm="rubric")
    yes, no = refused["refused_yes"], refused["refused_no"]
    assert (yes.value, yes.n, no.value, no.n) == (0.0, 5, 1.0, 5)
    # Of the 252 ways to choose 5 of 10 rubrics two are as uneven as that.
    assert refused["refused_p"] == pytest.approx(2 / 252)
    assert row_of(study, paradigm="checklist")["refused_p"] == 1.0, "nothing was refused"
    assert row_of(study, paradigm="decision")["refused_yes"] is None, "no answer is read"
    page = (tmp_path / "out" / "report.html").read_text()
    assert "unread, gold no" in page
    assert "0.0079" in page


def test_mixing_up_neighbours_costs_at_checklist_level_only(tmp_path: Path) -> None:
    chosen = selection(items(load("rubric_mini"))).sampled(12, 0)
    spec = judge(tmp_path / "judge.json", chosen, neighbour, gold)
    study = run(
        tmp_path, spec, data="rubric_mini", limit=12, paradigms="checklist,checklist-reasoning,rubric,rubric-reasoning"
    )
    found = {row["paradigm"]: row["balanced_accuracy"].value for row in study.tables["judges"].rows}
    assert found["rubric"] == found["rubric-reasoning"] == 1.0
    assert found["checklist"] == found["checklist-reasoning"]
    assert found["checklist"] is not None
    assert found["checklist"] < 0.6, "neighbouring rubrics of rubric_mini carry different labels"
    rubrics = sum(len(item.rubrics) for item in chosen)
    name = f"{spec} "
    assert calls(tmp_path) == {
        name + "checklist": 12, name + "checklist-reasoning": 12,
        name + "rubric": rubrics, name + "rubric-reasoning": rubrics,
    }  # fmt: skip


def test_decisions_ask_once_per_response(tmp_path: Path) -> None:
    data = write_jsonl(tmp_path / "data.jsonl", rows(GOLD))
    rules = [{"contains": "rubric 0", "probability": 0.9}, {"contains": "rubric 2", "probability": None}]
    spec = script(tmp_path / "judge.json", rules, {"probability": 0.2})
    study = run(tmp_path, spec, data=data, paradigms="decision")
    (entry,) = study.tables["judges"].rows
    # Said: first rubrics yes, second no, third none. Gold yes: right, wrong, right; gold no: right, wrong, right, wrong.
    assert (entry["tpr"].value, entry["tnr"].value) == (pytest.approx(2 / 3), pytest.approx(0.6))
    assert entry["accuracy"].unscored == 2
    assert calls(tmp_path) == {f"{spec} decision": 4}


def test_a_checklist_is_read_whole_though_only_some_rubrics_are_labelled(tmp_path: Path) -> None:
    kept = [row for row in rows(GOLD) if row["rubric_index"] == 1]
    data, record = write_jsonl(tmp_path / "data.jsonl", kept), tmp_path / "asked.jsonl"
    spec = script(tmp_path / "judge.json", [{"contains": "<criteria", "verdicts": {"rubric 1": "PASS"}}])
    run(tmp_path, spec, data=data, paradigms="checklist", judge_arg=(f"record={record}",))
    prompts = [json.loads(line)[0] for line in record.read_text().splitlines()]
    assert len(prompts) == 4
    assert sorted(prompt.count(" rubric ") for prompt in prompts) == [2, 2, 3, 3]


def test_resuming_asks_nothing_again_and_changes_nothing(tmp_path: Path) -> None:
    data, record = few(tmp_path), tmp_path / "asked.jsonl"
    chosen = selection(items(load(data))).sampled(6, 0)
    spec = judge(tmp_path / "judge.json", chosen, neighbour, gold)
    options = {"data": data, "limit": 6, "paradigms": "all", "judge_arg": (f"record={record}",)}
    first = run(tmp_path, spec, **options)
    asked, before = record.read_bytes(), (tmp_path / "out" / "scores.json").read_bytes()
    assert run(tmp_path, spec, **options) == first
    assert record.read_bytes() == asked
    assert (tmp_path / "out" / "scores.json").read_bytes() == before


def test_other_options_are_refused_in_the_same_folder_but_another_judge_joins(tmp_path: Path) -> None:
    chosen = selection(items(load(data := few(tmp_path)))).sampled(4, 0)
    one, two = (judge(tmp_path / f"{name}.json", chosen, gold, gold) for name in ("one", "two"))
    run(tmp_path, one, data=data, limit=4, paradigms="checklist")
    with pytest.raises(UserError, match="other options"):
        run(tmp_path, one, data=data, limit=4, paradigms="checklist", votes=3, judge_temperature=0.5)
    study = run(tmp_path, one, two, data=data, limit=4, paradigms="checklist")
    assert [row["judge"] for row in study.tables["judges"].rows] == [one, two]
    assert calls(tmp_path) == {f"{one} checklist": 4, f"{two} checklist": 4}


def test_panel_spread_and_flips(tmp_path: Path) -> None:
    data = write_jsonl(tmp_path / "data.jsonl", rows(GOLD))
    chosen = items(load(data))
    right = judge(tmp_path / "right.json", chosen, gold, gold)
    yes = judge(tmp_path / "yes.json", chosen, lambda item, i: "yes", lambda item, i: "yes")
    study = run(tmp_path, right, yes, data=data, paradigms="checklist", panel="weighted:2,1")
    panel = study.tables["judges"].rows[-1]
    assert panel["judge"] == "panel (weighted 2,1)"
    # They differ on the five rubrics labelled no; the one that is right has more weight.
    assert panel["balanced_accuracy"].value == 1.0
    assert panel["flip_rate"].value == 0.5
    assert panel["vote_share"] == Score(0.75, 10), "both on five rubrics, one of two on the others"
    lines = [json.loads(line) for line in (tmp_path / "out" / "judgments.jsonl").read_text().splitlines()]
    shares = [line["vote_share"] for line in lines if line["judge"] == panel["judge"]]
    assert shares == [1.0 if label == "yes" else 0.5 for labels in GOLD.values() for label in labels]
    assert {line["vote_share"] for line in lines if line["judge"] != panel["judge"]} == {None}, "one answer each"
    assert {row["judge"]: row["pooled"].value for row in study.tables["pass_rates"].rows} == {right: 0.5, yes: 1.0}
    (apart,) = study.tables["pass_rate_gaps"].rows
    assert (apart["gap"], apart["n"], apart["left_out"], apart["reference"]) == (0.5, 10, 0, 0.5)


def test_pass_rates_are_given_pooled_and_per_instruction(tmp_path: Path) -> None:
    # One instruction has one rubric, which is met; the other has three, one of them met.
    labels: dict[str, list[str | None]] = {"constrained": ["yes"], "system": ["no", "no", "yes"]}
    data = write_jsonl(tmp_path / "data.jsonl", rows(labels))
    chosen = items(load(data))
    right = judge(tmp_path / "right.json", chosen, gold, gold)
    yes = judge(tmp_path / "yes.json", chosen, lambda item, i: "yes", lambda item, i: "yes")
    study = run(tmp_path, right, yes, data=data, paradigms="checklist")
    passed = row_of(study.tables["pass_rates"], judge=right)
    (apart,) = study.tables["pass_rate_gaps"].rows
    assert (passed["pooled"].value, apart["gap"]) == (0.5, 0.5)
    assert passed["by_instruction"].value == pytest.approx((1 + 1 / 3) / 2)
    assert row_of(study.tables["pass_rates"], judge=yes)["by_instruction"].value == 1.0
    assert apart["gap_by_instruction"] == pytest.approx(1 / 3)


def test_ties_stay_open(tmp_path: Path) -> None:
    data = write_jsonl(tmp_path / "data.jsonl", rows(GOLD))
    chosen = items(load(data))
    right = judge(tmp_path / "right.json", chosen, gold, gold)
    yes = judge(tmp_path / "yes.json", chosen, lambda item, i: "yes", lambda item, i: "yes")
    study = run(tmp_path, right, yes, data=data, paradigms="checklist", panel="majority")
    pooled = study.tables["judges"].rows[-1]
    assert (pooled["accuracy"].n, pooled["accuracy"].unscored) == (5, 5)
    assert pooled["balanced_accuracy_strict"].value == 0.5
    weighted = metaeval(
        MetaevalOptions(
            data=data, judge=(right, yes), out=str(tmp_path / "two"), paradigms="checklist", panel="weighted:2,1",
        )
    )  # fmt: skip
    assert weighted.tables["judges"].rows[-1]["balanced_accuracy"].value == 1.0


def test_splits_are_scored_apart(tmp_path: Path) -> None:
    folder = tmp_path / "splits"
    folder.mkdir()
    write_jsonl(folder / "easy.jsonl", rows(GOLD))
    hard = [
        row
        | {name: f"hard {row[name]}" for name in ("instruction_id", "response_id", "response")}
        | {"split": "a/hard one"}
        for row in rows(GOLD)
    ]
    write_jsonl(folder / "hard.jsonl", hard)
    chosen = items(load(str(folder)))

    def says(item: Item, index: int) -> str | None:
        return gold(item, index) if item.id.startswith("r-") else "yes"

    spec = judge(tmp_path / "judge.json", chosen, says, says)
    study = run(tmp_path, spec, data=str(folder), paradigms="rubric-reasoning")
    means = {
        row["split"]: row["balanced_accuracy"].value for row in study.tables["agreement"].rows if row["by"] == MEAN
    }
    assert means == {"all": 0.75, "easy": 1.0, "a/hard one": 0.5}, "a name of the data names no file"
    assert row_of(study.tables["by_category"], split="a/hard one")["overall"].value == 0.5


def test_what_the_folder_holds(tmp_path: Path) -> None:
    data = write_jsonl(tmp_path / "data.jsonl", rows(GOLD, rubric_type=None))
    chosen = items(load(data))
    spec = judge(tmp_path / "<b>.json", chosen, gold, gold)
    out = tmp_path / "out"
    line = f"metaeval --data {data} --judge {spec} --paradigms checklist,rubric --out {out} --with-published"
    done = command(*line.split())
    assert done.returncode == 0, done.stderr
    assert "100.00" in done.stdout
    assert "Balanced accuracy by category" in done.stdout
    lines = [json.loads(line) for line in (out / "judgments.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(lines) == 2 * 10
    assert {line["paradigm"] for line in lines} == {"checklist", "rubric"}
    assert all(line["label"] == line["gold"] for line in lines)
    kept = json.loads((out / "scores.json").read_text(encoding="utf-8"))
    assert kept["judges"][0]["balanced_accuracy"]["value"] == 1.0
    assert {row["group"] for row in kept["agreement"] if row["by"] == "instruction_category"} == set(CATEGORIES)
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "<b>.json" not in page
    assert "&lt;b&gt;.json" in page
    for table, there in (
        ("Balanced accuracy by category", True),
        ("Macro F1 by category", True),
        ("by rubric type", False),
    ):
        assert (table in page) is there, "no row has a type"
    assert "labelled yes 5" in page
    assert "paper: GPT-4.1 (Table 2)" in page
    assert page.count('class="tb-paper"') >= 22 + 8 + 16 + 22, (
        "Tables 2, 3 and 9, macro F1 of Table 2, what reasoning adds"
    )
    assert "http:" not in page.replace("http://www.w3.org", "")
    assert "https:" not in page
    assert "paper: Qwen3-235B-A22B-2507 (Table 2)" in done.stdout, "columns are folded, and no name is broken"


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"paradigms": "rubrics"}, "unknown paradigm 'rubrics': did you mean rubric"),
        ({"paradigms": ","}, "names none"),
        ({"panel": "majority"}, "at least two judges"),
        ({"limit": 0}, "--limit 0"),
        ({"data": "absent.jsonl"}, "no such file"),
        ({"judge_arg": ("2.record=x",)}, "there is no number 2; there is 1"),
        ({"votes": 3}, "temperature above 0"),
        ({"threshold": 0.0, "paradigms": "decision"}, "lies between 0 and 1"),
        ({"judge_temperature": -1.0}, "must be at least 0"),
        ({"judge_temperature": float("nan")}, "must be at least 0"),
    ],
)
def test_what_the_user_can_fix(tmp_path: Path, more: dict[str, Any], said: str) -> None:
    spec = script(tmp_path / "judge.json", [])
    with pytest.raises(UserError, match=said):
        run(tmp_path, spec, **{"paradigms": "rubric", **more})
    assert not (tmp_path / "out").exists(), "the right command may use the folder"


@pytest.mark.parametrize(
    ("name", "template", "paradigm"),
    [
        ("rubric", "{{ criteria }} {{ answer }}", "rubric"),
        ("checklist", "{% if category == 'system' %}{{ answer }}{% endif %}", "checklist"),  # in one branch only
        ("checklist", "{% if structured %}{{ answer }}{% endif %}", "checklist-reasoning"),
        ("repair", "{{ answer }}", "rubric"),  # asked for after a bad answer alone
        ("decision_question", "{{ answer }}", "decision"),
    ],
)
def test_a_prompt_that_cannot_be_filled_is_refused_before_the_folder_is_opened(
    tmp_path: Path, name: str, template: str, paradigm: str
) -> None:
    mine = tmp_path / "mine.jinja"
    mine.write_text(template)
    with pytest.raises(UserError, match="'answer' is undefined; values on offer"):
        run(tmp_path, script(tmp_path / "judge.json", []), paradigms=paradigm, prompt=(f"{name}={mine}",))
    assert not (tmp_path / "out").exists()


def test_a_judge_is_not_measured_against_itself(tmp_path: Path) -> None:
    spec = script(tmp_path / "judge.json", [])
    with pytest.raises(UserError, match="stands twice"):
        run(tmp_path, spec, spec)
    with pytest.raises(UserError, match="stands twice"):  # where an answer is noted does not shape it
        run(tmp_path, spec, spec, judge_arg=(f"2.record={tmp_path / 'record'}",))
    assert not (tmp_path / "out").exists()


def test_one_model_with_two_settings_is_two_judges() -> None:
    given = ("base_url=http://127.0.0.1:9/v1", "2.reasoning_effort=high")
    options = MetaevalOptions(data="rubric_mini", judge=("openai:m", "openai:m"), out="-", judge_arg=given)
    assert list(Roles(options).named("judge")) == ["openai:m#1", "openai:m#2"]


@pytest.mark.parametrize(
    ("judges", "paradigms", "gone"),
    [
        (("one",), "checklist,rubric", "two"),  # one judge fewer
        (("one", "two"), "checklist", "rubric"),  # one paradigm fewer
        (("one", "three"), "checklist,rubric", "two"),  # another in its place
    ],
)
def test_what_a_folder_holds_does_not_vanish(
    tmp_path: Path, judges: tuple[str, ...], paradigms: str, gone: str
) -> None:
    data = write_jsonl(tmp_path / "data.jsonl", rows(GOLD))
    specs = {name: judge(tmp_path / f"{name}.json", items(load(data)), gold, gold) for name in ("one", "two", "three")}
    run(tmp_path, specs["one"], specs["two"], data=data, paradigms="checklist,rubric")
    before, asked = (tmp_path / "out" / "scores.json").read_bytes(), calls(tmp_path)
    with pytest.raises(
        UserError, match=rf"results of {re.escape(specs.get(gone, gone))} too, .* name them again"
    ) as told:
        run(tmp_path, *(specs[name] for name in judges), data=data, paradigms=paradigms)
    assert f"with --{'paradigms' if gone == 'rubric' else 'judge'} (" in str(told.value)
    assert ((tmp_path / "out" / "scores.json").read_bytes(), calls(tmp_path)) == (before, asked)
    study = run(tmp_path, *specs.values(), data=data, paradigms="checklist,rubric,decision")
    assert len(study.tables["judges"].rows) == 9, "more may be named"


def test_without_all_four_categories_there_is_no_mean_over_four(tmp_path: Path) -> None:
    some: dict[str, list[str | None]] = {**{name: GOLD[name] for name in CATEGORIES[:2]}, "system": [None]}
    data = write_jsonl(tmp_path / "data.jsonl", rows(some))
    spec = judge(tmp_path / "judge.json", items(load(data)), gold, lambda item, i: gold(item, i) or "yes")
    study = run(tmp_path, spec, data=data, paradigms="rubric")
    assert agreed(study)["balanced_accuracy"].value == 1.0
    mean = agreed(study, MEAN)["balanced_accuracy"]
    assert (mean.value, mean.ci95, mean.n) == (None, None, 5)
    table = study.tables["by_category"]
    assert table.rows[0]["overall"].value is None
    assert "no labelled rows of multi_turn, system" in table.note, "a category without labels is as good as none"


def test_data_without_labels_measures_nobody(tmp_path: Path) -> None:
    data = write_jsonl(tmp_path / "data.jsonl", rows({"system": [None, None]}))
    with pytest.raises(UserError, match="no row has a label"):
        run(tmp_path, script(tmp_path / "judge.json", []), data=data)


def test_a_server_without_decisions_keeps_its_other_paradigms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "any")
    data = write_jsonl(tmp_path / "data.jsonl", rows(GOLD))
    with OpenAIServer() as server:
        server.add_faults([{"match": {"path": "/v1/systemone"}, "status": 501} for _ in range(8)])
        options = {"data": data, "judge_base_url": server.url, "structured": "off"}
        study = run(tmp_path, "openai:judge", paradigms="checklist,decision", **options)
        assert paradigms(study) == ["checklist"]
        assert any("not measured under decision" in note and "501" in note for note in study.notes)
        with pytest.raises(UserError, match="no decision level there"):
            run(tmp_path / "alone", "openai:judge", paradigms="decision", **options)


def test_who_names_no_paradigm_hears_nothing_of_decisions_that_a_server_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "any")
    data = write_jsonl(tmp_path / "data.jsonl", rows(GOLD))
    with OpenAIServer() as server:
        server.add_faults([{"match": {"path": "/v1/systemone"}, "status": 404} for _ in range(8)])
        study = run(tmp_path, "openai:judge", data=data, judge_base_url=server.url, structured="off")
    assert "decision" not in paradigms(study)
    told = "\n".join(
        [*study.notes, *capsys.readouterr(), (tmp_path / "out" / "report.html").read_text(encoding="utf-8")]
    )
    assert "systemone" not in told
    assert "404" not in told


def test_a_calibrated_judge_decides_by_its_calibration(tmp_path: Path) -> None:
    data = write_jsonl(tmp_path / "data.jsonl", rows(GOLD))
    spec = script(tmp_path / "judge.json", [{"contains": "rubric 0", "probability": 0.4}], {"probability": 0.1})
    fitted = Calibrated(spec, Calibrator("platt", 1.0, 2.0), 0.7)  # 0.4 becomes 0.83, and 0.1 becomes 0.45
    file = tmp_path / "calibration.json"
    file.write_text(json.dumps(calibration_json(fitted, Prompts())))
    (plain,) = run(tmp_path, spec, data=data, paradigms="decision").tables["judges"].rows
    assert plain["pass_rate"].value == 0
    study = run(tmp_path / "two", spec, data=data, paradigms="decision", calibration=str(file))
    assert (
        study.tables["judges"].rows[0]["pass_rate"].value == 0.4
    )  # the first rubric of each of four checklists, of ten rubrics
    other = script(tmp_path / "other.json", [])
    with pytest.raises(UserError, match="was fitted for the judge"):
        run(tmp_path / "three", other, data=data, paradigms="decision", calibration=str(file))
    with pytest.raises(UserError, match="belongs to one judge"):
        run(tmp_path / "four", spec, other, data=data, paradigms="decision", calibration=str(file))
