"""A rule held against a response: what was measured, and whether the rule is met where no reading leaves a doubt."""

from __future__ import annotations

from dataclasses import dataclass

from truebench_hf.judging.rules.measuring import characters, data_formats, languages, lines, markdown, order, wording
from truebench_hf.judging.rules.measuring.answers import Answer, answer
from truebench_hf.judging.rules.measuring.counting import count
from truebench_hf.rules import (
    Case,
    CodeBlock,
    Contains,
    Count,
    Csv,
    EndsWith,
    Excludes,
    Forbidden,
    Json,
    Language,
    Listed,
    Rule,
    Sorted,
    StartsWith,
    Table,
)  # fmt: skip

_LONGEST = 100_000  # characters of a response: the slowest rule takes 3 s for so many of the worst


@dataclass(frozen=True, slots=True)
class Measured:
    """`facts` are what is stated to people and judges. `met` is None where reasonable readings of the response differ.

    `problem` says why nothing could be measured here, with the remedy; "" where it could.
    """

    facts: str
    met: bool | None
    problem: str = ""


def measure(rule: Rule, response: str) -> Measured:
    """What a response measures by a rule. Never raises, whatever the text; what is far too long is not read."""
    if len(response) > _LONGEST:
        return Measured(f"more than {_LONGEST:,} characters, which are not measured", None)
    if isinstance(rule, Language) and (problem := languages.unavailable()):
        return Measured("", None, problem)
    return Measured(*_measured(rule, answer(response)))


def _measured(rule: Rule, given: Answer) -> tuple[str, bool | None]:
    match rule:
        case Count():
            return count(rule, given)
        case Language():
            return languages.language(rule, given)
        case Json():
            return data_formats.of_json(rule, given)
        case Csv():
            return data_formats.of_csv(rule, given)
        case Table():
            return markdown.of_table(rule, given)
        case CodeBlock():
            return markdown.of_code_block(rule, given)
        case StartsWith():
            return wording.starts_with(rule, given)
        case EndsWith():
            return wording.ends_with(rule, given)
        case Contains():
            return wording.contains(rule, given)
        case Excludes():
            return wording.excludes(rule, given)
        case Listed():
            return lines.listed(rule, given)
        case Case():
            return characters.case(rule, given)
        case Forbidden():
            return characters.forbidden(rule, given)
        case Sorted():
            return order.sorted_(rule, given)
