"""`truebench label` on runs: sheets out, labels back, the pass rate they set right by hand, and when it is withheld."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.people import read, rows_of, sample, write_sheet
from tests.support.runs import command_here, row, script, write_jsonl
from tests.support.stages import run
from truebench_hf.benchmarks.truebench.data import RunOptions
from truebench_hf.benchmarks.truebench.labels import correction, questions, read_labels, read_sample
from truebench_hf.benchmarks.truebench.results import read_run
from truebench_hf.benchmarks.truebench.tables import human_labels
from truebench_hf.errors import UserError

# 100 instances with two criteria each: 120 are truly met ("alpha"), 80 are not ("beta"). The judge is wrong where the
# text says so: it passes 108 of the 120 and fails 64 of the 80. Of the instances it passes 44, 36 of them rightly, and
# fails 56, 6 of them wrongly: 42 truly pass.
TEXTS = ["alpha"] * 108 + ["alpha wrong"] * 12 + ["beta"] * 64 + ["beta wrong"] * 16
VERDICTS = {"alpha wrong": "FAIL", "alpha": "PASS", "beta wrong": "PASS", "beta": "FAIL"}
MIXED = [TEXTS[(i * 37) % 200] for i in range(200)]
PAIRS = [[f"{text} n{i // 2}-{j}" for j, text in enumerate(MIXED[i : i + 2])] for i in range(0, 200, 2)]
TRULY_PASS = [i for i, pair in enumerate(PAIRS) if all("alpha" in text for text in pair)]
Answer = Callable[[str], str]


def judged_run(folder: Path, ask: str = "Prompt", pairs: list[list[str]] = PAIRS) -> Path:
    """A judged run over such criteria; another `ask` gets other answers."""
    data = write_jsonl(folder / "data.jsonl", [row(i, [(f"{ask} {i}", pair)]) for i, pair in enumerate(pairs)])
    model = script(folder / "model.json", [{"contains": ask, "reply": f"Same answer to {ask}"}])
    unread = {"contains": ["<criteria", "gamma"], "reply": "I cannot tell."}
    judge = script(folder / "judge.json", [unread, {"contains": "<criteria", "verdicts": VERDICTS}])
    run(RunOptions(data=data, model=model, judge=(judge,), out=str(folder / "run")))
    return folder / "run"


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return judged_run(tmp_path_factory.mktemp("judged"))


@pytest.fixture
def path(once: Path, tmp_path: Path) -> Path:
    """A copy of the same run, for one test."""
    return Path(shutil.copytree(once, tmp_path / "run"))


def number(question: str) -> int:
    """The number of the instance that a question is about."""
    return int(question.split()[-1][1:].split("-")[0])


def truth(question: str) -> str:
    return "yes" if "alpha" in question else "no"


def half(question: str) -> str:
    """The first criterion of an instance only."""
    return "" if question.endswith("-1") else truth(question)


def odd(question: str) -> str:
    """Wrong on every first criterion that is met."""
    return "no" if "alpha" in question and "-0" in question else truth(question)


def filled(sheet: Path, answer: Answer = truth, *, stop: bool = False) -> Path:
    """A filled-in copy beside the empty sheet; with `stop` an instance is left after its first no."""
    entries, settled = rows_of(sheet), set[str]()
    for entry in entries:
        instance = entry["id"].split("-")[0]
        entry["answer"] = "" if stop and instance in settled else answer(entry["question"])
        settled |= {instance} if entry["answer"] == "no" else set()
    return Path(write_sheet(sheet.with_name(f"{sheet.stem}-done.csv"), entries))


def sheets(path: Path, n: int | None, names: str = "A", **more: Any) -> list[Path]:
    """The empty CSV sheets of annotators on the same sample."""
    return [file for file in sample(str(path), n, names.split(), **more) if file.suffix == ".csv"]


def labelled(path: Path, n: int | None, answer: Answer = truth, *, stop: bool = False, **more: Any) -> dict[str, Any]:
    """What the labels of one annotator say of the run."""
    (sheet,) = sheets(path, n, **more)
    return dict(read(str(path), [str(filled(sheet, answer, stop=stop))])[0].bias_corrected)


def drawn(path: Path) -> dict[str, Any]:
    return json.loads((path / "sample.json").read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def stored(path: Path) -> dict[str, Any]:
    return {entry["id"]: entry for entry in read_labels(path)[0]}


def said(correction: Mapping[str, Any]) -> str:
    """All that a report says beside the figures of human labels."""
    return "\n".join(str(line["how"]) for line in human_labels(correction).rows)


# Out.


def test_a_larger_sample_holds_the_smaller_and_asks_for_the_rest(path: Path) -> None:
    labelled(path, 20, seed=1, stop=True)
    few = set(drawn(path)["drawn"])
    (rest,) = sheets(path, 45, seed=1, out=str(path / "more"), unlabelled=True)
    many = drawn(path)
    assert (len(few), few < set(many["drawn"]), len(many["drawn"])) == (20, True, 45)
    assert {entry["id"].split("-")[0] for entry in rows_of(rest)} == set(many["drawn"]) - few
    assert read(str(path), [str(filled(rest))])[0].bias_corrected["labels"] == 45
    assert many["strata"] == {"pass": {"n": 44, "drawn": 20}, "fail": {"n": 56, "drawn": 25}}
    assert Counter(many["drawn"].values()) == {"pass": 20, "fail": 25}
    with pytest.raises(UserError, match="all 45 instances of this sample have answers; raise --n"):
        sample(str(path), 45, ["A"], 1, str(path / "none"), unlabelled=True)


def test_the_seed_settles_the_draw_and_samples_add_up(path: Path) -> None:
    out = {name: str(path / name) for name in ("one", "again", "two")}
    files = {name: sheets(path, 30, seed=seed, out=out[name])[0] for name, seed in zip(out, (1, 1, 2), strict=True)}
    one, again, two = ({entry["id"].split("-")[0] for entry in rows_of(file)} for file in files.values())
    assert one == again != two
    assert set(drawn(path)["drawn"]) == one | two
    by_labels = read(str(path), [str(filled(files[name])) for name in ("one", "two")])[0].bias_corrected
    low, high = by_labels["ci95"]
    assert low < 0.42 < high
    assert by_labels["labels"] == len(one | two) < by_labels["effective_labels"], (
        "a judge who knows something of the rest"
    )
    kept = read_sample(path)
    assert kept is not None
    assert sum(kept.weight(name) for name in kept.drawn) == pytest.approx(100)


def test_more_than_there_is_or_nothing_is_refused(once: Path) -> None:
    for n, message in ((101, "ask for 1 to 100"), (0, "--n 0: must be at least 1")):
        with pytest.raises(UserError, match=message):
            sample(str(once), n, ["A"])


# Back, by one annotator.


def test_the_pass_rate_of_instances_by_hand(path: Path) -> None:
    before = (path / "judgments.jsonl").read_bytes()
    whole = labelled(path, None)
    assert (whole["observed"], whole["n"], whole["labels"], whole["withheld"]) == (0.44, 100, 100, None)
    assert whole["estimate"] == pytest.approx(0.42)
    assert whole["effective_labels"] == pytest.approx(100, rel=1e-3), "everything is labelled"
    assert [(s["name"], s["n"], s["labelled"], s["share"]) for s in whole["strata"]] == [
        ("pass", 44, 44, pytest.approx(36 / 44)), ("fail", 56, 56, pytest.approx(6 / 56))
    ]  # fmt: skip
    assert (path / "judgments.jsonl").read_bytes() == before
    (kept,) = json.loads((path / "bias_corrected.json").read_text(encoding="utf-8")).values()
    assert kept["estimate"] == whole["estimate"]
    assert "as good as 100 labels on a simple random sample" in said(whole)


def few(question: str) -> str:
    return truth(question) if number(question) < 50 else ""


def five_open(question: str) -> str:
    return half(question) if number(question) in TRULY_PASS[:5] else truth(question)


@pytest.mark.parametrize(
    ("n", "answer", "stop", "figures", "words", "why"),
    [
        (None, truth, True, {"estimate": pytest.approx(0.42), "unanswered": 0}, "", "one no settles an instance"),
        (9, truth, False, {"estimate": None}, "withheld: 9 labelled instances, 10 are needed", "too few"),
        (100, few, False, {"withheld": None, "unanswered": 50, "partly": 0}, "50 of 100 drawn", "as if not drawn"),
        (60, half, False, {"estimate": None, "ci95": None}, "labelled instances are open", "only failures are settled"),
        (None, five_open, False, {"partly": 5, "withheld": None, "effective_labels": None},
         "the interval holds whatever the open ones are", "a few widen the interval"),
    ],
)  # fmt: skip
def test_what_is_left_open(
    path: Path, n: int | None, answer: Answer, stop: bool, figures: dict[str, Any], words: str, why: str
) -> None:
    by_labels = labelled(path, n, answer, stop=stop)
    assert {name: by_labels[name] for name in figures} == figures, why
    assert words in said(by_labels), why
    assert ("as good as" in said(by_labels)) == (by_labels["effective_labels"] is not None)
    low, high = by_labels["bounds"] or by_labels["ci95"] or (0, 1)
    assert low < 0.42 < high, why


def test_what_is_half_answered_is_asked_again(path: Path) -> None:
    part = labelled(path, 60, half)
    assert f"{part['partly']} answered in part" in part["withheld"]
    (rest,) = sheets(path, 60, out=str(path / "rest"), unlabelled=True)
    assert len(rows_of(rest)) == 2 * part["partly"]
    whole = read(str(path), [str(filled(rest))])[0].bias_corrected
    assert (whole["withheld"], whole["bounds"], whole["labels"]) == (None, None, 60)


def test_undecided_instances_are_sampled_as_a_stratum_of_their_own(tmp_path: Path) -> None:
    path = judged_run(tmp_path, pairs=[[f"{t} gamma" for t in p] if i % 5 == 0 else p for i, p in enumerate(PAIRS)])
    by_labels = labelled(path, 50)
    assert drawn(path)["strata"]["undecided"] == {"n": 20, "drawn": 10}
    assert (by_labels["n"], by_labels["undecided"]) == (80, 20)
    assert by_labels["estimate"] == pytest.approx(sum(s["n"] / 100 * s["share"] for s in by_labels["strata"]))
    # Without their labels nothing is known about them, and so not about the run.
    rows, kept = read_labels(path)
    bare = correction(read_run(path), [r for r in rows if drawn(path)["drawn"][r["instance_id"]] != "undecided"], kept)
    assert (bare["estimate"], bare["ci95"]) == (None, None)
    assert "none of the 20 with the verdict undecided has a label; label at least one" in bare["withheld"]


def test_answers_that_broke_off_are_neither_sampled_nor_counted(tmp_path: Path) -> None:
    rows = [row(i, [(f"Prompt {i}", [f"alpha n{i}-0"]), (f"Stop {i % 3}", [f"alpha n{i}-1"])]) for i in range(30)]
    broken = [{"contains": "Prompt", "reply": "Well"}, {"contains": "Stop 0", "error": "gone"}]
    model = script(tmp_path / "model.json", [*broken, {"contains": "Stop", "reply": "Well"}])
    judge = script(tmp_path / "judge.json", [{"contains": "<criteria", "verdicts": VERDICTS}])
    path, data = tmp_path / "run", write_jsonl(tmp_path / "d.jsonl", rows)
    run(RunOptions(data=data, model=model, judge=(judge,), out=str(path)))
    by_labels = labelled(path, None)
    figures = [by_labels[name] for name in ("drawn", "n", "incomplete", "estimate")]
    assert figures == [20, 20, 10, 1.0]
    assert "10 instances to which the model gave no complete answer" in said(by_labels)


# Several annotators, and an adjudicator.


def test_ties_stay_open_until_an_adjudicator_settles_them(path: Path) -> None:
    one, two = sheets(path, 40, "A B")
    both = [str(filled(one)), str(filled(two, odd))]
    report, among = read(str(path), both)
    tied = report.bias_corrected
    # A lets an instance pass that B does not: where both see another criterion fail they agree on the instance.
    passing = sum(int(name) in TRULY_PASS for name in drawn(path)["drawn"])
    assert (tied["ties"], tied["labels"], among["raw"]) == (passing, 40 - passing, pytest.approx(1 - passing / 40))
    assert tied["estimate"] is None, "over those left 0 % would pass"
    assert tied["bounds"][0] < 0.02 < 0.42 < tied["bounds"][1]
    assert f"{passing} on which annotators disagree" in said(tied)
    with pytest.raises(UserError, match=r"all 40 instances of this sample have answers; .*`truebench label in --dec"):
        sample(str(path), 40, ["A", "B"], out=str(path / "both"), unlabelled=True)
    (chief,) = sheets(path, 40, "Chief", out=str(path / "chief"), unlabelled=True)
    assert len(rows_of(chief)) == 2 * passing
    report, among = read(str(path), both, [str(filled(chief))])
    settled = report.bias_corrected
    assert (settled["ties"], settled["labels"], settled["withheld"]) == (0, 40, None)
    assert among["raw"] == pytest.approx(1 - passing / 40), "a decision makes nobody agree"
    read(str(path), [str(filled(one, odd))])
    decided = [entry for entry in stored(path).values() if entry["how"] == "decided"]
    assert len(decided) == 2 * passing, "what was decided stays decided"
    read(str(path), [], [str(filled(chief, lambda question: "no"))])
    assert {entry["label"] for entry in stored(path).values() if entry["how"] == "decided"} == {"no"}, (
        "the newest counts"
    )


def test_a_half_filled_sheet_of_a_second_annotator_wipes_nothing(path: Path) -> None:
    one, two = sheets(path, 100, "A B")
    read(str(path), [str(filled(one))])
    before = stored(path)

    def three(question: str) -> str:
        wrong = "no" if truth(question) == "yes" else "yes"
        return {"n0-0": truth(question), "n0-1": truth(question), "n1-0": wrong}.get(question.split()[-1], "")

    report, among = read(str(path), [str(filled(two, three))])
    after = stored(path)
    assert set(after) == set(before)
    changed = [after[name] for name in after if after[name]["label"] != before[name]["label"]]
    assert [(entry["label"], entry["how"]) for entry in changed] == [(None, "tie")], "A and B differ on one"
    assert sum(len(entry["annotations"]) for entry in after.values()) == 400, "197 blanks of B are kept as asked"
    assert (among["annotators"], among["raw"]) == ("A, B", 0.5), "one no settles the second instance for B"
    assert (report.bias_corrected["ties"], report.bias_corrected["labels"]) == (1, 99)


# What does not belong, and the commands.


def test_sheets_of_another_run_or_of_a_lost_sample_are_refused(path: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = judged_run(tmp_path / "other", "Another", PAIRS[:12])
    mine = [question.id for item in read_run(path) for question in questions(item)]
    theirs = [question.id for item in read_run(other) for question in questions(item)]
    assert (len(set(mine)), set(mine) & set(theirs)) == (200, set()), "a label must not pass to another answer"
    (sheet,) = sheets(path, 12)
    labelled(other, 5)
    with pytest.raises(UserError, match=r"not among what .* asks"):
        read(str(other), [str(filled(sheet))])
    kept = drawn(path)
    (path / "sample.json").unlink()
    with pytest.raises(UserError, match=r"put the file back .* or draw again with the same --n and --seed"):
        read(str(path), [str(filled(sheet))])
    spoilt: list[Any] = [[], kept | {"unit": "criterion"}, kept | {"drawn": dict.fromkeys(kept["drawn"], "good")}]
    spoilt += [kept | {"strata": {"pass": {"n": 44, "drawn": count}}} for count in (0, -1, 1.5)]
    for content in spoilt:
        (path / "sample.json").write_text(json.dumps(content))
        with pytest.raises(UserError, match="cannot be read as a sample"):
            read(str(path), [str(filled(sheet))])
    (path / "sample.json").unlink()
    sheets(path, 12, out=str(path / "again"))
    assert read(str(path), [str(filled(sheet))])[0].bias_corrected["labels"] == 12


def test_what_is_lost_is_named(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sheets(path, 60, seed=4)
    filled(path / "sheets" / "A.csv")
    done = command_here(capsys, "label", "in", str(path))
    assert done.returncode == 0, "sheets/ is read: A-done.csv, and A.csv whose blanks replace nothing"
    shutil.rmtree(path / "sheets")
    lost = [("sample.json", "sample.json: is not there; put the file back"), ("labels.jsonl", "nobody was asked yet")]
    for file, message in lost:
        (path / file).unlink()
        done = command_here(capsys, "label", "in", str(path))
        assert (done.returncode, message in done.stderr) == (2, True)
