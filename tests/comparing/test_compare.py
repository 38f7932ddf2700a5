"""Two runs beside each other: what is compared, what flipped, and what is not comparable."""

from __future__ import annotations

import json
import os
import shutil
import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.results.test_verdict_frames import fat
from tests.support.finished import finished, golden, numbered
from tests.support.runs import command_here, write_jsonl
from truebench_hf.comparing import compare as shown
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
    found = compare(*pair)
    # A passes 14 of 20, B 5: A alone 10 (q4 to q13), B alone one (q19), both 4.
    gap = found.overall.difference
    assert (found.overall.first, found.overall.second, gap.n) == (0.7, 0.25, 20)
    assert gap.value == pytest.approx(-0.45), "B - A: a worse new model gives a minus"
    # -(11 - 2) / 22, and t(19) 2.093 x sqrt((13 / 22 - (9 / 22)^2) / 22)
    assert gap.ci95 == pytest.approx((-0.700, -0.118), abs=1e-3)
    assert gap.p_value == pytest.approx(2 * (1 + 11) / 2**11)
    assert gap.ahead == -1
    assert [flip.ids[0] for flip in found.flips] == ["q19", *(f"q{n}" for n in range(4, 14))]
    assert (found.differs, found.undecided, found.otherwise, found.only) == ((), (), (), ((), ()))
    french = found.groups["Language"]["FR"]
    assert (french.difference.n, french.first, french.second) == (10, 0.7, 0.3)  # odd: 1 to 13; 1, 3 and 19
    assert list(found.groups["Category"]) == ["Editing"]


def test_few_instances_are_compared_by_mcnemar(tmp_path: Path) -> None:
    one = finished(tmp_path, "one", numbered([True] * 7 + [None]))
    two = finished(tmp_path, "two", numbered([False] * 7 + [True]))
    found = compare(one, two)
    gap = found.overall.difference
    assert (gap.n, gap.ci95, gap.p_value, gap.ahead) == (7, None, 2 / 2**7, -1)
    assert (found.undecided, found.overall.difference.unscored) == (("q7",), 1)
    said = " ".join(shown.notes(found))
    assert "McNemar's exact test" in said
    assert "Undecided in one of the runs, and left out: 1 (q7)." in said


def test_what_is_not_comparable_is_said_first(tmp_path: Path) -> None:
    one = finished(tmp_path / "a", "one", numbered([True, True, False]))
    two = finished(
        tmp_path / "b", "two", {"q0": True, "q1": False, "new": True}, judge="other", judge_level="rubric",
        asks={"q1": "In French."},
    )  # fmt: skip
    found = compare(one, two)
    assert found.overall.difference.n == 1
    assert (found.otherwise, found.only) == (("q1",), (("q2",), ("new",)))
    said = shown.notes(found)
    assert said[0].startswith("Not comparable as models: other data; judge: ")
    assert "level checklist and rubric" in said[0]
    assert "Only in A: 1 (q2)." in said
    assert "Only in B: 1 (new)." in said
    assert any("Same id, different prompt" in line for line in said)


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
    found = compare(one, two)
    assert (found.overall.difference.n, found.by_content, found.differs) == (4, 4, ())
    assert (found.otherwise, found.only) == ((), ((), ("0",)))
    assert [flip.ids for flip in found.flips] == [("1", "2")]
    ((a, b),) = found.texts(found.flips, lambda item: item.instance.turns[0].prompt)
    assert a == b == "Ask <q1>. "
    assert "Paired by what they ask, under different ids: 4." in shown.notes(found)


def test_a_sample_is_compared_with_the_whole_on_what_both_hold(tmp_path: Path) -> None:
    one = finished(tmp_path / "a", "one", A, limit=12)
    two = finished(tmp_path / "b", "two", B)
    found = compare(one, two)
    assert (found.differs, found.overall.difference.n, len(found.only[1])) == ((), 12, 8)


def test_another_protocol_is_another_judging_and_counts_by_its_own_rule(tmp_path: Path) -> None:
    one = finished(tmp_path / "a", "one", numbered([True, None]))
    two = finished(tmp_path / "b", "two", numbered([True, True]), protocol="official")
    found = compare(one, two)
    assert any(told.startswith("protocol: default and official") for told in found.differs)
    assert found.runs[1].scores == {"q0": 1.0, "q1": 1.0}


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda p: (finished(p, "one", numbered([True])), str(p / "nowhere")), "no such folder"),
        (lambda p: (finished(p, "one", numbered([True])), str(p)), "is no run folder"),
        (lambda p: (finished(p, "one", {"a": True}), finished(p, "two", {"b": True})), "no instance in common"),
        (
            lambda p: (finished(p, "one", {"a": True}), finished(p, "two", {"a": True}, asks={"a": "Why?"})),
            "ask other things",
        ),
    ],
)
def test_refused(tmp_path: Path, make: object, match: str) -> None:
    with pytest.raises(UserError, match=match):
        compare(*make(tmp_path))  # type: ignore[operator]


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"kind": "calibrate"}, "of kind calibrate; runs of kind truebench, facts, tick"),
        ({"sessions": [{"started": "now"}]}, "is not finished"),
    ],
)
def test_folders_of_other_kinds_and_unfinished_ones_are_refused(
    tmp_path: Path, change: dict[str, object], match: str
) -> None:
    folder = finished(tmp_path, "one", numbered([True]))
    file = Path(folder) / "run.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | change))
    with pytest.raises(UserError, match=match):
        compare(folder, folder)


def test_a_submission_has_no_sessions_and_tells_little_of_its_judging(tmp_path: Path) -> None:
    one = finished(tmp_path / "a", "one", numbered([True]))
    two = finished(tmp_path / "b", "two", numbered([False]))
    file = Path(two) / "run.json"
    info = json.loads(file.read_text())
    settings = {name: info["settings"][name] for name in ("model", "judge")}
    file.write_text(json.dumps({"format": 1, "kind": "truebench", "submitted": True, "settings": settings}))
    found = compare(one, two)
    assert found.overall.difference.n == 1
    assert "other data" not in found.differs  # the instances themselves say so
    assert any(told.startswith("protocol: default and not told") for told in found.differs)


def test_a_file_of_judgments_alone_says_nothing_of_its_judging(pair: tuple[str, str], tmp_path: Path) -> None:
    file = tmp_path / "judged.jsonl"
    file.write_text((Path(pair[1]) / "judgments.jsonl").read_text())
    found = compare(pair[0], str(file))
    assert found.differs == (f"nothing is known of how {file} was judged (no run.json)",)
    assert len(found.flips) == 11


def test_models_of_one_study_are_compared_by_their_checklists(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = golden("tick", tmp_path / "tick")
    with pytest.raises(UserError, match=r"name one \(--model-a, --model-b;"):
        compare(folder, folder)
    with pytest.raises(UserError, match=r"unknown model in .*'thre'"):
        compare(folder, folder, model_a="thre")
    done = command_here(
        capsys, "compare", folder, folder, "--model-a", "scripted:one.json", "--model-b", "scripted:two.json"
    )
    assert done.returncode == 0, done.stderr
    assert "pass rate of a checklist" in done.stdout


def test_answers_from_documents_are_compared_by_their_final_score(tmp_path: Path) -> None:
    found = compare(golden("facts", tmp_path / "facts"), str(tmp_path / "facts"))
    # Of two judges one finds "disputed" grounded; "evasive" is eligible to one judge, so that it stays in.
    scores = found.runs[0].scores
    assert (scores["grounded"], scores["disputed"], scores["failed"]) == (1.0, 0.5, None)
    assert found.overall.difference.value == 0
    with pytest.raises(UserError, match=r"of kind facts, .* of kind tick"):
        compare(str(tmp_path / "facts"), golden("tick", tmp_path / "tick"), model_b="scripted:one.json")


def said(name: str, label: Label | None, answer: str = "", context: str | None = None, sample: int = 1) -> Judged:
    """An answer about which a judge says so."""
    verdict = Verdict(Criterion("is right"), label, f"because {answer}", "judge")
    instance = Instance(name, "EN", "Editing", "", (Turn("ask", (verdict.criterion,)),), context=context)
    messages = (Message("user", "ask"), Message("assistant", answer))
    return Judged(instance, Response(name, "model", messages, ("",), sample=sample), ((verdict,),))


def stored(file: Path, items: list[Judged]) -> str:
    file.write_text("".join(judgment_lines(items, "judge")))
    return str(file)


def failing(items: Iterator[Judged]) -> Iterator[Judged]:
    """The same, each failed by its last criterion."""
    for item in items:
        *before, last = item.verdicts[0]
        yield replace(item, verdicts=((*before, replace(last, label="no")),))


@pytest.mark.slow
def test_memory_hardly_grows_with_the_instances_whatever_they_hold(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shown, "_ON_PAGE", 10)
    few, many, characters = 50, 500, 3000
    peaks = []
    for rows in (few, many):
        one = stored(tmp_path / f"{rows}a.jsonl", list(fat(rows, characters)))
        two = stored(tmp_path / f"{rows}b.jsonl", list(failing(fat(rows, characters))))
        asked = ("compare", one, two, "--out", str(tmp_path / f"out{rows}"))
        if not peaks:  # what is imported, and kept, is no row's
            command_here(capsys, *asked)
        tracemalloc.start()
        done = command_here(capsys, *asked)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert (done.returncode, f"Flipped: {rows} instances" in done.stdout) == (0, True), done.stderr
    grown = (peaks[1] - peaks[0]) / (many - few)
    assert grown < 8 * characters, "bytes an instance of both runs: of its 22 texts those of flips.csv are held"


def test_of_doubles_the_last_row_is_compared_and_shown(tmp_path: Path) -> None:
    one = stored(tmp_path / "a", [said("q", "no", "first"), said("r", "yes"), said("q", "yes", "last")])
    two = stored(tmp_path / "b", [said("r", "yes"), said("q", "no", "other")])
    found = compare(one, two)
    assert list(found.runs[0].instances.index) == ["q", "r"], "at the place of the first"
    (flip,) = found.flips
    assert list(found.texts([flip], lambda item: item.response.answers)) == [(("last",), ("other",))]


def test_contexts_are_compared_and_read_whether_a_line_holds_or_names_them(tmp_path: Path) -> None:
    one = stored(
        tmp_path / "a",
        [said("p", "yes", "a", "one text"), said("q", "yes", "b", "one text"), said("r", "yes", "c", "x")],
    )
    two = stored(tmp_path / "b", [said("q", "no", "d", "one text"), said("p", "no", "e", "one text"), said("r", "no", "f", "y")])  # fmt: skip
    found = compare(one, two)
    assert found.otherwise == ("r",), "it has another context"
    assert list(found.texts(found.flips, lambda item: item.instance.context)) == [("one text",) * 2] * 2


def test_a_run_that_changes_meanwhile_is_told(tmp_path: Path) -> None:
    one = stored(tmp_path / "a", [said("p", "yes", "a"), said("q", "yes", "b")])
    two = stored(tmp_path / "b", [said("p", "no", "c"), said("q", "no", "d")])
    found = compare(one, two)
    stored(tmp_path / "b", [said("q", "no", "c!"), said("p", "no", "d")])
    with pytest.raises(UserError, match="b: was changed while it was read; repeat the command"):
        shown.sections(found)


def test_what_can_be_read_once_only_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(pipe := tmp_path / "pipe")  # as of `<(zcat b.jsonl.gz)`
    with pytest.raises(UserError, match="is no file that can be read twice; save it to one"):
        compare(stored(tmp_path / "a", [said("p", "yes")]), str(pipe))


def test_a_run_that_lost_its_judgments_is_told_as_ever(pair: tuple[str, str], tmp_path: Path) -> None:
    folder = shutil.copytree(pair[0], tmp_path / "run")
    (folder / "judgments.jsonl").unlink()
    with pytest.raises(
        UserError, match=r"judgments\.jsonl: cannot be read: .*; give a run folder or an evaluation file"
    ):
        compare(pair[0], str(folder))
