"""Meta-evaluation by scripted judges: exact numbers by hand, what is asked, panels, and what a folder does not lose."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support.corpus import table
from tests.support.openai_server import OpenAIServer
from tests.support.rubric_rows import few
from tests.support.runs import calls_by_role, held, script, write_jsonl
from tests.support.tables import row_of
from truebench_hf.benchmarks.rubric_eval.data import items, load, selection
from truebench_hf.benchmarks.rubric_eval.metaeval import MetaevalOptions, metaeval
from truebench_hf.benchmarks.rubric_eval.scores import MEAN, MetaEvaluation
from truebench_hf.data.rubrics import Item
from truebench_hf.errors import UserError
from truebench_hf.judging.judge import Calibrated, calibration_json
from truebench_hf.metrics.calibration import Calibrator
from truebench_hf.prompts import Prompts
from truebench_hf.types import Score

CATEGORIES = ("constrained", "compositional", "multi_turn", "system")
TYPES = ("quantity_limit", "style_tone", "content_inclusion")  # dimensions form, style, content
Labels = Mapping[str, Sequence[str | None]]
GOLD: dict[str, list[str | None]] = {
    "constrained": ["yes", "no", "yes"], "compositional": ["no", "yes"], "multi_turn": ["yes", "no"],
    "system": ["no", "no", "yes"],
}  # fmt: skip
Says = Callable[[Item, int], str | None]  # what a judge says about the i-th rubric of an item


def rows(labels: Labels = GOLD, **more: Any) -> list[dict[str, Any]]:
    """One instruction with one response per category; its rubrics carry the labels given."""
    found: list[dict[str, Any]] = []
    for category, gold_labels in labels.items():
        checklist = [f"{category} rubric {i}" for i in range(len(gold_labels))]
        shared = {
            "instruction_id": f"i-{category}", "response_id": f"r-{category}", "instruction_category": category,
            "language": "EN", "messages": [{"role": "user", "content": f"Do {category}."}],
            "response": f"Answer to {category}.", "checklist": checklist,
        }  # fmt: skip
        found += [
            shared | {"rubric_index": i, "rubric": text, "label": label, "rubric_type": TYPES[i % 3]} | more
            for i, (text, label) in enumerate(zip(checklist, gold_labels, strict=True))
        ]
    return found


def gold(item: Item, index: int) -> str | None:
    return item.rubrics[index].label


def neighbour(item: Item, index: int) -> str | None:
    return item.rubrics[(index + 1) % len(item.rubrics)].label


def yes(item: Item, index: int) -> str:
    return "yes"


class Bench:
    """Rows in a file, judges over them, and the folder of a study."""

    def __init__(self, folder: Path, content: list[dict[str, Any]] | None = None, *, data: str = "") -> None:
        self.folder, self.out = folder, folder / "out"
        self.data = data or write_jsonl(folder / "data.jsonl", content if content is not None else rows())

    def judge(self, name: str, checklist: Says, rubric: Says | None = None, chosen: Sequence[Item] = ()) -> str:
        """One that says this when shown the whole checklist, and another thing when asked rubric by rubric."""
        rules = []
        for item in chosen or items(load(self.data)):
            shown = f">\n{item.case.response}\n</response"
            for words, says in (("You check how well", checklist), ("You check one requirement", rubric or checklist)):
                answers = {
                    criterion.text: {"yes": "PASS", "no": "FAIL"}.get(says(item, i) or "", "perhaps")
                    for i, criterion in enumerate(item.case.criteria)
                }
                rules.append({"contains": [words, shown], "verdicts": answers})
        return script(self.folder / f"{name}.json", rules)

    def run(self, *judges: str, **more: Any) -> MetaEvaluation:
        return metaeval(MetaevalOptions(**{"data": self.data, "judge": judges, "out": str(self.out)} | more))


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def agreed(study: MetaEvaluation, by: str = "", group: str = "", split: str = "all", **who: str) -> Mapping[str, Any]:
    """A row of the table of all agreement."""
    return row_of(study.tables["agreement"], by=by, group=group, split=split, **who)


def judges(study: MetaEvaluation, column: str = "judge") -> list[Any]:
    return [row[column] for row in study.tables["judges"].rows]


def test_numbers_by_hand(bench: Bench) -> None:
    # constrained yes no yes -> yes yes yes; compositional right; multi_turn yes no -> no no; system undecided at 2.
    said = {
        "constrained": ["yes"] * 3,
        "compositional": ["no", "yes"],
        "multi_turn": ["no", "no"],
        "system": ["no", "no", None],
    }
    spec = bench.judge("judge", gold, lambda item, index: said[item.category][index])
    study = bench.run(spec, paradigms="rubric,checklist")
    assert judges(study, "paradigm") == ["checklist", "rubric"]
    right = agreed(study, paradigm="checklist")
    assert {right[name].value for name in ("balanced_accuracy", "macro_f1", "accuracy", "tpr", "tnr", "kappa")} == {1.0}
    pooled = agreed(study, paradigm="rubric")
    # Decided: yes 2 + 1 of 4 (one of multi_turn missed), no 0 + 1 + 1 + 2 of 5. Undecided: one yes of system.
    assert (pooled["tpr"].value, pooled["tnr"].value) == (pytest.approx(0.75), pytest.approx(0.8))
    assert pooled["balanced_accuracy"].value == pytest.approx(0.775)
    assert (pooled["balanced_accuracy"].n, pooled["balanced_accuracy"].unscored) == (9, 1)
    assert [pooled[name] for name in ("n", "undecided", "tp", "fn", "tn", "fp")] == [9, 1, 3, 1, 4, 1]
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
    assert row_of(study.tables["judges"], paradigm="rubric")["pass_rate"].value == pytest.approx(4 / 9)
    why = row_of(study.tables["undecided"], paradigm="rubric")
    assert (why["rows"], "criteria_1" in why["reason"]) == (1, True), "what was wrong with the answer"


def test_refusals_are_told_by_gold_label(bench: Bench) -> None:
    """A judge whose answers cannot be read exactly where the truth is no: its scores say nothing of that, this does."""
    garbled_no = lambda item, index: gold(item, index) if gold(item, index) == "yes" else None  # noqa: E731
    study = bench.run(bench.judge("judge", gold, garbled_no), paradigms="checklist,rubric,decision").tables["judges"]
    refused = row_of(study, paradigm="rubric")
    assert [(refused[name].value, refused[name].n) for name in ("refused_yes", "refused_no")] == [(0.0, 5), (1.0, 5)]
    # Of the 252 ways to choose 5 of 10 rubrics two are as uneven as that.
    assert refused["refused_p"] == pytest.approx(2 / 252)
    assert row_of(study, paradigm="checklist")["refused_p"] == 1.0, "nothing was refused"
    assert row_of(study, paradigm="decision")["refused_yes"] is None, "no answer is read"


def test_what_is_asked(tmp_path: Path) -> None:
    """A decision once a response, and a checklist whole though only some rubrics are labelled."""
    rules = [{"contains": "rubric 0", "probability": 0.9}, {"contains": "rubric 2", "probability": None}]
    bench = Bench(tmp_path)
    spec = script(tmp_path / "judge.json", rules, {"probability": 0.2})
    (entry,) = bench.run(spec, paradigms="decision").tables["judges"].rows
    # Said: first rubrics yes, second no, third none. Gold yes: right, wrong, right; gold no: right, wrong, right, wrong.
    assert (entry["tpr"].value, entry["tnr"].value) == (pytest.approx(2 / 3), pytest.approx(0.6))
    assert (entry["accuracy"].unscored, calls_by_role(bench.out)) == (2, {f"{spec} decision": 4})
    some, record = Bench(tmp_path, [row for row in rows() if row["rubric_index"] == 1]), tmp_path / "asked.jsonl"
    spec = script(tmp_path / "judge.json", [{"contains": "<criteria", "verdicts": {"rubric 1": "PASS"}}])
    some.run(spec, paradigms="checklist", judge_arg=(f"record={record}",), out=str(tmp_path / "some"))
    prompts = [json.loads(line)[0] for line in record.read_text().splitlines()]
    assert sorted(prompt.count(" rubric ") for prompt in prompts) == [2, 2, 3, 3]


def test_another_judge_joins_and_other_options_do_not(tmp_path: Path) -> None:
    bench = Bench(tmp_path, data=few(tmp_path))
    chosen = selection(items(load(bench.data))).sampled(3, 0)
    spec, other = bench.judge("judge", neighbour, gold, chosen), bench.judge("other", gold, gold, chosen)
    bench.run(spec, limit=3, paradigms="all")
    with pytest.raises(UserError, match="other options"):
        bench.run(spec, limit=3, paradigms="all", votes=3, judge_temperature=0.5)
    spent = calls_by_role(bench.out)
    bench.run(spec, other, limit=3, paradigms="all")
    assert {role: n for role, n in calls_by_role(bench.out).items() if role.startswith(spec)} == spent


def test_panel_spread_and_flips(bench: Bench) -> None:
    right, lax = bench.judge("right", gold), bench.judge("yes", yes)
    study = bench.run(right, lax, paradigms="checklist", panel="weighted:2,1")
    panel = study.tables["judges"].rows[-1]
    assert panel["judge"] == "panel (weighted 2,1)"
    # They differ on the five rubrics labelled no; the one that is right has more weight.
    assert (panel["balanced_accuracy"].value, panel["flip_rate"].value) == (1.0, 0.5)
    assert panel["vote_share"] == Score(0.75, 10), "both on five rubrics, one of two on the others"
    lines = held(bench.out / "judgments.jsonl")
    shares = [line["vote_share"] for line in lines if line["judge"] == panel["judge"]]
    assert shares == [1.0 if label == "yes" else 0.5 for labels in GOLD.values() for label in labels]
    assert {line["vote_share"] for line in lines if line["judge"] != panel["judge"]} == {None}, "one answer each"
    assert {row["judge"]: row["pooled"].value for row in study.tables["pass_rates"].rows} == {right: 0.5, lax: 1.0}
    (apart,) = study.tables["pass_rate_gaps"].rows
    assert (apart["gap"], apart["n"], apart["left_out"], apart["reference"]) == (0.5, 10, 0, 0.5)
    assert study.provenance["panel"] == f"panel (weighted 2,1) of {right}, {lax}"
    tied = bench.run(right, lax, paradigms="checklist", panel="majority", out=f"{bench.out}2").tables["judges"].rows[-1]
    assert (tied["accuracy"].n, tied["accuracy"].unscored) == (5, 5), "ties stay open"
    assert tied["balanced_accuracy_strict"].value == 0.5


def test_without_all_four_categories_there_is_no_mean_over_four(tmp_path: Path) -> None:
    bench = Bench(tmp_path, rows({**{name: GOLD[name] for name in CATEGORIES[:2]}, "system": [None]}))
    study = bench.run(bench.judge("judge", lambda item, i: gold(item, i) or "yes"), paradigms="rubric")
    assert agreed(study)["balanced_accuracy"].value == 1.0
    mean, table = agreed(study, MEAN)["balanced_accuracy"], study.tables["by_category"]
    assert (mean.value, mean.ci95, mean.n, table.rows[0]["overall"].value) == (None, None, 5, None)
    assert "no labelled rows of multi_turn, system" in table.note, "a category without labels is as good as none"


def test_a_calibrated_judge_decides_by_its_calibration(bench: Bench) -> None:
    spec = script(bench.folder / "judge.json", [{"contains": "rubric 0", "probability": 0.4}], {"probability": 0.1})
    fitted = Calibrated(spec, Calibrator("platt", 1.0, 2.0), 0.7)  # 0.4 becomes 0.83, and 0.1 becomes 0.45
    file = bench.folder / "calibration.json"
    file.write_text(json.dumps(calibration_json(fitted, Prompts())))
    options = {"paradigms": "decision", "calibration": str(file), "out": str(bench.folder / "two")}
    assert [score.value for score in judges(bench.run(spec, paradigms="decision"), "pass_rate")] == [0]
    # The first rubric of each of four checklists, of ten rubrics.
    assert [score.value for score in judges(bench.run(spec, **options), "pass_rate")] == [0.4]
    other = script(bench.folder / "other.json", [])
    with pytest.raises(UserError, match="was fitted for the judge"):
        bench.run(other, **options)
    with pytest.raises(UserError, match="belongs to one judge"):
        bench.run(spec, other, **options)


# What a folder holds does not vanish


def test_what_a_folder_holds_does_not_vanish(bench: Bench) -> None:
    specs = {name: bench.judge(name, gold) for name in ("one", "two", "three")}
    for panel, cases in table(__file__, "rubric_eval_metaeval")["vanish"].items():
        bench.out = bench.folder / panel
        given = {"paradigms": "checklist,rubric", "panel": None if panel == "none" else panel, "out": str(bench.out)}
        bench.run(specs["one"], specs["two"], **given)
        before, asked = (bench.out / "scores.json").read_bytes(), calls_by_role(bench.out)
        for case in cases:
            with pytest.raises(UserError, match=r"results of .* too, .* again") as refusal:
                bench.run(*(specs[name] for name in case["names"].split()), **given | case["more"])
            assert case["gone"] in str(refusal.value), case["why"]
            assert ((bench.out / "scores.json").read_bytes(), calls_by_role(bench.out)) == (before, asked)


def test_a_panel_may_join_and_three_judges_are_worth_something_together(bench: Bench) -> None:
    said = {"one": yes, "two": yes, "three": lambda item, index: "no"}
    specs = [bench.judge(name, says) for name, says in said.items()]
    two = bench.run(*specs[:2], paradigms="checklist")
    assert ("panels" in two.tables, two.provenance["panel"]) == (False, None), "of two judges there is no majority"
    assert judges(bench.run(*specs[:2], paradigms="checklist", panel="unanimous"))[-1] == "panel (unanimous)"
    study = bench.run(*specs, paradigms="checklist", out=f"{bench.out}2")
    (row,) = study.tables["panels"].rows
    assert (row["paradigm"], row["judges"], row["balanced_accuracy"]) == ("checklist", 3, 0.5), "two pass everything"
    (value,) = json.loads(Path(f"{bench.out}2/scores.json").read_text())["panels"]
    assert (value["gain"]["value"], value["leave_out"]) == (0.0, None)
    assert [member["judge"] for member in study.tables["panel_members"].rows] == specs


# A server on which the model `plain` has no decisions


@pytest.fixture
def url(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("OPENAI_API_KEY", "any")
    with OpenAIServer() as server:
        server.add_faults([{"match": {"path": "/v1/systemone", "contains": "plain"}, "status": 501}] * 40)
        yield server.url


def test_a_judge_without_decisions_keeps_its_other_paradigms(
    bench: Bench, url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    three, given = ("openai:a", "openai:b", "openai:plain"), {"judge_base_url": url, "paradigms": "checklist,decision"}
    study = bench.run(*three, **given, panel="majority")
    rates = [(row["paradigm"], row["judge"]) for row in study.tables["pass_rates"].rows]
    assert [judge for paradigm, judge in rates if paradigm == "checklist"] == list(three)
    assert [judge for paradigm, judge in rates if paradigm == "decision"] == ["openai:a", "openai:b"]
    panels = [row["paradigm"] for row in study.tables["judges"].rows if row["judge"] == "panel (majority)"]
    assert panels == ["checklist"]
    assert "the panel has no row for decision: not measured under it: openai:plain" in study.notes
    assert any("not measured under decision" in note and "501" in note for note in study.notes)
    with pytest.raises(UserError, match="has results of decision too"):
        bench.run(*three, **given | {"paradigms": "checklist"}, panel="majority")
    none = {"out": f"{bench.out}2"} | given
    bench.run("openai:plain", **none)
    assert json.loads(Path(f"{bench.out}2/run.json").read_text())["results"]["paradigms"] == ["checklist"]
    bench.run("openai:plain", **none | {"paradigms": "checklist"})  # what nobody was measured under may go
    with pytest.raises(UserError, match="no decision level there"):
        bench.run("openai:plain", judge_base_url=url, paradigms="decision", out=f"{bench.out}3")
    capsys.readouterr()
    silent = bench.run("openai:plain", judge_base_url=url, out=f"{bench.out}4")  # who names no paradigm hears nothing
    printed = "\n".join([*silent.notes, *capsys.readouterr(), Path(f"{bench.out}4/report.html").read_text("utf-8")])
    assert "decision" not in judges(silent, "paradigm")
    assert not re.search("systemone|not measured under", printed)


def test_splits_are_scored_apart(tmp_path: Path) -> None:
    folder = tmp_path / "splits"
    folder.mkdir()
    write_jsonl(folder / "easy.jsonl", rows())
    texts = ("instruction_id", "response_id", "response")
    hard = [row | {name: f"hard {row[name]}" for name in texts} | {"split": "a/hard one"} for row in rows()]
    write_jsonl(folder / "hard.jsonl", hard)
    bench = Bench(tmp_path, data=str(folder))
    spec = bench.judge("judge", lambda item, index: gold(item, index) if item.id.startswith("r-") else "yes")
    study = bench.run(spec, paradigms="rubric-reasoning")
    means = {
        row["split"]: row["balanced_accuracy"].value for row in study.tables["agreement"].rows if row["by"] == MEAN
    }
    assert means == {"all": 0.75, "easy": 1.0, "a/hard one": 0.5}, "a name of the data names no file"


def test_pass_rates_are_given_pooled_and_per_instruction(tmp_path: Path) -> None:
    # One instruction has one rubric, which is met; the other has three, one of them met.
    bench = Bench(tmp_path, rows({"constrained": ["yes"], "system": ["no", "no", "yes"]}))
    right, lax = bench.judge("right", gold), bench.judge("yes", yes)
    study = bench.run(right, lax, paradigms="checklist")
    rates = {
        row["judge"]: (row["pooled"].value, row["by_instruction"].value) for row in study.tables["pass_rates"].rows
    }
    assert rates == {right: (0.5, pytest.approx((1 + 1 / 3) / 2)), lax: (1.0, 1.0)}
    (apart,) = study.tables["pass_rate_gaps"].rows
    assert (apart["gap"], apart["gap_by_instruction"]) == (0.5, pytest.approx(1 / 3))
