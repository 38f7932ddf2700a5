"""What rules decide of a case before a judge is asked, and what judges are told of the rest.

What reads and measures is imported where it is used: its patterns take a fifth of a second, which studies without rules
need not wait for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

from truebench_hf.judging.case import Case
from truebench_hf.terminal import warn
from truebench_hf.types import Criterion, Verdict

if TYPE_CHECKING:
    from truebench_hf.rules import Rule

MODES = ("off", "evidence", "decide")
JUDGE = "rules"  # who decided, in verdicts and tables
_LONGEST = 300  # characters of what is stated of one criterion


@dataclass(frozen=True)
class Ruled:
    """A case in two parts: the verdicts that rules give, by the place of their criterion, and the rest for a judge."""

    verdicts: Mapping[int, Verdict]
    rest: Case

    def joined(self, judged: Sequence[Verdict]) -> tuple[Verdict, ...]:
        """One verdict per criterion, in order, with those on `rest` that a judge gave."""
        left = iter(judged)
        return tuple(self.verdicts.get(place) or next(left) for place in range(len(self.verdicts) + len(judged)))


def ruled(case: Case, mode: str) -> Ruled:
    """What rules make of a case: with `decide` verdicts where they leave no doubt, and facts beside what is left.

    With `evidence` there are facts alone, with `off` the case is left as it is.
    """
    if mode == "off":
        return Ruled({}, case)
    verdicts: dict[int, Verdict] = {}
    facts: dict[Criterion, str] = {}
    for place, criterion in enumerate(case.criteria):
        stated, met = _measured(criterion, case.response)
        if met is not None and mode == "decide":
            verdicts[place] = Verdict(criterion, "yes" if met else "no", f"measured: {stated}", JUDGE)
        elif stated:
            facts[criterion] = stated
    left = tuple(one for place, one in enumerate(case.criteria) if place not in verdicts)
    return Ruled(verdicts, replace(case, criteria=left, measured=facts))


def measured(text: str, response: str, *, lengths: bool = False) -> str:
    """What the rules that a text states (a request, a question) measure in a response, in a line; "" where none does.

    With `lengths` words and sentences are told in any case.
    """
    from truebench_hf.judging.rules.measuring.measure import measure
    from truebench_hf.rules import Count

    asked = _measured(Criterion(text), response)[0]
    counts = (Count(unit="words", min=0), Count(unit="sentences", min=0)) if lengths else ()
    more = [measure(rule, response).facts for rule in counts]
    return _joined([asked, *more])


def _measured(criterion: Criterion, response: str) -> tuple[str, bool | None]:
    """What the rules of a criterion measure, in a line, and whether it is met where they leave no doubt.

    Nothing is decided of an empty response, which keeps to every upper limit, nor under a condition: whether it holds
    is for judges.
    """
    from truebench_hf.judging.rules.measuring.measure import measure
    from truebench_hf.judging.rules.measuring.outcomes import all_of
    from truebench_hf.judging.rules.reading.criteria import found

    rules = found(criterion)
    if rules is None:
        return "", None
    every = [measure(rule, response) for rule in rules.rules]
    for problem in filter(None, (one.problem for one in every)):
        _warn_once(problem)
    stated = _joined([one.facts for one in every])
    if not rules.decides(response) or criterion.condition or not response.strip() or not stated:
        return stated, None
    met = all_of(one.met for one in every)
    return stated, None if met is False and rules.named and _one_block_keeps(rules.rules, response) else met


def _one_block_keeps(rules: Sequence[Rule], response: str) -> bool:
    """Whether a single paragraph may be the work that the rules are about, and what stands beside it another one."""
    from truebench_hf.judging.rules.measuring.answers import blocks
    from truebench_hf.judging.rules.measuring.measure import measure

    return any(all(measure(rule, one).met is not False for rule in rules) for one in blocks(response))


@cache
def _warn_once(problem: str) -> None:
    """Say once why something could not be measured; a judge decides then."""
    warn(problem)


def _joined(facts: Sequence[str]) -> str:
    """Figures in one line, each once, cut where there are too many."""
    text = "; ".join(dict.fromkeys(part for one in facts for part in " ".join(one.split()).split("; ") if part))
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
