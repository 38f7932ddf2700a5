"""Whether a criterion really says what a rule says: a check on rules that a model has read out of it.

It hears the words of a criterion by the same tables as `matching`, so that it holds in twelve languages, and only ever takes
away: what the words do not name is no rule, and a word that the rule does not explain makes it a measurement, no decision.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from truebench_hf.judging.rules.matching import Word, bounded, load_table, words_of
from truebench_hf.rules import Contains, Count, Rule
from truebench_hf.types import Criterion

_PARTS = {"paragraph": "paragraphs", "line": "lines", "sentence": "sentences", "item": "list_items"}
_LISTS = frozenset(("list", "bulleted", "numbered"))
# Words that say nothing, and those that a number of something explains.
_SILENT = frozenset(("filler", "and", "or", "must", "must_or_free", "work", "answer", "all", "between"))
_COUNTED = frozenset(("number", "unit", "bound", "spaces", "each", "headings", "rows", "columns", "times", "count"))


def unstated(rule: Rule, text: str) -> str:
    """Return what of a rule the criterion does not say; "" where all of it stands there."""
    words = words_of(text)
    return next((claim for claim, stands in _claims(rule, text, words) if not stands), "")


def says_more(rules: Sequence[Rule], criterion: Criterion) -> bool:
    """Return whether a criterion says, or may say, anything beside its one rule: then it is not for rules to decide.

    That a text is there never settles whether what is meant by it is.
    """
    if len(rules) != 1 or criterion.condition or isinstance(rules[0], Contains):
        return True
    (rule,), words = rules, words_of(criterion.text)
    explained = {name.strip("[]") for row in _rows(rule) for name in row["when"].split()}
    if any(_numbers(rule)):
        explained |= _COUNTED
    if isinstance(rule, Count) and rule.mark == "any":
        explained -= {"bulleted", "numbered"}
    if _denied(words) and not (isinstance(rule, Count) or "not" in explained):
        return True
    if (
        isinstance(rule, Count) and rule.unit == "lines" and "work" in _names(words)
    ):  # of a summary they may be sentences
        return True
    named = [word.name for word in words if word.name not in _SILENT]
    return bool(set(named) - explained - {"not", "none", "nor"}) or named.count("not") > 1 or _several(rule, words)


def _several(rule: Rule, words: Sequence[Word]) -> bool:
    """Return whether words name more numbers or units than the rule."""
    units = {str(word.value).partition("/")[0] for word in words if word.name == "unit"}
    numbers = {word.value for word in words if word.name == "number"}
    known = 1 + (isinstance(rule, Count) and rule.per != "whole")
    return len(units) > known or len(numbers) > len({*_numbers(rule)})


def _rows(rule: Rule) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of `rules.yaml` that may state a rule: its fixed fields are theirs, and they fill the others."""
    every, named = rule.model_dump(mode="json"), rule.model_dump(exclude_defaults=True)
    for row in load_table("rules"):
        fixed = {name: value for name, value in row["rule"].items() if not str(value).startswith("$")}
        if set(named) <= set(row["rule"]) and all(every.get(name) == value for name, value in fixed.items()):
            yield row


def _claims(rule: Rule, text: str, words: Sequence[Word]) -> Iterator[tuple[str, bool]]:
    """Yield all that a rule claims of the text, in words, and whether it stands there."""
    fields = rule.model_dump(mode="json", exclude_defaults=True)
    names = _names(words)
    for value in _texts(fields):
        meant = (value == "?" and bool({"sign", "unit"} & names)) or ({"sign"} & names and len(value) == 1)
        yield f"the text {value!r}", bool(meant) or value in text
    if rule.kind == "pattern":
        yield "a regular expression", rule.regex in text
        return
    if isinstance(rule, Count):
        yield f"anything of {rule.unit}", rule.unit in names or (rule.unit == "list_items" and bool(_LISTS & names))
        yield f"that it is so per {rule.per}", rule.per == "whole" or _PARTS[rule.per] in names
        marks = {"bullet": "bulleted", "number": "numbered"}
        yield f"that the items are marked so ({rule.mark})", rule.mark == "any" or marks[rule.mark] in names
    stated = any(_required(row) <= names for row in _rows(rule))
    yield f"anything of {rule.kind}", stated or isinstance(rule, Count)
    for code in fields.get("codes", ()):
        yield f"the language {code!r}", any(code in word.value.split() for word in words if word.name == "language")
    if fields.get("language"):
        heard = [str(word.value).casefold() for word in words if word.name == "program"]
        yield (
            f"the language {fields['language']!r}",
            fields["language"].casefold() in [*heard, *text.casefold().split()],
        )
    yield "these bounds", _bounds_stand(rule, words)


def _names(words: Sequence[Word]) -> set[str]:
    """Return the names of words, what they count, and what both say together."""
    names = {word.name for word in words}
    for word in words:
        if word.name == "unit":
            base, _, mark = word.value.partition("/")
            names |= {base, {"bullet": "bulleted", "number": "numbered"}.get(mark, base)}
    if "characters" in names:
        names |= {f"characters_{word.value}" for word in words if word.name == "spaces"}
    names |= {"count"} if "number" in names else set()
    return names | ({"not"} if _denied(words) else set())


def _required(row: Mapping[str, Any]) -> set[str]:
    """Return the names that a row of `rules.yaml` cannot do without."""
    return {name for name in row["when"].split() if name[0] != "[" and name not in ("have", "noun", "part", "answer")}


def _texts(fields: Mapping[str, Any]) -> list[str]:
    """Return the texts that a rule takes from the criterion as they stand there."""
    several = [
        *fields.get("values", ()),
        *fields.get("header", ()),
        *fields.get("keys", ()),
        *fields.get("characters", ""),
    ]
    return [*several, *([fields["value"]] if "value" in fields else [])]


def _denied(words: Sequence[Word]) -> list[Word]:
    return [word for word in words if word.name in ("not", "none", "nor")]


def _numbers(rule: Rule) -> list[int]:
    """Return the numbers that a rule names."""
    fields = rule.model_dump(exclude_defaults=True)
    return [value for name, value in fields.items() if name.startswith(("min", "max")) and value is not None]


def _bounds_stand(rule: Rule, words: Sequence[Word]) -> bool:
    """Return whether the numbers of a rule stand there, on the side that the words say where these are clear."""
    numbers = [word.value for word in words if word.name == "number"]
    near = {number + step for number in numbers for step in (-1, 0, 1)}
    if not set(_numbers(rule)) <= near:
        return False
    bounds = [word.value for word in words if word.name == "bound"]
    amount = bounded(numbers, bounds, "between" in {word.name for word in words}, bool(_denied(words)))
    return not isinstance(rule, Count) or amount is None or amount[:2] == (rule.min, rule.max)
