"""`flex study table`, `stability` and `agree`, and labels of people: what is computed from judged conversations."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import scipy.stats
from typer.testing import CliRunner

from tests.support.runs import write_jsonl
from truebench_hf.benchmarks.flexbench.agreement import agree, labels_of, read_labels, stability
from truebench_hf.benchmarks.flexbench.conversations import JudgedConversation, Talk, read_judged
from truebench_hf.benchmarks.flexbench.procedure import Dimension, Procedure, as_yaml, built_in
from truebench_hf.cli.app import app
from truebench_hf.errors import UserError
from truebench_hf.judging.tri_valued import DimensionFacts
from truebench_hf.report.table import paper_rows
from truebench_hf.types import Label, Message

TWO = Procedure("hotel", "Ask; name the limit.", (Dimension("ask", "Asks?"), Dimension("limit", "Limit?", base="ask")))
FACTS: dict[Label | None, DimensionFacts] = {
    "yes": DimensionFacts(True, True, True), "no": DimensionFacts(True, True, False), "unknown": DimensionFacts(False), None: DimensionFacts(None, reason="?"),
}  # fmt: skip


def judged(model: str, seed: str, number: int, ask: Label | None, limit: Label | None) -> JudgedConversation:
    talk = Talk(str(number), model, (Message("assistant", "Hotel?"), Message("user", "Yes.")), "good", "user", seed)
    return JudgedConversation(talk, {"ask": FACTS[ask], "limit": FACTS[limit]}, {"ask": ask, "limit": limit})


def corpus(model: str, seed: str, right: int, of: int = 10) -> list[JudgedConversation]:
    return [judged(model, seed, n, "yes", "yes" if n < right else "no") for n in range(of)]


def folder(place: Path, rows: Sequence[JudgedConversation], procedure: Procedure = TWO) -> Path:
    (place / "scores").mkdir(parents=True)
    (place / "scores" / "judged.yaml").write_text(as_yaml(procedure), encoding="utf-8")
    write_jsonl(place / "scores" / "verdicts.jsonl", [one.row() for one in rows])
    return place


def run(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["flex", *arguments])
    if isinstance(done.exception, UserError):
        return 2, str(done.exception)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.output


def test_what_was_written_is_read_back(tmp_path: Path) -> None:
    rows = [judged("m", "0", 1, "yes", None), judged("m", "0", 2, "unknown", "no")]
    assert read_judged(str(folder(tmp_path / "a", rows))) == (TWO, rows)
    (tmp_path / "a" / "scores" / "verdicts.jsonl").unlink()
    with pytest.raises(UserError, match="flex score"):
        read_judged(str(tmp_path / "a"))
    grown = Procedure("hotel", "Ask; name the limit.", (*TWO.dimensions, Dimension("new", "New?")))
    with pytest.raises(UserError, match="line 1: new stands there or in"):
        read_judged(str(folder(tmp_path / "b", rows, grown)))


def test_verdicts_count_for_the_procedure_that_was_judged(tmp_path: Path) -> None:
    place = folder(tmp_path / "a", corpus("a", "0", 4))
    edited = Procedure("hotel", "Ask; name the limit.", (Dimension("ask", "Asks twice?"),))
    (place / "procedure.yaml").write_text(as_yaml(edited), encoding="utf-8")
    assert read_judged(str(place))[0] == TWO, "an edit after scoring changes no verdict"
    assert read_judged(str(place / "scores")) == read_judged(str(place)), "an --out of flex score is a folder, too"


# --- stability -------------------------------------------------------------------------------------------------------


def test_two_corpora_are_compared_by_hand() -> None:
    # Achievement 0.8, 0.5, 0.4 in the first, 0.7, 0.3, 0.5 in the second: errors 0.1, 0.2, 0.1; the last two change places.
    rows = [*corpus("a", "0", 8), *corpus("b", "0", 5), *corpus("c", "0", 4)]
    rows += [*corpus("a", "1", 7), *corpus("b", "1", 3), *corpus("c", "1", 5), *corpus("alone", "1", 5)]
    found: list[Any] = [*stability(TWO, rows, ("0", "1"))]
    scores, errors = found[:2]
    assert [row["model"] for row in scores.rows if row["measure"] == "Achievement"] == ["a", "b", "c"]
    coverage, achievement = errors.rows[:2]
    assert (achievement["error"], achievement["deviation"]) == pytest.approx((0.4 / 3, 0.1 / 3**0.5))
    assert (coverage["error"], coverage["deviation"]) == (0.0, 0.0)
    assert (coverage["crossed"], achievement["crossed"]) == ("none", "b and c")
    assert errors.note == "Not compared, since judged with one seed alone: alone.", "said, not dropped in silence"


@pytest.mark.parametrize(
    ("rows", "errors", "why"),
    [
        ([*corpus("a", "0", 8), *corpus("a", "1", 8)], (0.0, None), "one model: no deviation"),
        (
            [judged("a", "0", 1, "unknown", "unknown"), judged("a", "1", 1, "yes", "yes")],
            (None, None),
            "n/a in one corpus",
        ),
    ],
)
def test_few_models(rows: list[JudgedConversation], errors: Any, why: str) -> None:
    table: Any = stability(TWO, rows, ("0", "1"))[1]
    assert (table.rows[1]["error"], table.rows[1]["deviation"]) == errors, why


def test_seeds_that_are_not_there_are_named() -> None:
    with pytest.raises(UserError, match="there are seeds 0, 7"):
        stability(TWO, [*corpus("a", "0", 1), *corpus("b", "7", 1)], ("0", "1"))


def test_the_commands_print_and_write_a_page(tmp_path: Path) -> None:
    place = folder(
        tmp_path / "a", [*corpus("a", "0", 8), *corpus("b", "0", 5), *corpus("a", "1", 7), *corpus("b", "1", 9)]
    )
    code, told = run("study", "stability", str(place), "--seeds", "0,1", "--out", str(tmp_path / "page" / "s.html"))
    assert code == 0
    assert "a and b" in told, "they change places"
    page = (tmp_path / "page" / "s.html").read_text()
    assert "Bland-Altman" in page
    assert "mean + 1.96 sd" in page
    other = Procedure("trains", "Ask; name the limit.", TWO.dimensions)
    second = folder(tmp_path / "b", corpus("a", "0", 3), other)
    code, told = run("study", "table", str(place), str(second))
    assert "trains" in told
    assert "75.0" in told, "model a over both seeds: 15 of 20"
    assert run("study", "table", str(place), str(place)) == run("study", "table", str(place)), (
        "the same folder is named once"
    )
    third = folder(tmp_path / "c", corpus("a", "0", 2))
    told = run("study", "table", str(place), str(third / "scores"))[1]
    assert "(/" in told, "one id in two folders: the folders tell them apart"
    assert "two different seeds" in run("study", "stability", str(place), "--seeds", "0,0")[1]


# --- agreement -------------------------------------------------------------------------------------------------------


def test_the_built_in_conversations_agree_with_their_own_verdicts(tmp_path: Path) -> None:
    """All 15 of them, with their 166 verdicts."""
    lines = (files("truebench_hf.benchmarks.flexbench") / "samples" / "conversations.jsonl").read_text(encoding="utf-8")
    rows = [json.loads(line) for line in lines.splitlines()]
    counted = 0
    for name, procedure in built_in().items():
        mine = [row for row in rows if row["instruction_id"] == name]
        verdicts = [{v["dimension_id"]: v["label"] for v in row["verdicts"]} for row in mine]
        known = [
            JudgedConversation(
                Talk(row["id"], "m", (Message("user", "x"),)), {d: FACTS[label] for d, label in told.items()}, told
            )
            for row, told in zip(mine, verdicts, strict=True)
        ]
        experts = read_labels([write_jsonl(tmp_path / f"{name}.jsonl", mine)], known)
        found = agree(procedure, experts, labels_of(known))
        assert (found.micro.value, found.macro.value) == (1.0, 1.0)
        counted += found.micro.n
    assert counted == 166


def test_accuracies_and_correlation_by_hand() -> None:
    # Experts: limit right in 8, 5 and 2 of 10; the judge errs on one of a's, none of b's, four of c's.
    experts, judge = [], []
    for model, right, wrong in (("a", 8, 1), ("b", 5, 0), ("c", 2, 4)):
        experts += corpus(model, "0", right)
        judge += corpus(model, "0", right + wrong)
    found = agree(TWO, labels_of(experts), labels_of(judge))
    assert {model: score.value for model, score in found.by_model.items()} == {"a": 0.95, "b": 1.0, "c": 0.8}
    assert (found.micro.value, found.macro.value) == (pytest.approx(55 / 60), pytest.approx(2.75 / 3))
    assert found.pearson["achievement"] == pytest.approx(scipy.stats.pearsonr([8, 5, 2], [9, 5, 6]).statistic)
    assert found.pearson["coverage"] is None, "all are covered: nothing to correlate"


def test_what_is_open_is_counted_and_left_out() -> None:
    experts = [judged("a", "0", 1, "yes", None), judged("a", "0", 2, "yes", "no")]
    judge = [judged("a", "0", 1, "no", "no"), judged("a", "0", 2, "yes", None)]
    found = agree(TWO, labels_of(experts), labels_of(judge))
    assert (found.micro.value, found.micro.n, found.micro.unscored) == (0.5, 2, 1)
    assert agree(TWO, {}, {}).micro.value is None


def test_the_averages_of_table_3_are_the_papers() -> None:
    rows = [row for row in paper_rows("flexbench", "flexbench_table3") if row["Dialogues"] and row["Dims"] < 1000]
    for column, micro, macro in (("Crowd-sourced", 0.750, 0.755), ("LLM-as-Judge", 0.852, 0.855)):
        assert sum(row[column] * row["Dims"] for row in rows) / 1728 == pytest.approx(micro, abs=0.0011)
        assert sum(row[column] for row in rows) / 4 == pytest.approx(macro, abs=0.0011)


def filled(sheet: Path, answer: Callable[[dict[str, str]], str]) -> str:
    with sheet.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    with sheet.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(row | {"answer": answer(row)} for row in rows)
    return str(sheet)


def test_sheets_go_out_blind_and_come_back(tmp_path: Path) -> None:
    place = folder(tmp_path / "a", [*corpus("a", "0", 2, 4), *corpus("b", "0", 4, 4)])
    done = CliRunner().invoke(app, ["label", "out", str(place), "--annotators", "X,Y,Z", "--n", "6"])
    assert done.exit_code == 0, done.output
    sheets = sorted((place / "sheets").glob("*.csv"))
    assert len(sheets) == 3
    assert "Facts" not in sheets[0].read_text(encoding="utf-8-sig")
    experts = [filled(sheet, lambda row: "yes") for sheet in sheets[:2]]
    crowd = filled(sheets[2], lambda row: "no" if "Limit" in row["question"] else "")
    code, told = run("study", "agree", str(place), "--experts", experts[0], "--experts", experts[1], "--crowd", crowd)
    assert code == 0
    assert "micro average (verdicts)" in told
    assert "paper: claude" in told
    with pytest.raises(UserError, match="has no labels of people; `truebench label out"):
        CliRunner().invoke(app, ["flex", "study", "agree", str(place)], catch_exceptions=False)
    done = CliRunner().invoke(app, ["label", "in", str(place), *experts])
    assert done.exit_code == 0, done.output
    rows = [json.loads(line) for line in (place / "labels.jsonl").read_text(encoding="utf-8").splitlines()]
    assert {(row["label"], row["how"], len(row["annotations"])) for row in rows} == {("yes", "unanimous", 2)}
    again = run("study", "agree", str(place), "--crowd", crowd)
    assert again == (0, told), "the labels of the folder are the experts'"


def test_labels_name_a_seed_where_two_corpora_have_one_id(tmp_path: Path) -> None:
    known = [judged("a", "0", 1, "yes", "yes"), judged("a", "1", 1, "yes", "yes")]
    row = {"id": "1", "seed": 0, "verdicts": [{"dimension_id": "ask", "label": "no"}]}
    found = read_labels([write_jsonl(tmp_path / "labels.jsonl", [row])], known)
    assert found == {("a", "0/1", "ask"): "no"}


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"id": "9", "verdicts": [{"dimension_id": "ask", "label": "yes"}]}, "none of the judged conversations has it"),
        (
            {"id": "1", "verdicts": [{"dimension_id": "ask", "label": "yes"}]},
            "several have it; give model and seed",
        ),
        ({"id": "1", "model": "a", "verdicts": [{"dimension_id": "no", "label": "yes"}]}, "which is no dimension"),
        (
            {"id": "1", "model": "a", "verdicts": [{"dimension_id": "ask", "label": "maybe"}]},
            "which is none of yes, no, unknown",
        ),
        ({"id": "1", "model": "a", "verdicts": [{"dimension_id": "ask", "label": None}]}, "holds no answers"),
    ],
)
def test_labels_that_do_not_fit(tmp_path: Path, row: dict[str, Any], said: str) -> None:
    known = [judged("a", "0", 1, "yes", "yes"), judged("b", "0", 1, "yes", "yes")]
    with pytest.raises(UserError, match=said):
        read_labels([write_jsonl(tmp_path / "labels.jsonl", [row])], known)
