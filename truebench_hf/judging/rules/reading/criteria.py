"""The rules of a criterion: the one stored with it, else those that its English text states in so many words.

    found(Criterion("The summary must not exceed 100 words."))  # Found((Count(unit="words", max=100),), complete=True)

A text is read for certain or not at all: every clause has to match a pattern from its first word to its last. Where
clauses are left over, or one depends on something or is only about so much, the rules measure and do not decide.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from truebench_hf.judging.rules.measuring.answers import in_parts
from truebench_hf.judging.rules.reading import formats, languages, quantities, wording
from truebench_hf.judging.rules.reading.clauses import HEDGED, LOOSE, WORK, Clause, Reading, Shape, clause, split
from truebench_hf.judging.rules.reading.normalized import Text, prepared
from truebench_hf.rules import Contains, Count, Excludes, Language, Rule, stored
from truebench_hf.types import Criterion

_PARTS = 8  # clauses of a sentence that are tried
_NOTHING: Reading = ((), False)
# A clause without any of these says nothing that could be measured.
_MEASURABLE = re.compile(
    r"⟦|\b(?:words?|char(?:acter)?s?|sentences?|lines?|paragraphs?|bullets?|points?|items?|steps?|lists?|entries|elements|emojis?|emoticons?|hash\w*|json|csv|"
    r"table|code|columns?|\w*case|capital\w*|caps|letters?|order|\w*alphabetical\w*|ascending|descending|digits?|numerals?|numbers?|commas?|punctuation|marks?|"
    r"points?|colons?|semi-?colons?|asterisks?|questions?|dash\w*|hyphens?|quot\w+|parenthes\w+|brackets?|period|stop|markdown|"
    + "|".join(languages.CODES)
    + r")\b"
)
# Sentences that ask for nothing of their own.
_NO_DEMAND = re.compile(r"no other (?:words?|text) (?:should|must|may) follow(?: this phrase)?")
_LENGTH = re.compile(r"(?:max(?:imum)? |min(?:imum)? )?(?:length|word count|size) ?[:=-]")
_BARE_AMOUNT = re.compile(
    r"(?:at most|at least|no more than|no fewer than|maximum|minimum|max|min|up to|exactly|between|fewer than|less than|more than|under) .+"
)


@dataclass(frozen=True, slots=True)
class Found:
    """Rules that a criterion states. `complete`: it states nothing else, so that they may decide it.

    `named`: what they count is a work, such as a summary, which can be one part of a response among others.
    """

    rules: tuple[Rule, ...]
    complete: bool
    named: bool = False

    def decides(self, response: str) -> bool:
        """Whether the rules may decide of this response; else they only measure it."""
        return self.complete and not (self.named and in_parts(response))


def found(criterion: Criterion) -> Found | None:
    """The rules of a criterion, None where it states none. Raises UserError on a stored rule that is none.

    Under a condition rules never decide: whether it holds is for judges.
    """
    if criterion.rule:
        rules, complete = stored(criterion.rule)
        return Found(rules, complete, _of_a_work(rules, criterion.text.casefold())) if rules else None
    read = _found(criterion.text)
    if read is not None and read.complete and criterion.condition:
        return Found(read.rules, complete=False, named=read.named)
    return read


@lru_cache(maxsize=4096)  # every response of a study is asked the same criteria
def _found(text: str) -> Found | None:
    said = prepared(text)
    if said is None or not any(map(_MEASURABLE.search, said.sentences)):
        return None
    sentences = [one for one in said.sentences if not _NO_DEMAND.fullmatch(one)]
    readings = [reading for sentence in sentences for reading in _sentence(sentence, said, _Before())]
    firm = said.whole and all(every and certain for every, certain in readings)
    firm = firm and not any(LOOSE.search(one) or HEDGED.search(one) for one in sentences)
    whole = " ".join(sentences)
    rules = _merged([rule for every, _ in readings for rule in every])
    if not firm:
        rules = tuple(
            rule for rule in rules if not (isinstance(rule, Language) and languages.names_others(rule, whole))
        )
    return Found(rules, firm, _of_a_work(rules, whole)) if rules else None


def _of_a_work(rules: Sequence[Rule], text: str) -> bool:
    """Whether rules count something of a work that a text names."""
    counted = any(isinstance(rule, Count) for rule in rules)
    return counted and (WORK.search(text) or _LENGTH.match(text)) is not None


@dataclass(frozen=True, slots=True)
class _Before:
    """What a clause follows: the words by which it may begin where it has no subject, and the shapes that are barred,
    as they may go on with what was said before."""

    leads: tuple[str, ...] = ()
    barred: tuple[Shape, ...] = ()
    first: bool = True


def _sentence(sentence: str, text: Text, before: _Before, tries: int = _PARTS) -> list[Reading]:
    """What a sentence states, clause by clause; a clause that nothing is read of is `_NOTHING`."""
    if (reading := _clause(sentence, text, before)) is not None:
        return [reading]
    seams = list(split(sentence))[:tries]
    whole, asked = " ".join(text.sentences), "?" if sentence.endswith("?") else ""
    if before.first and _BARE_AMOUNT.fullmatch(sentence) and (reading := _clause(f"have {sentence}", text, before)):
        return [reading]
    if (parted := languages.trailing(sentence)) and (reading := _clause(parted[0], text, before)) is not None:
        return [reading, parted[1] if _all_of_it(parted[0]) else (parted[1][0], False)]
    for first, rest in seams:
        if (reading := _clause(first + asked, text, before)) is not None:
            return [reading, *_sentence(rest.rstrip("?"), text, _after(first + asked, before), tries - 1)]
    if not seams:
        return [languages.mentioned(sentence, whole) or _NOTHING]
    first, rest = seams[0]
    after = _sentence(rest.rstrip("?"), text, _after(first + asked, before), tries - 1)
    return [languages.mentioned(first, whole) or _NOTHING, *after]


def _all_of_it(text: str) -> bool:
    """Whether a clause says what the answer is and not what it has: "three sentences in English" are all of it, then."""
    one = clause(text)
    return one is not None and one.of == "answer" and not one.denied and one.said.startswith(("be ", "consist "))


def _clause(text: str, whole: Text, before: _Before) -> Reading | None:
    """What one clause states, which may have its subject from the clause before."""
    plain = " ".join(HEDGED.sub("", text).split())
    if not _MEASURABLE.search(plain):
        return None
    for said in (plain, *(lead + plain for lead in before.leads)):
        one = clause(said)
        if one is None or one.shape in before.barred:
            continue
        if (reading := _read(one, whole)) is not None:
            work_itself = one.of == "answer" and one.name.startswith(("a ", "an "))  # "write a summary in ..."
            return reading[0], reading[1] and plain == text and not work_itself
    return None


def _read(one: Clause, whole: Text) -> Reading | None:
    return (
        quantities.read(one, " ".join(whole.sentences))
        or languages.read(one)
        or formats.read(one, whole.literals)
        or wording.read(one, whole.literals)
    )


def _after(text: str, before: _Before) -> _Before:
    """How a clause may go on behind this one. Behind "not" nobody can tell whether it is denied, too."""
    for said in (text, *(lead + text for lead in before.leads)):
        if (one := clause(said)) is None:
            continue
        if one.of == "other":
            return _Before((), ("bare", "ordered"), first=False)
        if one.denied:
            return _Before((), ("ordered",), first=False)
        return _Before((one.lead, f"{one.lead}be ") if one.said.startswith("be ") else (one.lead,), (), first=False)
    return _Before(before.leads, ("bare",), first=False)


def _merged(rules: Sequence[Rule]) -> tuple[Rule, ...]:
    """The rules, each once; none at all where two of them cannot both be meant."""
    kept: list[Rule] = []
    for rule in dict.fromkeys(rules):
        for place, other in enumerate(kept):
            if (
                isinstance(rule, Count)
                and isinstance(other, Count)
                and (rule.unit, rule.per) == (other.unit, other.per)
            ):
                both = _both(rule, other)
                if both is None:
                    return ()
                kept[place] = both
                break
            if rule.kind == other.kind and not isinstance(rule, Count | Contains | Excludes):
                return ()
        else:
            kept.append(rule)
    return tuple(kept)


def _both(one: Count, other: Count) -> Count | None:
    """One count for a lower and an upper bound."""
    if one.max is None and other.min is None and (one.min or 0) <= (other.max or 0):
        return one.model_copy(update={"max": other.max})
    if one.min is None and other.max is None and (other.min or 0) <= (one.max or 0):
        return one.model_copy(update={"min": other.min})
    return None
