"""`facts run`: phases, scores, what is undecided, and what is refused. The life of a study is tested with colours."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.facts import FINE, MAJOR, baselines, log, mini, oracle, verdict
from tests.support.runs import command_here, script, write_jsonl
from truebench_hf.benchmarks.facts.run import FactsOptions, FactsRun
from truebench_hf.errors import UserError
from truebench_hf.metrics.intervals import wilson

DOCUMENTS = [
    {"id": "a", "request": "Where?", "document": "In Paris.", "domain": "travel", "baseline": "It is in Paris."},
    {"id": "b", "request": "When?", "document": "In May.", "domain": "time", "baseline": "It is in May."},
]


def ran(out: Path, **options: Any) -> tuple[Any, dict[str, Any]]:
    """(the outcome, the tables of scores.json and what run.json says of the judging) of a run by the response template."""
    outcome = FactsRun(FactsOptions(out=str(out), **{"template": ("response",), **options})).run()
    judging = json.loads((out / "run.json").read_text())["judging"]
    return outcome, json.loads((out / "scores.json").read_text()) | {"judging": judging}


def named(rows: list[dict[str, Any]], key: str = "judge") -> dict[str, dict[str, Any]]:
    return {row[key]: row for row in rows}


def lines(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "verdicts.jsonl").read_text().splitlines()]


def asked(spec: str) -> list[str]:
    """The first messages that a recording judge was sent."""
    file = Path(spec.removeprefix("scripted:")).with_suffix(".record")
    return [json.loads(line)[-1] for line in file.read_text().splitlines()] if file.exists() else []


def recorded(*specs: str) -> tuple[str, ...]:
    paths = [Path(spec.removeprefix("scripted:")).with_suffix(".record") for spec in specs]
    return tuple(f"{number}.record={path}" for number, path in enumerate(paths, 1))


@pytest.fixture(scope="module")
def judges(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str, str]:
    folder = tmp_path_factory.mktemp("judges")
    return oracle(folder / "a.json"), oracle(folder / "b.json"), oracle(folder / "c.json")


@pytest.fixture(scope="module")
def all_36(tmp_path_factory: pytest.TempPathFactory, judges: tuple[str, ...]) -> tuple[Any, dict[str, Any], Path]:
    folder = tmp_path_factory.mktemp("all")
    outcome, scores = ran(
        folder / "run", data="facts_mini", answers=log(folder / "log.jsonl"), judge=judges,
        baseline=baselines(folder / "baselines.json"), model_name="three kinds",
    )  # fmt: skip
    return outcome, scores, folder / "run"


def test_all_36_answers_by_judges_who_know(all_36: tuple[Any, dict[str, Any], Path], judges: tuple[str, ...]) -> None:
    outcome, scores, out = all_36
    mean = outcome.value.mean
    assert (mean["answers"], mean["ineligible"], outcome.incomplete) == (36, 12, 0)
    assert {row["name"]: row["score"]["value"] for row in scores["scores"]} == pytest.approx(
        {"Final": 1 / 3, "Unadjusted": 2 / 3}
    )
    assert [row["judge"] for row in scores["judges"]] == [*judges, "mean"]
    for row in scores["judges"]:
        assert [row[name]["value"] for name in ("unadjusted", "final")] == pytest.approx([2 / 3, 1 / 3])
        assert row["final"]["n"] == 36
    rows = lines(out)
    assert [row["id"] for row in rows[:3]] == ["facts-mini-01", "facts-mini-01#2", "facts-mini-01#3"]
    assert [row["ineligible"] for row in rows] == [False, False, True] * 12
    assert [set(row["grounded"].values()) for row in rows] == [{"yes"}, {"no"}, {"yes"}] * 12
    assert {row["document"] for row in rows[:3]} == {"facts-mini-01"}


def test_scores_are_told_apart_by_the_columns_of_the_data(all_36: tuple[Any, dict[str, Any], Path]) -> None:
    _, scores, _ = all_36
    groups = scores["groups"]
    assert list(dict.fromkeys(row["by"] for row in groups)) == ["domain", "task", "length", "language"], "no splits"
    assert [(row["group"], row["answers"]) for row in groups if row["by"] == "domain"] == [
        ("finance", 9), ("technology", 9), ("retail", 6), ("medical", 6), ("legal", 6)
    ]  # fmt: skip
    assert all(row["final"]["value"] == pytest.approx(1 / 3) for row in groups if row["by"] == "task")
    assert len(scores["groups_by_judge"]) == 3 * len(groups)


def test_what_a_model_has_classified_is_marked_wherever_it_is_shown(tmp_path: Path) -> None:
    rows = [row | {"classified": ["domain"], "task": "summary"} for row in DOCUMENTS]
    judge = script(tmp_path / "j.json", [{"contains": "<response_", "reply": verdict(True)}])
    answered = write_jsonl(tmp_path / "l.jsonl", [{"id": "a", "answer": "Paris!"}, {"id": "b", "answer": "May!"}])
    outcome, scores = ran(
        tmp_path / "run", data=write_jsonl(tmp_path / "d.jsonl", rows), answers=answered, judge=(judge,), eligibility="none"
    )  # fmt: skip
    assert [(row["by"], row["group"]) for row in scores["groups"]] == [
        ("domain (classified)", "travel"), ("domain (classified)", "time"), ("task", "summary")
    ]  # fmt: skip
    assert {column.group for column in outcome.ranking.board().columns} >= {"Domains (classified)", "Tasks"}


def test_one_judge_who_never_says_major_saves_all(tmp_path: Path, judges: tuple[str, ...]) -> None:
    lenient = oracle(tmp_path / "lenient.json", severe=False)
    outcome, _ = ran(
        tmp_path / "run", data="facts_mini", answers=log(tmp_path / "log.jsonl"), judge=(*judges[:2], lenient),
        baseline=baselines(tmp_path / "baselines.json"),
    )  # fmt: skip
    mean = outcome.value.mean
    assert (mean["ineligible"], mean["final"]) == (0, mean["unadjusted"])
    assert mean["final"].value == pytest.approx(2 / 3)


def test_one_judge_on_distinct_documents_has_wilsons_interval(tmp_path: Path, judges: tuple[str, ...]) -> None:
    outcome, _ = ran(
        tmp_path / "run", data="facts_mini", answers=log(tmp_path / "l.jsonl", ["ungrounded"]), judge=judges[:1]
    )
    (mean,), (row,) = outcome.value.rows(judge="mean"), outcome.value.rows(judge=judges[0])
    assert mean["final"].ci95 == wilson(0, 12)
    assert mean | {"judge": judges[0]} == row, "the mean of one judge is that judge"


def test_the_answer_is_never_its_own_baseline(tmp_path: Path, judges: tuple[str, ...]) -> None:
    """facts_mini brings its grounded answers as baselines: of themselves nobody is asked, and all others are compared."""
    outcome, scores = ran(
        tmp_path / "run", data="facts_mini", answers=log(tmp_path / "log.jsonl"), judge=judges[:1],
        judge_arg=recorded(judges[0]),
    )  # fmt: skip
    rated = [prompt for prompt in asked(judges[0]) if "<test_response_" in prompt]
    assert len(rated) == 24
    assert all("<document_" not in prompt for prompt in rated), "the request alone, by default"
    own = [line["id"] for line in lines(tmp_path / "run") if line["is_baseline"]]
    assert (own, outcome.incomplete) == ([row["id"] for row in mini()], 0)
    assert outcome.value.mean["final"].value == pytest.approx(1 / 3)
    assert "12 of 36 answers are their own baseline" in outcome.notes[0]
    assert scores["judging"]["baseline"] == {"name": "the data's baseline answers"}


def test_logs_with_blanks_around_answers_and_retrievals_that_found_nothing(tmp_path: Path) -> None:
    judge = script(tmp_path / "j.json", [
        {"contains": "<test_response_", "reply": MAJOR}, {"contains": "<response_", "reply": verdict(True)},
    ])  # fmt: skip
    rows = [
        {"question": "Where?", "contexts": [], "answer": "I cannot tell.\n", "baseline": "I cannot tell."},
        {"question": "When?", "contexts": ["In May."], "answer": "In May.", "baseline": "It is May."},
    ]
    outcome, _ = ran(tmp_path / "run", answers=write_jsonl(tmp_path / "rag.jsonl", rows), judge=(judge,))
    own = [line["id"] for line in lines(tmp_path / "run") if line["is_baseline"]]
    assert (own, outcome.value.mean["ineligible"]) == (["ca6931dfb770"], 1)
    assert any(note.startswith("1 of 2 answers rest on no passages") for note in outcome.notes)


def test_a_model_answers_and_another_gives_the_baseline(tmp_path: Path) -> None:
    model = script(
        tmp_path / "model.json", [{"contains": "Where?", "reply": "In Paris."}, {"contains": "When?", "reply": "Hm."}]
    )
    other = script(tmp_path / "other.json", [{"contains": "?", "reply": "Baseline of another."}])
    judge = script(tmp_path / "judge.json", [
        {"contains": ["<test_response_", ">\nHm.\n<"], "reply": MAJOR}, {"contains": "<test_response_", "reply": FINE},
        {"contains": "<response_", "reply": verdict(True)},
    ])  # fmt: skip
    data = write_jsonl(tmp_path / "d.jsonl", DOCUMENTS)
    options: dict[str, Any] = {
        "data": data, "model": model, "baseline": other, "judge": (judge,), "eligibility": "full",
        "judge_arg": recorded(judge), "model_arg": (f"record={tmp_path / 'model.record'}",),
    }  # fmt: skip
    _, scores = ran(tmp_path / "run", **options)
    (row,) = scores["judges"]
    assert [(row[name]["value"], row[name]["n"], row[name]["unscored"]) for name in ("unadjusted", "final")] == [
        (1.0, 2, 0), (0.5, 2, 0)
    ]  # fmt: skip
    assert {row["group"]: row["final"]["value"] for row in scores["groups"]} == {"travel": 1.0, "time": 0.0}
    assert sorted(asked(model)) == ["In May.\n\nWhen?", "In Paris.\n\nWhere?"], "the document stands first"
    prompts = asked(judge)
    assert len(prompts) == 4
    opening = [prompt.index("<document_") for prompt in prompts]
    assert all(place < prompt.index("response_") for place, prompt in zip(opening, prompts, strict=True))
    assert sum("Baseline of another." in prompt for prompt in prompts) == 2
    before = len(prompts)
    ran(tmp_path / "run", **options)
    assert len(asked(judge)) == before, "what is done is not asked again"


def test_the_model_is_no_baseline_of_its_own(tmp_path: Path) -> None:
    model = script(tmp_path / "m.json", [])
    data = write_jsonl(tmp_path / "d.jsonl", DOCUMENTS)
    with pytest.raises(UserError, match="is the model under test, and no answer is its own measure"):
        ran(tmp_path / "run", data=data, model=model, baseline=model, judge=("smollm2",))
    assert not (tmp_path / "run").exists()


def test_what_cannot_be_generated_is_undecided_and_never_inaccurate(tmp_path: Path) -> None:
    told = "the prompt has 31000 tokens, the window 8192"
    model = script(
        tmp_path / "m.json", [{"contains": "Where?", "error": told}, {"contains": "When?", "reply": "In May."}]
    )
    judge = script(
        tmp_path / "j.json",
        [{"contains": "<test_response_", "reply": FINE}, {"contains": "<response_", "reply": verdict(True)}],
    )
    outcome, scores = ran(
        tmp_path / "run", data=write_jsonl(tmp_path / "d.jsonl", DOCUMENTS), model=model, judge=(judge,)
    )
    final = outcome.value.mean["final"]
    assert (final.value, final.n, final.unscored) == (1.0, 1, 1)
    assert scores["unscored"] == [{"answer": "a", "reason": f"turn 1: {told}"}]
    assert outcome.notes[0].startswith("1 of 2 answers could not be had")
    assert outcome.incomplete == 1
    assert told in (tmp_path / "run" / "report.html").read_text()


def test_judges_that_decide_nothing_are_counted_and_disqualify_nothing(tmp_path: Path) -> None:
    long = "the prompt has 40000 tokens, the window 32768"
    data = write_jsonl(tmp_path / "d.jsonl", DOCUMENTS)
    answered = write_jsonl(tmp_path / "l.jsonl", [{"id": "a", "answer": "Paris!"}, {"id": "b", "answer": "May!"}])
    severe = script(
        tmp_path / "s.json",
        [{"contains": "<test_response_", "reply": MAJOR}, {"contains": "<response_", "reply": verdict(True)}],
    )
    lost = script(tmp_path / "l.json", [
        {"contains": ["<test_response_", "When?"], "error": "down"}, {"contains": "<test_response_", "reply": MAJOR},
        {"contains": ["<response_", "Where?"], "error": long}, {"contains": "<response_", "reply": verdict(True)},
    ])  # fmt: skip
    outcome, scores = ran(tmp_path / "run", data=data, answers=answered, judge=(severe, lost))
    rows = {row["id"]: row for row in lines(tmp_path / "run")}
    assert (rows["a"]["ineligible"], rows["a"]["grounded"][lost]) == (True, None)
    assert (rows["b"]["ineligible"], rows["b"]["eligible"]) == (False, {severe: "no", lost: None})
    judges = named(scores["judges"])
    assert [(judges[name]["undecided"], judges[name]["unrated"]) for name in (severe, lost)] == [(None, None), (1, 1)]
    assert long in named(scores["unscored"], "answer")["a"]["reason"]
    assert outcome.incomplete == 2
    assert (judges[lost]["unadjusted"]["n"], judges[lost]["unadjusted"]["unscored"]) == (1, 1)
    assert (judges[lost]["final"]["value"], judges[lost]["final"]["n"]) == (0.5, 2), "ineligible is inaccurate"


def test_without_eligibility_nobody_needs_a_baseline(tmp_path: Path) -> None:
    row = {"question": "Where?", "contexts": ["In Paris."], "answer": "Paris."}
    judge = script(tmp_path / "j.json", [{"contains": "<response_", "reply": verdict(True)}])
    answered = write_jsonl(tmp_path / "rag.jsonl", [row])
    with pytest.raises(UserError, match=r"--baseline is missing: .*or --eligibility none"):
        ran(tmp_path / "run", answers=answered, judge=(judge,))
    outcome, scores = ran(tmp_path / "run", answers=answered, judge=(judge,), eligibility="none")
    assert outcome.value.mean["final"].value == 1.0
    assert scores["judging"]["judges"][judge]["eligibility"] == "none"
    assert outcome.notes[0].startswith("Eligibility was not judged")
    row |= {"ground_truth": "It is Paris."}
    judge = script(
        tmp_path / "k.json",
        [{"contains": "<test_response_", "reply": FINE}, {"contains": "<response_", "reply": verdict(True)}],
    )
    _, scores = ran(tmp_path / "two", answers=write_jsonl(tmp_path / "rag2.jsonl", [row]), judge=(judge,))
    assert scores["judging"]["baseline"] == {"name": "the data's references"}


def test_one_model_judges_by_several_templates(tmp_path: Path) -> None:
    """It needs no options that set its names apart: it is asked in other words. By one template it is refused twice."""
    judge = script(tmp_path / "j.json", [
        {"contains": "not_attempted", "reply": '{"verdict": "not_attempted"}'},
        {"contains": "<response_", "reply": verdict(True)},
    ])  # fmt: skip
    row = {"question": "Where?", "contexts": ["In Paris."], "answer": "Paris."}
    options: dict[str, Any] = {
        "answers": write_jsonl(tmp_path / "rag.jsonl", [row]), "judge": (judge, judge), "eligibility": "none"
    }  # fmt: skip
    outcome, scores = ran(tmp_path / "run", **options, template=("response", "2.simpleqa"))
    values = [(row["judge"], row["unadjusted"]["value"]) for row in scores["judges"]]
    assert values == [(f"{judge}#1", 1.0), (f"{judge}#2", 0.0), ("mean", 0.5)]
    assert any("one model is asked in several ways" in note for note in outcome.notes)
    assert all("final" not in row for row in scores["judges"])
    with pytest.raises(UserError, match="stands twice, and no option that shapes its answers differs"):
        ran(tmp_path / "two", **options)


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("nobody answers", {"data": "facts_mini"}, "name either a --model that answers, or a file of --answers"),
    ("two answer", {"data": "facts_mini", "model": "smollm2", "answers": "f"}, "name either"),
    ("no data", {"model": "smollm2"}, "--data is missing"),
    ("no judge", {"data": "facts_mini", "model": "smollm2", "judge": ()}, "name a --judge"),
    ("more than all", {"data": "facts_mini", "model": "smollm2", "fail_under": 101.0}, "is a percentage"),
    ("a share for percent", {"data": "facts_mini", "model": "smollm2", "fail_under": 0.9}, "not a share; write 90"),
    ("all as a share", {"data": "facts_mini", "model": "smollm2", "fail_under": 1.0}, "not a share; write 100"),
]


@pytest.mark.parametrize(("options", "message"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED])
def test_options_that_make_no_sense_are_refused(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        FactsOptions(**{"out": str(tmp_path), "judge": ("scripted:j",), **options})


def test_templates_by_judge(tmp_path: Path) -> None:
    both = ("scripted:a", "scripted:b")

    def chosen(*template: str, **more: Any) -> FactsOptions:
        return FactsOptions(out="o", answers="f", judge=both, template=template, **more)

    def templates(*template: str) -> dict[str, str]:
        return {name: choice.template for name, choice in chosen(*template).chosen.items()}

    assert templates() == {"scripted:a": "json", "scripted:b": "json"}
    assert templates("response") == {"scripted:a": "response", "scripted:b": "response"}
    assert templates("json-alt", "2.span") == {"scripted:a": "json_alt", "scripted:b": "span"}
    file = tmp_path / "templates.json"
    file.write_text(
        json.dumps({"judges": {"scripted:a": {"template": "span", "eligibility": "full"}, "scripted:b": {}}})
    )
    assert templates(str(file)) == {"scripted:a": "span", "scripted:b": "json"}
    assert chosen(str(file)).variants == {"scripted:a": "full", "scripted:b": "request"}
    assert chosen(str(file), eligibility="request").variants == {"scripted:a": "request", "scripted:b": "request"}
    for wrong, message in (
        ("jsom", "unknown grounding template 'jsom': did you mean json"), ("3.json", "there is no judge number 3"),
        ("gone.json", "gone.json: cannot be read"),
    ):  # fmt: skip
        with pytest.raises(UserError, match=message):
            templates(wrong)
    file.write_text('{"judges": {"scripted:a": {}}}')
    with pytest.raises(UserError, match="says nothing on judge scripted:b; it is about scripted:a"):
        templates(str(file))


def test_the_command(tmp_path: Path, judges: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--data", "facts_mini", "--answers", log(tmp_path / "log.jsonl"), "--template", "response"]
    given += ["--baseline", baselines(tmp_path / "b.json"), "--out", str(tmp_path / "run")]
    given += [part for judge in judges for part in ("--judge", judge)]
    done = command_here(capsys, "facts", "run", *given, "--fail-under", "33")
    assert (done.returncode, done.stderr) == (0, "")
    assert (
        "Ineligible, since every judge finds major issues: 12 of 36 answers. Disqualification changes the mean by -33.33 points."
        in done.stdout
    )
    done = command_here(capsys, "facts", "run", *given, "--fail-under", "33.4")
    assert (done.returncode, done.stderr) == (1, "truebench: the final score is 33.33, under --fail-under 33.4\n")


def test_an_estimate_counts_both_questions_of_every_judge(tmp_path: Path, judges: tuple[str, ...]) -> None:
    model, other = script(tmp_path / "m.json", []), script(tmp_path / "o.json", [])
    options = FactsOptions(
        data="facts_mini", model=model, baseline=other, judge=judges[:2], template=("json", "2.response"),
        out=str(tmp_path / "run"), estimate=True,
    )  # fmt: skip
    spent: Any = FactsRun(options).run().value
    assert {part: usage.calls for part, usage in spent.items()} == {
        "model": 12,
        "baseline": 12,
        "judge": 24,
        "judge 2": 24,
    }
    assert not (tmp_path / "run").exists()


def test_the_command_says_what_is_undecided_by_its_exit_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    judge = script(
        tmp_path / "j.json",
        [{"contains": "<response_", "reply": "Hm."}, {"contains": "cannot be used", "reply": "Hm."}],
    )
    row = {"question": "Where?", "contexts": ["In Paris."], "answer": "Paris."}
    given = ["facts", "run", "--answers", write_jsonl(tmp_path / "rag.jsonl", [row]), "--eligibility", "none"]
    given += ["--judge", judge, "--template", "response", "--out", str(tmp_path / "run")]
    assert command_here(capsys, *given).returncode == 3
    assert command_here(capsys, *given, "--allow-unscored").returncode == 0
    done = command_here(capsys, *given, "--allow-unscored", "--fail-under", "0")
    assert (done.returncode, done.stderr) == (
        1, "truebench: there is no final score to hold against --fail-under 0: too little is decided\n",
    )  # fmt: skip


def test_the_time_of_a_local_judge_is_told_before_it_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, judges: tuple[str, ...]
) -> None:
    """At 100 tokens a second; nothing of it is asked or loaded twice, and Python calls are told nothing."""
    from truebench_hf.models.local import LocalModel
    from truebench_hf.study.estimate import local_time

    monkeypatch.setattr(LocalModel, "speed", lambda self: (0.01, 0.01))
    options = {"data": "facts_mini", "model": judges[0], "eligibility": "none", "out": str(tmp_path / "run")}
    study = FactsRun(FactsOptions(**options, judge=("smollm2",)))
    study._open()
    (line,) = local_time(study)
    assert line.startswith("smollm2 runs on this machine: 12 calls, some ")
    assert line.endswith(" minutes (100 tokens a second read, 100 written)")
    study = FactsRun(FactsOptions(**options, judge=judges[:1]))
    study._open()
    assert local_time(study) == [], "what runs elsewhere"
    assert not (tmp_path / "run").exists()
