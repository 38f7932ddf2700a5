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
        records: Iterable[Record] = _published_records(kind, path, left_out)
    elif catalogue.built(data, MINI):
        records = row_files.records(Path(__file__).with_name(f"{MINI}.jsonl"))
    else:
        records = row_files.one_split(located(data), (MINI, "truebench_mini", "truebench"))
    by_id: dict[str, Entry] = {}
    for number, record in enumerate(records, 1):
        clean = Record(record.where, dict(record.row), record.number)
        complete = clean if "checklists" in clean.row else _as_checklist_row(clean, str(number))
        if isinstance(complete, str):
            if left_out is None:
                raise UserError(f"{complete}; a checklist is for one instruction: leave the row out")
            left_out.append(complete)
            continue
        entry = read(complete)
        if entry.id in by_id:
            raise UserError(f"{record.where}: id {entry.id!r} stands twice; every row needs its own")
        by_id[entry.id] = entry
    if not by_id:
        why = "all rows have several turns; a checklist is for one instruction" if left_out else "holds no rows"
        raise UserError(f"--data {data}: {why}")
    return list(by_id.values())


def entry_items(entries: Sequence[Entry], left_out: Sequence[str] = ()) -> Items[Entry]:
    """The items of a study: a sample keeps the shares of languages and categories."""
    return Items(
        entries, lambda entry: entry.id, lambda entry: dict(entry.row), lambda entry: (entry.language, entry.category),
        left_out=tuple(left_out),
    )  # fmt: skip


def _as_checklist_row(record: Record, number: str) -> Record | str:
    """A row with a prompt and criteria: these are its chosen checklist. A text says why it cannot be used."""
    instance = instances.of_row(record, number)
    if len(instance.turns) != 1:
        return f"{record.where}: has {len(instance.turns)} turns to be answered"
    *before, prompt = with_history(instance, as_answered(instance, ("",)))[:-1]
    user_text = f"{instance.context}\n\n{prompt.content}" if instance.context else prompt.content
    messages = [asdict(message) for message in (*before, Message("user", user_text))]
    questions = list(map(stated, instance.turns[0].criteria))
    row = {"id": instance.id, "language": instance.language, "category": instance.category, "messages": messages}
    return Record(record.where, row | {"checklists": _chosen("data", questions) if questions else []}, record.number)


def _chosen(author: str, questions: list[str]) -> list[dict[str, Any]]:
    return [{"id": "c1", "author": author, "source": "human", "run": 1, "chosen": True, "questions": questions}]


def _published_records(kind: str, path: str, left_out: list[str] | None) -> Iterator[Record]:
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
    skill = skills([labels for entry in entries for questions in _people(entry).values() for labels in questions])
    accuracies = []
    for by, mode in dict.fromkeys((judgment.by, judgment.mode) for entry in entries for judgment in entry.judgments):
        rows = [list(_votes(entry, by, mode)) for entry in entries]
        samples = max((len(question.votes) for row in rows for question in row), default=0)
        accuracies += [_at(by, mode, k, samples, rows, skill) for k in range(1, samples + 1, 2)]
    people = [list(_against_others(entry)) for entry in entries]
    if any(people):
        accuracies.append(_at(OTHERS, "", 1, 1, people, {}))
    return [accuracy for accuracy in accuracies if accuracy.score.n or accuracy.score.unscored]


def _at(
    by: str, mode: str, k: int, samples: int, rows: Sequence[Sequence[Asked]], skill: Mapping[str, float]
) -> Accuracy:
    """The score at one k; instructions are the clusters of its interval."""
    known = [
        [question for question in row if question.gold is not None and len(question.votes) == samples] for row in rows
    ]
    shares = [
        (majority_of(question.votes, question.gold, k), place) for place, row in enumerate(known) for question in row
    ]
    score = clustered_rate([right for (right, _), _ in shares], [place for _, place in shares])
    n, open_ = score.n, sum(undecided for (_, undecided), _ in shares)
    score = replace(score, unscored=sum(map(len, rows)) - n)
    right_less_wrong = (
        corrected(_moments([question for row in known for question in row], k, skill), skill) if n else None
    )
    corrected_accuracy = (
        None if right_less_wrong is None else (right_less_wrong + 1 - open_ / n) / 2
    )  # right less wrong, and what is neither
    return Accuracy(by, mode, k, samples, score, open_ / n if n else None, corrected_accuracy)


def _moments(questions: Sequence[Asked], k: int, names: Iterable[str]) -> dict[Hashable, float]:
    """By annotator the share of majorities of k that agree with them, less that of those that differ."""
    moments: dict[Hashable, float] = {}
    for name in names:
        shares = [
            majority_of(question.votes, label, k)
            for question in questions
            if (label := question.said.get(name)) is not None
        ]
        if shares:
            moments[name] = sum(2 * right + open_ - 1 for right, open_ in shares) / len(shares)
    return moments


def _votes(entry: Entry, by: str, mode: str) -> Iterator[Asked]:
    """The draws of a judge, in order, on each question that annotators answered, too."""
    drawn: dict[Key, list[Judgments]] = {}
    for judgment in sorted(entry.judgments, key=lambda judgment: judgment.sample):
        if (judgment.by, judgment.mode) == (by, mode):
            drawn.setdefault((judgment.response_id, judgment.checklist_id), []).append(judgment)
    for key, questions in _people(entry).items():
        if key in drawn:
            for labels, votes in zip(
                questions, zip(*(judgment.answers for judgment in drawn[key]), strict=True), strict=True
            ):
                yield Asked(majority(list(labels.values())).label, votes, labels)  # type: ignore[arg-type]


def _people(entry: Entry) -> dict[Key, list[dict[str, Label | None]]]:
    """What each annotator says to each question of a checklist about a response."""
    by_key: dict[Key, list[dict[str, Label | None]]] = {}
    for annotation in entry.answers:
        questions = by_key.setdefault(
            (annotation.response_id, annotation.checklist_id), [{} for _ in annotation.answers]
        )
        for labels, label in zip(questions, annotation.answers, strict=True):
            labels[annotation.by] = label
    return by_key


def _against_others(entry: Entry) -> Iterator[Asked]:
    """Each annotator's answers, held against the majority of the others: what a judge can be expected to reach."""
    for questions in _people(entry).values():
        for labels in questions:
            for name, label in labels.items() if len(labels) > 2 else ():
                rest = {other: other_label for other, other_label in labels.items() if other != name}
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
    by_author: dict[str, list[list[Overlap]]] = {}
    for entry in entries:
        if entry.chosen is None:
            continue
        own: dict[str, list[Overlap]] = {}
        for checklist in others(entry):
            alike = overlap(checklist.questions, entry.chosen.questions)
            for author in [checklist.author, *([PEOPLE] if checklist.source == "human" else [])]:
                own.setdefault(author, []).append(alike)
        for author, overlaps in own.items():
            by_author.setdefault(author, []).append(overlaps)
    return [
        Likeness(author, len(per), sum(map(len, per)), mean_overlap([m for m in map(mean_overlap, per) if m]))
        for author, per in sorted(by_author.items(), key=lambda pair: pair[0] == PEOPLE)
    ]


def lengths(entries: Sequence[Entry]) -> dict[str, Counter[int]]:
    """How many checklists of each author have how many questions; the chosen ones apart (appendix B.1)."""
    by_author: dict[str, Counter[int]] = {}
    for entry in entries:
        for checklist in entry.checklists:
            by_author.setdefault(CHOSEN if checklist.chosen else checklist.author, Counter())[
                len(checklist.questions)
            ] += 1
    return by_author


def rates(entries: Sequence[Entry]) -> list[Correlated]:
    """The pass rates of responses under other checklists and under the chosen one, by who answered (Table 3a)."""

    def both(by: str) -> Measure:
        def measured(entry: Entry, response: Text, checklist: Written) -> Both | None:
            own = answered(entry, response, checklist, by)
            chosen = answered(entry, response, entry.chosen, by) if entry.chosen else None
            return None if own is None or chosen is None else (checklist_share(own), checklist_share(chosen))

        return measured

    correlations = [_correlated(entries, who, by, both(by)) for by in answerers(entries) for who in authors(entries)]
    return [correlation for correlation in correlations if correlation.n or correlation.left_out]


def difficulty(entries: Sequence[Entry]) -> list[Correlated]:
    """The length of checklists and the score that a response to their instruction gets (appendix B.2)."""

    def with_rate(by: str) -> Measure:
        def measured(entry: Entry, response: Text, checklist: Written) -> Both:
            labels = answered(entry, response, entry.chosen, by) if entry.chosen else None
            return len(checklist.questions), None if labels is None else checklist_share(labels)

        return measured

    measures: dict[str, Measure] = {
        "score from 1 to 5, by people": lambda entry, response, checklist: (
            len(checklist.questions),
            score(entry, response),
        )
    }
    measures |= {f"pass rate of the chosen checklist, by {by}": with_rate(by) for by in answerers(entries)}
    correlations = [_correlated(entries, who, *measure) for measure in measures.items() for who in authors(entries)]
    return [correlation for correlation in correlations if correlation.n]


def others(entry: Entry) -> list[Written]:
    """The checklists of a row that are not the chosen one."""
    return [checklist for checklist in entry.checklists if not checklist.chosen]


def authors(entries: Sequence[Entry]) -> list[str]:
    """Who wrote checklists that are not chosen, in the order of the data."""
    return list(dict.fromkeys(checklist.author for entry in entries for checklist in others(entry)))


def answerers(entries: Sequence[Entry]) -> list[str]:
    """Who answered checklists: people (their majority), and every judge."""
    people = ["people"] if any(entry.answers for entry in entries) else []
    return people + list(dict.fromkeys(judgment.by for entry in entries for judgment in entry.judgments))


def answered(entry: Entry, response: Text, checklist: Written, by: str) -> Labels | None:
    """The answers of people or of a judge, with reasoning where it has it and of several draws the first."""
    if by == "people":
        return entry.people(response, checklist)
    judgments = [
        judgment for judgment in entry.judgments
        if (judgment.by, judgment.response_id, judgment.checklist_id) == (by, response.id, checklist.id)
    ]  # fmt: skip
    return (
        min(judgments, key=lambda judgment: (judgment.mode != "reasoning", judgment.sample)).answers
        if judgments
        else None
    )


def score(entry: Entry, response: Text) -> float | None:
    """The mean of the annotators' direct scores of a response."""
    scores = [
        rating.score for rating in entry.ratings if (rating.response_id, rating.protocol) == (response.id, "direct")
    ]
    return sum(scores) / len(scores) if scores else None


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
        for checklist in (checklist for checklist in others(entry) if checklist.author == author):
            measured = [measure(entry, response, checklist) for response in entry.responses]
            runs.setdefault(checklist.run, []).extend(pair for pair in measured if pair is not None)
    each = [pearson(*(zip(*pairs, strict=True) if pairs else ((), ()))) for _, pairs in sorted(runs.items())]
    known = [run.value for run in each if run.value is not None]
    return Correlated(author, by, mean_of(*known), sum(run.n for run in each), sum(run.left_out for run in each))
