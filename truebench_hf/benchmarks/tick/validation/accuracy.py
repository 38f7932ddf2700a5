"""Answers to single questions against the majority of the annotators (paper 004, Table 3b and Figure 2)."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from truebench_hf.data.checklist_rows import Answers, Entry
from truebench_hf.metrics.kappa import corrected, skills
from truebench_hf.metrics.pass_rate import clustered_rate
from truebench_hf.metrics.votes import majority, majority_of
from truebench_hf.types import Label, Score

OTHERS = "one annotator, against the others"
Key = tuple[str, str]  # of a response and a checklist


@dataclass(frozen=True)
class Accuracy:
    """Accuracy of `by` at maj@`k`, over all subsets of `k` of its `samples` draws.

    What a majority leaves open is wrong; `undecided` (0..1) is the share of that. `score.unscored` questions have no
    majority of annotators to be held against, or were drawn less often than others: every k is of the same questions.
    `corrected` is the accuracy that would show if annotators never erred, their errors being independent;
    None where three annotators have too few questions in common to tell.
    """

    by: str
    mode: str
    k: int
    samples: int
    score: Score
    undecided: float | None
    corrected: float | None = None


@dataclass(frozen=True)
class Asked:
    """A question on a response: what most annotators say, what each of them says, and the votes held against it."""

    gold: Label | None
    votes: Sequence[Label | None]
    said: Mapping[str, Label | None]


def accuracy(entries: Sequence[Entry]) -> list[Accuracy]:
    """Every judge in every mode at every odd k, and, where there are several, annotators against one another."""
    skill = skills([said for entry in entries for several in _people(entry).values() for said in several])
    found = []
    for by, mode in dict.fromkeys((one.by, one.mode) for entry in entries for one in entry.judgments):
        rows = [list(_votes(entry, by, mode)) for entry in entries]
        samples = max((len(one.votes) for row in rows for one in row), default=0)
        found += [_at(by, mode, k, samples, rows, skill) for k in range(1, samples + 1, 2)]
    people = [list(_against_others(entry)) for entry in entries]
    if any(people):
        found.append(_at(OTHERS, "", 1, 1, people, {}))
    return [one for one in found if one.score.n or one.score.unscored]


def _at(
    by: str, mode: str, k: int, samples: int, rows: Sequence[Sequence[Asked]], skill: Mapping[str, float]
) -> Accuracy:
    """The score at one k; instructions are the clusters of its interval."""
    known = [[one for one in row if one.gold is not None and len(one.votes) == samples] for row in rows]
    shares = [(majority_of(one.votes, one.gold, k), place) for place, row in enumerate(known) for one in row]
    score = clustered_rate([right for (right, _), _ in shares], [place for _, place in shares])
    n, open_ = score.n, sum(undecided for (_, undecided), _ in shares)
    score = replace(score, unscored=sum(map(len, rows)) - n)
    its = corrected(_moments([one for row in known for one in row], k, skill), skill) if n else None
    whole = None if its is None else (its + 1 - open_ / n) / 2  # right less wrong, and what is neither
    return Accuracy(by, mode, k, samples, score, open_ / n if n else None, whole)


def _moments(asked: Sequence[Asked], k: int, names: Iterable[str]) -> dict[Hashable, float]:
    """By annotator the share of majorities of k that agree with them, less that of those that differ."""
    found: dict[Hashable, float] = {}
    for name in names:
        shares = [majority_of(one.votes, label, k) for one in asked if (label := one.said.get(name)) is not None]
        if shares:
            found[name] = sum(2 * right + open_ - 1 for right, open_ in shares) / len(shares)
    return found


def _votes(entry: Entry, by: str, mode: str) -> Iterator[Asked]:
    """The draws of a judge, in order, on each question that annotators answered, too."""
    drawn: dict[Key, list[Answers]] = {}
    for one in sorted(entry.judgments, key=lambda one: one.sample):
        if (one.by, one.mode) == (by, mode):
            drawn.setdefault((one.response_id, one.checklist_id), []).append(one)
    for key, questions in _people(entry).items():
        if key in drawn:
            for said, votes in zip(questions, zip(*(one.answers for one in drawn[key]), strict=True), strict=True):
                yield Asked(majority(list(said.values())).label, votes, said)  # type: ignore[arg-type]


def _people(entry: Entry) -> dict[Key, list[dict[str, Label | None]]]:
    """What each annotator says to each question of a checklist about a response."""
    found: dict[Key, list[dict[str, Label | None]]] = {}
    for one in entry.answers:
        questions = found.setdefault((one.response_id, one.checklist_id), [{} for _ in one.answers])
        for said, label in zip(questions, one.answers, strict=True):
            said[one.by] = label
    return found


def _against_others(entry: Entry) -> Iterator[Asked]:
    """Each annotator's answers, held against the majority of the others: what a judge can be expected to reach."""
    for questions in _people(entry).values():
        for said in questions:
            for name, label in said.items() if len(said) > 2 else ():
                rest = {other: its for other, its in said.items() if other != name}
                if label is not None:
                    yield Asked(majority(list(rest.values())).label, (label,), rest)  # type: ignore[arg-type]
