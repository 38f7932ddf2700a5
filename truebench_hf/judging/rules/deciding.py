"""What rules decide of a case before a judge is asked, and what judges are told of the rest.

What reads and measures is imported where it is used, so that studies without rules need not wait for it.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truebench_hf.hashing import digest
from truebench_hf.types import Criterion, Verdict

if TYPE_CHECKING:
    from truebench_hf.data.judged import Case
    from truebench_hf.data.rules import Rule

MODES = ("off", "evidence", "decide")
JUDGE = "rules"  # who decided, in verdicts and tables
_LONGEST = 300  # characters of what is stated of one criterion


@dataclass(frozen=True, slots=True)
class ParsedRules:
    """Rules that a criterion states. `complete`: it states nothing else, so that they may decide it.

    `source` is data (the field `rule`), known (rules that ship, read by people), phrases or model.
    """

    rules: tuple[Rule, ...]
    complete: bool
    source: str


@dataclass(frozen=True)
class RuleOutcome:
    """A case in two parts: the verdicts that rules give, by the place of their criterion, and the rest for a judge."""

    verdicts: Mapping[int, Verdict]
    rest: Case

    def joined(self, judged: Sequence[Verdict]) -> tuple[Verdict, ...]:
        """One verdict per criterion, in order, with those on `rest` that a judge gave."""
        left = iter(judged)
        return tuple(self.verdicts.get(place) or next(left) for place in range(len(self.verdicts) + len(judged)))


def rules_of(criterion: Criterion) -> ParsedRules | None:
    """Return the rules of a criterion, None where it states none. Raises UserError on a stored rule that is none.

    The field `rule` speaks first, then what is known of its text, then the phrases. Under a condition nothing is complete.
    """
    from truebench_hf.data.rules import stored
    from truebench_hf.judging.rules.matching import read

    known = criterion.rule or _known().get(criterion_hash(criterion.text))
    rules, complete = stored(known) if known else read(criterion.text)
    source = "data" if criterion.rule else "known" if known else "phrases"
    return ParsedRules(rules, complete and not criterion.condition, source) if rules else None


def criterion_hash(text: str) -> str:
    """Return the key of a criterion in `known.jsonl`: the SHA-256 of its text in NFC, white space folded to blanks."""
    return digest(" ".join(unicodedata.normalize("NFC", text).split()))


@cache
def _known() -> Mapping[str, Any]:
    lines = (Path(__file__).parent / "known.jsonl").read_text(encoding="utf-8").splitlines()
    return {row["criterion"]: row["rule"] for row in map(json.loads, lines)}


def ruled(case: Case, mode: str) -> RuleOutcome:
    """Return what rules make of a case: with `decide` verdicts where they leave no doubt, and facts beside what is left.

    With `evidence` there are facts alone, with `off` the case is left as it is.
    """
    if mode == "off":
        return RuleOutcome({}, case)
    verdicts: dict[int, Verdict] = {}
    facts: dict[Criterion, str] = {}
    for place, criterion in enumerate(case.criteria):
        stated, met = _measured(criterion, case.response)
        if met is not None and mode == "decide":
            verdicts[place] = Verdict(criterion, "yes" if met else "no", f"measured: {stated}", JUDGE)
        elif stated:
            facts[criterion] = stated
    left = tuple(criterion for place, criterion in enumerate(case.criteria) if place not in verdicts)
    return RuleOutcome(verdicts, replace(case, criteria=left, measured=facts))


def measured(text: str, response: str, *, lengths: bool = False) -> str:
    """Return what the rules that a text states (a request, a question) measure in a response, in a line; "" without any.

    With `lengths` words and sentences are told in any case.
    """
    from truebench_hf.data.rules import CountRule
    from truebench_hf.judging.rules.measuring import measure

    counts = (CountRule(unit="words", min=0), CountRule(unit="sentences", min=0)) if lengths else ()
    return _joined([_measured(Criterion(text), response)[0], *(measure(rule, response).facts for rule in counts)])


def _measured(criterion: Criterion, response: str) -> tuple[str, bool | None]:
    """Return what the rules of a criterion measure, in a line, and whether it is met where they leave no doubt.

    Nothing is decided of an empty response, which keeps to every upper limit.
    """
    from truebench_hf.judging.rules.measuring import all_of, measure

    parsed = rules_of(criterion)
    if parsed is None:
        return "", None
    outcomes = [measure(rule, response) for rule in parsed.rules]
    stated, met = _joined([outcome.facts for outcome in outcomes]), all_of(outcome.met for outcome in outcomes)
    sure = parsed.complete and response.strip() and stated
    return stated, met if sure and not _may_be_a_part(criterion.text, response, parsed.rules, met) else None


def _may_be_a_part(text: str, response: str, rules: Sequence[Rule], met: bool | None) -> bool:
    """Return whether rules count units of a work, such as a summary, that may be a part of the response and differ from it.

    A part has no more of anything than the whole: it keeps to an upper limit with it, and misses a lower one.
    """
    import regex

    from truebench_hf.data.rules import CountRule
    from truebench_hf.judging.rules.counting import paragraphs, tidy, words

    counts = [rule for rule in rules if isinstance(rule, CountRule)]
    sure = all(rule.min is None if met else rule.max is None and rule.per == "whole" for rule in counts)
    return not sure and len(paragraphs(tidy(response))) > 1 and regex.search(words("works"), text, regex.I) is not None


def _joined(facts: Sequence[str]) -> str:
    """Return figures in one line, each once, cut where there are too many."""
    text = "; ".join(dict.fromkeys(part for fact in facts for part in " ".join(fact.split()).split("; ") if part))
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
