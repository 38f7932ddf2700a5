"""Answers to single questions against the majority of the annotators (paper 004, Table 3b and Figure 2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from truebench_hf.benchmarks.tick.form import Answers, Entry
from truebench_hf.metrics.intervals import clustered_share, percent
from truebench_hf.metrics.votes import majority, majority_of
from truebench_hf.types import Label, Score

OTHERS = "one annotator, against the others"
Key = tuple[str, str]  # of a response and a checklist


@dataclass(frozen=True)
class Accuracy:
    """Accuracy in percent of `by` at maj@`k`, over all subsets of `k` of its `samples` draws.

    What a majority leaves open is wrong; `undecided` (0..1) is the share of that. `score.unscored` questions have no
    majority of annotators to be held against, or were drawn less often than others: every k is of the same questions.
    """

    by: str
    mode: str
    k: int
    samples: int
    score: Score
    undecided: float | None


def accuracy(entries: Sequence[Entry]) -> list[Accuracy]:
    """Every judge in every mode at every odd k, and, where there are several, annotators against one another."""
    found = []
    for by, mode in dict.fromkeys((one.by, one.mode) for entry in entries for one in entry.judgments):
        rows = [list(_votes(entry, by, mode)) for entry in entries]
        samples = max((len(votes) for row in rows for _, votes in row), default=0)
        found += [_at(by, mode, k, samples, rows) for k in range(1, samples + 1, 2)]
    people = [list(_against_others(entry)) for entry in entries]
    if any(people):
        found.append(_at(OTHERS, "", 1, 1, people))
    return [one for one in found if one.score.n or one.score.unscored]


Row = Sequence[tuple[Label | None, Sequence[Label | None]]]  # of an instruction: the right answer, and the votes


def _at(by: str, mode: str, k: int, samples: int, rows: Sequence[Row]) -> Accuracy:
    """The score at one k; instructions are the clusters of its interval."""
    known = [[(gold, votes) for gold, votes in row if gold is not None and len(votes) == samples] for row in rows]
    shares = [[majority_of(votes, gold, k) for gold, votes in row] for row in known]
    right, of = [sum(share for share, _ in row) for row in shares], [len(row) for row in shares]
    n, undecided = sum(of), sum(share for row in shares for _, share in row)
    interval = percent(clustered_share(right, of))
    value = 100 * sum(right) / n if n else None
    return Accuracy(
        by, mode, k, samples, Score(value, n, sum(map(len, rows)) - n, interval), undecided / n if n else None
    )


def _votes(entry: Entry, by: str, mode: str) -> Iterator[tuple[Label | None, Sequence[Label | None]]]:
    """(majority of the annotators, draws of the judge in order) of each question that both answered."""
    drawn: dict[Key, list[Answers]] = {}
    for one in sorted(entry.judgments, key=lambda one: one.sample):
        if (one.by, one.mode) == (by, mode):
            drawn.setdefault((one.response_id, one.checklist_id), []).append(one)
    for key, gold in _people(entry).items():
        if key in drawn:
            yield from zip(gold, zip(*(one.answers for one in drawn[key]), strict=True), strict=True)


def _people(entry: Entry) -> dict[Key, tuple[Label | None, ...]]:
    responses, checklists = {r.id: r for r in entry.responses}, {c.id: c for c in entry.checklists}
    keys = dict.fromkeys((one.response_id, one.checklist_id) for one in entry.answers)
    return {key: entry.people(responses[key[0]], checklists[key[1]]) or () for key in keys}


def _against_others(entry: Entry) -> Iterator[tuple[Label | None, Sequence[Label | None]]]:
    """Each annotator's answers, held against the majority of the others: what a judge can be expected to reach."""
    said: dict[Key, list[Answers]] = {}
    for one in entry.answers:
        said.setdefault((one.response_id, one.checklist_id), []).append(one)
    for several in said.values():
        for one in several if len(several) > 2 else ():
            rest = zip(*(other.answers for other in several if other is not one), strict=True)
            for mine, votes in zip(one.answers, rest, strict=True):
                if mine is not None:
                    yield majority(votes).label, (mine,)  # type: ignore[misc]
