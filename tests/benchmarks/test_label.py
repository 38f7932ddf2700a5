"""`truebench label`: blind sheets out, labels back, the pass rate they set right by hand, and when it is withheld."""

from __future__ import annotations

import csv
import json
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.people import read, sample
from tests.support.runs import command_here, row, script, write_jsonl
from tests.support.stages import run
from truebench_hf.benchmarks.truebench.data import RunOptions
from truebench_hf.benchmarks.truebench.labels import correction, questions, read_labels, read_sample
from truebench_hf.benchmarks.truebench.results import read_frames, read_run
from truebench_hf.benchmarks.truebench.tables import human_labels
from truebench_hf.cli import results
from truebench_hf.data.records import stamp
from truebench_hf.errors import UserError

# 100 instances with two criteria each: 120 are truly met ("alpha"), 80 are not ("beta"). The judge is wrong where the
# text says so: it passes 108 of the 120 and fails 64 of the 80. Of the instances it passes 44, 36 of them rightly, and
# fails 56, 6 of them wrongly: 42 truly pass.
TEXTS = ["alpha"] * 108 + ["alpha wrong"] * 12 + ["beta"] * 64 + ["beta wrong"] * 16
JUDGE = {"alpha wrong": "FAIL", "alpha": "PASS", "beta wrong": "PASS", "beta": "FAIL"}
MIXED = [TEXTS[(i * 37) % 200] for i in range(200)]
PAIRS = [[f"{text} n{i // 2}-{j}" for j, text in enumerate(MIXED[i : i + 2])] for i in range(0, 200, 2)]


made: dict[str, Path] = {}  # runs of this module by what they were made of


@pytest.fixture(scope="module", autouse=True)
def kept() -> Iterator[None]:
    with tempfile.TemporaryDirectory() as folder:
        made[""] = Path(folder)
        yield
    made.clear()


def corrected_in(folder: Path) -> dict[str, Any]:
    """What the labels of a lone model say, as its folder holds it."""
    (found,) = json.loads((folder / "bias_corrected.json").read_text(encoding="utf-8")).values()
    return dict(found)


def made_run(tmp_path: Path, out: str = "run", model: str = "model", ask: str = "Prompt", **more: Any) -> Path:
    """A judged run over the criteria above; another `model` answers otherwise, another `ask` asks for other answers.

    A copy where the same was made before; a folder that is there is run once more.
    """
    key = repr((out, model, ask, more))
    if (tmp_path / out).exists():
        return _run(tmp_path / out, out, model, ask, **more)
    if key not in made:
        made[key] = _run(made[""] / f"run-{len(made)}", out, model, ask, **more)
    return Path(shutil.copytree(made[key], tmp_path / out))


def _run(path: Path, out: str, model: str, ask: str, **more: Any) -> Path:
    texts, folder = more.pop("texts", PAIRS), made[""]
    rows = [row(i, [(f"{ask} {i}", pair)]) for i, pair in enumerate(texts)]
    answers = script(folder / f"{model}.json", [{"contains": ask, "reply": f"Same answer of {model[::-1]}"}])
    rules = [
        {"contains": ["<criteria", "gamma"], "reply": "I cannot tell."},
        {"contains": "<criteria", "verdicts": JUDGE},
        {"contains": "alpha", "probability": 0.9},
        {"contains": "beta", "probability": 0.2},
    ]
    judge = script(folder / "judge.json", rules)
    data = write_jsonl(folder / f"{out}.jsonl", rows)
    run(RunOptions(data=data, model=answers, judge=(judge,), out=str(path), **more))
    return path


def truth(question: str) -> str:
    return "yes" if "alpha" in question else "no"


def table(sheet: Path) -> list[dict[str, str]]:
    with sheet.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def filled(sheet: Path, answer: Callable[[str], str] = truth, *, stop: bool = False) -> Path:
    """The sheet with every answer filled in ("" for none), beside the empty one; with `stop` only up to the first no."""
    rows, settled = table(sheet), set[str]()
    for entry in rows:
        instance = entry["id"].split("-")[0]
        entry["answer"] = "" if stop and instance in settled else answer(entry["question"])
        if entry["answer"] == "no":
            settled.add(instance)
    done = sheet.with_name(f"{sheet.stem}-done.csv")
    with done.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return done


def labelled(
    path: Path, n: int | None = None, answer: Callable[[str], str] = truth, stop: bool = False, **more: Any
) -> list[str]:
    files = sample(str(path), n, ["A"], **more)
    return [str(filled(file, answer, stop=stop)) for file in files if file.suffix == ".csv"]


def drawn(path: Path) -> dict[str, Any]:
    return json.loads((path / "sample.json").read_text(encoding="utf-8"))


def test_sheets_are_blind_and_complete(tmp_path: Path) -> None:
    path = made_run(tmp_path)
    files = sample(str(path), 20, ["Ann", "Bo"], seed=3)
    assert sorted(file.name for file in files) == ["Ann.csv", "Ann.html", "Bo.csv", "Bo.html"]
    assert {file.parent for file in files} == {path / "sheets"}
    for file in files:
        text = file.read_text(encoding="utf-8-sig")
        assert text.count("Same answer") >= 40
        for secret in ("scripted", "model", "judge.json", "PASS", "FAIL", "stratum"):
            assert secret not in text.split("<script>")[0], f"{secret} would tell who answered or what the judge said"


def test_a_sheet_holds_whole_instances_criteria_in_order(tmp_path: Path) -> None:
    path = made_run(tmp_path)
    sheets = {file.stem: table(file) for file in sample(str(path), 20, ["Ann", "Bo"]) if file.suffix == ".csv"}
    orders = {}
    for name, entries in sheets.items():
        names = [entry["id"].rsplit("-", 1)[0] for entry in entries]
        orders[name] = names[::2]
        assert [n.rsplit("-", 1)[0] for n in names[::2]] == [n.rsplit("-", 1)[0] for n in names[1::2]]
        assert all(n.endswith("c1") for n in names[::2])
        assert all(n.endswith("c2") for n in names[1::2])
        assert entries[0]["Criterion"] == "1 of 2. One no settles the instance: the others may stay blank."
    assert orders["Ann"] != orders["Bo"]
    assert sorted(orders["Ann"]) == sorted(orders["Bo"])
    page = (path / "sheets" / "Ann.html").read_text(encoding="utf-8")
    assert page.count("""data-settles='["no"]'""") == 40


def test_the_sample_is_stratified_and_its_weights_are_kept(tmp_path: Path) -> None:
    path = made_run(tmp_path)
    sample(str(path), 25, ["A"])
    found = drawn(path)
    assert found["strata"] == {"pass": {"n": 44, "drawn": 11}, "fail": {"n": 56, "drawn": 14}}
    assert Counter(found["drawn"].values()) == {"pass": 11, "fail": 14}
    sample_ = read_sample(path)
    assert sample_ is not None
    assert {sample_.weight(name) for name in found["drawn"]} == {4.0}


def test_a_larger_sample_holds_the_smaller_and_asks_for_the_rest(tmp_path: Path) -> None:
    path = made_run(tmp_path)
    read(str(path), labelled(path, 20, seed=1, stop=True))
    few = set(drawn(path)["drawn"])
    files = sample(str(path), 45, ["A"], 1, str(tmp_path / "more"), unlabelled=True)
    many = set(drawn(path)["drawn"])
    assert len(few) == 20
    assert few < many
    assert len(many) == 45
    asked = {entry["id"].split("-")[0] for entry in table(files[0])}
    assert asked == many - few
    report, _ = read(str(path), [str(filled(files[0]))])
    assert report.bias_corrected["labels"] == 45
    assert drawn(path)["strata"] == {"pass": {"n": 44, "drawn": 20}, "fail": {"n": 56, "drawn": 25}}
    with pytest.raises(UserError, match="all 45 instances of this sample have answers; raise --n"):
        sample(str(path), 45, ["A"], 1, str(tmp_path / "none"), unlabelled=True)


def test_the_seed_settles_the_draw_and_samples_add_up(tmp_path: Path) -> None:
    path = made_run(tmp_path)

    def chosen(seed: int, out: str) -> set[str]:
        return {
            entry["id"].split("-")[0] for entry in table(sample(str(path), 30, ["A"], seed, str(tmp_path / out))[0])
        }

    assert chosen(1, "one") == chosen(1, "again")
    first, second = chosen(1, "three"), chosen(2, "two")
    assert first != second
    assert set(drawn(path)["drawn"]) == first | second
    report, _ = read(str(path), [str(filled(tmp_path / out / "A.csv")) for out in ("one", "two")])
    assert report.bias_corrected["labels"] == len(first | second)
    strata = drawn(path)["strata"]
    assert {name: counts["drawn"] for name, counts in strata.items()} == Counter(drawn(path)["drawn"].values())


def how(correction: Mapping[str, Any], what: str) -> str:
    """What a report says beside a figure of human labels."""
    return next(row["how"] for row in human_labels(correction).rows if row["what"] == what)


def test_the_pass_rate_of_instances_by_hand(tmp_path: Path) -> None:
    path = made_run(tmp_path)
    before = (path / "judgments.jsonl").read_bytes()
    report, among = read(str(path), labelled(path))
    found = report.bias_corrected
    assert found["withheld"] is None
    assert (found["observed"], found["n"], found["labels"]) == (0.44, 100, 100)
    assert found["estimate"] == pytest.approx(0.42)
    assert found["effective_labels"] == pytest.approx(100, rel=1e-3), "everything is labelled"
    assert [(s["name"], s["n"], s["labelled"], s["share"]) for s in found["strata"]] == [
        ("pass", 44, 44, pytest.approx(36 / 44)), ("fail", 56, 56, pytest.approx(6 / 56))
    ]  # fmt: skip
    assert (among["n"], among["raw"]) == (100, None)
    assert (path / "judgments.jsonl").read_bytes() == before
    assert corrected_in(path)["estimate"] == found["estimate"]
    table = human_labels(found)
    shown = {row["what"]: row for row in table.rows}
    assert shown["Instances that truly pass"]["share"].value == found["estimate"]
    assert shown["Instances that truly pass"]["how"] == (
        "stratified by verdict (double sampling); as good as 100 labels on a simple random sample of the run"
    )
    assert (shown["As judged"]["share"].value, shown["As judged"]["share"].n) == (0.44, 100)
    assert shown["Truly pass, judged to fail"]["how"] == "56 of 56 labelled"
    page = (path / "report.html").read_text(encoding="utf-8")
    for name in shown:
        assert name.replace("'", "&#39;") in page


def test_a_sample_is_worth_more_than_its_labels_and_stays_with_the_run(tmp_path: Path) -> None:
    path = made_run(tmp_path)
    report, _ = read(str(path), labelled(path, 50, seed=1))
    found = report.bias_corrected
    low, high = found["ci95"]
    assert low < 0.42 < high
    assert low < found["estimate"] < high
    assert found["effective_labels"] > 60, "fifty labels, and a judge who knows something of the rest"
    again = made_run(tmp_path)  # the same command once more: nothing is asked, the correction is still there
    assert corrected_in(again)["labels"] == 50


def test_one_no_settles_an_instance(tmp_path: Path) -> None:
    path = made_run(tmp_path)
    whole, _ = read(str(path), labelled(path, out=str(tmp_path / "whole")))
    (path / "labels.jsonl").unlink()
    cut, among = read(str(path), labelled(path, stop=True))
    assert cut.bias_corrected["estimate"] == whole.bias_corrected["estimate"]
    assert (cut.bias_corrected["unanswered"], among["missing"]) == (0, 0)


def test_an_instance_passes_only_when_all_its_criteria_are_answered(tmp_path: Path) -> None:
    path = made_run(tmp_path)
    (sheet,) = labelled(path, 40, lambda question: "" if question.endswith("-1") else truth(question))
    report, among = read(str(path), [sheet])
    found = report.bias_corrected
    open_ = sum("alpha" in pair[0] for i, pair in enumerate(PAIRS) if str(i) in drawn(path)["drawn"])
    assert (found["labels"], found["unanswered"], found["drawn"]) == (40 - open_, open_, 40)
    assert among["missing"] == open_
    assert "are not labelled to the end" in how(found, "Left out")
    lines = Path(sheet).read_text(encoding="utf-8").splitlines(keepends=True)
    cut = tmp_path / "cut.csv"  # somebody deleted the second criterion of the first instance
    cut.write_text("".join(lines[:2]).replace(",A,", ",B,").replace(",no,", ",yes,"), encoding="utf-8")
    again, _ = read(str(path), [str(cut)])
    assert again.bias_corrected["labels"] <= found["labels"], "one yes of two is no pass"


def half(question: str) -> str:
    """The first criterion of an instance only."""
    return "" if question.endswith("-1") else truth(question)


def test_half_answered_instances_give_no_figure_but_bounds(tmp_path: Path) -> None:
    path = made_run(tmp_path)
    report, _ = read(str(path), labelled(path, 60, half))
    found = report.bias_corrected
    # Only instances that fail are settled, so that these alone would say "0 % truly pass"; the truth is 42 %.
    assert {said for s in found["strata"] for said in [s["share"]]} == {0.0}
    assert (found["estimate"], found["ci95"], found["effective_labels"]) == (None, None, None)
    assert found["bounds"][0] < 0.42 < found["bounds"][1]
    assert f"{found['partly']} of 60 labelled instances are open ({found['partly']} answered in" in found["withheld"]
    assert "`truebench label out --unlabelled --out FOLDER`" in how(found, "Instances that truly pass")
    assert "the interval holds whatever the open ones are" in how(found, "Instances that truly pass")
    assert "of them in part" in how(found, "Left out")


def test_what_is_half_answered_is_asked_again(tmp_path: Path) -> None:
    path = made_run(tmp_path)
    report, _ = read(str(path), labelled(path, 60, half))
    open_ = report.bias_corrected["partly"]
    files = sample(str(path), 60, ["A"], out=str(tmp_path / "rest"), unlabelled=True)
    assert len(table(files[0])) == 2 * open_
    found = read(str(path), [str(filled(files[0]))])[0].bias_corrected
    assert (found["withheld"], found["bounds"], found["labels"]) == (None, None, 60)


def test_ties_are_asked_of_whoever_has_not_answered(tmp_path: Path) -> None:
    path = made_run(tmp_path)
    one, two = two_sheets(path, 40)
    odd = filled(two, lambda question: "no" if "alpha" in question and "-0" in question else truth(question))
    ties = read(str(path), [str(filled(one)), str(odd)])[0].bias_corrected["ties"]
    with pytest.raises(UserError, match=r"all 40 instances of this sample have answers; .*`truebench label in --dec"):
        sample(str(path), 40, ["A", "B"], out=str(tmp_path / "both"), unlabelled=True)
    files = sample(str(path), 40, ["Chief"], out=str(tmp_path / "chief"), unlabelled=True)
    assert len(table(files[0])) == 2 * ties
    found = read(str(path), [], [str(filled(files[0]))])[0].bias_corrected
    assert (found["ties"], found["labels"], found["withheld"]) == (0, 40, None)


def test_instances_that_nobody_came_to_are_as_if_not_drawn(tmp_path: Path) -> None:
    path = made_run(tmp_path)
    few = {str(i) for i in range(50)}
    report, _ = read(str(path), labelled(path, 100, lambda q: truth(q) if str(number(q)) in few else ""))
    found = report.bias_corrected
    assert (found["withheld"], found["bounds"], found["unanswered"], found["partly"]) == (None, None, 50, 0)
    assert found["ci95"][0] < 0.42 < found["ci95"][1]


def test_a_few_open_instances_widen_the_interval(tmp_path: Path) -> None:
    path = made_run(tmp_path)
    whole, _ = read(str(path), labelled(path))
    opened = [str(i) for i, pair in enumerate(PAIRS) if all("alpha" in text for text in pair)][:5]
    (path / "labels.jsonl").unlink()
    sheet = path / "sheets" / "A.csv"
    report, _ = read(str(path), [str(filled(sheet, lambda q: half(q) if str(number(q)) in opened else truth(q)))])
    found = report.bias_corrected
    assert (found["partly"], found["withheld"]) == (5, None)
    (low, high), (least, most) = found["ci95"], whole.bias_corrected["ci95"]
    assert low < least < most <= high + 1e-9, "all five pass in truth: the whole answers lie within"
    assert found["effective_labels"] is None
    assert "whatever the open ones are" in how(found, "Instances that truly pass")


def test_undecided_instances_are_sampled_as_a_stratum_of_their_own(tmp_path: Path) -> None:
    texts = [[f"{text} gamma" for text in pair] if i % 5 == 0 else pair for i, pair in enumerate(PAIRS)]
    path = made_run(tmp_path, texts=texts)
    sheets = labelled(path, 50)
    assert drawn(path)["strata"]["undecided"] == {"n": 20, "drawn": 10}
    report, _ = read(str(path), sheets)
    found = report.bias_corrected
    assert (found["n"], found["undecided"]) == (80, 20)
    assert [s["name"] for s in found["strata"]] == ["pass", "fail", "undecided"]
    assert found["estimate"] == pytest.approx(sum(s["n"] / 100 * s["share"] for s in found["strata"]))
    assert how(found, "Truly pass, undecided") == "10 of 20 labelled"
    # Without their labels nothing is known about them, and so not about the run.
    rows, kept = read_labels(path)
    known = [entry for entry in rows if drawn(path)["drawn"][entry["instance_id"]] != "undecided"]
    bare = correction(read_run(path), known, kept)
    assert (bare["estimate"], bare["ci95"]) == (None, None)
    assert "none of the 20 with the verdict undecided has a label; label at least one" in bare["withheld"]


def test_answers_that_broke_off_are_neither_sampled_nor_counted(tmp_path: Path) -> None:
    rows = [row(i, [(f"Prompt {i}", [f"alpha n{i}-0"]), (f"Stop {i % 3}", [f"alpha n{i}-1"])]) for i in range(30)]
    broken = [{"contains": "Prompt", "reply": "Well"}, {"contains": "Stop 0", "error": "gone"}]
    model = script(tmp_path / "model.json", [*broken, {"contains": "Stop", "reply": "Well"}])
    judge = script(tmp_path / "judge.json", [{"contains": "<criteria", "verdicts": JUDGE}])
    path = tmp_path / "run"
    run(RunOptions(data=write_jsonl(tmp_path / "d.jsonl", rows), model=model, judge=(judge,), out=str(path)))
    report, _ = read(str(path), labelled(path))
    found = report.bias_corrected
    assert (found["drawn"], found["n"], found["incomplete"], found["estimate"]) == (20, 20, 10, 1.0)
    assert "10 instances to which the model gave no complete answer" in how(found, "Left out")


def test_too_few_labels_withhold_the_correction_and_say_why(tmp_path: Path) -> None:
    path = made_run(tmp_path)
    report, _ = read(str(path), labelled(path, 9))
    found = report.bias_corrected
    assert (found["estimate"], found["ci95"], found["effective_labels"]) == (None, None, None)
    assert "9 labelled instances, 10 are needed" in found["withheld"]
    assert "as good as" not in how(found, "Instances that truly pass")
    assert "withheld: " in (path / "report.html").read_text(encoding="utf-8")


def test_a_judge_that_knows_nothing_leaves_the_labels_what_they_are_worth(tmp_path: Path) -> None:
    path = made_run(tmp_path)
    # People who answer by the number of the instance: unrelated to the judge's verdicts.
    report, _ = read(str(path), labelled(path, 60, lambda question: "no" if number(question) % 2 else "yes"))
    found = report.bias_corrected
    assert found["effective_labels"] == pytest.approx(60, abs=4)


def test_sheets_of_another_run_are_refused(tmp_path: Path) -> None:
    first, other = made_run(tmp_path), made_run(tmp_path, "other", "another")
    labelled(other, 5)
    with pytest.raises(UserError, match=r"not among what .* asks"):
        read(str(other), labelled(first, 5))


def test_sheets_whose_sample_is_lost_are_refused(tmp_path: Path) -> None:
    path = made_run(tmp_path)
    sheets = labelled(path, 12)
    (path / "sample.json").unlink()
    with pytest.raises(UserError, match=r"put the file back .* or draw again with the same --n and --seed"):
        read(str(path), sheets)
    sample(str(path), 12, ["A"], out=str(tmp_path / "again"))
    assert read(str(path), sheets)[0].bias_corrected["labels"] == 12
    name = next(iter(drawn(path)["drawn"]))
    ways = [json.dumps(drawn(path) | {"strata": {"pass": {"n": 44, "drawn": count}}}) for count in (0, -1, 1.5)]
    ways.append(json.dumps(drawn(path) | {"drawn": drawn(path)["drawn"] | {name: "good"}}))
    for content in ("[]", "nonsense", '{"unit": "turn", "estimator": "stratified", "drawn": {}}', *ways):
        (path / "sample.json").write_text(content)
        with pytest.raises(UserError, match="cannot be read as a sample"):
            read(str(path), sheets)


def test_annotators_who_disagree_leave_an_instance_open_until_it_is_decided(tmp_path: Path) -> None:
    path = made_run(tmp_path)
    sheets = [file for file in sample(str(path), 40, ["A", "B"]) if file.suffix == ".csv"]
    odd = filled(sheets[1], lambda question: "no" if "alpha" in question and "-0" in question else truth(question))
    report, among = read(str(path), [str(filled(sheets[0])), str(odd)])
    found = report.bias_corrected
    # A lets an instance pass that B does not: where both see another criterion fail they agree on the instance.
    passing = sum(all("alpha" in text for text in PAIRS[int(name)]) for name in drawn(path)["drawn"])
    assert (found["ties"], found["labels"]) == (passing, 40 - passing)
    assert found["estimate"] is None, "over those left 0 % would pass"
    assert found["bounds"][0] < 0.02 < 0.42 < found["bounds"][1]
    assert "label in --decisions" in how(found, "Instances that truly pass")
    assert how(found, "Left out").startswith(f"{passing} on which annotators disagree")
    assert "--decisions" in how(found, "Left out")
    assert among["raw"] == pytest.approx(1 - passing / 40)
    judge = filled(sheets[0]).with_name("chief.csv")
    judge.write_text(filled(sheets[0]).read_text(encoding="utf-8").replace(",A,", ",Chief,"), encoding="utf-8")
    report, among = read(str(path), [str(filled(sheets[0])), str(odd)], [str(judge)])
    assert "Left out" not in [line["what"] for line in human_labels(report.bias_corrected).rows]
    assert report.bias_corrected["labels"] == 40
    assert among["raw"] == pytest.approx(1 - passing / 40), "a decision makes nobody agree"
    assert not [entry for entry in read_labels(path)[0] if entry["label"] is None]


def test_annotators_who_stop_at_different_criteria_agree_on_the_instance(tmp_path: Path) -> None:
    path = made_run(tmp_path)
    one, two = two_sheets(path, 12)
    read(str(path), [str(filled(one, lambda question: "no", stop=True))])
    second = filled(two, lambda question: "no" if question.endswith("-1") else "yes")
    report, among = read(str(path), [str(second)])
    assert (among["raw"], report.bias_corrected["labels"], report.bias_corrected["ties"]) == (1.0, 12, 0)
    assert report.bias_corrected["estimate"] == 0.0


def two_sheets(path: Path, n: int) -> tuple[Path, Path]:
    """The empty CSV sheets of two annotators on the same criteria."""
    one, two = (file for file in sample(str(path), n, ["A", "B"]) if file.suffix == ".csv")
    return one, two


def stored(path: Path) -> dict[str, Any]:
    return {entry["id"]: entry for entry in read_labels(path)[0]}


def number(question: str) -> int:
    """The number of the instance that a question is about."""
    return int(question.split()[-1][1:].split("-")[0])


def test_a_half_filled_sheet_of_a_second_annotator_wipes_nothing(tmp_path: Path) -> None:
    path = made_run(tmp_path)
    one, two = two_sheets(path, 100)
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
    assert (among["annotators"], among["raw"]) == ("A, B", 0.5), "one no settles the second instance for B"
    assert (report.bias_corrected["ties"], report.bias_corrected["labels"]) == (1, 99)


def test_what_was_decided_stays_decided_when_another_annotator_comes(tmp_path: Path) -> None:
    path = made_run(tmp_path)
    one, two = two_sheets(path, 10)
    chief = filled(one, lambda question: "no").rename(one.with_name("chief.csv"))
    read(str(path), [str(filled(one, lambda question: "yes"))], [str(chief)])
    read(str(path), [str(filled(two, lambda question: "yes"))])
    assert {(entry["label"], entry["how"]) for entry in stored(path).values()} == {("no", "decided")}
    read(str(path), [str(two)], [str(filled(two, lambda question: "yes"))])
    assert {entry["label"] for entry in stored(path).values()} == {"yes"}, "a newer decision counts"


def test_score_prints_what_labels_say_but_not_in_the_official_protocol(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = made_run(tmp_path)
    assert "truly pass" not in command_here(capsys, "study", "score", str(path)).stdout, "there are no labels yet"
    read(str(path), labelled(path))
    done = command_here(capsys, "study", "score", str(path))
    assert done.returncode == 0, done.stderr
    for text in ("Instances that truly pass", "as good as", "Truly pass, judged to fail"):
        assert text in done.stdout
    assert "truly pass" not in command_here(capsys, "study", "score", str(path), "--protocol", "official").stdout
    with (path / "judgments.jsonl").open("r+", encoding="utf-8") as file:
        first = file.readline()
        file.seek(0, 2)
        file.write(first)
    told, _, same = command_here(capsys, "study", "score", str(path)).stdout.partition("\n")
    assert "1 rows stand twice" in told
    assert same == done.stdout, "labels are held against each response once"
    before = stamp(path / "judgments.jsonl")
    with (path / "judgments.jsonl").open("a", encoding="utf-8") as file:
        file.write(first)
    ((model, judge, rows),) = read_frames(path).runs()
    with pytest.raises(UserError, match=r"judgments\.jsonl: was changed while it was read; repeat the command"):
        results._scored(path, model, judge, rows, before)


def test_criteria_with_other_ends_of_lines_are_read_back(tmp_path: Path) -> None:
    texts = [[f"alpha \u2028 \x85 \x0b n{i}-0"] for i in range(12)]
    path = made_run(tmp_path, texts=texts)
    report, _ = read(str(path), labelled(path))
    assert (report.bias_corrected["labels"], len(stored(path))) == (12, 12)


def test_ids_name_one_criterion_of_one_answer(tmp_path: Path) -> None:
    first, other = made_run(tmp_path), made_run(tmp_path, "other", "Another answer")
    ours = [question.id for item in read_run(first) for question in questions(item)]
    theirs = [question.id for item in read_run(other) for question in questions(item)]
    assert len(set(ours)) == 200
    assert not set(ours) & set(theirs), "a label must not pass to another answer"


@pytest.mark.parametrize(
    ("n", "more", "message"),
    [
        (101, {}, "ask for 1 to 100"),
        (0, {}, "--n 0: must be at least 1"),
        (None, {"ask": "criterion"}, "--ask: means nothing for"),
    ],
)
def test_more_than_there_is_or_nothing_is_refused(tmp_path: Path, n: int, more: dict[str, str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        sample(str(made_run(tmp_path)), n, ["A"], **more)


def test_without_labels_there_is_nothing_to_say() -> None:
    assert correction([], [], None) == {}


def test_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = made_run(tmp_path)
    done = command_here(capsys, "label", "out", str(path), "--n", "60", "--annotators", "A", "--seed", "4")
    assert done.returncode == 0, done.stderr
    filled(path / "sheets" / "A.csv")
    done = command_here(capsys, "label", "in", str(path))
    assert done.returncode == 0, "sheets/ is read: A-done.csv, and A.csv whose blanks replace nothing"
    assert "Instances that truly pass" in done.stdout
    for file, said in (
        ("sample.json", "sample.json: is not there; put the file back"),
        ("labels.jsonl", "nobody was asked yet"),
    ):
        shutil.rmtree(path / "sheets", ignore_errors=True)
        (path / file).unlink()
        done = command_here(capsys, "label", "in", str(path))
        assert (done.returncode, said in done.stderr) == (2, True)
