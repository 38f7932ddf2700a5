"""Checklists against the chosen ones: their words, their lengths, and the pass rates they lead to (Tables 2, 3a, B)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from truebench_hf.data.checklist_rows import Entry, Text, Written
from truebench_hf.metrics.binary import mean_of
from truebench_hf.metrics.correlation import pearson
from truebench_hf.metrics.pass_rate import checklist_share
from truebench_hf.metrics.texts import Overlap, mean_overlap, overlap
from truebench_hf.types import Label

PEOPLE = "people (H')"  # all alternatives that people wrote, as the paper's Table 2 pools them
CHOSEN = "chosen"
Labels = Sequence[Label | None]


@dataclass(frozen=True)
class Likeness:
    """How alike an author's checklists and the chosen ones are, on the mean: first per instruction, then over those."""

    author: str
    instructions: int
    checklists: int
    overlap: Overlap | None


@dataclass(frozen=True)
class Correlated:
    """Pearson's r per run, then averaged; None where no run has one. `n` pairs, `left_out` lacked one of the two."""

    author: str
    by: str
    r: float | None
    n: int
    left_out: int


def likeness(entries: Sequence[Entry]) -> list[Likeness]:
    """Every author's checklists against the chosen one of their instruction; those of people also together."""
    found: dict[str, list[list[Overlap]]] = {}
    for entry in entries:
        if entry.chosen is None:
            continue
        own: dict[str, list[Overlap]] = {}
        for one in others(entry):
            alike = overlap(one.questions, entry.chosen.questions)
            for author in [one.author, *([PEOPLE] if one.source == "human" else [])]:
                own.setdefault(author, []).append(alike)
        for author, several in own.items():
            found.setdefault(author, []).append(several)
    return [
        Likeness(author, len(per), sum(map(len, per)), mean_overlap([m for m in map(mean_overlap, per) if m]))
        for author, per in sorted(found.items(), key=lambda pair: pair[0] == PEOPLE)
    ]


def lengths(entries: Sequence[Entry]) -> dict[str, Counter[int]]:
    """How many checklists of each author have how many questions; the chosen ones apart (appendix B.1)."""
    found: dict[str, Counter[int]] = {}
    for entry in entries:
        for one in entry.checklists:
            found.setdefault(CHOSEN if one.chosen else one.author, Counter())[len(one.questions)] += 1
    return found


def rates(entries: Sequence[Entry]) -> list[Correlated]:
    """The pass rates of responses under other checklists and under the chosen one, by who answered (Table 3a)."""
    found = []
    for by in answerers(entries):
        for author in authors(entries):

            def pairs(run: int, by: str = by, author: str = author) -> Iterator[tuple[float | None, float | None]]:
                for entry, response, one in _responses(entries, author, run):
                    mine = answered(entry, response, one, by)
                    chosen = answered(entry, response, entry.chosen, by) if entry.chosen else None
                    if mine is not None and chosen is not None:
                        yield pass_rate(mine), pass_rate(chosen)

            found.append(_correlated(author, by, pairs, runs(entries, author)))
    return [one for one in found if one.n or one.left_out]


def difficulty(entries: Sequence[Entry]) -> list[Correlated]:
    """The length of checklists and the score that a response to their instruction gets (appendix B.2)."""
    measures: dict[str, Callable[[Entry, Text], float | None]] = {"score from 1 to 5, by people": score}
    for by in answerers(entries):

        def rate(entry: Entry, response: Text, by: str = by) -> float | None:
            labels = answered(entry, response, entry.chosen, by) if entry.chosen else None
            return None if labels is None else pass_rate(labels)

        measures[f"pass rate of the chosen checklist, by {by}"] = rate
    found = []
    for name, measure in measures.items():
        for author in authors(entries):

            def pairs(
                run: int, author: str = author, measure: Callable[[Entry, Text], float | None] = measure
            ) -> Iterator[tuple[float | None, float | None]]:
                for entry, response, one in _responses(entries, author, run):
                    yield len(one.questions), measure(entry, response)

            found.append(_correlated(author, name, pairs, runs(entries, author)))
    return [one for one in found if one.n]


def others(entry: Entry) -> list[Written]:
    """The checklists of a row that are not the chosen one."""
    return [one for one in entry.checklists if not one.chosen]


def authors(entries: Sequence[Entry]) -> list[str]:
    """Who wrote checklists that are not chosen, in the order of the data."""
    return list(dict.fromkeys(one.author for entry in entries for one in others(entry)))


def runs(entries: Sequence[Entry], author: str) -> list[int]:
    """The runs of an author."""
    return sorted({one.run for entry in entries for one in others(entry) if one.author == author})


def answerers(entries: Sequence[Entry]) -> list[str]:
    """Who answered checklists: people (their majority), and every judge."""
    people = ["people"] if any(entry.answers for entry in entries) else []
    return people + list(dict.fromkeys(one.by for entry in entries for one in entry.judgments))


def answered(entry: Entry, response: Text, checklist: Written, by: str) -> Labels | None:
    """The answers of people or of a judge, with reasoning where it has it and of several draws the first."""
    if by == "people":
        return entry.people(response, checklist)
    its = [
        one for one in entry.judgments
        if (one.by, one.response_id, one.checklist_id) == (by, response.id, checklist.id)
    ]  # fmt: skip
    return min(its, key=lambda one: (one.mode != "reasoning", one.sample)).answers if its else None


def pass_rate(labels: Labels) -> float | None:
    """The share of questions answered yes; None while one is open (paper 004, section 3.1.2)."""
    return checklist_share(labels)


def score(entry: Entry, response: Text) -> float | None:
    """The mean of the annotators' direct scores of a response."""
    given = [one.score for one in entry.ratings if (one.response_id, one.protocol) == (response.id, "direct")]
    return sum(given) / len(given) if given else None


def _responses(entries: Sequence[Entry], author: str, run: int) -> Iterator[tuple[Entry, Text, Written]]:
    """Every response beside an author's checklist of that run for its instruction."""
    for entry in entries:
        one = next((one for one in others(entry) if (one.author, one.run) == (author, run)), None)
        if one is not None:
            yield from ((entry, response, one) for response in entry.responses)


def _correlated(
    author: str, by: str, pairs: Callable[[int], Iterator[tuple[float | None, float | None]]], runs: Sequence[int]
) -> Correlated:
    each = [pearson(*(zip(*found, strict=True) if (found := list(pairs(run))) else ((), ()))) for run in runs]
    known = [one.value for one in each if one.value is not None]
    return Correlated(author, by, mean_of(*known), sum(one.n for one in each), sum(one.left_out for one in each))


def left_out(entries: Sequence[Entry]) -> Mapping[str, int]:
    """What could not be compared, and how often."""
    return {
        "instructions without a chosen checklist": sum(entry.chosen is None for entry in entries),
        "instructions without another checklist": sum(not others(entry) for entry in entries),
        "instructions without a response": sum(not entry.responses for entry in entries),
    }
