"""Self-refinement: a writer of known luck against an independent simulation, every status, and what the model sees."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.runs import script, write_jsonl
from truebench_hf.benchmarks.tick.refine import Refine, RefineOptions
from truebench_hf.benchmarks.tick.revision import STATUS
from truebench_hf.errors import UserError
from truebench_hf.models.protocol import ChatRequest
from truebench_hf.models.scripted import Answer, ScriptedModel, verdicts
from truebench_hf.options import InMemory
from truebench_hf.report.table import Table
from truebench_hf.types import Score

MEND, BREAK, FIRST = 0.6, 0.05, 0.4
ITERATIONS = 4


def draw(*what: object) -> float:
    """A number in [0, 1) that what is drawn for settles."""
    return int(hashlib.sha256(repr(what).encode()).hexdigest()[:12], 16) / 16**12


def questions_of(item: int) -> int:
    return 2 + item % 7


def simulated(item: int) -> list[list[bool]]:
    """The state of every requirement after each iteration, until all are met: no line of it is the package's."""
    states = [[draw(item, number, "first") < FIRST for number in range(questions_of(item))]]
    for iteration in range(1, ITERATIONS + 1):
        before = states[-1]
        if all(before):
            break
        luck = [draw(item, number, iteration) for number in range(len(before))]
        states.append([u >= BREAK if was else u < MEND for was, u in zip(before, luck, strict=True)])
    return states


def written(item: int, version: int, state: list[bool]) -> str:
    return f"Item {item}, version {version}: " + " ".join("ok" if met else "bad" for met in state)


def between(prompt: str, name: str) -> str:
    found = re.search(rf"<{name}_(\w{{8}})>\n(.*?)\n</{name}_\1>", prompt, re.DOTALL)
    return found.group(2) if found else ""


def lucky_writer(request: ChatRequest) -> Answer:
    """Answers, writes checklists, and mends by the answers that its prompt holds, with the luck drawn for it."""
    prompt = request.messages[-1].content
    number = re.search(r"Task (\d+)\.", prompt)
    assert number, prompt
    item = int(number.group(1))
    if "You prepare the evaluation" in prompt:
        asked = "\n".join(f"Does it meet requirement {n}?" for n in range(questions_of(item)))
        return f"Analysis: {questions_of(item)} requirements.\nQuestions:\n{asked}"
    if "<criteria_" in prompt:
        return by_the_text(request)
    if "You improve" not in prompt:
        return written(item, 0, [draw(item, n, "first") < FIRST for n in range(questions_of(item))])
    answers = re.findall(r"^\d+\. Does it meet requirement (\d+)\?\nAnswer: (YES|NO)\b", prompt, re.MULTILINE)
    version = int(re.findall(r"version (\d+)", between(prompt, "response"))[0]) + 1
    state = []
    for place, answer in answers:
        u = draw(item, int(place), version)
        state.append(u >= BREAK if answer == "YES" else u < MEND)
    tag = re.findall(r"<(answer_\w{8})>", prompt)[-1]
    return f"Plan: try.\n<{tag}>\n{written(item, version, state)}\n</{tag}>"


def by_the_text(request: ChatRequest) -> Answer:
    """Verdicts by what stands in the response."""
    prompt = request.messages[-1].content
    states = between(prompt, "response").partition(": ")[2].split()
    labels = {f"requirement {n}?": "PASS" if word == "ok" else "FAIL" for n, word in enumerate(states)}
    return verdicts(prompt, labels)


def in_memory(name: str, reply: Callable[[ChatRequest], Answer]) -> InMemory:
    model = ScriptedModel(name, reply)
    return InMemory(model.spec, model)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize(("items", "off"), [(20, 0.12), pytest.param(200, 0.05, marks=pytest.mark.slow)])
def test_refinement_equals_an_independent_simulation_item_by_item(tmp_path: Path, items: int, off: float) -> None:
    rows = [
        {"id": str(item), "prompt": f"Task {item}.", "category": "even" if item % 2 == 0 else "odd",
         "criteria": [f"Does it meet requirement {n}?" for n in range(questions_of(item))]}
        for item in range(items)
    ]  # fmt: skip
    options = RefineOptions(
        data=write_jsonl(tmp_path / "d.jsonl", rows), model=in_memory("writer", lucky_writer), iterations=ITERATIONS,
        outside="drfr", outside_judge=in_memory("outsider", by_the_text), out=str(tmp_path / "out"),
    )  # fmt: skip
    result = Refine(options).run().value
    wanted = {str(item): simulated(item) for item in range(items)}
    found: dict[str, list[list[bool]]] = {name: [] for name in wanted}
    for row in lines(tmp_path / "out" / "versions.jsonl"):
        state = [verdict["label"] == "yes" for verdict in row["verdicts"]]
        assert row["text"] == written(int(row["id"]), row["iteration"], state)
        assert row["outside"]["score"] == row["own_score"] == pytest.approx(sum(state) / len(state))
        found[row["id"]].append(state)
    assert found == wanted
    assert any(len(states) <= ITERATIONS for states in wanted.values()), "some end early"
    _check_steps(result, list(wanted.values()), off)


def _check_steps(result: dict[str, Table], wanted: list[list[list[bool]]], off: float) -> None:
    """Transitions and scores per iteration, counted here once more from the simulated states."""
    mended = broken = no = yes = 0
    for step in result["iterations"].rows:
        number = step["iteration"]
        pairs = [
            pair
            for states in wanted
            if 0 < number < len(states)
            for pair in zip(states[number - 1], states[number], strict=True)
        ]
        turned = {key: sum(pair == value for pair in pairs) for key, value in _PAIRS.items()}
        for name, rest in (("mended", "still_no"), ("broken", "still_yes")):
            share, of = step[name], turned[name] + turned[rest]
            assert (share.n, share.unscored) == (of, 0)
            assert share.value == (pytest.approx(turned[name] / of) if of else None)
        assert step["rewritten"] == sum(0 < number < len(states) for states in wanted)
        last = [states[min(number, len(states) - 1)] for states in wanted]
        share = sum(map(sum, last)) / sum(map(len, last))
        assert step["own"].value == step["outside"].value == pytest.approx(share)
        assert step["passing"] == sum(map(all, last))
        mended, no = mended + turned["mended"], no + turned["mended"] + turned["still_no"]
        broken, yes = broken + turned["broken"], yes + turned["broken"] + turned["still_yes"]
    assert mended / no == pytest.approx(MEND, abs=off)
    assert broken / yes == pytest.approx(BREAK, abs=off)
    gains = {gain["category"]: gain["difference"] for gain in result["gains"].rows}
    rates = [(sum(states[0]) / len(states[0]), sum(states[-1]) / len(states[-1])) for states in wanted]
    assert gains["All instructions"].value == pytest.approx(sum(b - a for a, b in rates) / len(rates))
    assert gains["even"].n + gains["odd"].n == gains["All instructions"].n == len(wanted)
    low, high = gains["odd"].ci95
    assert low < gains["odd"].value < high


_PAIRS = {"mended": (False, True), "still_no": (False, False), "broken": (True, False), "still_yes": (True, True)}
LIST = {"contains": "You prepare the evaluation", "reply": "Analysis: a\nQuestions:\nIs it short?\nIs it kind?"}
FINE = {"contains": "<criteria_", "verdicts": {}}


def refined(
    folder: Path, reply: Callable[[ChatRequest], Answer], rows: list[dict[str, Any]] | None = None, **more: Any
) -> tuple[dict[str, Table], list[dict[str, Any]], ScriptedModel]:
    """(the tables, versions.jsonl, the model) of a refinement by a scripted model."""
    model = ScriptedModel("m", reply)
    data = write_jsonl(folder / "d.jsonl", rows or [{"id": "a", "prompt": "Greet Kim."}])
    given = {"data": data, "model": InMemory(model.spec, model), "out": str(folder / "out")} | more
    value = Refine(RefineOptions(**given)).run().value
    return value, lines(folder / "out" / "versions.jsonl"), model


def writer(
    rewrites: list[Answer], labels: dict[str, str], first: Answer = "version 0"
) -> Callable[[ChatRequest], Answer]:
    """A model that answers, lists two questions, judges by the labels of a version ("*": by any), and rewrites so."""
    left = iter(rewrites)

    def reply(request: ChatRequest) -> Answer:
        prompt = request.messages[0].content
        if "You prepare the evaluation" in prompt:
            return str(LIST["reply"])
        if "<criteria_" in prompt:
            version = between(prompt, "response")
            label = next(
                (labels[key] for key in (f"{version} {_question(prompt)}", version, "*") if key in labels), "PASS"
            )
            return verdicts(prompt, {"Is": label}) if label != "?" else "hard to say"
        if "You improve" in prompt:
            made, tag = next(left), re.findall(r"<(answer_\w{8})>", prompt)[-1]
            return made.replace("<>", f"<{tag}>").replace("</>", f"</{tag}>") if isinstance(made, str) else made
        return "Too cold." if "You look critically" in prompt else first

    return reply


def _question(prompt: str) -> str:
    return "kind" if "Is it kind?" in between(prompt, "criteria") else "short"


def tagged(text: str) -> str:
    return f"Plan: mend.\n<>\n{text}\n</>"


STATUSES: list[tuple[list[Answer], dict[str, str], list[tuple[str, str]], str]] = [
    ([], {}, [("first", "version 0")], "all YES at once: nothing is rewritten"),
    ([tagged("version 1")], {"version 0": "FAIL"}, [("first", "version 0"), ("rewritten", "version 1")], "stops when all pass"),
    ([tagged("version 1"), tagged("version 2")], {"*": "FAIL"},
     [("first", "version 0"), ("rewritten", "version 1"), ("rewritten", "version 2")], "the iterations are used up"),
    (["no tags"] * 3, {"*": "FAIL"}, [("first", "version 0"), ("unreadable", "version 0"), ("unreadable", "version 0")],
     "unreadable: the version before stays, and the same request is not sent once more"),
    ([{"text": tagged("cut"), "truncated": True}], {"*": "FAIL"},
     [("first", "version 0"), ("unreadable", "version 0"), ("unreadable", "version 0")], "cut off"),
    ([tagged("version 0")], {"*": "FAIL"}, [("first", "version 0"), ("unchanged", "version 0"), ("unchanged", "version 0")],
     "the same text again"),
    ([{"error": "503"}, tagged("version 2")], {"*": "FAIL"},
     [("first", "version 0"), ("failed", "version 0"), ("rewritten", "version 2")], "a failed request is tried again"),
    ([tagged("version 1")], {"version 0 kind": "?", "version 0 short": "PASS"},
     [("first", "version 0"), ("rewritten", "version 1")], "a question left open is no YES"),
]  # fmt: skip


@pytest.mark.parametrize(("rewrites", "labels", "wanted", "why"), STATUSES)
def test_every_status(
    tmp_path: Path, rewrites: list[Answer], labels: dict[str, str], wanted: list[tuple[str, str]], why: str
) -> None:
    result, rows, _ = refined(tmp_path, writer(rewrites, labels), iterations=2)
    assert [(row["status"], row["text"]) for row in rows] == wanted, why
    tried = [{name for name in STATUS if step.get(name)} for step in result["iterations"].rows[1:]]
    assert tried == [{status} for status, _ in wanted[1:]] + [set()] * (3 - len(wanted)), why


def test_undecided_answers_are_neither_mended_nor_broken(tmp_path: Path) -> None:
    labels = {"version 0 kind": "?", "version 0 short": "FAIL", "version 1 short": "?", "version 1 kind": "FAIL"}
    result, rows, _ = refined(tmp_path, writer([tagged("version 1"), tagged("version 2")], labels), iterations=1)
    assert [result["iterations"].rows[1][name] for name in ("mended", "broken")] == [Score(None, 0, 2)] * 2
    assert [row["own_score"] for row in rows] == [None, None]
    gain = result["gains"].rows[0]["difference"]
    assert (gain.value, gain.n, gain.unscored, gain.ci95) == (None, 0, 1, None)
    assert len(result["undecided"].rows) == 1


def test_nothing_can_be_refined_where_the_checklist_or_all_its_answers_are_missing(tmp_path: Path) -> None:
    for name, reply, said in (
        (
            "list",
            lambda request: "no list" if "You prepare" in request.messages[0].content else "version 0",
            "no checklist",
        ),
        ("open", writer([], {"*": "?"}), "no question of the checklist was decided"),
    ):
        (tmp_path / name).mkdir()
        result, rows, _ = refined(tmp_path / name, reply)
        assert [row["status"] for row in rows] == ["first"], name
        assert [(row["id"], said in row["reason"]) for row in result["undecided"].rows] == [("a", True)], name


def test_a_failed_first_answer_is_a_failure_with_its_reason(tmp_path: Path) -> None:
    rows = [{"id": "a", "prompt": "Greet Kim.", "criteria": ["Is it kind?", "Is it short?"]}]
    outsider = in_memory("outsider", by_the_text)
    reply = writer([], {}, first={"error": "the server burned down"})
    result, made, _ = refined(tmp_path, reply, rows, outside="drfr", outside_judge=outsider)
    assert made == [
        {"id": "a", "iteration": 0, "status": "failed", "detail": "the model gave no answer: the server burned down"}
    ]
    assert result["undecided"].rows == [{"id": "a", "reason": "the model gave no answer: the server burned down"}]
    first = result["iterations"].rows[0]
    assert (first["failed"], first["outside"]) == (1, Score(None, 0, 2))


@pytest.mark.parametrize(
    ("keep", "own", "right", "why"),
    [
        ("last", [0.5, 0.5, 0.0], [0.0, 1.0, 0.0], "the last version, however bad"),
        ("best", [0.5, 0.5, 0.5], [0.0, 0.0, 0.0], "the best one so far by its own score, the first of equals"),
    ],
)
def test_which_version_is_kept(tmp_path: Path, keep: str, own: list[float], right: list[float], why: str) -> None:
    labels = {"version 0 kind": "FAIL", "version 1 kind": "FAIL", "version 2": "FAIL"}
    rows = [{"id": "a", "prompt": "Greet Kim.", "reference": "version 1"}]
    reply = writer([tagged("version 1"), tagged("version 2")], labels)
    result, _, _ = refined(tmp_path, reply, rows, iterations=2, keep=keep, outside="exact")
    assert [step["own"].value for step in result["iterations"].rows] == own, why
    assert [step["outside"].value for step in result["iterations"].rows] == right, why


def test_free_critiques_never_stop_early_and_need_no_checklist(tmp_path: Path) -> None:
    rewrites: list[Answer] = [tagged(f"version {n}") for n in range(1, 5)]
    result, rows, model = refined(tmp_path, writer(rewrites, {}), critique="free")
    assert [row["text"] for row in rows] == [f"version {n}" for n in range(5)]
    assert {row.get("critique") for row in rows[1:]} == {"Too cold."}
    prompts = [one.messages[0].content for one in model.prompts if isinstance(one, ChatRequest)]
    assert not [prompt for prompt in prompts if "You prepare" in prompt or "<criteria_" in prompt]
    assert sum("You look critically" in prompt for prompt in prompts) == 4
    assert not (tmp_path / "out" / "checklists.jsonl").exists()
    spent = json.loads((tmp_path / "out" / "run.json").read_text())["usage"]["total"]
    assert set(spent) == {"model", "critique", "rewrite"}
    assert not {"own", "outside"} & result["iterations"].rows[0].keys()
    page = (tmp_path / "out" / "report.html").read_text()
    assert "critiques in prose give none: add --outside" in page
    assert "What refinement gained" not in page, "there is no score of any kind"
    assert "the model's own is what it aims at" not in page
    assert not json.loads((tmp_path / "out" / "run.json").read_text()).get("board"), "nothing to be ranked by"


def test_what_the_data_knows_of_right_answers_reaches_no_model_that_it_scores(tmp_path: Path) -> None:
    rows = [{"id": "a", "prompt": "Greet Kim.", "criteria": ["Is the secret word xyzzy in it?"], "reference": "plugh"}]
    for critique, kind in (("checklist", "drfr"), ("checklist", "rating"), ("free", "drfr")):
        folder = tmp_path / f"{critique}-{kind}"
        folder.mkdir()
        outsider = ScriptedModel(
            "o",
            lambda r: 'Fine.\n```json\n{"rating": 7}\n```' if "You rate" in r.messages[0].content else by_the_text(r),
        )
        result, _, model = refined(
            folder, writer([tagged("version 1")] * 4, {"*": "FAIL"}), rows, critique=critique, outside=kind,
            outside_judge=InMemory(outsider.spec, outsider), iterations=2,
        )  # fmt: skip
        inside = "".join(m.content for one in model.prompts if isinstance(one, ChatRequest) for m in one.messages)
        assert "xyzzy" not in inside
        assert "plugh" not in inside
        shown = "".join(m.content for one in outsider.prompts if isinstance(one, ChatRequest) for m in one.messages)
        assert "xyzzy" in shown, "it is what the outside judge goes by"
        if kind == "rating":
            assert result["iterations"].rows[0]["outside"].value == pytest.approx(0.7)


def test_the_datas_own_checklist_serves_where_no_outside_judge_scores_by_it(tmp_path: Path) -> None:
    rows = [{"id": "a", "prompt": "Greet Kim.", "criteria": ["Is it warm?"], "reference": "version 1"}]
    _, made, model = refined(
        tmp_path, writer([tagged("version 1")] * 9, {"*": "FAIL"}), rows, outside="exact", iterations=1
    )
    assert [v["question"] for v in made[0]["verdicts"]] == ["Is it warm?"]
    assert not [
        one for one in model.prompts if isinstance(one, ChatRequest) and "You prepare" in one.messages[0].content
    ]


def test_conversations_are_left_out_and_counted(tmp_path: Path) -> None:
    talk = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Hello"},
        {"role": "user", "content": "Bye"},
    ]
    rows = [{"id": "a", "prompt": "Greet Kim."}, {"id": "b", "messages": talk}, {"id": "c", "turns": ["one", "two"]}]
    _, made, _ = refined(tmp_path, writer([], {}), rows)
    assert [row["id"] for row in made] == ["a"]
    notes = json.loads((tmp_path / "out" / "scores.json").read_text())["notes"]
    assert "Rows of the data left out: 2 (the first: c: 2 turns to be answered)." in notes
    (tmp_path / "talk").mkdir()
    with pytest.raises(UserError, match="all rows are conversations"):
        refined(tmp_path / "talk", writer([], {}), rows[1:2])


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"outside": "drfr"}, "needs an --outside-judge"),
        ({"outside": "accuracy"}, "unknown outside"),
        ({"outside": "exact", "outside_judge": "smollm2"}, "goes with --outside drfr or rating"),
        ({"outside_judge": "smollm2"}, "goes with --outside drfr or rating"),
        ({"critique": "prose"}, "unknown critique"),
        ({"keep": "first"}, "unknown keep"),
        ({"critique": "free", "keep": "best"}, "leave out one"),
        ({"critique": "free", "generator": "smollm2"}, "uses no checklist"),
        ({"iterations": 0}, "at least 1"),
    ],
)
def test_options_that_do_not_go_together(more: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=said):
        RefineOptions(data="d.jsonl", model="smollm2", out="out", **more)


@pytest.mark.parametrize("mine", [["Is it short?", "IS IT KIND"], ["Is it kind?"]])
def test_some_of_the_criteria_that_score_outside_are_as_telling_as_all(tmp_path: Path, mine: list[str]) -> None:
    rows = [{"id": "a", "prompt": "p", "criteria": ["Is it kind?", "Is it short?"]}]
    known = write_jsonl(tmp_path / "mine.jsonl", [rows[0] | {"criteria": mine}])
    outside = {"outside": "drfr", "outside_judge": script(tmp_path / "judge.json", [])}
    with pytest.raises(UserError, match="must not see it"):
        refined(tmp_path, writer([], {}), rows, checklists=known, **outside)


@pytest.mark.parametrize(
    ("rows", "more", "said"),
    [
        ([{"id": "a", "prompt": "p"}], {"outside": "exact"}, "has reference"),
        ([{"id": "a", "prompt": "p"}], {"outside": "drfr", "outside_judge": "scripted:x"}, "has criteria"),
        ([{"id": "a", "prompt": "p", "criteria": ["Is it kind?"]}],
         {"outside": "drfr", "outside_judge": "scripted:x", "checklists": "self"}, "must not see it"),
    ],
)  # fmt: skip
def test_data_that_the_outside_score_cannot_use(
    tmp_path: Path, rows: list[dict[str, Any]], more: dict[str, Any], said: str
) -> None:
    if more.get("outside_judge"):
        more = more | {"outside_judge": script(tmp_path / "judge.json", [])}
    if more.get("checklists"):
        more = more | {"checklists": str(tmp_path / "d.jsonl")}
    with pytest.raises(UserError, match=said):
        refined(tmp_path, writer([], {}), rows, **more)


def test_results_are_ranked_together_under_one_outside_judge_and_the_same_criteria(tmp_path: Path) -> None:
    def setting(name: str, criterion: str, judge: str, **more: Any) -> str:
        (tmp_path / name).mkdir()
        rows = [{"id": "a", "prompt": "Greet Kim.", "criteria": [criterion]}]
        outside = {"outside": "drfr", "outside_judge": in_memory(judge, by_the_text)} if judge else {}
        refined(tmp_path / name, writer([], {}), rows, **(outside | more))
        board: dict[str, Any] = json.loads((tmp_path / name / "out" / "run.json").read_text())["board"]
        return str(board["rows"][0]["setting"])

    one = setting("one", "Is it warm?", "o")
    assert setting("other model", "Is it warm?", "o", model=in_memory("n", writer([], {})), iterations=2) == one
    assert setting("other criteria", "Is it cold?", "o") != one
    assert setting("other judge", "Is it warm?", "p") != one
    assert setting("nobody", "Is it warm?", "") != setting(
        "nobody else", "Is it warm?", "", model=in_memory("n", writer([], {}))
    )
