"""Decompositions: where they come from, which belong together, and how alike their questions are (paper 001, Table 1a)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from truebench_hf.benchmarks.flexbench.procedure import (
    FILE,
    SEVERAL,
    built_in,
    folder_name,
    holds_set,
    load_all,
)
from truebench_hf.data import catalogue, instances, row_files, sources
from truebench_hf.data.judged import as_answered, with_history
from truebench_hf.data.rows import Record
from truebench_hf.errors import UserError
from truebench_hf.metrics.texts import Spread, nearest, one_to_one, rouge_l, spread
from truebench_hf.types import Message

BUILT_IN = "flexbench"
_HARD = "Hard_set"  # of InFoBench: what the paper compares with
# StructFlowBench's questions on how a turn follows from others name turns that no instruction names.
_RELATIONS = ("follow-up", "refinement", "expansion", "summary", "recall")


@dataclass(frozen=True)
class Decomposition:
    """An instruction, after the conversation before it, and the questions it comes down to."""

    id: str
    instruction: str
    questions: tuple[str, ...]


def of_source(source: str) -> tuple[list[Decomposition], list[str]]:
    """The instructions of `SOURCE:PATH`, a benchmark with questions by people (see `truebench_hf.data.sources`)."""
    kind, _, path = source.partition(":")
    items = sources.read(kind, path)
    rows: dict[str, tuple[Decomposition, object]] = {}
    relations = bare = 0
    for item in items:
        questions = [
            rubric.text for rubric in item.rubrics if rubric.hint not in _RELATIONS or kind != "structflowbench"
        ]
        relations += len(item.rubrics) - len(questions)
        bare += not questions
        if questions:  # of several responses to one instruction the first tells all
            decomposition = Decomposition(item.instruction_id, _joined(item.messages), tuple(questions))
            rows.setdefault(item.instruction_id, (decomposition, item.facts.get("subset")))
    chosen, left_out = hard_set(list(rows.values()))
    if relations:
        left_out.append(
            f"left out: {relations} questions on how a turn follows from others, which no instruction tells"
        )
    if bare:
        left_out.append(f"left out: {bare} instructions without any (other) question")
    return chosen, [*items.left_out.reasons, *left_out]


def instruction_of(record: Record) -> str:
    """The instruction of a row; InFoBench's rows have what it is about beside it, as `input`. Raises UserError."""
    context = record.row.get("input")
    return record.text("instruction") + (f"\n\n{context}" if isinstance(context, str) and context.strip() else "")


def hard_set(rows: Iterable[tuple[Decomposition, object]]) -> tuple[list[Decomposition], list[str]]:
    """Of InFoBench's rows the hard set; all where no row says that it is of it."""
    rows = list(rows)
    hard = [decomposition for decomposition, subset in rows if subset == _HARD]
    if not hard or len(hard) == len(rows):
        return [decomposition for decomposition, _ in rows], []
    return hard, [f"left out: {len(rows) - len(hard)} instructions that are not of {_HARD}"]


def _joined(messages: Sequence[Message]) -> str:
    """A conversation as one text; a message alone stands for itself."""
    if len(messages) == 1:
        return messages[0].content
    return "\n\n".join(f"[{message.role}]\n{message.content}" for message in messages)


HELP = (
    f"{BUILT_IN}, SOURCE:PATH (infobench, structflowbench ...), rows with instruction (or prompt) and questions (or "
    "criteria, decomposed_questions), a Hub id, or procedures in YAML."
)
_QUESTIONS = ("questions", "decomposed_questions")


@dataclass(frozen=True)
class QuestionPair:
    """One instruction as people took it apart, and as we do."""

    human: Decomposition
    ours: Decomposition


@dataclass(frozen=True)
class Matched:
    """Instructions that both sides have, those of one side alone, and those that share an id and not the text."""

    pairs: tuple[QuestionPair, ...]
    human_only: tuple[str, ...]
    ours_only: tuple[str, ...]
    other_text: tuple[str, ...]


def read_ours(source: Sequence[str]) -> list[Decomposition]:
    """The dimensions of folders that `flex build` wrote, of YAML files, or of built-in instructions. Raises UserError."""
    return _distinct([ours for folder in source for ours in _procedures(folder)], ", ".join(source))


def read_human(source: str) -> tuple[list[Decomposition], list[str]]:
    """People's decompositions (see `HELP`), and what was left out, in words. Raises UserError."""
    path = Path(source)
    if sources.is_source(source):
        decompositions, left_out = of_source(source)
    elif (
        catalogue.built(source, BUILT_IN)
        or source in built_in()
        or path.suffix in (".yaml", ".yml")
        or (path / FILE).is_file()
        or holds_set(path)
        or any(path.glob(f"{SEVERAL}/*/{FILE}"))
    ):
        decompositions, left_out = _procedures(source), []
    else:
        records = row_files.one_split(source, (BUILT_IN, "SOURCE:PATH"), "--human")
        rows = [(_of_row(record, str(number)), record.row.get("subset")) for number, record in enumerate(records, 1)]
        decompositions, left_out = hard_set(rows)
    return _distinct(decompositions, source), left_out


def match(human: Sequence[Decomposition], ours: Sequence[Decomposition]) -> Matched:
    """What goes together: instructions of the same id (as a folder's name holds it), else of the same text."""
    by_id = {decomposition.id: decomposition for decomposition in ours}
    by_text = {_folded(decomposition.instruction): decomposition for decomposition in reversed(ours)}
    pairs, alone = [], []
    for decomposition in human:
        text, name = _folded(decomposition.instruction), decomposition.id
        if partner := by_id.get(name) or by_id.get(folder_name(name)) or by_text.get(text):
            pairs.append(QuestionPair(decomposition, partner))
        else:
            alone.append(name)
    used = {pair.ours.id for pair in pairs}
    ours_only = tuple(decomposition.id for decomposition in ours if decomposition.id not in used)
    other = [pair.human.id for pair in pairs if _folded(pair.ours.instruction) != _folded(pair.human.instruction)]
    return Matched(tuple(pairs), tuple(alone), ours_only, tuple(other))


def _folded(text: str) -> str:
    return " ".join(text.split())


def _procedures(source: str) -> list[Decomposition]:
    """The dimensions of procedures, the built-in ones too."""
    procedures = built_in().values() if catalogue.built(source, BUILT_IN) else load_all(source)
    return [Decomposition(p.id, p.instruction, tuple(d.question for d in p.dimensions)) for p in procedures]


def _of_row(record: Record, number: str) -> Decomposition:
    """A row in any of the common forms."""
    row = dict(record.row)
    if "instruction" in row:
        if row.get("prompt"):
            raise record.wrong("prompt", "stands beside 'instruction', which means the same; leave out one")
        row["prompt"] = instruction_of(record)
        row.pop("input", None)
    for name in _QUESTIONS:
        if row.get(name) is not None:
            if row.get("criteria"):
                raise record.wrong(name, "stands beside others that mean the same; leave out one")
            row["criteria"] = row.pop(name)
    instance = instances.of_row(Record(record.where, row, record.number), number)
    if len(instance.turns) != 1:
        raise UserError(f"{record.where}: has {len(instance.turns)} turns; give a row for each instruction")
    if not instance.turns[0].criteria:
        raise UserError(f"{record.where}: has no questions; give them as 'questions' or 'criteria'")
    *before, last = with_history(instance, as_answered(instance, ("",)))[:-1]
    prompt = f"{instance.context}\n\n{last.content}" if instance.context else last.content
    questions = tuple(criterion.text for criterion in instance.turns[0].criteria)
    return Decomposition(instance.id, _joined((*before, Message("user", prompt))), questions)


def _distinct(decompositions: list[Decomposition], where: str) -> list[Decomposition]:
    if not decompositions:
        raise UserError(f"{where}: holds no instructions")
    names = [decomposition.id for decomposition in decompositions]
    if twice := next((name for number, name in enumerate(names) if name in names[:number]), None):
        raise UserError(f"{where}: instruction {twice} stands twice; name each once")
    return decompositions


Embed = Callable[[Sequence[str]], Any]  # unit vectors, one a text
BertScorer = Callable[[Sequence[str], Sequence[str]], list[tuple[float, float, float]]]  # precision, recall, F1
BERTSCORE = ("bertscore_p", "bertscore_r", "bertscore_f1")
MEASURES = {
    "cosine": "sentence cosine", **dict(zip(BERTSCORE, ("BERTScore P", "BERTScore R", "BERTScore F1"), strict=True)),
    "rouge_l": "ROUGE-L",
}  # fmt: skip


@dataclass(frozen=True)
class Partners:
    """A human question and one of ours, by their places, and how alike they are, each measure 0..1 (cosine -1..1)."""

    human: int
    ours: int
    measures: Mapping[str, float]


@dataclass(frozen=True)
class Similarity:
    """The questions of one instruction, aligned both ways."""

    nearest: tuple[Partners, ...]
    one_to_one: tuple[Partners, ...]

    @property
    def cosine(self) -> float | None:
        """The mean over the human questions."""
        return spread([partner.measures["cosine"] for partner in self.nearest]).mean


def similarities(
    pairs: Sequence[QuestionPair], embed: Embed, bert_scores: BertScorer | None = None
) -> list[Similarity]:
    """How alike the cosines of each instruction are; BERTScore only with a function that gives it."""
    texts = list(dict.fromkeys(text for pair in pairs for text in (*pair.human.questions, *pair.ours.questions)))
    place = {text: number for number, text in enumerate(texts)}
    vectors = embed(texts)
    likeness = []
    for pair in pairs:
        rows, columns = ([place[text] for text in side.questions] for side in (pair.human, pair.ours))
        # Rounding takes the cosine of equal texts a little above 1.
        likeness.append((vectors[rows] @ vectors[columns].T).clip(-1, 1))
    ways = [(nearest(cosines), one_to_one(cosines)) for cosines in likeness]
    # Ours is held against the human one.
    partners = [
        (number, h, o, pair.ours.questions[o], pair.human.questions[h])
        for number, (pair, (near, alone)) in enumerate(zip(pairs, ways, strict=True))
        for h, o in dict.fromkeys([*near, *alone])
    ]
    scores = bert_scores([row[3] for row in partners], [row[4] for row in partners]) if bert_scores else None
    known: dict[tuple[int, int, int], Partners] = {}
    for at, (number, h, o, mine, theirs) in enumerate(partners):
        bert = dict(zip(BERTSCORE, scores[at], strict=True)) if scores else {}
        measures = {"cosine": float(likeness[number][h, o]), **bert, "rouge_l": rouge_l(mine, theirs)}
        known[number, h, o] = Partners(h, o, measures)
    return [
        Similarity(*(tuple(known[number, h, o] for h, o in places) for places in aligned))
        for number, aligned in enumerate(ways)
    ]


def summary(partners: Sequence[Partners]) -> dict[str, Spread]:
    """Mean and deviation of every measure over partners."""
    names = [name for name in MEASURES if not partners or name in partners[0].measures]
    return {name: spread([partner.measures[name] for partner in partners]) for name in names}


def left_over(pair: QuestionPair, partners: Sequence[Partners]) -> tuple[list[str], list[str]]:
    """Questions without a partner: the human ones, and ours."""
    human, ours = {partner.human for partner in partners}, {partner.ours for partner in partners}
    return (
        [text for number, text in enumerate(pair.human.questions) if number not in human],
        [text for number, text in enumerate(pair.ours.questions) if number not in ours],
    )
