"""The pytest plugin: in a test `judge(prompt, answer, criteria)` asserts that the answer meets them.

The judge is that of `[tool.truebench]` in pyproject.toml: `judge = "openai:..."`, and settings of `truebench_hf.Judge` by
name. Nothing is loaded before a test uses the fixture.
"""

from __future__ import annotations

import asyncio
import inspect
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any
from unittest import TestCase

import pytest

if TYPE_CHECKING:
    from truebench_hf.api.judge import Judge, Judgment

OFFLINE, MARKER = "--truebench-offline", "truebench"
_MARKER_HELP = (
    "truebench(samples, at_least): run the test `samples` times, which draw anew; it passes if `at_least` of them do"
)


class NotJudged(AssertionError):
    """The judge left a criterion open, so that nothing is known of the answer: no failure of the application."""


_OUTCOMES = ("passed", "missed", "open", "skipped")  # of a judgment
_RUNNING = pytest.StashKey[pytest.Item]()


class AssertingJudge:
    """What the fixture `judge` gives: it judges as `truebench_hf.Judge` does, and asserts that the answer passes."""

    def __init__(self, judge: Judge, config: pytest.Config) -> None:
        self.judge, self._config = judge, config

    def __call__(
        self, prompt: Any, answer: str, criteria: Any, *, context: str | None = None, reference: str | None = None
    ) -> Judgment:
        """Judge one answer and return the judgment.

        Raises AssertionError with the missed criteria and reasons, and NotJudged, a kind of it, where something stays
        open; offline the test is skipped then.
        """
        __tracebackhide__ = True
        judgment: Judgment = self.judge(prompt, answer, criteria, context=context, reference=reference)
        if judgment.passed:
            self._count("passed")
            return judgment
        if judgment.passed is False:
            self._count("missed")
            raise AssertionError(f"the answer misses criteria\n{_shown(judgment, answer)}")
        if self._config.getoption(OFFLINE):
            self._count("skipped")
            pytest.skip(f"{OFFLINE}: {judgment.undecided}")
        self._count("open")
        raise NotJudged(f"the judge left criteria open, which is no failure of the answer\n{_shown(judgment, answer)}")

    def _count(self, outcome: str) -> None:
        """Note an outcome in the report of the test, which a worker of xdist sends to the process that shows it."""
        self._config.stash[_RUNNING].user_properties.append((MARKER, outcome))


@pytest.fixture(scope="session")
def judge(pytestconfig: pytest.Config) -> Iterator[AssertingJudge]:
    """A judge that asserts: `judge(prompt, answer, ["apologises", "at most 120 words"])`."""
    from truebench_hf.api.judge import Judge
    from truebench_hf.errors import UserError

    file, offline = pytestconfig.rootpath / "pyproject.toml", bool(pytestconfig.getoption(OFFLINE))
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    except (OSError, ValueError) as error:
        pytest.fail(f"{file}: {error}", pytrace=False)
    table = content.get("tool", {}).get("truebench")
    if not isinstance(table, Mapping):
        pytest.fail(
            f'{file}: name a judge: [tool.truebench] with judge = "openai:MODEL", or judge = "none" for rules alone',
            pytrace=False,
        )
    settings = dict(table)
    try:
        kept = Judge(settings.pop("judge", None), **settings | ({"offline": True} if offline else {}))
    except (UserError, TypeError) as error:
        pytest.fail(f"[tool.truebench] in pyproject.toml: {error}", pytrace=False)
    with kept:
        yield AssertingJudge(kept, pytestconfig)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option of the plugin."""
    text = "Ask no judge: rules and the cache decide, and tests that need more are skipped with the reason."
    parser.getgroup("truebench").addoption(OFFLINE, action="store_true", help=text)


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line("markers", _MARKER_HELP)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Note the test, and refuse the marker where it could not be kept: unittest runs its methods itself."""
    item.config.stash[_RUNNING] = item
    if item.get_closest_marker(MARKER) is not None and issubclass(getattr(item, "cls", None) or object, TestCase):
        pytest.fail(
            f"@pytest.mark.{MARKER}: a method of unittest.TestCase runs once; make it a function or of a plain class",
            pytrace=False,
        )


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test with the marker several times: an application that draws may miss now and then."""
    marker = pyfuncitem.get_closest_marker(MARKER)
    if marker is None:
        return None
    samples: Any = marker.kwargs.get("samples", 1)
    at_least: Any = marker.kwargs.get("at_least", samples)
    known = not marker.args and marker.kwargs.keys() <= {"samples", "at_least"}
    if not (known and isinstance(samples, int) and isinstance(at_least, int) and 1 <= at_least <= samples):
        pytest.fail(
            f"@pytest.mark.{MARKER}: write it as (samples=5, at_least=4), at_least from 1 to samples", pytrace=False
        )
    names = inspect.signature(pyfuncitem.obj).parameters
    misses = []
    for number in range(1, samples + 1):
        try:
            done = pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names})
            if inspect.iscoroutine(done):
                asyncio.run(done)
        except NotJudged:
            raise
        except AssertionError as error:
            misses.append(f"sample {number}: {error}")
    if samples - len(misses) < at_least:
        counted = f"{samples - len(misses)} of {samples} samples pass, at least {at_least} have to"
        pytest.fail("\n".join([counted, *misses]), pytrace=False)
    return True


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Show what was judged: a line per test that missed or left something, and one for all."""
    counts: dict[str, Counter[str]] = {}
    for report in chain.from_iterable(terminalreporter.stats.values()):
        for name, outcome in report.user_properties if getattr(report, "when", "") == "call" else ():
            if name == MARKER:
                counts.setdefault(report.nodeid, Counter())[outcome] += 1
    if not counts:
        return
    terminalreporter.section("truebench")
    terminalreporter.line(f"{' '.join(f'{outcome:>7}' for outcome in _OUTCOMES)}  test")
    lines = {test: count for test, count in counts.items() if count.keys() - {"passed"}}
    lines[f"all {len(counts)} tests with a judge"] = sum(counts.values(), Counter())
    for test, count in lines.items():
        terminalreporter.line(f"{' '.join(f'{count[outcome]:>7}' for outcome in _OUTCOMES)}  {test}")


def _shown(judgment: Judgment, answer: str | None) -> str:
    """The verdicts on an answer, a line each, and how it begins; a half of a character is escaped, as xdist takes none."""
    from truebench_hf.text.terminal import printable, shortened

    verdicts: Sequence[Any] = judgment.verdicts
    lines = [f"  {verdict.label or 'open':<7} {verdict.criterion.text}: {verdict.reason}" for verdict in verdicts]
    if answer is not None:
        lines.append(f"  answer: {shortened(answer, 300)}")
    return printable("\n".join(lines))
