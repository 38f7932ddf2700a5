"""`truebench label`: blind sheets out, labels back, the corrected pass rate by hand, and when it is withheld."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.runs import command, command_here, row, script, write_jsonl
from truebench_hf.benchmarks.truebench.label import borrow, read, sample
from truebench_hf.benchmarks.truebench.labels import correction, read_labels, units
from truebench_hf.benchmarks.truebench.options import RunOptions
from truebench_hf.benchmarks.truebench.output import read_judged
from truebench_hf.benchmarks.truebench.run import run
from truebench_hf.errors import UserError
from truebench_hf.report.bias import bias_rows

# 100 instances with two criteria each: 120 are truly met ("alpha"), 80 are not ("beta"). The judge is wrong where the
# text says so: it passes 108 of the 120 (sensitivity 0.9) and fails 64 of the 80 (specificity 0.8), so 124 of 200 pass.
TEXTS = ["alpha"] * 108 + ["alpha wrong"] * 12 + ["beta"] * 64 + ["beta wrong"] * 16
JUDGE = {"alpha wrong": "FAIL", "alpha": "PASS", "beta wrong": "PASS", "beta": "FAIL"}


def made_run(tmp_path: Path, out: str = "run", reply: str = "Same answer") -> Path:
    """A judged run over the criteria above, each pair of instances mixing the kinds."""
    mixed = [TEXTS[(i * 37) % 200] for i in range(200)]
    pairs = [mixed[i : i + 2] for i in range(0, 200, 2)]
    texts = [[f"{text} n{i}-{j}" for j, text in enumerate(pair)] for i, pair in enumerate(pairs)]
    data = write_jsonl(tmp_path / "data.jsonl", [row(i, [(f"Prompt {i}", pair)]) for i, pair in enumerate(texts)])
    model = script(tmp_path / f"model-{out}.json", [{"contains": "Prompt", "reply": reply}])
    judge = script(tmp_path / "judge.json", [{"contains": "<criteria", "verdicts": JUDGE}])
    run(RunOptions(data=data, model=model, judge=judge, out=str(tmp_path / out)))
    return tmp_path / out


def truth(question: str) -> str:
    return "yes" if "alpha" in question else "no"


def filled(sheet: Path, answer: Callable[[str], str] = truth) -> Path:
    """The sheet with every answer filled in ("" for none), beside the empty one."""
    with sheet.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    done = sheet.with_name(f"{sheet.stem}-done.csv")
    with done.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows({**entry, "answer": answer(entry["question"])} for entry in rows)
    return done


def labelled(path: Path, n: int, answer: Callable[[str], str] = truth, **more: Any) -> list[str]:
    files = sample(str(path), n, ["A"], **more)
    return [str(filled(file, answer)) for file in files if file.suffix == ".csv"]


def test_sheets_are_blind_and_complete(tmp_path: Path) -> None:
    path = made_run(tmp_path)
    files = sample(str(path), 20, ["Ann", "Bo"], seed=3)
    assert sorted(file.name for file in files) == ["Ann.csv", "Ann.html", "Bo.csv", "Bo.html"]
    assert {file.parent for file in files} == {path / "sheets"}
    for file in files:
        text = file.read_text(encoding="utf-8-sig")
        assert text.count("Same answer") >= 20
        for secret in ("scripted", "model-run", "judge.json", "PASS", "FAIL"):
            assert secret not in text, f"{secret} would tell who answered or what the judge said"


def test_the_seed_settles_the_draw(tmp_path: Path) -> None:
    path = made_run(tmp_path)

    def drawn(seed: int, out: str) -> set[str]:
        (sheet, _) = sample(str(path), 30, ["A"], seed, str(tmp_path / out))
        with sheet.open(encoding="utf-8-sig", newline="") as file:
            return {entry["id"] for entry in csv.DictReader(file)}

    assert drawn(1, "one") == drawn(1, "again")
    assert drawn(1, "three") != drawn(2, "two")


def test_the_corrected_pass_rate_by_hand(tmp_path: Path) -> None:
    path = made_run(tmp_path)
    before = (path / "judgments.jsonl").read_bytes()
    report, among = read(str(path), labelled(path, 200))
    found = report.bias_corrected["rogan_gladen"]
    assert found["observed"] == pytest.approx(0.62)
    assert (found["sensitivity"], found["specificity"]) == (pytest.approx(0.9), pytest.approx(0.8))
    assert found["youden_j"] == pytest.approx(0.7)
    assert found["estimate"] == pytest.approx(0.6), "(0.62 + 0.8 - 1) / 0.7"
    low, high = found["ci95"]
    # With independent rows the variance is [0.62 x 0.38 / 200 + 0.4^2 x 0.16 / 80 + 0.6^2 x 0.09 / 120] / 0.49.
    assert low <= 0.6 - 1.96 * 0.0604 + 1e-3
    assert high >= 0.6 + 1.96 * 0.0604 - 1e-3
    powered = report.bias_corrected["prediction_powered"]
    assert powered["estimate"] == pytest.approx(0.6), "everything is labelled"
    assert (among.items, among.raw) == (200, None)
    assert (path / "judgments.jsonl").read_bytes() == before
    kept = json.loads((path / "scores.json").read_text())
    assert kept["bias_corrected"]["rogan_gladen"]["estimate"] == found["estimate"]
    page = (path / "report.html").read_text(encoding="utf-8")
    assert "What human labels say about the judge" in page
    assert "60.00 %, 95 % interval" in page


def test_a_sample_gives_an_interval_that_holds_the_truth_and_stays_with_the_run(tmp_path: Path) -> None:
    path = made_run(tmp_path)
    report, _ = read(str(path), labelled(path, 150, seed=1))
    for name in ("rogan_gladen", "prediction_powered"):
        low, high = report.bias_corrected[name]["ci95"]
        assert low < 0.6 < high
        assert low < report.bias_corrected[name]["estimate"] < high
    assert report.bias_corrected["labels"] == 150
    again = made_run(tmp_path)  # the same command once more: nothing is asked, the correction is still there
    assert json.loads((again / "scores.json").read_text())["bias_corrected"]["labels"] == 150


def test_too_few_labels_withhold_the_correction_and_say_why(tmp_path: Path) -> None:
    path = made_run(tmp_path)
    report, _ = read(str(path), labelled(path, 20))
    found = report.bias_corrected["rogan_gladen"]
    assert (found["estimate"], found["ci95"]) == (None, None)
    assert "30 of each are needed" in found["withheld"]
    assert "30 are needed" in report.bias_corrected["prediction_powered"]["withheld"]
    assert found["youden_j"] is not None
    assert "withheld: " in (path / "report.html").read_text(encoding="utf-8")


def test_a_judge_that_knows_nothing_is_not_corrected(tmp_path: Path) -> None:
    path = made_run(tmp_path)
    # People who answer by the number in the text: unrelated to the judge's verdicts.
    coin = {text: ("yes", "no")[sum(map(ord, text)) % 2] for text in (f"n{i}-{j}" for i in range(100) for j in (0, 1))}
    report, _ = read(str(path), labelled(path, 200, lambda question: coin[question.split()[-1]]))
    found = report.bias_corrected["rogan_gladen"]
    assert found["estimate"] is None
    assert "Youden's J" in found["withheld"]
    assert report.bias_corrected["prediction_powered"]["estimate"] is not None, "which needs no model of the errors"


def test_labels_of_other_answers_show_the_judge_and_withhold_the_correction(tmp_path: Path) -> None:
    first, other = made_run(tmp_path), made_run(tmp_path, "other", "Another answer")
    read(str(first), labelled(first, 200))
    report = borrow(str(other), str(first / "labels.jsonl"))
    assert report.bias_corrected["labels_from_run"] is False
    found = report.bias_corrected["rogan_gladen"]
    assert found["youden_j"] == pytest.approx(0.7)
    assert (found["observed"], found["estimate"]) == (pytest.approx(0.62), None)
    assert "other models' answers" in found["withheld"]
    powered = report.bias_corrected["prediction_powered"]
    assert (powered["estimate"], powered["withheld"]) == (None, found["withheld"])
    assert borrow(str(first), str(first)).bias_corrected["labels_from_run"] is True, "its own labels are no loan"


def test_sheets_of_another_run_are_refused(tmp_path: Path) -> None:
    first, other = made_run(tmp_path), made_run(tmp_path, "other", "Another answer")
    with pytest.raises(UserError, match="not among the answers"):
        read(str(other), labelled(first, 5))


def test_annotators_who_disagree_leave_a_criterion_open_until_it_is_decided(tmp_path: Path) -> None:
    path = made_run(tmp_path)
    sheets = [file for file in sample(str(path), 40, ["A", "B"]) if file.suffix == ".csv"]
    odd = filled(sheets[1], lambda question: "no" if "alpha" in question and "-0" in question else truth(question))
    report, among = read(str(path), [str(filled(sheets[0])), str(odd)])
    open_ = [entry for entry in read_labels(path / "labels.jsonl") if entry["label"] is None]
    assert open_
    assert report.bias_corrected["rogan_gladen"]["unusable"] == report.bias_corrected["ties"] == len(open_)
    shown = dict(bias_rows(report.bias_corrected))
    assert shown["Left out"].startswith(f"{len(open_)} on which annotators disagree")
    assert "--decisions" in shown["Left out"]
    assert among.raw == pytest.approx(1 - len(open_) / 40)
    judge = filled(sheets[0]).with_name("chief.csv")
    judge.write_text(filled(sheets[0]).read_text(encoding="utf-8").replace(",A,", ",Chief,"), encoding="utf-8")
    report, _ = read(str(path), [str(filled(sheets[0])), str(odd)], [str(judge)])
    assert "Left out" not in dict(bias_rows(report.bias_corrected))
    assert not [entry for entry in read_labels(path / "labels.jsonl") if entry["label"] is None]


def test_labels_add_up_over_several_samples(tmp_path: Path) -> None:
    path = made_run(tmp_path)
    read(str(path), labelled(path, 30, seed=1, out=str(tmp_path / "s1")))
    report, _ = read(str(path), labelled(path, 30, seed=2, out=str(tmp_path / "s2")))
    names = {entry["id"] for entry in read_labels(path / "labels.jsonl")}
    assert 30 < len(names) <= 60
    assert report.bias_corrected["labels"] == len(names)


def two_sheets(path: Path, n: int) -> tuple[Path, Path]:
    """The empty CSV sheets of two annotators on the same criteria."""
    one, two = (file for file in sample(str(path), n, ["A", "B"]) if file.suffix == ".csv")
    return one, two


def stored(path: Path) -> dict[str, Any]:
    return {entry["id"]: entry for entry in read_labels(path / "labels.jsonl")}


def number(question: str) -> int:
    """The number of the instance that a question is about."""
    return int(question.split()[-1][1:].split("-")[0])


def test_a_half_filled_sheet_of_a_second_annotator_wipes_nothing(tmp_path: Path) -> None:
    path = made_run(tmp_path)
    one, two = two_sheets(path, 200)
    read(str(path), [str(filled(one))])
    before = stored(path)

    def three(question: str) -> str:
        right = truth(question)
        wrong = "no" if right == "yes" else "yes"
        return {"n0-0": right, "n0-1": right, "n1-0": wrong}.get(question.split()[-1], "")

    report, among = read(str(path), [str(filled(two, three))])
    after = stored(path)
    assert set(after) == set(before)
    changed = [name for name in after if after[name]["label"] != before[name]["label"]]
    assert [after[name]["label"] for name in changed] == [None], "A and B differ on one, which is open now"
    assert after[changed[0]]["how"] == "tie"
    assert sum(len(entry["annotations"]) for entry in after.values()) == 400, "197 blanks of B are kept as asked"
    assert (among.annotators, among.pairs, among.raw) == (("A", "B"), 3, pytest.approx(2 / 3))
    assert report.bias_corrected["rogan_gladen"]["unusable"] == 1


@pytest.mark.parametrize(
    ("second", "label", "how", "reason"),
    [
        ("", "yes", "single", "a blank of the same annotator takes nothing back"),
        ("no", "no", "single", "a changed mind counts"),
    ],
)
def test_a_sheet_read_again_changes_what_is_answered_anew(
    tmp_path: Path, second: str, label: str, how: str, reason: str
) -> None:
    path = made_run(tmp_path)
    (sheet,) = labelled(path, 10, lambda question: "yes")
    read(str(path), [sheet])
    read(str(path), [str(filled(path / "sheets" / "A.csv", lambda question: second))])
    assert {(entry["label"], entry["how"]) for entry in stored(path).values()} == {(label, how)}, reason


def test_what_was_decided_stays_decided_when_another_annotator_comes(tmp_path: Path) -> None:
    path = made_run(tmp_path)
    one, two = two_sheets(path, 10)
    chief = filled(one, lambda question: "no").rename(one.with_name("chief.csv"))
    read(str(path), [str(filled(one, lambda question: "yes"))], [str(chief)])
    read(str(path), [str(filled(two, lambda question: "yes"))])
    assert {(entry["label"], entry["how"]) for entry in stored(path).values()} == {("no", "decided")}
    read(str(path), [str(two)], [str(filled(two, lambda question: "yes"))])
    assert {entry["label"] for entry in stored(path).values()} == {"yes"}, "a newer decision counts"


def test_a_label_without_annotations_is_not_wiped_by_a_blank(tmp_path: Path) -> None:
    path = made_run(tmp_path)
    (sheet, _) = sample(str(path), 5, ["A"])
    names = [unit.id for unit in units(read_judged(path)[2])]
    write_jsonl(path / "labels.jsonl", [{"id": name, "label": "yes", "predicted": "yes"} for name in names])
    read(str(path), [str(sheet)])
    assert {entry["label"] for entry in stored(path).values()} == {"yes"}


def test_borrowed_labels_stand_beside_the_runs_own_and_enter_no_estimate(tmp_path: Path) -> None:
    first, other = made_run(tmp_path), made_run(tmp_path, "other", "Another answer")
    alone, _ = read(str(first), labelled(first, 200))
    read(str(other), labelled(other, 50, lambda question: "no" if number(question) % 2 else "yes"))
    report = borrow(str(first), str(other))
    assert len(stored(first)) == 250
    ours, theirs = alone.bias_corrected, report.bias_corrected
    for name in ("rogan_gladen", "prediction_powered", "labels", "labels_from_run"):
        assert theirs[name] == ours[name], "the estimates rest on the run's own labels alone"
    assert theirs["borrowed"]["n0"] + theirs["borrowed"]["n1"] == 50
    assert theirs["borrowed"]["youden_j"] < 0.6 < ours["rogan_gladen"]["youden_j"]
    assert ours["borrowed"] is None
    page = (first / "report.html").read_text(encoding="utf-8")
    assert "on borrowed labels" in page
    assert borrow(str(first), str(other)).bias_corrected == theirs, "borrowed twice is borrowed once"


def test_own_labels_correct_again_after_a_loan(tmp_path: Path) -> None:
    first, other = made_run(tmp_path), made_run(tmp_path, "other", "Another answer")
    read(str(first), labelled(first, 200))
    assert borrow(str(other), str(first)).bias_corrected["rogan_gladen"]["estimate"] is None
    report, _ = read(str(other), labelled(other, 200))
    assert report.bias_corrected["labels_from_run"] is True
    assert report.bias_corrected["rogan_gladen"]["estimate"] == pytest.approx(0.6)
    assert report.bias_corrected["prediction_powered"]["estimate"] == pytest.approx(0.6)


def test_a_loan_never_replaces_an_own_answer_and_an_empty_one_is_refused(tmp_path: Path) -> None:
    path = made_run(tmp_path)
    read(str(path), labelled(path, 40))
    before = stored(path)
    changed = [entry | {"label": None if i % 2 else "no"} for i, entry in enumerate(before.values())]
    borrow(str(path), write_jsonl(tmp_path / "lent.jsonl", changed))
    assert {name: entry["label"] for name, entry in stored(path).items()} == {
        name: entry["label"] for name, entry in before.items()
    }
    (tmp_path / "empty.jsonl").write_text("")
    with pytest.raises(UserError, match="holds no labels"):
        borrow(str(path), str(tmp_path / "empty.jsonl"))
    assert len(stored(path)) == 40


def test_score_prints_what_labels_say_but_not_in_the_official_protocol(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = made_run(tmp_path)
    assert "Youden" not in command_here(capsys, "score", str(path)).stdout, "there are no labels yet"
    read(str(path), labelled(path, 200))
    done = command_here(capsys, "score", str(path))
    assert done.returncode == 0, done.stderr
    for text in ("Corrected for the judge's errors", "60.00 %, 95 % interval", "Youden's J", "0.70"):
        assert text in done.stdout
    assert "Youden" not in command_here(capsys, "score", str(path), "--protocol", "official").stdout


def test_ids_name_one_criterion_of_one_answer(tmp_path: Path) -> None:
    first, other = made_run(tmp_path), made_run(tmp_path, "other", "Another answer")
    ours = [unit.id for unit in units(read_judged(first)[2])]
    theirs = [unit.id for unit in units(read_judged(other)[2])]
    assert len(set(ours)) == 200
    assert not set(ours) & set(theirs), "a label must not pass to another answer"


@pytest.mark.parametrize("n", [0, 201])
def test_more_than_there_is_or_nothing_is_refused(tmp_path: Path, n: int) -> None:
    with pytest.raises(UserError, match="200 decided criteria"):
        sample(str(made_run(tmp_path)), n, ["A"])


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="not the folder of a judged run"):
        sample(str(tmp_path), 1, ["A"])


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        ("nonsense", "cannot be read as labels"),
        ('{"id": "a", "label": "maybe", "predicted": "yes"}', "must be yes, no or null"),
        ('{"id": "a", "label": "yes"}', "cannot be read as labels"),  # no verdict it could be held against
        ('{"id": "a", "label": "yes", "predicted": "no"}\n' * 2, "stands twice"),
        ('{"id": "a", "label": "yes", "predicted": "no", "annotations": ["A"]}', "cannot be read as labels"),
    ],
)
def test_a_broken_label_file_is_named(tmp_path: Path, content: str, shown: str) -> None:
    (tmp_path / "labels.jsonl").write_text(content)
    with pytest.raises(UserError, match=shown):
        read_labels(tmp_path / "labels.jsonl")


def test_without_labels_there_is_nothing_to_say() -> None:
    assert correction([], []) == {}


def test_the_commands(tmp_path: Path) -> None:
    path = made_run(tmp_path)
    done = command("label", "sample", str(path), "--n", "150", "--annotators", "A", "--seed", "4")
    assert done.returncode == 0, done.stderr
    assert str(path / "sheets" / "A.html") in done.stdout
    done = command("label", "read", str(path), str(filled(path / "sheets" / "A.csv")))
    assert done.returncode == 0, done.stderr
    assert "Corrected for the judge's errors" in done.stdout
    assert "Youden's J" in done.stdout
    done = command("label", "read", str(path))
    assert done.returncode == 2
    assert "--labels" in done.stderr
