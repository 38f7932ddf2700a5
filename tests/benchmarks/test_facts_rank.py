"""Joining finished runs and ranking their models, and the ranks that the FACTS Grounding paper prints."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import mean
from typing import Any

import pytest

from tests.support.corpus import each_row
from tests.support.runs import write_jsonl
from truebench_hf.benchmarks.facts import rank as paper
from truebench_hf.benchmarks.facts import rank as ranks
from truebench_hf.benchmarks.facts.rank import rank
from truebench_hf.errors import UserError
from truebench_hf.metrics.intervals import wilson
from truebench_hf.metrics.ranks import fused_rank
from truebench_hf.report.table import Table, paper_rows

JUDGE = {"template": "json", "eligibility": "request", "identity": {"provider": "scripted"}, "prompts": {"p": "1"}}
Shares = Mapping[str, tuple[float | None, float | None]]  # of each judge: unadjusted and final
Folder = Callable[..., str]


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


def made(path: Path) -> Folder:
    """Makes the folder of a finished run below a path as `facts run` leaves it; `changed` are other facts of its judging."""

    def write(
        model: str, splits: dict[str, Shares], name: str = "", /, *, count: int = 100, info: Any = None, **changed: Any
    ) -> str:
        place = path / (name or model.replace(":", "_").replace(" ", "_"))
        place.mkdir()
        judging = {
            "model": model, "judges": {judge: dict(JUDGE) for judge in next(iter(splits.values()))},
            "baseline": {"name": "given", "sha256": "b" * 64}, "documents": {split: split * 8 for split in {"", *splits}},
        } | changed  # fmt: skip
        write_jsonl(
            place / "verdicts.jsonl", [row for s, judges in splits.items() for row in verdicts(s, judges, count)]
        )
        content = {"kind": "facts", "format": 1, "sessions": [{"started": "x", "finished": "y"}], "judging": judging}
        (place / "run.json").write_text(json.dumps(content | (info or {})), encoding="utf-8")
        return str(place)

    return write


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return made(tmp_path)


def one(unadjusted: float | None, final: float | None) -> dict[str, Shares]:
    """The shares of one judge on all answers."""
    return {"": {"j": (unadjusted, final)}}


def table(ranking: Any, name: str) -> Table:
    return next(table for table in ranks.tables(ranking) if table.name == name)


def test_runs_on_one_split_by_one_judge(folder: Folder) -> None:
    ranking = rank([folder("m1", one(0.9, 0.6)), folder("m2", one(0.9, 0.8))])
    assert [(row["model"], row["rank"], row["moved"], row["effect"]) for row in ranking.places] == [
        ("m2", 1, "0", pytest.approx(-0.1)),
        ("m1", 2, "-1", pytest.approx(-0.3)),  # both were first before
    ]
    first = ranking.places[0]
    assert (first["final"].ci95, first["span"], first["ineligible"]) == (wilson(80, 100), "1", 10)
    assert (ranking.preferences, ranking.splits) == ([], ("all answers",))
    alone = rank([folder("m", one(0.9, 0.8))])
    assert [(row["rank"], row["span"]) for row in alone.places] == [(1, "1")]
    undecided = rank([folder("x", one(None, None)), folder("n", one(0.5, 0.5))])
    assert [(row["model"], row["rank"], row["moved"]) for row in undecided.places] == [("n", 1, "0"), ("x", None, "-")]
    assert table(undecided, "models").texts[1][:4] == ("", "x", "-", "")
    assert "Without a rank, since a judge decided nothing there: x." in ranks.notes(undecided)
    assert "Answers that no judge decided, left out of the means: 100." in ranks.notes(undecided)


def test_the_splits_of_a_model_may_lie_in_two_folders(folder: Folder) -> None:
    high, low = {"j": (0.9, 0.8)}, {"j": (0.7, 0.6)}
    both = folder("n", {"open": low, "blind": low})
    folders = [folder("m", {"open": high}, "a"), folder("m", {"blind": low}, "b"), both]
    final = rank(folders).places[0]["final"]
    assert final.value == pytest.approx(0.7)
    # Of two independent samples: the reach of the mean to either side is that of both, squared and added, halved.
    ends = [wilson(80, 100) or (0, 0), wilson(60, 100) or (0, 0)]
    reach = [((0.8 - ends[0][side]) ** 2 + (0.6 - ends[1][side]) ** 2) ** 0.5 / 2 for side in (0, 1)]
    assert final.ci95 == pytest.approx((0.7 - reach[0], 0.7 + reach[1]))
    partly = rank(folders[::2])
    assert (partly.splits, partly.left_out) == (("open",), ("blind",))
    assert "Not ranked on blind, which some models lack." in ranks.notes(partly)


def test_a_span_rests_on_differences_answer_by_answer(folder: Folder) -> None:
    """Two close models are told apart where one is right wherever the other is, and not where their answers differ."""
    right = {"good": range(70), "other": range(60), "mixed": range(35, 100)}
    folders = []
    for name, numbers in right.items():
        folders.append(folder(name, one(0.6, 0.6)))
        write_jsonl(Path(folders[-1]) / "verdicts.jsonl", [
            {"id": str(n), "document": str(n), "split": "", "ineligible": n == 99,
             "grounded": {"j": "yes" if n in numbers else "no"}} for n in range(100)
        ])  # fmt: skip
    spans = {row["model"]: row["span"] for row in rank(folders).places}
    assert spans == {"good": "1-2", "other": "2-3", "mixed": "1-3"}


def test_a_judge_prefers_its_own_model_or_else_its_family(folder: Folder) -> None:
    judges = ("openai:gpt-4o", "openai:claude-4")
    rows = {"openai:gpt-4o": (0.8, 0.7), "openai:gpt-5": (0.6, 0.6), "hf:claude-tiny": (0.5, 0.6), "x": (0.4, 0.4)}
    folders = [
        folder(model, {"": {judge: (value, value) for judge, value in zip(judges, row, strict=True)}})
        for model, row in rows.items()
    ]
    gpt, claude = rank(folders).preferences
    assert (gpt["own"], gpt["by"]) == ("openai:gpt-4o", "model")  # gpt-5 is one of the others
    assert gpt["final"].value == pytest.approx(0.1 - mean((0, -0.1, 0)))
    assert (claude["own"], claude["by"]) == ("hf:claude-tiny", "family")
    assert claude["final"].value == pytest.approx(0.1 - mean((-0.1, 0, 0)))
    # Both judges pass the first 50 of 100 answers of either model; the first passes 20 more of its own.
    shares = {"openai:gpt-4o": 0.7, "x": 0.5}
    ranking = rank([
        folder(model, {"": {judges[0]: (share, share), judges[1]: (0.5, 0.5)}}, f"two {model[:1]}")
        for model, share in shares.items()
    ])  # fmt: skip
    (row,) = ranking.preferences
    assert (row["judge"], row["to_own"], row["to_others"]) == (judges[0], pytest.approx(0.2), 0.0)
    low, high = row["final"].ci95
    assert 0.11 < low < 0.15  # a share of 20 of 100 by itself
    assert 0.25 < high < 0.29
    assert table(ranking, "self_preference").texts[0][6].startswith("+1")


@each_row(__file__, "facts_rank", "unalike")
def test_runs_that_do_not_go_together_are_refused_in_one_line(
    folder: Folder, change: dict[str, Any], words: str
) -> None:
    splits = {"open": {"j": (0.9, 0.8)}}
    folders = [folder("m", splits, "first"), folder("n", splits, "second", **change)]
    with pytest.raises(UserError, match=words) as caught:
        rank(folders)
    assert "second" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_folders_without_a_finished_run_are_refused(folder: Folder, tmp_path: Path) -> None:
    bare, garbled = folder("a", one(0.9, 0.8)), folder("d", one(0.9, 0.8))
    (Path(bare) / "verdicts.jsonl").unlink()
    (Path(garbled) / "verdicts.jsonl").write_text('{"id": "a"}\n', encoding="utf-8")
    other = "holds a study of kind run; give the --out of `truebench facts run`"
    apart = [folder("f", {"open": {"j": (0.9, 0.8)}}), folder("g", {"blind": {"j": (0.9, 0.8)}})]
    for paths, words in (
        ([str(tmp_path / "nowhere")], "no such folder"), ([], "no run folders"),
        ([folder("b", one(0.9, 0.8), info={"kind": "run"})], other),
        ([folder("c", one(0.9, 0.8), info={"sessions": [{"started": "x", "finished": None}]})], "is not finished"),
        ([folder("e", one(0.9, 0.8), info={"judging": {}})], "run.json does not say how it was judged"),
        ([bare], r"verdicts\.jsonl"), ([garbled], r"verdicts\.jsonl: cannot be read"),
        (apart, "no split is there for every model: there are open, blind"),
    ):  # fmt: skip
        with pytest.raises(UserError, match=words):
            rank(paths)


# The paper's figures, computed from as few of them as determine the rest


TABLES = (paper.BEFORE, paper.AFTER)


@pytest.mark.parametrize("table", TABLES)
def test_means_and_half_widths_as_printed(table: int) -> None:
    from statsmodels.stats.proportion import proportion_confint

    for row in paper_rows("facts", table):
        scores = paper.paper_scores(table)[row["Response Model"]]
        # Six figures rounded to a tenth, and their mean is: a tenth is the most that rounding explains.
        assert mean(scores.values()) == pytest.approx(row["Average"], abs=0.1 + 1e-9)
        sizes = {f"{split}/{judge}": paper.SPLITS[split] for split, judge in scores}
        for name, n in {**sizes, "Average": sum(paper.SPLITS.values())}.items():
            low, high = proportion_confint(row[name] / 100 * n, n, method="normal")  # Wald's, as the paper has it
            assert 50 * (high - low) == pytest.approx(row[f"{name}/ci95"], abs=0.05), (row["Response Model"], name)


def test_a_ring_is_named(folder: Folder) -> None:
    columns = {"a": (3, 1, 2), "b": (2, 3, 1), "c": (1, 2, 3)}
    ranking = rank([
        folder(model, {"": {f"j{i}": (0.1 * value, 0.1 * value) for i, value in enumerate(row)}})
        for model, row in columns.items()
    ])  # fmt: skip
    assert ranking.fused.cycles == (("a", "b", "c"),)
    assert any("a, b, c form a Condorcet cycle" in note for note in ranks.notes(ranking))


@pytest.mark.parametrize("table", TABLES)
def test_fused_ranks_as_printed(table: int) -> None:
    scores: dict[str, list[float | None]] = {model: [*row.values()] for model, row in paper.paper_scores(table).items()}
    found = fused_rank(scores)
    assert found.ranks == {row["Response Model"]: row["Fused Rank"] for row in paper_rows("facts", table)}
    assert found.cycles == ()
    assert len(found.tied) == 2  # pairs that win three rankings each: without a rule for ties there is no order
    without_means = {model: [*row, 50 - (sum(row) / 6)] for model, row in scores.items()}  # type: ignore[arg-type]
    assert fused_rank(without_means).ranks != found.ranks
