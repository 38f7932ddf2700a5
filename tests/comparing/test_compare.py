"""Two runs beside each other: what is compared, what flipped, and what is not comparable."""

from __future__ import annotations

import json
import os
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.results.test_verdict_frames import fat
from tests.support.finished import finished, golden, numbered
from tests.support.runs import command_here, write_jsonl
from truebench_hf.comparing import compare as sections_of
from truebench_hf.comparing.compare import compare
from truebench_hf.data.judged import Judged
from truebench_hf.data.records import judgment_lines
from truebench_hf.errors import UserError
from truebench_hf.types import Criterion, Instance, Label, Message, Response, Turn, Verdict

A = numbered([True] * 14 + [False] * 6)
B = numbered([True] * 4 + [False] * 10 + [False] * 5 + [True])


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    folder = tmp_path_factory.mktemp("pair")
    languages = {f"q{n}": "FR" if n % 2 else "EN" for n in range(20)}
    return finished(folder, "Ada", A, languages=languages), finished(folder, "Ben", B, languages=languages)


def test_by_hand(pair: tuple[str, str]) -> None:
    comparison = compare(*pair)
    # A passes 14 of 20, B 5: A alone 10 (q4 to q13), B alone one (q19), both 4.
    gap = comparison.overall.difference
    assert (comparison.overall.first, comparison.overall.second, gap.n) == (0.7, 0.25, 20)
    assert gap.value == pytest.approx(-0.45), "B - A: a worse new model gives a minus"
    # -(11 - 2) / 22, and t(19) 2.093 x sqrt((13 / 22 - (9 / 22)^2) / 22)
    assert gap.ci95 == pytest.approx((-0.700, -0.118), abs=1e-3)
    assert gap.p_value == pytest.approx(2 * (1 + 11) / 2**11)
    assert gap.ahead == -1
    assert list(comparison.flips.index) == ["q19", *(f"q{n}" for n in range(4, 14))]
    assert (comparison.differs, comparison.undecided, comparison.pairing.changed) == ((), [], ())
    assert comparison.pairing.only == ((), ())
    french = comparison.groups["Language"]["FR"]
    assert (french.difference.n, french.first, french.second) == (10, 0.7, 0.3)  # odd: 1 to 13; 1, 3 and 19
    assert list(comparison.groups["Category"]) == ["Editing"]


def test_few_instances_are_compared_by_mcnemar(tmp_path: Path) -> None:
    one = finished(tmp_path, "one", numbered([True] * 7 + [None]))
    two = finished(tmp_path, "two", numbered([False] * 7 + [True]))
    comparison = compare(one, two)
    gap = comparison.overall.difference
    assert (gap.n, gap.ci95, gap.p_value, gap.ahead) == (7, None, 2 / 2**7, -1)
    assert (comparison.undecided, gap.unscored) == (["q7"], 1)
    notes = " ".join(sections_of.notes(comparison))
    assert "McNemar's exact test" in notes
    assert "Undecided in one of the runs, and left out: 1 (q7)." in notes


def submitted(run: str) -> str:
    """The same run as somebody handed it in: without sessions, and with little about its judging."""
    file = Path(run) / "run.json"
    settings = {name: json.loads(file.read_text())["settings"][name] for name in ("model", "judge")}
    file.write_text(json.dumps({"format": 1, "kind": "truebench", "submitted": True, "settings": settings}))
    return run


def alone(run: str) -> str:
    """Its file of judgments, with nothing beside it."""
    return str((Path(run) / "judgments.jsonl").rename(Path(run).parent / "judged.jsonl"))


UNLIKE: list[tuple[dict[str, Any], Callable[[str], str], list[str]]] = [
    (
        {"judge": "other", "judge_level": "rubric", "asks": {"q1": "In French."}}, str,
        ["other data", "judge: ", "judging: level checklist and rubric"],
    ),
    ({"protocol": "official"}, str, ["protocol: default and official"]),
    ({}, submitted, ["protocol: default and not told"]),
    ({}, alone, ["nothing is known of how "]),
    ({"limit": 2}, str, []),  # a part of the same data
]  # fmt: skip


def test_what_is_not_comparable_is_said_first(tmp_path: Path) -> None:
    one = finished(tmp_path / "a", "one", numbered([True, True, False]))
    for number, (options, change, differs) in enumerate(UNLIKE):
        comparison = compare(
            one, change(finished(tmp_path / str(number), "two", numbered([False, False, True]), **options))
        )
        for text in differs:
            assert any(line.startswith(text) for line in comparison.differs), comparison.differs
        assert bool(comparison.differs) == bool(differs)
        assert sections_of.notes(comparison)[0].startswith("Not comparable as models: ") == bool(differs)
        assert comparison.pairing.changed == (("q1",) if "asks" in options else ())
        assert comparison.overall.difference.n == 3 - len(comparison.pairing.changed) - len(comparison.pairing.only[0])


def test_the_official_rule_counts_what_ours_leaves_open_as_failed(tmp_path: Path) -> None:
    run = finished(tmp_path, "two", numbered([True, None]), protocol="official")
    assert compare(run, run).runs[1].scores == {"q0": 1.0, "q1": 0.0}


def renumbered(run: str) -> str:
    """The same run with ids that are numbers of rows."""
    file = Path(run) / "judgments.jsonl"
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    write_jsonl(file, [row | {"id": str(number)} for number, row in enumerate(rows)])
    return run


def test_a_row_inserted_on_top_shifts_the_ids_and_nothing_else(tmp_path: Path) -> None:
    """The flips are named and read in each run by its own id."""
    one = renumbered(finished(tmp_path / "a", "one", numbered([True, False, True, True])))
    two = renumbered(finished(tmp_path / "b", "two", {"new": True} | numbered([True] * 4)))
    comparison = compare(one, two)
    assert (comparison.overall.difference.n, comparison.pairing.by_content, comparison.differs) == (4, 4, ())
    assert (comparison.pairing.changed, comparison.pairing.only) == ((), ((), ("0",)))
    assert comparison.flips["other"].to_dict() == {"1": "2"}
    assert list(comparison.texts(comparison.flips, lambda item: item.instance.turns[0].prompt)) == [("Ask <q1>. ",) * 2]
    notes = sections_of.notes(comparison)
    assert "Paired by what they ask, under different ids: 4." in notes
    assert "Only in B: 1 (0)." in notes


def changed(run: str, **info: object) -> str:
    file = Path(run) / "run.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | info))
    return run


def piped(folder: Path) -> str:
    os.mkfifo(pipe := folder / "pipe")  # as of `<(zcat b.jsonl.gz)`
    return str(pipe)


def without_judgments(run: str) -> str:
    (Path(run) / "judgments.jsonl").unlink()
    return run


# What the second run is, beside one that passes q0.
REFUSED: list[tuple[Callable[[Path], str], str]] = [
    (lambda p: str(p / "nowhere"), "no such folder"),
    (lambda p: str(p), "is no run folder"),
    (lambda p: finished(p, "two", {"b": True}), "no instance in common"),
    (lambda p: finished(p, "two", {"q0": True}, asks={"q0": "Why?"}), "ask other things under the same ids"),
    (lambda p: golden("facts", p / "facts"), "is of kind truebench, .* of kind facts; give runs of one kind"),
    (
        lambda p: changed(finished(p, "two", {"q0": True}), kind="calibrate"),
        "of kind calibrate; runs of kind truebench, facts, tick",
    ),
    (lambda p: changed(finished(p, "two", {"q0": True}), sessions=[{"started": "now"}]), "is not finished"),
    (piped, "is no file that can be read twice; save it to one"),
    (
        lambda p: without_judgments(finished(p, "two", {"q0": True})),
        r"judgments\.jsonl: cannot be read: .*; give a run folder or an evaluation file",
    ),
]


def test_refused(tmp_path: Path) -> None:
    first = finished(tmp_path / "first", "one", {"q0": True})
    for number, (second, match) in enumerate(REFUSED):
        (folder := tmp_path / str(number)).mkdir()
        with pytest.raises(UserError, match=match):
            compare(first, second(folder))


def test_models_of_one_study_are_compared_by_their_checklists(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = golden("tick", tmp_path / "tick")
    with pytest.raises(UserError, match=r"name one \(--model-a, --model-b;"):
        compare(folder, folder)
    with pytest.raises(UserError, match=r"unknown model in .*'thre'"):
        compare(folder, folder, model_a="thre")
    models = ("--model-a", "scripted:one.json", "--model-b", "scripted:two.json")
    done = command_here(capsys, "compare", folder, folder, *models)
    assert (done.returncode, "pass rate of a checklist" in done.stdout) == (0, True), done.stderr


def test_answers_from_documents_are_compared_by_their_final_score(tmp_path: Path) -> None:
    comparison = compare(golden("facts", tmp_path / "facts"), str(tmp_path / "facts"))
    # Of two judges one finds "disputed" grounded; "evasive" is eligible to one judge, so that it stays in.
    scores = comparison.runs[0].scores
    assert (scores["grounded"], scores["disputed"], scores["failed"]) == (1.0, 0.5, None)
    assert comparison.overall.difference.value == 0


def judged(name: str, label: Label | None, answer: str = "", context: str | None = None) -> Judged:
    """An answer with one verdict."""
    verdict = Verdict(Criterion("is right"), label, f"because {answer}", "judge")
    instance = Instance(name, "EN", "Editing", "", (Turn("ask", (verdict.criterion,)),), context=context)
    messages = (Message("user", "ask"), Message("assistant", answer))
    return Judged(instance, Response(name, "model", messages, ("",)), ((verdict,),))


def stored(file: Path, *items: Judged) -> str:
    file.write_text("".join(judgment_lines(items, "judge")))
    return str(file)


def test_of_doubles_the_last_row_is_compared_and_shown(tmp_path: Path) -> None:
    one = stored(tmp_path / "a", judged("q", "no", "first"), judged("r", "yes"), judged("q", "yes", "last"))
    comparison = compare(one, stored(tmp_path / "b", judged("r", "yes"), judged("q", "no", "other")))
    assert list(comparison.runs[0].instances.index) == ["q", "r"], "at the place of the first"
    answers = comparison.texts(comparison.flips, lambda item: item.response.answers)
    assert list(answers) == [(("last",), ("other",))]


def test_contexts_are_compared_and_read_whether_a_line_holds_or_names_them(tmp_path: Path) -> None:
    contexts = {"p": "one text", "q": "one text", "r": "x"}
    one = stored(tmp_path / "a", *(judged(name, "yes", "", text) for name, text in contexts.items()))
    two = stored(tmp_path / "b", *(judged(name, "no", "", contexts[name]) for name in "qp"), judged("r", "no", "", "y"))
    comparison = compare(one, two)
    assert comparison.pairing.changed == ("r",), "it has another context"
    texts = comparison.texts(comparison.flips, lambda item: item.instance.context)
    assert list(texts) == [("one text", "one text")] * 2


def test_a_run_that_changes_meanwhile_is_told(tmp_path: Path) -> None:
    one = stored(tmp_path / "a", judged("p", "yes", "a"), judged("q", "yes", "b"))
    two = stored(tmp_path / "b", judged("p", "no", "c"), judged("q", "no", "d"))
    comparison = compare(one, two)
    stored(tmp_path / "b", judged("q", "no", "c!"), judged("p", "no", "d"))
    with pytest.raises(UserError, match="b: was changed while it was read; repeat the command"):
        sections_of.outcome(comparison)


def failing(items: Iterator[Judged]) -> Iterator[Judged]:
    """The same, each failed by its last criterion."""
    for item in items:
        *before, last = item.verdicts[0]
        yield replace(item, verdicts=((*before, replace(last, label="no")),))


@pytest.mark.slow
def test_memory_hardly_grows_with_the_instances_whatever_they_hold(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sections_of, "_ON_PAGE", 10)
    few, many, characters = 50, 500, 3000
    peaks = []
    for rows in (few, many):
        one = stored(tmp_path / f"{rows}a.jsonl", *fat(rows, characters))
        two = stored(tmp_path / f"{rows}b.jsonl", *failing(fat(rows, characters)))
        words = ("compare", one, two, "--out", str(tmp_path / f"out{rows}"))
        if not peaks:  # what is imported, and kept, is no row's
            command_here(capsys, *words)
        tracemalloc.start()
        done = command_here(capsys, *words)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert (done.returncode, f"Flipped: {rows} instances" in done.stdout) == (0, True), done.stderr
    grown = (peaks[1] - peaks[0]) / (many - few)
    assert grown < 8 * characters, "bytes an instance of both runs: of its 22 texts only those that are shown are held"
