"""Rows of the `checklists` form: reading them, and how far checklists and answers in them agree (paper 004, section 3.2).

Checklists are held against the chosen ones, answers against the majority of the annotators (Tables 2, 3, Figure 2, B).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from truebench_hf.benchmarks.tick.checklists import MINI
from truebench_hf.data import catalogue, instances, row_files, sources
from truebench_hf.data.case import as_answered, stated, with_history
from truebench_hf.data.catalogue import located
from truebench_hf.data.checklist_rows import Entry, Judgments, Text, Written, read
from truebench_hf.data.rows import Record
from truebench_hf.errors import UserError
from truebench_hf.metrics.binary import mean_of
from truebench_hf.metrics.correlation import pearson
from truebench_hf.metrics.kappa import corrected, skills
from truebench_hf.metrics.pass_rate import checklist_share, clustered_rate
from truebench_hf.metrics.texts import Overlap, mean_overlap, overlap
from truebench_hf.metrics.votes import majority, majority_of
from truebench_hf.study.items import Items
from truebench_hf.types import Label, Message, Score

DATA_HELP = (
    "checklists_mini, rows in its columns (a path to JSONL, JSON or Parquet, or a Hub id), rows with a prompt and "
    "criteria, or SOURCE:PATH of a benchmark with questions by people (structflowbench, infobench, wildbench ...)."
)


def load_entries(data: str, left_out: list[str] | None = None) -> list[Entry]:
    """The rows of some data. Raises UserError naming the row and the field.

    A checklist is for one instruction: rows with several turns to be answered are added to `left_out`, or an error.
    """
    if sources.is_source(data):
        kind, _, path = data.partition(":")
        records: Iterable[Record] = _of_source(kind, path, left_out)
    elif catalogue.built(data, MINI):
        records = row_files.records(Path(__file__).with_name(f"{MINI}.jsonl"))
    else:
        records = row_files.one_split(located(data), (MINI, "truebench_mini", "truebench"))
    found: dict[str, Entry] = {}
    for number, record in enumerate(records, 1):
        clean = Record(record.where, dict(record.row), record.number)
        whole = clean if "checklists" in clean.row else _of_criteria(clean, str(number))
        if isinstance(whole, str):
            if left_out is None:
                raise UserError(f"{whole}; a checklist is for one instruction: leave the row out")
            left_out.append(whole)
            continue
        entry = read(whole)
        if entry.id in found:
            raise UserError(f"{record.where}: id {entry.id!r} stands twice; every row needs its own")
        found[entry.id] = entry
    if not found:
        why = "all rows have several turns; a checklist is for one instruction" if left_out else "holds no rows"
        raise UserError(f"--data {data}: {why}")
    return list(found.values())


def entry_items(entries: Sequence[Entry], left_out: Sequence[str] = ()) -> Items[Entry]:
    """The items of a study: a sample keeps the shares of languages and categories."""
    return Items(
        entries, lambda entry: entry.id, lambda entry: dict(entry.row), lambda entry: (entry.language, entry.category),
        left_out=tuple(left_out),
    )  # fmt: skip


def _of_criteria(record: Record, number: str) -> Record | str:
    """A row with a prompt and criteria: these are its chosen checklist. A text says why it cannot be used."""
    instance = instances.of_row(record, number)
    if len(instance.turns) != 1:
        return f"{record.where}: has {len(instance.turns)} turns to be answered"
    *before, asked = with_history(instance, as_answered(instance, ("",)))[:-1]
    shown = f"{instance.context}\n\n{asked.content}" if instance.context else asked.content
    said = [asdict(message) for message in (*before, Message("user", shown))]
    questions = list(map(stated, instance.turns[0].criteria))
    row = {"id": instance.id, "language": instance.language, "category": instance.category, "messages": said}
    return Record(record.where, row | {"checklists": _chosen("data", questions) if questions else []}, record.number)


def _chosen(author: str, questions: list[str]) -> list[dict[str, Any]]:
    return [{"id": "c1", "author": author, "source": "human", "run": 1, "chosen": True, "questions": questions}]


def _of_source(kind: str, path: str, left_out: list[str] | None) -> Iterator[Record]:
    """The instructions of a benchmark with its questions as the chosen checklist, and what answers it ships.

    A fault (negative points) is no question of a checklist, whose best answer is always yes: those are `left_out`.
    """
    rows: dict[str, dict[str, Any]] = {}
    read = sources.read(kind, path)
    faults = sum(criterion.weight < 0 for item in read for criterion in item.case.criteria)
    if faults and left_out is not None:
        left_out.append(f"{kind}: {faults} criteria that name a fault, which is no question of a checklist")
    for item in read:
        wanted = [rubric for rubric in item.rubrics if item.case.criteria[rubric.index].weight > 0]
        author = item.source or kind
        row = rows.setdefault(
            item.instruction_id,
            {
                "id": item.instruction_id, "language": item.language, "category": item.category,
                "messages": [asdict(message) for message in item.messages], "responses": [],
                "checklists": _chosen(author, [rubric.text for rubric in wanted]) if wanted else [],
            },
        )  # fmt: skip
        text = item.case.response if item.answered else item.reference
        if text:
            row["responses"].append({"id": item.id, "model": item.model or author, "text": text})
        kinds = [[name.strip() for name in rubric.hint.split(",") if name.strip()] for rubric in wanted]
        if any(kinds):
            row["categories"] = [{"checklist_id": "c1", "annotator": author, "categories": kinds}]
    for number, row in enumerate(rows.values()):
        yield Record(f"{kind}:{path}, {row['id']}", row, number)


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
    drawn: dict[Key, list[Judgments]] = {}
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


PEOPLE = "people (H')"  # all alternatives that people wrote, as the paper's Table 2 pools them
CHOSEN = "chosen"
Labels = Sequence[Label | None]
Both = tuple[float | None, float | None]  # two figures of one response that are held against each other
Measure = Callable[[Entry, Text, Written], Both | None]


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

    def both(by: str) -> Measure:
        def measured(entry: Entry, response: Text, one: Written) -> Both | None:
            own = answered(entry, response, one, by)
            chosen = answered(entry, response, entry.chosen, by) if entry.chosen else None
            return None if own is None or chosen is None else (checklist_share(own), checklist_share(chosen))

        return measured

    found = [_correlated(entries, who, by, both(by)) for by in answerers(entries) for who in authors(entries)]
    return [one for one in found if one.n or one.left_out]


def difficulty(entries: Sequence[Entry]) -> list[Correlated]:
    """The length of checklists and the score that a response to their instruction gets (appendix B.2)."""

    def with_rate(by: str) -> Measure:
        def measured(entry: Entry, response: Text, one: Written) -> Both:
            labels = answered(entry, response, entry.chosen, by) if entry.chosen else None
            return len(one.questions), None if labels is None else checklist_share(labels)

        return measured

    measures: dict[str, Measure] = {
        "score from 1 to 5, by people": lambda entry, response, one: (len(one.questions), score(entry, response))
    }
    measures |= {f"pass rate of the chosen checklist, by {by}": with_rate(by) for by in answerers(entries)}
    found = [_correlated(entries, who, *measure) for measure in measures.items() for who in authors(entries)]
    return [one for one in found if one.n]


def others(entry: Entry) -> list[Written]:
    """The checklists of a row that are not the chosen one."""
    return [one for one in entry.checklists if not one.chosen]


def authors(entries: Sequence[Entry]) -> list[str]:
    """Who wrote checklists that are not chosen, in the order of the data."""
    return list(dict.fromkeys(one.author for entry in entries for one in others(entry)))


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


def score(entry: Entry, response: Text) -> float | None:
    """The mean of the annotators' direct scores of a response."""
    given = [one.score for one in entry.ratings if (one.response_id, one.protocol) == (response.id, "direct")]
    return sum(given) / len(given) if given else None


def left_out(entries: Sequence[Entry]) -> Mapping[str, int]:
    """What could not be compared, and how often."""
    return {
        "instructions without a chosen checklist": sum(entry.chosen is None for entry in entries),
        "instructions without another checklist": sum(not others(entry) for entry in entries),
        "instructions without a response": sum(not entry.responses for entry in entries),
    }


def _correlated(entries: Sequence[Entry], author: str, by: str, measure: Measure) -> Correlated:
    """Every response beside each checklist of an author for its instruction, run by run."""
    runs: dict[int, list[Both]] = {}
    for entry in entries:
        for one in (one for one in others(entry) if one.author == author):
            measured = [measure(entry, response, one) for response in entry.responses]
            runs.setdefault(one.run, []).extend(pair for pair in measured if pair is not None)
    each = [pearson(*(zip(*pairs, strict=True) if pairs else ((), ()))) for _, pairs in sorted(runs.items())]
    known = [one.value for one in each if one.value is not None]
    return Correlated(author, by, mean_of(*known), sum(one.n for one in each), sum(one.left_out for one in each))
