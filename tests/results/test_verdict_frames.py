"""Verdict frames, and finished folders: what scores take of a response is what its own verdicts say."""

from __future__ import annotations

import json
import math
import random
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pandas as pd
import pytest

from tests.support.runs import command_here
from truebench_hf.benchmarks.truebench.results import read_frames as read_runs_as_frames
from truebench_hf.benchmarks.truebench.results import read_run
from truebench_hf.benchmarks.truebench.scores import score
from truebench_hf.data.judged import Judged, by_instance, sample_name
from truebench_hf.data.records import judgment_lines
from truebench_hf.errors import UserError
from truebench_hf.metrics import pass_rate as rates
from truebench_hf.metrics.agreement import agreement
from truebench_hf.metrics.comparison import panel_worth
from truebench_hf.metrics.pass_rate import drfr, mean_share, pass_rate, pooled
from truebench_hf.metrics.preference import preference_from_scores
from truebench_hf.metrics.votes import flip_score, mean, share_score
from truebench_hf.metrics.votes import mean as mean_of
from truebench_hf.report.table import Column, Table
from truebench_hf.results.folder import Results
from truebench_hf.results.verdicts import frames_of, group_scores, ordered, read_frames, unit_means
from truebench_hf.types import Criterion, Instance, Label, Message, Response, Score, Turn, Usage, Verdict

LABELS: tuple[Label | None, ...] = ("yes", "yes", "no", "unknown", None)


def response(chance: random.Random, number: int, sample: int = 1) -> Judged:
    """A response of which everything that counts is drawn."""
    turns, answered = chance.randint(1, 3), chance.random() < 0.9
    verdicts = tuple(
        tuple(
            Verdict(
                Criterion(f"c{number}", weight=chance.choice((1.0, 1.0, 2.0, -1.0))), chance.choice(LABELS),
                chance.choice(("", "as it says", "why not")), chance.choice(("judge", "rules")), 0.5,
                tuple(chance.choices(LABELS, k=chance.choice((0, 3)))), chance.random() < 0.1,
            )
            for _ in range(chance.randint(0, 3))
        )
        for _ in range(turns)
    )  # fmt: skip
    asked = tuple(Turn(f"ask {i}", tuple(v.criterion for v in of)) for i, of in enumerate(verdicts))
    instance = Instance(f"q{number}", *(chance.choice(names) for names in (("KO", "EN", ""), "ab", ("", "t"))), asked)
    held = asked if answered else asked[:-1]
    messages = tuple(m for t in held for m in (Message("user", t.prompt), Message("assistant", "said")))
    error = None if answered else "no answer: down"
    cut = (1,) if held and chance.random() < 0.2 else ()
    spent = Usage(chance.randint(1, 9), 3, 2, 1)
    found = Response(instance.id, "model", messages, ("",) * len(held), spent, error, cut, sample)
    recorded = chance.choice((None, None, True, False))
    return Judged(instance, found, verdicts, {"model": spent, "judge": Usage(5, 4, 0, 2)}, recorded)


@pytest.fixture(scope="module")
def drawn() -> list[Judged]:
    """Responses to forty instances, three each, out of order."""
    chance = random.Random(3)
    items = [response(random.Random(i), i % 40, 1 + i // 40) for i in range(120)]
    chance.shuffle(items)
    return items


def written(folder: Path, items: list[Judged], judge: str = "judge") -> Path:
    file = folder / "judgments.jsonl"
    file.write_text("".join(judgment_lines(items, judge)), encoding="utf-8")
    return file


def test_frames_of_a_file_are_those_of_what_was_judged(drawn: list[Judged], tmp_path: Path) -> None:
    for items in (drawn, drawn[:1], [*drawn, *drawn[:7]]):
        of_file = read_frames(written(tmp_path, items), never)
        in_memory = frames_of((item, "judge") for item in items)
        for name in ("responses", "verdicts", "votes"):
            ours, theirs = getattr(of_file, name), getattr(in_memory, name)
            assert list(ours) == list(theirs), name
            for column in ours:
                assert plain(ours[column]) == plain(theirs[column]), (name, column)


def never() -> Iterator[tuple[Judged, str]]:
    raise AssertionError("pyarrow reads what we wrote")


def plain(column: Any) -> list[Any]:
    return [None if pd.isna(value) else value for value in column.tolist()]


def test_no_rows_and_no_verdicts_are_no_error() -> None:
    empty = frames_of([])
    assert (len(empty), list(empty.runs())) == (0, [])
    assert score(empty).scores["overall"] == Score(None, 0)
    bare = Judged(Instance("q", "", "", "", (Turn("ask", ()),)), Response("q", "m", ()), ((),))
    report = score([bare, replace(bare, instance=replace(bare.instance, id="r"))])
    assert report.scores["overall"] == Score(None, 0, 2)
    assert set(report.unscored.values()) == {"no criteria"}


@pytest.mark.parametrize("half", ["id", "category", "reason"])
def test_half_a_character_that_a_server_sent_ends_no_run(half: str) -> None:
    texts = {name: f"{name} \ud83d" if name == half else name for name in ("id", "category", "reason")}
    instance = Instance(texts["id"], "EN", texts["category"], "", (Turn("ask", (Criterion("c"),)),))
    verdict = Verdict(Criterion("c"), None, texts["reason"], "j")
    item = Judged(instance, Response(texts["id"], "m", (Message("user", "ask"),)), ((verdict,),))
    report = replace(score([item]), judged=[item])
    assert report.unscored == {texts["id"]: texts["reason"]}
    assert (report.verdicts["reason"].tolist(), len(report.failures)) == (
        [texts["reason"].replace("\ud83d", r"\ud83d")],
        0,
    )


def test_half_a_character_and_a_long_line_are_left_to_the_careful_reader(drawn: list[Judged], tmp_path: Path) -> None:
    criterion = Criterion("c")
    for text in ("half a \ud83d", "x" * (5 << 20)):
        instance = Instance("odd", "EN", "a", "t", (Turn(text, (criterion,)),))
        odd = Judged(
            instance, Response("odd", "model", (Message("user", text),)), ((Verdict(criterion, "yes", text),),)
        )
        lines = [line.replace("\ud83d", "\\ud83d") for line in judgment_lines([*drawn, odd], "judge")]
        file = tmp_path / "judgments.jsonl"
        file.write_text("".join(lines), encoding="utf-8")
        ((_, _, frames),) = read_runs_as_frames(file).runs()
        assert score(frames).scores == score([*drawn, odd]).scores


def _labels_and_weights(item: Judged) -> tuple[list[Label | None], list[float]]:
    verdicts = list(chain.from_iterable(item.verdicts))
    return [verdict.label for verdict in verdicts], [verdict.criterion.weight for verdict in verdicts]


def test_scores_are_those_of_the_responses_looked_at_one_by_one(drawn: list[Judged]) -> None:
    instances = by_instance(drawn)
    verdicts = [verdict for item in drawn for turn in item.verdicts for verdict in turn]
    languages = {item.instance.language for item in drawn} - {""}
    expected = {
        "overall": _over_instances([[item.passed for item in samples] for samples in instances]),
        "strict": _over_instances([[item.passed is True for item in samples] for samples in instances]),
        "official": _over_instances([[item.passed_officially for item in samples] for samples in instances]),
        "soft_criterion": _mean(instances, lambda item: rates.checklist_share(chain.from_iterable(item.outcomes))),
        "soft_turn": _mean(instances, lambda item: rates.turn_share(item.outcomes)),
        "weighted": _mean(instances, lambda item: rates.weighted_share(*_labels_and_weights(item))),
        "drfr": drfr([[x for item in of for turn in item.outcomes for x in turn] for of in instances]),
        "flip_rate": flip_score([verdict.votes for verdict in verdicts]),
        "vote_share": share_score([(verdict.votes, verdict.label) for verdict in verdicts]),
        "by_language": {
            name: _over_instances([
                of for samples in instances if (of := [i.passed for i in samples if i.instance.language == name])
            ])
            for name in languages
        },
        "multi_turn": _over_instances([[i.passed for i in of] for of in instances if len(of[0].verdicts) > 1]),
    }  # fmt: skip
    found = score(drawn)
    assert {name: found.scores[name] for name in expected} == expected
    assert found.unscored == {
        sample_name(*item.key, beside=True): item.undecided for item in drawn if item.passed is None
    }


def _over_instances(instances: Any) -> Score:
    return rates.pass_rate(map(mean, instances))


def _mean(instances: list[list[Judged]], share: Callable[[Judged], float | None]) -> Score:
    return rates.mean_share([mean([share(item) for item in samples]) for samples in instances])


def test_of_doubles_the_last_counts_at_the_place_of_the_first(drawn: list[Judged]) -> None:
    again = [response(random.Random(1000 + i), i, 1 + i % 2) for i in range(15)]
    once, left_out = frames_of((item, "") for item in [*drawn, *again]).without_doubles()
    assert left_out == 15
    last = {item.key: item for item in [*drawn, *again]}
    assert score(once) == score(last.values()) != score([*drawn, *again])


def test_what_stood_in_a_double_alone_counts_for_nothing() -> None:
    criterion = Criterion("is right", weight=2.0)
    item = Judged(Instance("q", "", "", "", (Turn("ask", (criterion,)),)), Response("q", "m", ()), ())
    first = replace(item, verdicts=((Verdict(criterion, "yes", votes=("yes", "no")),),))
    second = replace(item, verdicts=((Verdict(Criterion("is right"), "yes"),),))
    rows, doubled = frames_of([(first, ""), (second, "")]).without_doubles()
    assert doubled == 1
    assert not {"weighted", "flip_rate", "vote_share"} & score(rows).scores.keys()


def test_a_stored_run_has_the_scores_of_the_run(drawn: list[Judged], tmp_path: Path) -> None:
    ((model, judge, rows),) = read_runs_as_frames(written(tmp_path, drawn)).runs()
    assert (model, judge) == ("model", "judge")
    for made in ({}, {"protocol": "official"}, {"judging": {"rules": "decide", "level": "rubric"}}):
        ours, theirs = score(rows, provenance=made), score(drawn, provenance=made)
        assert (ours.scores, ours.unscored) == (theirs.scores, theirs.unscored)
    assert read_run(tmp_path / "judgments.jsonl") == drawn, "and the texts are still there for who asks for them"


def fat(rows: int, characters: int) -> Iterator[Judged]:
    """Responses whose texts are all long, and no two alike."""
    for number in range(rows):
        text = f"{number} ".ljust(characters, "x")
        verdicts = tuple(Verdict(Criterion(f"{c}{text}"), "yes", f"because {text}") for c in "abcd")
        turn = Turn(f"ask {text}", tuple(verdict.criterion for verdict in verdicts))
        messages = (Message("user", turn.prompt), Message("assistant", f"said {text}"))
        instance = Instance(f"q{number:05}", "EN", "Editing", "Rewrite", (turn,), context=text)
        yield Judged(instance, Response(instance.id, "model", messages, ("",)), (verdicts,))


def test_memory_hardly_grows_with_the_rows_of_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    few, many, characters = 50, 350, 3000
    peaks = []
    for rows in (few, many):
        file = tmp_path / f"{rows}.jsonl"
        file.write_text("".join(judgment_lines(fat(rows, characters), "judge")), encoding="utf-8")
        if not peaks:  # what is imported, and kept, is no row's
            command_here(capsys, "study", "score", str(file))
        tracemalloc.start()
        done = command_here(capsys, "study", "score", str(file))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert (done.returncode, f"{rows:,}" in done.stdout) == (0, True)
    grown = (peaks[1] - peaks[0]) / (many - few)
    assert grown < 1500, "bytes a row: one of its eleven texts takes twice as many"


def test_every_frame_of_a_report_is_a_data_set_of_the_hub() -> None:
    texts = ("half a \ud83d", "\udc00", "whole \U0001f600 ünd", "plain")
    items = [
        Judged(
            Instance(text, text, text, text, (Turn(text, (Criterion(text),)),)),
            Response(text, "m", (Message("user", text), Message("assistant", text))),
            ((Verdict(Criterion(text), label, text, "j"),),),
        )
        for text, label in zip(texts, ("no", "no", "no", "yes"), strict=True)
    ]  # fmt: skip
    for judged, rows in ((items, 4), ([], 0)):
        report = replace(score(judged), judged=judged)
        kept = datasets.Dataset.from_pandas(report.verdicts)
        assert (len(kept), len(datasets.Dataset.from_pandas(report.failures))) == (rows, max(rows - 1, 0))
        shown = [r"half a \ud83d", r"\udc00", texts[2], "plain"][:rows]
        for name in ("id", "category", "criterion", "reason", "prompt", "response"):
            assert list(kept[name]) == shown
    assert len(datasets.Dataset.from_pandas(score(items[2:]).to_pandas())) > 0


NAN = math.nan


def listed(values: np.ndarray) -> list[float | None]:
    return [None if math.isnan(value) else float(value) for value in values]


@pytest.mark.parametrize("size", [0, 1, 2, 9, 10, 11, 500])
def test_scores_are_those_of_the_metrics_on_plain_values(size: int) -> None:
    for seed in range(20):
        chance = random.Random(seed)
        passes = np.array([chance.choice((0.0, 1.0, 1.0, NAN)) for _ in range(size)])
        shares = np.array([chance.choice((0.0, 0.1, 0.3, 1.0, NAN)) for _ in range(size)])
        labels = [None if value is None else bool(value) for value in listed(passes)]
        assert pass_rate(passes) == pass_rate(labels)
        assert pass_rate(shares) == pass_rate(listed(shares)), "no share of units, but their mean"
        assert mean_share(shares) == mean_share(listed(shares))


def test_units_keep_the_order_of_their_first_rows_and_their_undecided_samples_count_for_nothing() -> None:
    values = np.array([1.0, NAN, 0.0, 1.0, NAN, 0.1])
    units = np.array(["q9", "q10", "q9", "a", "q10", "a"])
    found = unit_means(values, units)
    assert listed(found) == [0.5, None, mean_of([1.0, 0.1])], "ids are neither sorted nor numbers"
    assert listed(unit_means(np.array([]), np.array([]))) == []


def test_groups_are_in_the_order_given_and_missing_ones_make_none() -> None:
    keys = ["zebra", "KO", None, "EN", "apple", "KO"]
    found = group_scores(
        keys, np.array([1.0, 1.0, 0.0, NAN, 0.0, 0.0]), np.array(list("abcdef")), pass_rate, ("EN", "DE", "KO")
    )
    assert list(found) == ["EN", "KO", "apple", "zebra"] == ordered(["zebra", "apple", "KO", "EN"], ("EN", "DE", "KO"))
    assert (found["EN"], found["KO"].value) == (Score(None, 0, 1), 0.5)
    assert group_scores([], np.array([]), np.array([]), pass_rate) == {}


def test_a_pooled_share_has_no_interval_below_ten_units() -> None:
    assert pooled(np.array([1, 2]), np.array([2, 2]), 3) == Score(0.75, 4, 3)
    assert pooled(np.array([]), np.array([]), 0) == Score(None, 0)
    assert pooled(np.array([1, 0] * 6), np.array([2] * 12), 0).ci95 is not None


def test_a_folder_tells_what_ran_and_what_was_spent(tmp_path: Path) -> None:
    spent = {"model": {"input_tokens": 5, "output_tokens": 2, "reasoning_tokens": 0, "calls": 1, "unknown_calls": 0}}
    info = {"kind": "tick", "settings": {"model": "m"}, "usage": {"now": {}, "total": spent}}
    (tmp_path / "run.json").write_text(json.dumps(info))
    found = Results.open(tmp_path)
    assert (found.kind, found.settings, found.is_finished) == ("tick", {"model": "m"}, True)
    assert found.spent == {"model": Usage(5, 2, 0, 1)}


def test_what_is_no_folder_of_results_is_told(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is no run folder"):
        Results.open(tmp_path)
    with pytest.raises(UserError, match="no such folder"):
        Results.open(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("files", "found", "why"),
    [
        ({}, None, "nothing was judged"),
        ({"judgments.jsonl": "{}", "verdicts.jsonl": '{"messages": []}'}, "judgments.jsonl", "it goes first"),
        ({"verdicts.jsonl": '{"messages": []}'}, "verdicts.jsonl", "conversations of checklists and procedures"),
        ({"verdicts.jsonl": '{"label": "yes"}'}, None, "bare labels are no conversations"),
    ],
)
def test_the_file_of_judged_conversations(tmp_path: Path, files: dict[str, str], found: str | None, why: str) -> None:
    for name, content in files.items():
        (tmp_path / name).write_text(content + "\n")
    file = Results(tmp_path, {}).judged_file
    assert (file and file.name) == found, why


# What frames did wrong when results were first moved onto them


def verdicts(items: int, groups: int = 1) -> pd.DataFrame:
    """Three judges on items of which three are one cluster; each is right four times in five."""
    draw = random.Random(7)
    rows = []
    for number in range(items):
        gold = draw.choice(["yes", "no"])
        for judge in ("a", "b", "c"):
            label = gold if draw.random() < 0.8 else {"yes": "no", "no": "yes"}[gold]
            about = {"item": f"{number:03}", "cluster": f"{number // 3:03}", "group": f"{number % groups:03}"}
            rows.append({**about, "judge": judge, "gold": gold, "label": label, "probability": None})
    return pd.DataFrame(rows, dtype=object)


def test_a_pivot_that_sorts_its_ids_mixes_no_items() -> None:
    """Ids in the order of the data are 000, 001 ...; the same items under ids that sort the other way round."""
    frame = verdicts(90)
    turned = frame.assign(item=[f"{999 - int(name):03}" for name in frame["item"]])
    assert repr(panel_worth(turned)) == repr(panel_worth(frame))


def test_hundreds_of_groups_are_each_what_one_alone_is() -> None:
    frame = verdicts(900, groups=300)
    together = agreement(frame, ["group"], measures=("accuracy",)).to_dict("records")
    assert len(together) == 300
    for row in together[::50]:
        alone = agreement(frame[frame["group"] == row["group"]], measures=("accuracy",)).to_dict("records")[0]
        assert repr(row["accuracy"]) == repr(alone["accuracy"])


def test_a_judge_without_rows_in_a_split_is_no_row_of_another() -> None:
    frame = verdicts(40)
    frame["split"] = ["hard" if judge == "a" else "easy" for judge in frame["judge"]]
    rows = agreement(frame, ["split", "judge"], measures=("accuracy",)).to_dict("records")
    held = {(row["split"], row["judge"]): row["n"] for row in rows if row["n"]}
    assert held == {("hard", "a"): 40, ("easy", "b"): 40, ("easy", "c"): 40}


def test_equal_means_are_ties_whatever_their_last_digits() -> None:
    assert 0.1 + 0.2 != 0.3
    assert preference_from_scores(0.1 + 0.2, 0.3) == "tie"
    assert preference_from_scores(0.3 + 1e-9, 0.3) == "win"


def test_sums_are_those_of_python_where_a_tie_can_show() -> None:
    shares = [0.1] * 3 + [0.7, 0.2, 0.6060606060606061] * 40
    assert mean_share(np.array(shares)).value == sum(shares) / len(shares)


def test_a_name_of_the_data_may_be_that_of_a_column_of_ours() -> None:
    keys = ["Overall", "passed", "instance", "response"]
    assert list(group_scores(keys, np.ones(4), np.array(list("abcd")), pass_rate)) == sorted(keys)


@pytest.mark.parametrize("sessions", [[{"started": "now"}], [{"started": "now", "finished": None}], ["odd"]])
def test_one_that_was_broken_off_is_told(tmp_path: Path, sessions: list[object]) -> None:
    (tmp_path / "run.json").write_text(json.dumps({"sessions": sessions}))
    with pytest.raises(UserError, match="is not finished; repeat its command"):
        Results.open(tmp_path).check_finished()


def test_no_cell_is_a_number_that_json_has_not() -> None:
    columns = (Column("model", "Model"), Column("score", "%", "score"), Column("share", "share", "number"))
    rows = [{"model": "m", "score": Score(None, 0, 3), "share": float("nan")}, {"model": None, "score": None}]
    text = json.dumps(Table("scores", columns, rows).records(), allow_nan=False)
    assert json.loads(text)[0]["share"] is None
