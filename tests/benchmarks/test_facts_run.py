"""`facts run`: phases, scores, what is undecided, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.corpus import each_row
from tests.support.facts import FINE, MAJOR, baselines, log, mini, oracle, sentence_oracle, verdict
from tests.support.runs import command_here, script, write_jsonl
from truebench_hf.benchmarks.facts.run import FactsOptions, FactsRun
from truebench_hf.benchmarks.facts.scores import read_frame, scores_by_document
from truebench_hf.errors import UserError
from truebench_hf.metrics.intervals import wilson

DOCUMENTS = [
    {"id": "a", "request": "Where?", "document": "In Paris.", "domain": "travel", "baseline": "It is in Paris."},
    {"id": "b", "request": "When?", "document": "In May.", "domain": "time", "baseline": "It is in May."},
]
ANSWERS = [{"id": "a", "answer": "Paris!"}, {"id": "b", "answer": "May!"}]
LOGGED = {"question": "Where?", "contexts": ["In Paris."], "answer": "Paris."}
ACCURATE = {"contains": "<response_", "reply": verdict(True)}
RATES_FINE, RATES_MAJOR = ({"contains": "<test_response_", "reply": reply} for reply in (FINE, MAJOR))


def ran(out: Path, **options: Any) -> tuple[Any, dict[str, Any]]:
    """(the outcome, the tables of scores.json and what run.json says of the judging) of a run by the response template.

    Rows for `data` and `answers`, and rules of a `judge` or `model`, are written into files beside the folder.
    """
    for name, value in list(options.items()):
        if name in ("data", "answers") and isinstance(value, list):
            options[name] = write_jsonl(out.with_suffix(f".{name}.jsonl"), value)
        elif name in ("judge", "model", "baseline") and isinstance(value, list):
            options[name] = script(out.with_suffix(f".{name}.json"), value)
    options["judge"] = (options["judge"],) if isinstance(options["judge"], str) else options["judge"]
    outcome = FactsRun(FactsOptions(out=str(out), **{"template": ("response",), **options})).run()
    judging = json.loads((out / "run.json").read_text())["judging"]
    return outcome, json.loads((out / "scores.json").read_text()) | {"judging": judging}


def lines(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "verdicts.jsonl").read_text().splitlines()]


def recorded(file: Path) -> list[str]:
    """The last messages that a recording model was sent."""
    return [json.loads(line)[-1] for line in file.read_text().splitlines()]


@pytest.fixture(scope="module")
def judges(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str, str]:
    folder = tmp_path_factory.mktemp("judges")
    return oracle(folder / "a.json"), oracle(folder / "b.json"), oracle(folder / "c.json")


def test_all_36_answers_by_judges_who_know(tmp_path: Path, judges: tuple[str, ...]) -> None:
    outcome, scores = ran(
        tmp_path / "run", data="facts_mini", answers=log(tmp_path / "log.jsonl"), judge=judges,
        baseline=baselines(tmp_path / "baselines.json"), model_name="three kinds",
    )  # fmt: skip
    mean = outcome.value.mean
    assert (mean["answers"], mean["ineligible"], outcome.incomplete) == (36, 12, 0)
    assert {row["name"]: row["score"]["value"] for row in scores["scores"]} == pytest.approx(
        {"Final": 1 / 3, "Unadjusted": 2 / 3}
    )
    assert [row["judge"] for row in scores["judges"]] == [*judges, "mean"]
    for row in scores["judges"]:
        assert [row[name]["value"] for name in ("unadjusted", "final")] == pytest.approx([2 / 3, 1 / 3])
        assert row["final"]["n"] == 36
    rows = lines(tmp_path / "run")
    assert [row["id"] for row in rows[:3]] == ["facts-mini-01", "facts-mini-01#2", "facts-mini-01#3"]
    assert [row["ineligible"] for row in rows] == [False, False, True] * 12
    assert [set(row["grounded"].values()) for row in rows] == [{"yes"}, {"no"}, {"yes"}] * 12
    assert {row["document"] for row in rows[:3]} == {"facts-mini-01"}
    groups = scores["groups"]
    assert list(dict.fromkeys(row["by"] for row in groups)) == ["domain", "task", "length", "language"], "no splits"
    domains = {row["group"]: row["answers"] for row in groups if row["by"] == "domain"}
    assert domains == {"finance": 9, "technology": 9, "retail": 6, "medical": 6, "legal": 6}
    assert all(row["final"]["value"] == pytest.approx(1 / 3) for row in groups if row["by"] == "task")
    assert len(scores["groups_by_judge"]) == 3 * len(groups)


def test_the_answer_is_never_its_own_baseline(tmp_path: Path) -> None:
    """Of an answer that is the baseline of the data nobody is asked, and all others are compared."""
    record, answers = tmp_path / "asked", [ANSWERS[0] | {"answer": "It is in Paris."}, ANSWERS[1]]
    outcome, scores = ran(
        tmp_path / "run",
        data=DOCUMENTS,
        answers=answers,
        judge=[RATES_MAJOR, ACCURATE],
        judge_arg=(f"record={record}",),
    )
    (rated,) = [prompt for prompt in recorded(record) if "<test_response_" in prompt]
    assert "<document_" not in rated, "the request alone, by default"
    own = [line["id"] for line in lines(tmp_path / "run") if line["is_baseline"]]
    assert (own, outcome.incomplete, outcome.value.mean["final"].value) == (["a"], 0, 0.5)
    assert scores["judges"][0]["unrated"] is None, "who is not asked leaves nothing open"
    assert "1 of 2 answers are their own baseline" in outcome.notes[0]
    assert scores["judging"]["baseline"] == {"name": "the data's baseline answers"}


def test_logs_with_blanks_around_answers_and_retrievals_that_found_nothing(tmp_path: Path) -> None:
    rows = [
        {"question": "Where?", "contexts": [], "answer": "I cannot tell.\n", "baseline": "I cannot tell."},
        {"question": "When?", "contexts": ["In May."], "answer": "In May.", "baseline": "It is May."},
    ]
    outcome, _ = ran(tmp_path / "run", answers=rows, judge=[RATES_MAJOR, ACCURATE])
    own = [line["id"] for line in lines(tmp_path / "run") if line["is_baseline"]]
    assert (own, outcome.value.mean["ineligible"]) == (["ca6931dfb770"], 1)
    assert any(note.startswith("1 of 2 answers rest on no passages") for note in outcome.notes)


def test_a_model_answers_and_another_gives_the_baseline(tmp_path: Path) -> None:
    model = script(
        tmp_path / "model.json", [{"contains": "Where?", "reply": "In Paris."}, {"contains": "When?", "reply": "Hm."}]
    )
    hm = {"contains": ["<test_response_", ">\nHm.\n<"], "reply": MAJOR}
    options: dict[str, Any] = {
        "data": DOCUMENTS, "model": model, "judge": [hm, RATES_FINE, ACCURATE], "eligibility": "full",
        "baseline": [{"contains": "?", "reply": "Baseline of another."}],
        "judge_arg": (f"record={tmp_path / 'judge.record'}",), "model_arg": (f"record={tmp_path / 'model.record'}",),
    }  # fmt: skip
    outcome, scores = ran(tmp_path / "run", **options)
    (row,) = scores["judges"]
    (mean,), (own,) = outcome.value.rows(judge="mean"), outcome.value.rows(judge=row["judge"])
    assert mean | {"judge": row["judge"]} == own, "the mean of one judge is that judge"
    assert [tuple(row[name].values()) for name in ("unadjusted", "final")] == [
        (1.0, list(wilson(2, 2) or ()), 2, 0), (0.5, list(wilson(1, 2) or ()), 2, 0)
    ]  # fmt: skip
    assert {row["group"]: row["final"]["value"] for row in scores["groups"]} == {"travel": 1.0, "time": 0.0}
    assert sorted(recorded(tmp_path / "model.record")) == ["In May.\n\nWhen?", "In Paris.\n\nWhere?"]
    prompts = recorded(tmp_path / "judge.record")
    assert len(prompts) == 4
    assert all(prompt.index("<document_") < prompt.index("response_") for prompt in prompts), "the document first"
    assert sum("Baseline of another." in prompt for prompt in prompts) == 2
    with pytest.raises(UserError, match="is the model under test, and no answer is its own measure"):
        ran(tmp_path / "own", data=DOCUMENTS, model=model, baseline=model, judge="smollm2")
    assert not (tmp_path / "own").exists()


def test_judges_that_decide_nothing_are_counted_and_disqualify_nothing(tmp_path: Path) -> None:
    long = "the prompt has 40000 tokens, the window 32768"
    severe = script(tmp_path / "s.json", [RATES_MAJOR, ACCURATE])
    down, cut = (
        {"contains": ["<test_response_", "When?"], "error": "down"},
        {"contains": ["<response_", "Where?"], "error": long},
    )
    lost = script(tmp_path / "l.json", [down, RATES_MAJOR, cut, ACCURATE])
    outcome, scores = ran(tmp_path / "run", data=DOCUMENTS, answers=ANSWERS, judge=(severe, lost))
    first, second = lines(tmp_path / "run")
    assert (first["ineligible"], first["grounded"][lost]) == (True, None)
    assert (second["ineligible"], second["eligible"]) == (False, {severe: "no", lost: None})
    rows = {row["judge"]: row for row in scores["judges"]}
    assert [(rows[name]["undecided"], rows[name]["unrated"]) for name in (severe, lost)] == [(None, None), (1, 1)]
    assert long in {row["answer"]: row["reason"] for row in scores["unscored"]}["a"]
    assert outcome.incomplete == 2
    assert (rows[lost]["unadjusted"]["n"], rows[lost]["unadjusted"]["unscored"]) == (1, 1)
    assert (rows[lost]["final"]["value"], rows[lost]["final"]["n"]) == (0.5, 2), "ineligible is inaccurate"


def test_one_judge_who_never_says_major_saves_all(tmp_path: Path) -> None:
    severe, lenient = (
        script(tmp_path / f"{n}.json", [rates, ACCURATE]) for n, rates in enumerate((RATES_MAJOR, RATES_FINE))
    )
    outcome, _ = ran(tmp_path / "run", data=DOCUMENTS, answers=ANSWERS, judge=(severe, lenient))
    assert (outcome.value.mean["ineligible"], outcome.value.mean["final"].value) == (0, 1.0)


def test_without_eligibility_nobody_needs_a_baseline(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"--baseline is missing: .*or --eligibility none"):
        ran(tmp_path / "run", answers=[LOGGED], judge=[ACCURATE])
    outcome, scores = ran(tmp_path / "run", answers=[LOGGED], judge=[ACCURATE], eligibility="none")
    assert outcome.value.mean["final"].value == 1.0
    assert [how["eligibility"] for how in scores["judging"]["judges"].values()] == ["none"]
    assert outcome.notes[0].startswith("Eligibility was not judged")
    _, scores = ran(tmp_path / "two", answers=[LOGGED | {"ground_truth": "It is."}], judge=[RATES_FINE, ACCURATE])
    assert scores["judging"]["baseline"] == {"name": "the data's references"}
    rows = [row | {"classified": ["domain"], "task": "summary"} for row in DOCUMENTS]
    outcome, scores = ran(tmp_path / "three", data=rows, answers=ANSWERS, judge=[ACCURATE], eligibility="none")
    assert [(row["by"], row["group"]) for row in scores["groups"]] == [
        ("domain (classified)", "travel"), ("domain (classified)", "time"), ("task", "summary")
    ]  # fmt: skip
    assert {column.group for column in outcome.ranking.board().columns} >= {"Domains (classified)", "Tasks"}


def test_one_model_judges_by_several_templates(tmp_path: Path) -> None:
    """It needs no options that set its names apart: it is asked in other words. By one template it is refused twice."""
    unattempted = {"contains": "not_attempted", "reply": '{"verdict": "not_attempted"}'}
    judge = script(tmp_path / "j.json", [unattempted, ACCURATE])
    options: dict[str, Any] = {"answers": [LOGGED], "judge": (judge, judge), "eligibility": "none"}
    outcome, scores = ran(tmp_path / "run", **options, template=("response", "2.simpleqa"))
    values = [(row["judge"], row["unadjusted"]["value"]) for row in scores["judges"]]
    assert values == [(f"{judge}#1", 1.0), (f"{judge}#2", 0.0), ("mean", 0.5)]
    assert any("one model is asked in several ways" in note for note in outcome.notes)
    assert all("final" not in row for row in scores["judges"])
    with pytest.raises(UserError, match="stands twice, and no option that shapes its answers differs"):
        ran(tmp_path / "two", **options)


def repeated(folder: Path, **more: Any) -> dict[str, Any]:
    """Of a one answer is grounded for both judges, the other for the second only; of b one is, one the first cannot read."""
    replies = {"Where?": ["In Paris.", "In Rome."], "When?": ["In May.", "Mumble."]}
    rome, mumble = {"contains": "In Rome.", "reply": verdict(False)}, {"contains": "Mumble.", "error": "what?"}
    judges = script(folder / "first.json", [rome, mumble, ACCURATE]), script(folder / "second.json", [ACCURATE])
    return {
        "data": DOCUMENTS, "model": [{"contains": text, "reply": reply} for text, reply in replies.items()], "judge": judges,
        "model_arg": (f"record={folder / 'asked'}",), "eligibility": "none", "samples": 2, "temperature": 1.0,
    } | more  # fmt: skip


def test_documents_are_the_units_of_several_answers(tmp_path: Path) -> None:
    _, scores = ran(tmp_path / "grown", **repeated(tmp_path, samples=1))
    assert [row["name"] for row in scores["scores"]] == ["Unadjusted"], "one sample is not repeated"
    assert "sample" not in lines(tmp_path / "grown")[0]
    ran(tmp_path / "grown", **repeated(tmp_path))
    assert len(recorded(tmp_path / "asked")) == 4, "one answer becomes the first of two"
    outcome, scores = ran(tmp_path / "run", **repeated(tmp_path, no_cache=True))
    values = [(row["unadjusted"]["value"], row["unadjusted"]["n"]) for row in scores["judges"]]
    assert values == [(0.75, 2), (1.0, 2), (0.875, 2)], "(1/2 + 1 of what was read) / 2, and all; then the mean"
    assert (outcome.value.mean["answers"], outcome.incomplete) == (4, 1)
    repeats = {row["name"].rpartition(": ")[2]: row["score"] for row in scores["scores"] if ": " in row["name"]}
    assert {name: (score["value"], score["n"], score["unscored"]) for name, score in repeats.items()} == {
        "mean": (0.75, 2, 0), "any of 2": (1.0, 2, 0), "all of 2": (0.0, 1, 1)
    }  # fmt: skip
    assert [row["answer"] for row in scores["unscored"]] == ["b (sample 2)"]
    assert [(row["id"], row["sample"]) for row in lines(tmp_path / "run")] == [("a", 1), ("a", 2), ("b", 1), ("b", 2)]
    row = outcome.ranking.board().rows[0]
    assert (row.scores["final"].n, row.facts["Samples"]) == (2, "2")
    assert scores_by_document(read_frame(tmp_path / "run")) == {"a": 0.75, "b": 1.0}, "what models are compared by"


FILE = {"judges": {"scripted:a": {"template": "span", "eligibility": "full"}, "scripted:b": {}}}


@each_row(__file__, "facts_run", "templates")
def test_templates_by_judge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, template: list[str], eligibility: Any, chosen: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("chosen.json").write_text(json.dumps(FILE))
    Path("half.json").write_text('{"judges": {"scripted:a": {}}}')
    judge = ("scripted:a", "scripted:b")
    options = FactsOptions(out="o", answers="f", judge=judge, template=tuple(template), eligibility=eligibility)
    if isinstance(chosen, list):
        assert [*(choice.template for choice in options.chosen.values()), *options.variants.values()] == chosen
    else:
        with pytest.raises(UserError, match=chosen):
            assert options.chosen | options.variants


def test_an_estimate_counts_both_questions_of_every_judge(tmp_path: Path, judges: tuple[str, ...]) -> None:
    model, other = script(tmp_path / "m.json", []), script(tmp_path / "o.json", [])
    options = FactsOptions(
        data="facts_mini", model=model, baseline=other, judge=judges[:2], template=("json", "2.response"),
        out=str(tmp_path / "run"), estimate=True,
    )  # fmt: skip
    spent: Any = FactsRun(options).run().value
    calls = {part: usage.calls for part, usage in spent.items()}
    assert calls == {"model": 12, "baseline": 12, "judge": 24, "judge 2": 24}
    assert not (tmp_path / "run").exists()


# Sentences


def test_how_much_of_supported_can_be_checked(tmp_path: Path) -> None:
    """One sentence with a passage of the document, one with words that stand nowhere, one without."""
    units = {"It opens at nine.": ["opens at nine"], "It closes at six.": ["closes at midnight"], "Dogs may come.": []}
    sentences = [
        {"sentence": text, "excerpts": quotes, "rationale": "", "label": "supported"} for text, quotes in units.items()
    ]
    document = "The shop opens at nine. It closes at six.\nDogs may come."
    outcome, scores = ran(
        tmp_path / "run", answers=[{"id": "a", "document": document, "request": "When?", "answer": " ".join(units)}],
        eligibility="none", template=("json",), judge=[{"contains": "", "reply": json.dumps({"sentences": sentences})}],
    )  # fmt: skip
    (row,) = scores["evidence"]
    assert (row["supported"], row["unquoted"], row["unfound"], row["checkable"]["value"]) == (3, 1, 1, 1 / 3)
    (marked,) = outcome.conversations.rows[0].exchanges[0].marked
    assert [(mark.word, *mark.beside) for mark in marked.marks if mark.word] == [
        ("supported", "The shop “opens at nine”. It closes at six. (document)"),
        ("supported, excerpt not found", "“closes at midnight” (not in the prompt)"),
        ("supported, no excerpt",),
    ]


def test_the_command_ends_by_its_score_and_by_what_is_undecided(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_jsonl(Path("log.jsonl"), [LOGGED | {"answer": answer} for answer in ("Paris.", "Rome.", "In Rome.")])
    script(Path("rome.json"), [{"contains": ["<response_", "Rome"], "reply": verdict(False)}, ACCURATE])
    command = (
        "facts run --answers log.jsonl --template response --eligibility none --judge scripted:rome.json --out run"
    )
    done = command_here(capsys, *command.split(), "--fail-under", "33")
    assert (done.returncode, done.stderr) == (0, "")
    done = command_here(capsys, *command.split(), "--fail-under", "33.4")
    assert (done.returncode, done.stderr) == (1, "truebench: the final score is 33.33, under --fail-under 33.4\n")
    write_jsonl(Path("rag.jsonl"), [LOGGED])
    script(Path("j.json"), [{"contains": text, "reply": "Hm."} for text in ("<response_", "cannot be used")])
    command = "facts run --answers rag.jsonl --eligibility none --judge scripted:j.json --template response --out two"
    assert command_here(capsys, *command.split()).returncode == 3, "something is undecided"
    assert command_here(capsys, *command.split(), "--allow-unscored").returncode == 0
    done = command_here(capsys, *command.split(), "--allow-unscored", "--fail-under", "0")
    error = "truebench: there is no final score to hold against --fail-under 0: too little is decided\n"
    assert (done.returncode, done.stderr) == (1, error)


def test_sentences_are_labelled_as_the_sample_knows_them_and_coloured_on_the_page(tmp_path: Path) -> None:
    """All 36 answers by the usual template, json, against the sentences that facts_mini made up."""
    outcome, _ = ran(
        tmp_path / "run", data="facts_mini", answers=log(tmp_path / "log.jsonl"), template=("json",),
        judge=sentence_oracle(tmp_path / "judge.json"), baseline=baselines(tmp_path / "b.json"),
    )  # fmt: skip
    mean = outcome.value.mean
    assert (mean["unadjusted"].value, mean["final"].value, outcome.incomplete) == pytest.approx((2 / 3, 1 / 3, 0))
    rows = lines(tmp_path / "run")
    for known, (grounded, ungrounded, evasive) in zip(mini(), zip(*[iter(rows)] * 3, strict=True), strict=True):
        (units,) = (grounding["units"] for grounding in ungrounded["grounding"].values())
        wrong = {unit["text"] for unit in units if unit["label"] in ("unsupported", "contradictory")}
        assert wrong == {entry["sentence"] for entry in known["ungrounded_sentences"]}, known["id"]
        assert all(ungrounded["answer"][unit["start"] : unit["end"]] == unit["text"] for unit in units)
        for other in (grounded, evasive):
            (grounding,) = other["grounding"].values()
            assert {unit["label"] for unit in grounding["units"]} == {"supported"}
            assert all(excerpt["place"] == "document" for unit in grounding["units"] for excerpt in unit["excerpts"])
    page = (tmp_path / "run" / "report.html").read_text()
    assert page.count('class="tb-piece tb-no"') == sum(len(row["ungrounded_sentences"]) for row in mini())
    assert "✗ contradictory" in page
    assert '<blockquote dir="auto"><mark>“Harlow Valley Credit Union”</mark> (document)</blockquote>' in page
    first = page.index('<details class="tb-conversation" data-s="no" open>')
    assert first == page.index('<details class="tb-conversation"'), "what failed comes first, and the first is open"
