"""Joining finished runs and ranking their models: what is refused, and the figures where they are known."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import mean
from typing import Any

import pytest

from tests.support.runs import command_here, script, write_jsonl
from truebench_hf.benchmarks.facts import rank as ranks
from truebench_hf.benchmarks.facts.rank import rank
from truebench_hf.errors import UserError
from truebench_hf.metrics.intervals import wilson
from truebench_hf.report.table import Table, paper_rows

JUDGE = {"template": "json", "eligibility": "request", "identity": {"provider": "scripted"}, "prompts": {"p": "1"}}
Shares = Mapping[str, tuple[float | None, float | None]]  # of each judge: unadjusted and final


def verdicts(split: str, judges: Shares, count: int) -> list[dict[str, Any]]:
    """The verdicts on so many documents that give every judge its two shares; a judge with None decides nothing."""
    numbers = {name: [round((share or 0) * count) for share in shares] for name, shares in judges.items()}
    out = max(plain - final for plain, final in numbers.values())  # the first so many answers are ineligible

    def label(name: str, place: int) -> str | None:
        plain, final = numbers[name]
        grounded = place < plain - final if place < out else place - out < final
        return None if judges[name][0] is None else "yes" if grounded else "no"

    return [
        {"id": f"{split}{place}", "document": f"{split}{place}", "split": split, "ineligible": place < out,
         "grounded": {name: label(name, place) for name in judges}}
        for place in range(count)
    ]  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Callable[..., str]:
    """Makes the folder of a finished run as `facts run` leaves it; `changed` are other facts of its judging."""

    def write(
        model: str, splits: dict[str, Shares], name: str = "", /, *, count: int = 100, info: Any = None, **changed: Any
    ) -> str:
        path = tmp_path / (name or model.replace(":", "_").replace(" ", "_"))
        path.mkdir()
        judging = {
            "model": model, "judges": {judge: dict(JUDGE) for judge in next(iter(splits.values()))},
            "baseline": {"name": "given", "sha256": "b" * 64}, "documents": {split: split * 8 for split in {"", *splits}},
        } | changed  # fmt: skip
        rows = [row for split, judges in splits.items() for row in verdicts(split, judges, count)]
        write_jsonl(path / "verdicts.jsonl", rows)
        whole = {"kind": "facts", "format": 1, "sessions": [{"started": "x", "finished": "y"}], "judging": judging}
        (path / "run.json").write_text(json.dumps(whole | (info or {})), encoding="utf-8")
        return str(path)

    return write


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The nine models of the paper as nine runs on 1,000 documents a split, in the order of the alphabet."""
    write = folder.__wrapped__(tmp_path_factory.mktemp("paper"))  # type: ignore[attr-defined]
    before, after = ranks.paper_scores(ranks.BEFORE), ranks.paper_scores(ranks.AFTER)
    return [
        write(model, {
            split: {j: (before[model][split, j] / 100, after[model][split, j] / 100) for j in ranks.JUDGES}
            for split in ranks.SPLITS
        }, count=1000)
        for model in sorted(before)
    ]  # fmt: skip


def table(ranking: Any, name: str) -> Table:
    return next(table for table in ranks.tables(ranking) if table.name == name)


def test_the_papers_tables_come_out_as_printed(printed: list[str]) -> None:
    found = rank(printed)
    rows = {row["Response Model"]: row for row in paper_rows("facts", ranks.AFTER)}
    assert [row["model"] for row in found.places] == list(rows)
    for row in found.places:
        assert row["rank"] == rows[row["model"]]["Fused Rank"]
        assert row["final"].value == pytest.approx(rows[row["model"]]["Average"] / 100, abs=0.001)
    before = {row["Response Model"]: row["Fused Rank"] for row in paper_rows("facts", ranks.BEFORE)}
    assert {row["model"]: row["rank_unadjusted"] for row in found.places} == before
    # Disqualification turns the first two round, as in the paper.
    assert {row["model"]: row["moved"] for row in found.places if row["moved"] != "0"} == {
        "Gemini 2.0 Flash Experimental": "+1", "Gemini 1.5 Flash": "-1",
    }  # fmt: skip
    assert mean(row["final"].value for row in found.preferences) == pytest.approx(0.0303, abs=5e-04)
    assert mean(row["unadjusted"].value for row in found.preferences) == pytest.approx(0.0226, abs=5e-05)
    shown = table(found, "self_preference")
    assert [row[-3:] for row in shown.texts[-3:]] == [("+3.03", "", "+2.26"), ("+3.03", "", "+2.26"), ("+3.23", "", "")]
    assert shown.marks[-3:] == [False, True, True]
    tied = next(note for note in ranks.notes(found) if "equally many" in note)
    assert tied.count(" above ") == 2


def test_runs_on_one_split_by_one_judge(folder: Callable[..., str]) -> None:
    folders = [folder(name, {"": {"j": (0.9, value)}}) for name, value in (("m1", 0.6), ("m2", 0.8))]
    found = rank(folders)
    assert [(row["model"], row["rank"], row["moved"], row["effect"]) for row in found.places] == [
        ("m2", 1, "0", pytest.approx(-0.1)),
        ("m1", 2, "-1", pytest.approx(-0.3)),  # both were first before
    ]
    assert found.places[0]["final"].ci95 == wilson(80, 100)
    assert (found.places[0]["span"], found.preferences) == ("1", [])
    assert found.splits == ("all answers",)


def test_a_model_alone(folder: Callable[..., str]) -> None:
    found = rank([folder("m", {"": {"j": (0.9, 0.8)}})])
    assert [(row["rank"], row["span"]) for row in found.places] == [(1, "1")]


def test_the_splits_of_a_model_may_lie_in_two_folders(folder: Callable[..., str]) -> None:
    one, other = {"j": (0.9, 0.8)}, {"j": (0.7, 0.6)}
    folders = [
        folder("m", {"open": one}, "a"),
        folder("m", {"blind": other}, "b"),
        folder("n", {"open": other, "blind": other}),
    ]
    found = rank(folders)
    final = found.places[0]["final"]
    assert final.value == pytest.approx(0.7)
    # Of two independent samples: the reach of the mean to either side is that of both, squared and added, halved.
    ends = [wilson(80, 100) or (0, 0), wilson(60, 100) or (0, 0)]
    reach = [((0.8 - ends[0][side]) ** 2 + (0.6 - ends[1][side]) ** 2) ** 0.5 / 2 for side in (0, 1)]
    assert final.ci95 == pytest.approx((0.7 - reach[0], 0.7 + reach[1]))
    partly = rank(folders[::2])
    assert (partly.splits, partly.left_out) == (("open",), ("blind",))
    assert any("Not ranked on blind" in note for note in ranks.notes(partly))


def test_what_no_judge_decided_leaves_a_model_without_a_rank(folder: Callable[..., str]) -> None:
    found = rank([folder("m", {"": {"j": (None, None)}}), folder("n", {"": {"j": (0.5, 0.5)}})])
    assert [(row["model"], row["rank"], row["moved"]) for row in found.places] == [("n", 1, "0"), ("m", None, "-")]
    assert table(found, "models").texts[1][:3] == ("", "m", "-")


def test_a_span_rests_on_differences_answer_by_answer(folder: Callable[..., str]) -> None:
    """Two close models are told apart where one is right wherever the other is, and not where their answers differ."""
    folders = {name: folder(name, {"": {"j": (0.6, 0.6)}}) for name in ("good", "other", "mixed")}
    right = {"good": range(70), "other": range(60), "mixed": range(35, 100)}

    def verdict(name: str, number: int) -> dict[str, Any]:
        label = "yes" if number in right[name] else "no"
        told = {"id": str(number), "document": str(number), "split": ""}
        return told | {"ineligible": number == 99, "grounded": {"j": label}}

    for name, path in folders.items():
        write_jsonl(Path(path) / "verdicts.jsonl", [verdict(name, number) for number in range(100)])
    found = {row["model"]: row["span"] for row in rank(list(folders.values())).places}
    assert found == {"good": "1-2", "other": "2-3", "mixed": "1-3"}


def test_self_preference_has_an_interval(folder: Callable[..., str]) -> None:
    """Both judges pass the first 50 of 100 answers of either model; a passes 20 more of its own, b none."""
    judges = ("openai:gpt-4o", "openai:claude-4")
    folders = [
        folder(name, {"": {judges[0]: (share, share), judges[1]: (0.5, 0.5)}})
        for name, share in (("openai:gpt-4o", 0.7), ("x", 0.5))
    ]
    found = rank(folders)
    (row,) = found.preferences
    assert (row["judge"], row["to_own"], row["to_others"]) == (judges[0], pytest.approx(0.2), 0.0)
    low, high = row["final"].ci95
    assert 0.11 < low < 0.15  # a share of 20 of 100 by itself
    assert 0.25 < high < 0.29
    assert table(found, "self_preference").texts[0][6].startswith("+1")


def test_a_ring_is_named(folder: Callable[..., str]) -> None:
    columns = {"a": (3, 1, 2), "b": (2, 3, 1), "c": (1, 2, 3)}
    folders = [
        folder(model, {"": {f"j{i}": (0.1 * value, 0.1 * value) for i, value in enumerate(row)}})
        for model, row in columns.items()
    ]
    found = rank(folders)
    assert found.fused.cycles == (("a", "b", "c"),)
    assert any("a, b, c form a Condorcet cycle" in note for note in ranks.notes(found))


def test_a_judge_prefers_its_own_model_or_else_its_family(folder: Callable[..., str]) -> None:
    judges = ("openai:gpt-4o", "openai:claude-4")
    rows = {
        "openai:gpt-4o": (0.8, 0.7),
        "openai:gpt-5": (0.6, 0.6),
        "hf:claude-tiny": (0.5, 0.6),
        "x": (0.4, 0.4),
    }
    folders = [
        folder(model, {"": {judge: (value, value) for judge, value in zip(judges, row, strict=True)}}, f"r{i}")
        for i, (model, row) in enumerate(rows.items())
    ]
    gpt, claude = rank(folders).preferences
    assert (gpt["own"], gpt["by"]) == ("openai:gpt-4o", "model")  # gpt-5 is one of the others
    assert gpt["final"].value == pytest.approx(0.1 - mean((0, -0.1, 0)))
    assert (claude["own"], claude["by"]) == ("hf:claude-tiny", "family")
    assert claude["final"].value == pytest.approx(0.1 - mean((-0.1, 0, 0)))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"judges": {"j": JUDGE, "k": JUDGE}}, r"the \w+ of judge k: .*, in .* none; join runs that were judged alike"),
        ({"judges": {"j": JUDGE | {"template": "span"}}}, 'the template of judge j: "span", in .* "json"'),
        ({"judges": {"j": JUDGE | {"eligibility": "full"}}}, 'the eligibility of judge j: "full"'),
        ({"judges": {"j": JUDGE | {"prompts": {"p": "2"}}}}, "the prompts of judge j: "),
        ({"judges": {"j": JUDGE | {"threshold": 0.3}}}, "the threshold of judge j: 0.3, in .* none"),
        ({"baseline": {"name": "given", "sha256": "c" * 64}}, r"the baseline: cccccccc"),
        ({"model": "m"}, "m has a run on open already"),
        ({"documents": {"": "x", "open": "other"}}, "its open holds other documents"),
    ],
)
def test_runs_that_do_not_go_together_are_refused_in_one_line(
    folder: Callable[..., str], change: dict[str, Any], words: str
) -> None:
    whole = {"open": {"j": (0.9, 0.8)}}
    folders = [folder("m", whole, "first"), folder("n", whole, "second", **change)]
    with pytest.raises(UserError, match=words) as caught:
        rank(folders)
    assert "second" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_folders_without_a_finished_run_are_refused(folder: Callable[..., str], tmp_path: Path) -> None:
    whole = {"": {"j": (0.9, 0.8)}}
    bare, garbled = folder("a", whole), folder("d", whole)
    (Path(bare) / "verdicts.jsonl").unlink()
    (Path(garbled) / "verdicts.jsonl").write_text('{"id": "a"}\n', encoding="utf-8")
    cases = {
        str(tmp_path / "nowhere"): "no such folder",
        folder("b", whole, info={"kind": "run"}): "holds a study of kind run; give the --out of `truebench facts run`",
        folder("c", whole, info={"sessions": [{"started": "x", "finished": None}]}): "is not finished",
        folder("e", whole, info={"judging": {}}): "run.json does not say how it was judged",
        bare: r"verdicts\.jsonl",
        garbled: r"verdicts\.jsonl: cannot be read",
    }
    for path, words in cases.items():
        with pytest.raises(UserError, match=words):
            rank([path])
    with pytest.raises(UserError, match="no run folders"):
        rank([])


def test_files(printed: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    done = command_here(capsys, "facts", "rank", *printed[:3], "--out", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "Self-preference of judges" in page
    kept = json.loads((tmp_path / "out" / "rank.json").read_text(encoding="utf-8"))
    assert [row["rank"] for row in kept["models"]] == [1, 2, 3]
    (tmp_path / "taken").write_text("a file")
    done = command_here(capsys, "facts", "rank", *printed[:3], "--out", str(tmp_path / "taken" / "x"))
    assert (done.returncode, "cannot be written" in done.stderr) == (2, True)


def test_two_runs_from_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    judge = script(tmp_path / "judge.json", [
        {"contains": "bananas are blue", "reply": 'No. {"verdict": "inaccurate"}'},
        {"contains": "verdict", "reply": 'Yes. {"verdict": "accurate"}'},
        {"contains": "rating", "reply": 'It does. {"rating": "no issues"}'},
    ])  # fmt: skip
    folders = []
    for name, answer in (("honest", "It is as the document says."), ("dreamer", "All bananas are blue.")):
        model = script(tmp_path / f"{name}.json", [], {"reply": answer})
        folders.append(str(tmp_path / f"run-{name}"))
        done = command_here(
            capsys, "facts", "run", "--data", "facts_mini", "--limit", "4", "--model", model, "--judge", judge,
            "--template", "response", "--out", folders[-1],
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    done = command_here(capsys, "facts", "rank", *folders, "--out", str(tmp_path / "ranked"))
    assert done.returncode == 0, done.stderr
    kept = json.loads((tmp_path / "ranked" / "rank.json").read_text(encoding="utf-8"))
    told = [(one["rank"], one["model"][-12:], one["final"]["value"]) for one in kept["models"]]
    assert told == [(1, "/honest.json", 1.0), (2, "dreamer.json", 0.0)]
    other = str(tmp_path / "other")
    command_here(
        capsys, "facts", "run", "--data", "facts_mini", "--limit", "4", "--model", "scripted:" + str(tmp_path / "honest.json"),
        "--judge", judge, "--template", "simpleqa", "--out", other,
    )  # fmt: skip
    done = command_here(capsys, "facts", "rank", folders[1], other)
    assert done.returncode == 2
    assert ': "simpleqa", in' in done.stderr
