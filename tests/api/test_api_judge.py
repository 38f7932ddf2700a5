"""`judge` and `Judge`: what may be given, what comes back, and that it works wherever Python runs."""

from __future__ import annotations

import asyncio
import gc
import io
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import truebench_hf
from tests.support.openai_server import OpenAIServer
from tests.support.runs import ROOT, script
from truebench_hf import Criterion, Judge, Judgment, UserError, judge
from truebench_hf.data.judged import Case
from truebench_hf.judging.judge import Calibrated, calibration_json
from truebench_hf.metrics.calibration import Calibrator
from truebench_hf.models.scripted import verdicts
from truebench_hf.prompts import Prompts
from truebench_hf.types import Message, Verdict


class Saying:
    """A judge that keeps what it is asked, and fails criteria which hold one of some words."""

    def __init__(self, *failing: str) -> None:
        self.labels = dict.fromkeys(failing, "FAIL")
        self.prompts: list[str] = []

    def __call__(self, messages: list[dict[str, str]]) -> str:
        self.prompts.append(messages[-1]["content"])
        return verdicts(self.prompts[-1], self.labels)


def test_it_is_awaited_and_draws_itself_in_a_notebook() -> None:
    async def both() -> list[Judgment]:
        calls = (
            truebench_hf.ajudge("Name a colour.", text, ["is <b>blue</b>"], Saying(*words))
            for text, words in (("Blue.", ()), ("Red.", ("blue",)))
        )
        return list(await asyncio.gather(*calls))

    passed, failed = asyncio.run(both())
    assert (passed.passed, failed.passed) == (True, False)
    for text in ("Failed", "is &lt;b&gt;blue&lt;/b&gt;", "<style>"):
        assert text in failed._repr_html_()
    assert truebench_hf.ajudge.__name__ == "ajudge"


@pytest.mark.parametrize(
    ("labels", "weights", "passed", "reason"),
    [
        (("yes", "yes"), (1, 1), True, "a; b"),
        (("yes", None), (1, 1), None, "b"),
        (("unknown", "yes"), (1, 1), None, "a"),
        ((None, "no"), (1, 1), False, "b"),
        ((), (), True, ""),
        (("yes", "yes"), (1, -1), False, "b"),  # a negative weight is a prohibition
        (("yes", "no"), (1, -1), True, "a; b"),
        (("no", "no"), (1, -1), False, "a"),  # one that is met makes up for nothing
    ],
)
def test_the_reason_is_of_what_decides(labels: Any, weights: Any, passed: bool | None, reason: str) -> None:
    rows = zip(labels, weights, "ab", strict=False)
    judgment = Judgment(tuple(Verdict(Criterion("x", weight=weight), label, why) for label, weight, why in rows))
    assert (judgment.passed, judgment.reason) == (passed, reason)
    assert judgment.undecided == (reason if passed is None else "")
    assert str(judgment).startswith({True: "passed", False: "failed", None: "not decided"}[passed])
    with pytest.raises(TypeError, match=r"\.passed"):
        bool(judgment)


def test_a_judgment_prints_a_line_per_criterion_whatever_a_judge_writes() -> None:
    texts = [("half a \ud83d", "red \x1b[31m and \u202e back"), ("two\nlines", "so\r\nyes     fake: met"), ("c", "")]
    judgment = Judgment(tuple(Verdict(Criterion(text), "no", why) for text, why in texts))
    shown = str(judgment)
    assert shown.encode("utf-8").decode().splitlines() == [
        "failed",
        r"no      half a \ud83d: red \x1b[31m and \u202e back",
        "no      two lines: so yes     fake: met",
        "no      c: ",
    ]


def test_one_prompt_one_list_of_criteria_and_one_context_are_for_all() -> None:
    asked = Saying("second")
    weighted = [{"text": "the first", "weight": 1.0}, Criterion("the second", weight=-1.0)]
    assert judge("Go.", "Gone.", weighted, asked).passed is True, "what must not be is not"
    made = judge("Say it.", ["one", "two"], ["the first", "the second"], asked, context="A document.")
    assert [[v.label for v in one] for one in made] == [["yes", "no"]] * 2
    assert all("A document." in prompt and "Say it." in prompt for prompt in asked.prompts[1:])


def test_a_conversation_is_shown_with_its_history_and_what_is_beside() -> None:
    asked = Saying()
    chat = [
        {"role": "system", "content": "Be kind."}, Message("user", "Hi."), {"role": "assistant", "content": "Hello."},
        {"role": "user", "content": "Name a colour."},
    ]  # fmt: skip
    judge(chat, "Blue.", "names a colour", asked, context="The sky.", reference="Red.")
    (prompt,) = asked.prompts
    assert all(text in prompt for text in ("Be kind.", "Hello.", "Name a colour.", "Blue.", "The sky.", "Red."))


def test_a_server_is_reached_by_its_url_and_options() -> None:
    with OpenAIServer(record=10) as server:
        made = judge(
            "Name a colour.", ["Blue.", "Red."], "names a colour", "openai:any", base_url=server.url,
            judge_arg={"extra_body": {"seed": 7}, "attempts": 2},
        )  # fmt: skip
    assert all(one.passed is not None for one in made)
    assert [body["seed"] for body in server.stats()["bodies"]] == [7, 7]


def test_it_leaves_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    judge("Hi.", "Hello.", "greets", Saying())
    assert list(tmp_path.iterdir()) == []


def test_it_works_where_a_loop_runs_already_and_in_threads() -> None:
    async def notebook() -> bool | None:
        return judge("Hi.", "Hello.", "greets", Saying()).passed

    assert asyncio.run(notebook()) is True
    with Judge(Saying()) as kept, ThreadPoolExecutor(4) as threads:
        made = list(threads.map(lambda number: kept("Hi.", f"Hello {number}.", "greets").passed, range(12)))
    assert made == [True] * 12


def test_a_kept_judge_asks_nothing_twice_and_is_async_by_verdicts() -> None:
    asked = Saying()

    async def twice(kept: Judge) -> list[tuple[Verdict, ...]]:
        case = Case("Hi.", "Hello.", (Criterion("greets"),))
        return list(await asyncio.gather(kept.verdicts(case), kept.verdicts(case)))

    with Judge(asked) as kept:
        assert kept("Hi.", "Hello.", "greets").passed
        one, other = asyncio.run(twice(kept))
    assert one == other
    assert len(asked.prompts) == 1
    with pytest.raises(UserError, match="closed"):
        kept("Hi.", "Hello.", "greets")


@pytest.mark.parametrize("name", ["folder", "deep/er/folder"])
def test_a_cache_is_shared_by_calls_judges_and_threads(tmp_path: Path, name: str) -> None:
    cache, asked = tmp_path / name, Saying()
    named = truebench_hf.model(asked, name="v1")

    def ask(number: int = 0) -> bool | None:
        return judge("Hi.", f"Hello {number}.", "greets", named, cache=cache).passed

    with Judge(named, cache=cache) as kept:
        assert kept("Hi.", "Hello 0.", "greets").passed
        assert ask() is True
        with ThreadPoolExecutor(4) as threads:
            assert list(threads.map(ask, range(8))) == [True] * 8
    assert ask() is True
    assert len(asked.prompts) == 8
    assert judge("Hi.", "Hello 0.", "greets", truebench_hf.model(asked, name="v2"), cache=cache).passed
    assert len(asked.prompts) == 9, "another name is another judge"


def test_a_cache_that_cannot_be_is_one_line(tmp_path: Path) -> None:
    spec = script(tmp_path / "judge.json", [])
    for cache in (tmp_path / "judge.json" / "inside", tmp_path / "judge.json"):
        with pytest.raises(UserError, match=r"\Acache.*\Z"):
            judge("Hi.", "Hello.", "greets", spec, cache=cache)
    with pytest.raises(UserError, match=r"truebench_hf\.model"):
        judge("Hi.", "Hello.", "greets", Saying(), cache=tmp_path / "cache")
    assert not (tmp_path / "cache").exists(), "a function without a name has none"


def test_an_interrupt_ends_the_work(tmp_path: Path) -> None:
    """Ctrl-C while a slow judge thinks; and nobody closes it, which is nothing to complain about at the end."""
    with OpenAIServer() as server:
        code = (
            "import os, signal, threading, truebench_hf\n"
            f"kept = truebench_hf.Judge('openai:any', base_url={server.url!r}, cache={str(tmp_path)!r})\n"
            "kept('Hi.', 'Hello.', 'greets')\n"
            f"import urllib.request as u; u.urlopen(u.Request({server.url.removesuffix('/v1') + '/settings'!r}, "
            "data=b'{\"delay\": 30}', headers={'Content-Type': 'application/json'}))\n"
            "threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
            "try:\n    kept('Hi.', 'Hello you.', 'greets')\n"
            "except KeyboardInterrupt:\n    print('stopped', kept('Hi.', 'Hello.', 'greets').passed is None)"
        )
        done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "stopped False\n", "")


def test_progress_of_many_is_shown_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    for count, shown in ((3, False), (20, True)):
        monkeypatch.setattr(sys, "stderr", Terminal())
        judge("Hi.", [f"Hello {number}." for number in range(count)], "greets", Saying())
        assert (f"{count}/{count}" in sys.stderr.getvalue()) is shown  # type: ignore[attr-defined]


def test_levels_votes_prompts_and_cascades_are_settings(tmp_path: Path) -> None:
    asked = Saying("second")
    criteria = ["the first", "the second"]
    assert [v.label for v in judge("Hi.", "Ho.", criteria, asked, level="rubric")] == ["yes", "no"]
    assert len(asked.prompts) == 2, "one call a criterion"
    made = judge("Hi.", "Ho.", criteria, asked, votes=3, temperature=1.0)
    assert made.verdicts[1].votes == ("no", "no", "no")
    own = tmp_path / "own.jinja"
    own.write_text(
        "Judge this: {{ response }}\n<criteria>\n{% for c in criteria %}{{ loop.index }}. {{ c }}\n{% endfor %}</criteria>"
    )
    assert judge("Hi.", "Ho.", criteria, asked, prompts={"checklist": own}).passed is False
    assert asked.prompts[-1].startswith("Judge this: Ho.")
    own.write_text("{{ nonsense }}")
    with pytest.raises(UserError, match="nonsense"):
        judge("Hi.", "Ho.", criteria, asked, prompts={"checklist": own})


def test_probabilities_thresholds_calibrations_and_cascades(tmp_path: Path) -> None:
    rules = [{"contains": "first", "probability": 0.9}, {"contains": "second", "probability": 0.55}]
    first, asked = script(tmp_path / "first.json", rules), Saying("second")
    criteria = ["the first", "the second"]
    labels = lambda **more: [v.label for v in judge("Hi.", "Ho.", criteria, first, **more)]  # noqa: E731
    assert labels(level="decision") == ["yes", "yes"]
    assert labels(level="decision", threshold=0.6) == ["yes", "no"]
    assert labels(level="cascade", cascade_judge=asked) == ["yes", "no"], "0.55 lies in the band from 0.2 to 0.8"
    assert len(asked.prompts) == 1
    assert "the second" in asked.prompts[0], "only the doubtful rest is handed on"
    fitted = Calibrated(first, Calibrator("temperature"), 0.6, rules="decide")  # as `judge` decides
    calibration = tmp_path / "calibration.json"
    calibration.write_text(json.dumps(calibration_json(fitted, Prompts())))
    assert labels(level="decision", calibration=calibration) == ["yes", "no"]
    assert labels(level="decision", calibration=calibration, threshold=0.5) == ["yes", "yes"]
    assert labels(level="cascade", calibration=calibration, cascade_judge=asked) == ["yes", "no"], "by the usual band"


def test_a_judge_that_nobody_holds_any_more_ends_its_thread(tmp_path: Path) -> None:
    kept = Judge(Saying())
    thread = kept._background._thread
    assert kept("Hi.", "Hello.", "greets").passed
    del kept
    gc.collect()
    thread.join(5)
    assert not thread.is_alive()
