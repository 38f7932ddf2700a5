"""`flex study table`, `stability` and `agree`, and labels of people: what is computed from judged conversations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import scipy.stats

from tests.support.corpus import each_row
from tests.support.people import fill
from tests.support.runs import Done, command_here, held, write_jsonl
from truebench_hf.benchmarks.flexbench.agreement import agree, labels_of, read_labels, stability
from truebench_hf.benchmarks.flexbench.conversations import JudgedConversation, Talk, read_judged
from truebench_hf.benchmarks.flexbench.procedure import Dimension, Procedure, as_yaml
from truebench_hf.errors import UserError
from truebench_hf.judging.tri_valued import DimensionFacts
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
    write_jsonl(place / "scores" / "verdicts.jsonl", [conversation.row() for conversation in rows])
    return place


Run = Callable[..., Done]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return lambda *arguments: command_here(capsys, *map(str, arguments))


def test_what_was_written_is_read_back_for_the_procedure_that_was_judged(tmp_path: Path) -> None:
    rows = [judged("m", "0", 1, "yes", None), judged("m", "0", 2, "unknown", "no")]
    place = folder(tmp_path / "a", rows)
    edited = Procedure("hotel", "Ask; name the limit.", (Dimension("ask", "Asks twice?"),))
    (place / "procedure.yaml").write_text(as_yaml(edited), encoding="utf-8")
    assert read_judged(str(place)) == (TWO, rows), "an edit after scoring changes no verdict"
    assert read_judged(str(place / "scores")) == (TWO, rows), "an --out of flex score is a folder, too"
    (place / "scores" / "verdicts.jsonl").unlink()
    with pytest.raises(UserError, match="flex score"):
        read_judged(str(place))
    grown = Procedure("hotel", "Ask; name the limit.", (*TWO.dimensions, Dimension("new", "New?")))
    with pytest.raises(UserError, match="line 1: new stands there or in"):
        read_judged(str(folder(tmp_path / "b", rows, grown)))


def test_two_corpora_are_compared_by_hand() -> None:
    # Achievement 0.8, 0.5, 0.4 in the first, 0.7, 0.3, 0.5 in the second: errors 0.1, 0.2, 0.1; the last two change places.
    rows = [*corpus("a", "0", 8), *corpus("b", "0", 5), *corpus("c", "0", 4)]
    rows += [*corpus("a", "1", 7), *corpus("b", "1", 3), *corpus("c", "1", 5), *corpus("alone", "1", 5)]
    sections: list[Any] = [*stability(TWO, rows, ("0", "1"))]
    scores, errors, *plots = sections
    assert [(row["model"], row["first"].value, row["second"].value) for row in scores.rows[3:]] == [
        ("a", 0.8, 0.7), ("b", 0.5, 0.3), ("c", 0.4, 0.5)
    ]  # fmt: skip
    coverage, achievement = errors.rows[:2]
    assert (achievement["error"], achievement["deviation"]) == pytest.approx((0.4 / 3, 0.1 / 3**0.5))
    assert (coverage["error"], coverage["deviation"]) == (0.0, 0.0)
    assert (coverage["crossed"], achievement["crossed"]) == ("none", "b and c")
    assert errors.note == "Not compared, since judged with one seed alone: alone.", "said, not dropped in silence"
    bland_altman, lines = plots[1], plots[3]
    assert bland_altman.series[0].points[0][:2] == pytest.approx((75, 10)), "mean and difference of model a"
    deviation = 100 * (sum((x - 1 / 15) ** 2 for x in (0.1, 0.2, -0.1)) / 2) ** 0.5
    ends = [series.points[0][1] for series in bland_altman.series[3:]]
    assert ends == pytest.approx([20 / 3, 20 / 3 + 1.96 * deviation, 20 / 3 - 1.96 * deviation])
    assert [point[:2] for point in lines.series[1].points] == [(0.0, 50.0), (1.0, 30.0)]


@pytest.mark.parametrize(
    ("rows", "errors"),
    [
        ([*corpus("a", "0", 8), *corpus("a", "1", 8)], (0.0, None)),  # one model: no deviation
        ([judged("a", "0", 1, "unknown", "unknown"), judged("a", "1", 1, "yes", "yes")], (None, None)),  # n/a in one
    ],
)
def test_few_models(rows: list[JudgedConversation], errors: Any) -> None:
    table: Any = stability(TWO, rows, ("0", "1"))[1]
    assert (table.rows[1]["error"], table.rows[1]["deviation"]) == errors


def test_the_commands_print_and_write_a_page(tmp_path: Path, run: Run) -> None:
    rows = [*corpus("a", "0", 8), *corpus("b", "0", 5), *corpus("a", "1", 7), *corpus("b", "1", 9)]
    place, page = folder(tmp_path / "a", rows), tmp_path / "page" / "s.html"
    done = run("flex", "study", "stability", place, "--seeds", "0,1", "--out", page)
    assert (done.returncode, "a and b" in done.stdout) == (0, True), "they change places"
    assert "Bland-Altman" in page.read_text()
    for seeds, words in (("0,0", "two different seeds"), ("0,7", "there are seeds 0, 1")):
        assert words in run("flex", "study", "stability", place, "--seeds", seeds).stderr
    trains = folder(tmp_path / "b", corpus("a", "0", 3), Procedure("trains", "Ask; name the limit.", TWO.dimensions))
    printed = run("flex", "study", "table", place, trains).stdout
    assert "trains" in printed
    assert "75.0" in printed, "model a over both seeds: 15 of 20"
    assert run("flex", "study", "table", place, place) == run("flex", "study", "table", place), "one folder, named once"
    third = folder(tmp_path / "c", corpus("a", "0", 2))
    printed = run("flex", "study", "table", place, third / "scores").stdout
    assert "(/" in printed, "one id in two folders: the folders tell them apart"


def test_accuracies_and_correlation_by_hand() -> None:
    # Experts: limit right in 8, 5 and 2 of 10; the judge errs on one of a's, none of b's, four of c's.
    experts, judge = [], []
    for model, right, wrong in (("a", 8, 1), ("b", 5, 0), ("c", 2, 4)):
        experts += corpus(model, "0", right)
        judge += corpus(model, "0", right + wrong)
    agreed = agree(TWO, labels_of(experts), labels_of(judge))
    assert {model: score.value for model, score in agreed.by_model.items()} == {"a": 0.95, "b": 1.0, "c": 0.8}
    assert (agreed.micro.value, agreed.macro.value) == (pytest.approx(55 / 60), pytest.approx(2.75 / 3))
    assert agreed.pearson["achievement"] == pytest.approx(scipy.stats.pearsonr([8, 5, 2], [9, 5, 6]).statistic)
    assert agreed.pearson["coverage"] is None, "all are covered: nothing to correlate"
    # What is open is counted and left out.
    experts = [judged("a", "0", 1, "yes", None), judged("a", "0", 2, "yes", "no")]
    judge = [judged("a", "0", 1, "no", "no"), judged("a", "0", 2, "yes", None)]
    agreed = agree(TWO, labels_of(experts), labels_of(judge))
    assert (agreed.micro.value, agreed.micro.n, agreed.micro.unscored) == (0.5, 2, 1)
    assert agree(TWO, {}, {}).micro.value is None


def test_sheets_go_out_blind_and_come_back(tmp_path: Path, run: Run) -> None:
    place = folder(tmp_path / "a", [*corpus("a", "0", 2, 4), *corpus("b", "0", 4, 4)])
    assert run("label", "out", place, "--annotators", "X,Y,Z", "--n", "6").returncode == 0
    first, second, third = sorted((place / "sheets").glob("*.csv"))
    assert "Facts" not in first.read_text(encoding="utf-8-sig")
    experts = [fill(sheet, lambda row: "yes") for sheet in (first, second)]
    crowd = fill(third, lambda row: "no" if "Limit" in row["question"] else "")
    agreed = run("flex", "study", "agree", place, "--experts", experts[0], "--experts", experts[1], "--crowd", crowd)
    assert agreed.returncode == 0
    assert all(text in agreed.stdout for text in ("micro average (verdicts)", "paper: claude"))
    assert "has no labels of people; `truebench label out" in run("flex", "study", "agree", place).stderr
    assert run("label", "in", place, *experts).returncode == 0
    rows = held(place / "labels.jsonl")
    assert {(row["label"], row["how"], len(row["annotations"])) for row in rows} == {("yes", "unanimous", 2)}
    assert run("flex", "study", "agree", place, "--crowd", crowd) == agreed, "the labels of the folder are the experts'"


def labelled(id: str = "1", dimension: str = "ask", label: Any = "yes", **more: Any) -> dict[str, Any]:
    return {"id": id, "verdicts": [{"dimension_id": dimension, "label": label}], **more}


@each_row(__file__, "flex_compare", "unfit")
def test_labels_that_do_not_fit(tmp_path: Path, row: dict[str, Any], words: str) -> None:
    known = [judged("a", seed, 1, "yes", "yes") for seed in ("0", "1")] + [judged("b", "0", 1, "yes", "yes")]
    with pytest.raises(UserError, match=words):
        read_labels([write_jsonl(tmp_path / "labels.jsonl", [row])], known)
    named = labelled(label="no", model="a", seed=0)
    assert read_labels([write_jsonl(tmp_path / "labels.jsonl", [named])], known) == {("a", "0/1", "ask"): "no"}


@pytest.mark.parametrize(("votes", "label"), [("nyn", "no"), ("ynn", "no"), ("yy", "yes"), ("ny", None)])
def test_of_several_experts_the_majority_counts(tmp_path: Path, votes: str, label: str | None) -> None:
    """Whatever their order, and whether they come in one file or in several. The second dimension has one vote."""
    known, words = [judged("a", "0", 1, "yes", "yes")], {"y": "yes", "n": "no"}
    rows = [labelled(label=words[vote]) for vote in votes] + [labelled(dimension="limit", label="yes")]
    files = [write_jsonl(tmp_path / f"{number}.jsonl", [row]) for number, row in enumerate(rows)]
    for given in (files, [write_jsonl(tmp_path / "all.jsonl", rows)]):
        assert read_labels(given, known)["a", "0/1", "ask"] == label
