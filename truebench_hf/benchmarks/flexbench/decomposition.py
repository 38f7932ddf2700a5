"""`truebench flex study decompose`: our dimensions against human ones (paper 001, section 5.2, Table 1 and appendix C).

Every human question has the nearest of ours for a partner, by sentence cosine: 1,560 pairs over 248 instructions are
all human questions there are. One-to-one alignment stands beside it, where no question serves twice.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import median
from typing import Any

import numpy as np

from truebench_hf.benchmarks.flexbench.procedure import (
    BUILT_IN,
    Procedure,
    folder_name,
    load_procedures,
    read_decompositions,
)
from truebench_hf.errors import UserError
from truebench_hf.judging.signed_asking import JUDGE_SAMPLING, ask_by_prompt
from truebench_hf.metrics.binary import ratio
from truebench_hf.metrics.comparison import paired_difference
from truebench_hf.metrics.preference import joined, position_bias, turned
from truebench_hf.metrics.texts import nearest, one_to_one, rouge_l, spread
from truebench_hf.models.asking import SchemaFallback
from truebench_hf.models.classifier import bert_scores, check_bert_score, embed
from truebench_hf.options import Binds, option, role
from truebench_hf.prompts import Prompts, fence
from truebench_hf.report.sections import Axis, Plot, Series
from truebench_hf.report.table import PUBLISHED, Column, Kind, Table, paper_rows
from truebench_hf.study.items import Items
from truebench_hf.study.options import FolderOptions, ReplyOptions
from truebench_hf.study.outcome import Outcome
from truebench_hf.study.study import Study
from truebench_hf.types import Score

PROMPT = "flex_compare"
CRITERIA = {
    "overall": "Overall", "granularity": "Granularity", "evaluation_suitability": "Eval. Suitability",
    "completeness": "Completeness", "coverage": "Coverage", "task_alignment": "Task Alignment", "clarity": "Clarity",
}  # fmt: skip
_WORDS = {"A": "win", "B": "loss", "TIE": "tie"}  # of the list shown first
_REASON = "One list splits a demand in two that belong together, the other one leaves out the number it names. " * 14
_BERTSCORE = ("bertscore_p", "bertscore_r", "bertscore_f1")
_MEASURES = {
    "cosine": "sentence cosine", **dict(zip(_BERTSCORE, ("BERTScore P", "BERTScore R", "BERTScore F1"), strict=True)),
    "rouge_l": "ROUGE-L",
}  # fmt: skip
DISSIMILAR = 0.85  # mean cosine under which the two lists of an instruction count as dissimilar (appendix C.2)
Pair = tuple[Procedure, Procedure]  # one instruction as people took it apart, and as we do
BertScorer = Callable[[Sequence[str], Sequence[str]], list[tuple[float, float, float]]]  # precision, recall, F1


@dataclass(frozen=True)
class Preferences:
    """What a judge says of our list by criterion, "win", "tie" or "loss", shown first (`as_given`) and second (`swapped`).

    None is undecided, and `reason` says why; else it is what the judge says of both lists, in either order.
    """

    as_given: Mapping[str, str | None]
    swapped: Mapping[str, str | None]
    reason: str = ""

    @property
    def labels(self) -> dict[str, str | None]:
        """Of both orders: where they differ, a tie."""
        return {name: joined((self.as_given[name], self.swapped[name])) for name in CRITERIA}


@dataclass(frozen=True)
class Compared:
    """An instruction's two decompositions, which questions are partners, and which list a judge prefers, where one was
    asked. Partners are (place of the human question, place of ours), with each measure (0..1, cosine -1..1) of `likeness`."""

    human: Procedure
    ours: Procedure
    nearest: Sequence[tuple[int, int]]
    one_to_one: Sequence[tuple[int, int]]
    likeness: Mapping[tuple[int, int], dict[str, float]]
    preferences: Preferences | None = None

    @property
    def counts(self) -> tuple[int, int]:
        """How many questions people have, and how many we."""
        return len(self.human.dimensions), len(self.ours.dimensions)

    @property
    def cosine(self) -> float | None:
        """The mean over the human questions."""
        return spread([self.likeness[pair]["cosine"] for pair in self.nearest]).mean

    @property
    def dissimilar(self) -> bool:
        """Whether the mean cosine lies below `DISSIMILAR`."""
        return self.cosine is not None and self.cosine < DISSIMILAR

    def partners(self, pairs: Sequence[tuple[int, int]]) -> list[dict[str, Any]]:
        """Return partners as rows: both questions, and each measure."""
        human, ours = self.human.questions, self.ours.questions
        return [{"human": human[h], "ours": ours[o], **self.likeness[h, o]} for h, o in pairs]

    def row(self) -> dict[str, Any]:
        """As it stands in comparisons.jsonl."""
        human, ours = self.human.questions, self.ours.questions
        paired, alone = ({place for _, place in pairs} for pairs in (self.nearest, self.one_to_one))
        row: dict[str, Any] = {
            "id": self.human.id, "our_id": self.ours.id, "cosine": self.cosine, "human": human, "ours": ours,
            "nearest": self.partners(self.nearest), "one_to_one": self.partners(self.one_to_one),
            "human_left_over": [text for h, text in enumerate(human) if h not in {h for h, _ in self.one_to_one}],
            "ours_left_over": [text for o, text in enumerate(ours) if o not in alone],
            "never_nearest": [text for o, text in enumerate(ours) if o not in paired],
        }  # fmt: skip
        if self.preferences:
            row["preferences"] = asdict(self.preferences) | {"labels": self.preferences.labels}
        return row


class DecomposeOptions(FolderOptions, ReplyOptions):
    """Which decompositions are compared, and how."""

    folders: tuple[str, ...] = option(
        help=f"Ours: folders that `flex build` wrote, YAML files, or {BUILT_IN}.", argument=True, panel="Data"
    )
    human: str = option(
        panel="Data", help=f"People's: {BUILT_IN}, SOURCE:PATH (infobench, structflowbench ...), rows with instruction (or "
        "prompt) and questions (or criteria, decomposed_questions), a Hub id, or procedures in YAML."
    )  # fmt: skip
    judge: str | None = role(
        None, help="Who says which of two lists is better; none: similarity and counts alone.",
        binds=Binds(late=True, grows=True),
    )  # fmt: skip
    bertscore: bool = option(False, help="BERTScore, too (needs the package bert-score).")


class FlexDecompose(Study[DecomposeOptions, Pair, Preferences | None, list[Compared]]):
    """Every instruction that both sides took apart."""

    kind, unit, prompts, boards = "flexdecompose", "instructions", (PROMPT,), False
    needs = ("rouge_score",)
    files = ("comparisons.jsonl",)

    def items(self) -> Items[Pair]:
        options = self.options
        human, self.left_out = read_decompositions(options.human)
        ours = load_procedures(options.folders)
        pairs = match(human, ours)
        if not pairs:
            raise UserError(
                f"none of the {len(human)} instructions of --human {options.human} stands in {', '.join(options.folders)}, "
                f"by id or text; `truebench flex build {options.human} --out FOLDER` takes them apart"
            )
        self.alone = len(human) - len(pairs), len(ours) - len({partner.id for _, partner in pairs})
        self.other_text = [first.id for first, second in pairs if _folded(first) != _folded(second)]
        return Items(
            pairs, lambda pair: pair[0].id, lambda pair: [[side.id, side.instruction, side.questions] for side in pair],
            size=lambda pair: len(pair[0].instruction),
        )  # fmt: skip

    def check(self) -> None:
        options = self.options
        if options.bertscore:
            check_bert_score()
        if not options.estimate:  # before a judge is paid for what could not be reported
            self.compared = with_partners(self.chosen, embed, bert_scores if options.bertscore else None)

    def setup(self) -> None:
        if self.options.judge is not None:
            self.schemas = SchemaFallback(self.caller("judge"), self.options.structured)

    async def work(self, pair: Pair) -> Preferences | None:
        return None if self.options.judge is None else await prefer(self.schemas, pair, self.options.prompts)

    def score(self, done: Sequence[Preferences | None]) -> Outcome[list[Compared]]:
        compared = [replace(each, preferences=answer) for each, answer in zip(self.compared, done, strict=True)]
        undecided = sum(None in answer.labels.values() for answer in done if answer is not None)
        notes = list(self.left_out)
        if self.alone[0]:
            notes.append(f"{self.alone[0]} instructions of --human are not among ours, and not compared")
        if other := self.other_text:
            named = ", ".join(other[:5]) + (" ..." if len(other) > 5 else "")
            notes.append(
                f"{len(other)} instructions have the same id on both sides and another text ({named}): are they the same?"
            )
        if undecided:
            notes.append(
                f"on {undecided} instructions the judge is undecided; they are left out of its shares, and counted"
            )
        return Outcome(
            compared, title="FlexBench: decompositions compared", tables=tables(compared, self.alone),
            charts=[_distribution(compared)], items={"comparisons.jsonl": [comparison.row() for comparison in compared]},
            lead="Dimensions that were derived from instructions, held against questions that people wrote for them.",
            notes=notes, incomplete=undecided,
        )  # fmt: skip


def match(human: Sequence[Procedure], ours: Sequence[Procedure]) -> list[Pair]:
    """What goes together: instructions of the same id (as a folder's name holds it), else of the same text."""
    by_id = {procedure.id: procedure for procedure in ours}
    by_text = {_folded(procedure): procedure for procedure in reversed(ours)}
    partners = [by_id.get(p.id) or by_id.get(folder_name(p.id)) or by_text.get(_folded(p)) for p in human]
    return [(procedure, partner) for procedure, partner in zip(human, partners, strict=True) if partner]


def _folded(procedure: Procedure) -> str:
    return " ".join(procedure.instruction.split())


def with_partners(
    pairs: Sequence[Pair], embed: Callable[[Sequence[str]], Any], bert_scores: BertScorer | None = None
) -> list[Compared]:
    """Find the partners of each instruction by unit vectors; BERTScore only with a function that gives it."""
    texts = list(dict.fromkeys(text for pair in pairs for side in pair for text in side.questions))
    vectors = dict(zip(texts, embed(texts), strict=True))
    compared = []
    for human, ours in pairs:
        rows, columns = (np.array([vectors[text] for text in side.questions]) for side in (human, ours))
        cosines = (rows @ columns.T).clip(-1, 1)  # rounding takes that of equal texts a little above 1
        near, alone = nearest(cosines), one_to_one(cosines)
        likeness = {
            (h, o): {"cosine": float(cosines[h, o]), "rouge_l": rouge_l(ours.questions[o], human.questions[h])}
            for h, o in dict.fromkeys([*near, *alone])
        }
        compared.append(Compared(human, ours, near, alone, likeness))
    if bert_scores:
        partners = [(each, h, o) for each in compared for h, o in each.likeness]
        ours_first = [each.ours.questions[o] for each, _, o in partners]
        human_second = [each.human.questions[h] for each, h, _ in partners]
        for (each, h, o), scores in zip(partners, bert_scores(ours_first, human_second), strict=True):
            each.likeness[h, o].update(zip(_BERTSCORE, scores, strict=True))
    return compared


async def prefer(schemas: SchemaFallback, pair: Pair, prompts: Prompts) -> Preferences:
    """Our list against the human one; an answer that leaves out a criterion, or says two things of it, is asked again."""
    instruction = pair[0].instruction
    human, ours = ([" ".join(text.split()) for text in side.questions] for side in pair)
    tag = fence(instruction, *sorted([*ours, *human]))  # in either order the same: nothing else that is asked differs
    labels = dict.fromkeys(CRITERIA, _WORDS)
    answers = await asyncio.gather(*(
        ask_by_prompt(
            schemas, prompts, PROMPT, {"instruction": instruction, "first": first, "second": second, "tag": tag}, labels,
            sampling=JUDGE_SAMPLING, reason=_REASON,
        )
        for first, second in ((ours, human), (human, ours))
    ))  # fmt: skip
    first, second = (dict.fromkeys(CRITERIA) if answer.problem else answer.labels for answer in answers)
    orders = list(zip(("as given", "swapped"), answers, strict=True))
    orders = [(order, answer) for order, answer in orders if answer.problem] or orders
    reasons = [f"{order}: {answer.problem or answer.reason}" for order, answer in orders]
    return Preferences(first, {name: turned(label) for name, label in second.items()}, "; ".join(reasons))


def tables(done: Sequence[Compared], alone: tuple[int, int]) -> list[Table]:
    """Return all tables; those on dissimilar instructions alone stand as rows of their own (appendix C.2).

    `alone` are the instructions that only people have, and those that only we have.
    """
    groups = {"all": list(done), "dissimilar": [comparison for comparison in done if comparison.dissimilar]}
    overview = {
        "instructions": len(done), "human_questions": sum(comparison.counts[0] for comparison in done),
        "our_questions": sum(comparison.counts[1] for comparison in done), "human_only": alone[0],
        "ours_only": alone[1], "dissimilar": len(groups["dissimilar"]),
    }  # fmt: skip
    columns = [Column(name, name.replace("_", " "), "count") for name in overview]
    by_instruction = [
        {"instruction": each.human.id, "cosine": each.cosine, "human": each.counts[0], "ours": each.counts[1],
         "dissimilar": "yes" if each.dissimilar else ""}
        for each in done
    ]  # fmt: skip
    of_instruction = (
        Column("instruction", "instruction"), Column("cosine", "mean cosine", "number", unit="", digits=3),
        Column("human", "human", "count"), Column("ours", "ours", "count"), Column("dissimilar", "dissimilar"),
    )  # fmt: skip
    results = [
        Table("decompositions", columns, [overview], "Decompositions", keys=0), _similarity(groups), _preferences(groups),
        _counts(done), Table("instructions", of_instruction, by_instruction, "Every instruction", printed=False),
    ]  # fmt: skip
    return [table for table in results if table.rows]


def _similarity(groups: Mapping[str, Sequence[Compared]]) -> Table:
    """Mean and deviation of every measure, by alignment (Table 1a)."""
    rows: list[dict[str, Any]] = []
    for group, done in groups.items():
        for way in ("nearest", "one_to_one"):
            partners = [each.likeness[pair] for each in done for pair in getattr(each, way)]
            for name in (name for name in _MEASURES if partners and name in partners[0]):
                part = spread([partner[name] for partner in partners])
                about = {"group": group, "alignment": way.replace("_", " "), "measure": _MEASURES[name]}
                rows.append(about | {"pairs": part.n, "mean": part.mean, "deviation": part.deviation})
    rows += [
        {"group": "all", "measure": row["Metric"], "pairs": 1560, "mean": row["Mean"], "deviation": row["Std"], PUBLISHED: True}
        for row in paper_rows("flexbench", "flexbench_table1a")
    ]  # fmt: skip
    ways = "Nearest: every human question with the most alike of ours, which may serve several. One to one: none twice."
    columns = (
        Column("group", "instructions", about=f"Dissimilar: with a mean cosine under {DISSIMILAR:g}."),
        Column("alignment", "alignment", about=ways), Column("measure", "measure"), Column("pairs", "pairs", "count"),
        Column("mean", "mean", "number", unit="", digits=3), Column("deviation", "deviation", "number", unit="", digits=3),
    )  # fmt: skip
    note = "Cosine and BERTScore are by all-MiniLM-L6-v2; the paper names no model, so its figures cannot be compared."
    return Table("similarity", columns, rows, "Similarity of partners", note, keys=3)


def tally(answers: Sequence[Preferences]) -> list[dict[str, Any]]:
    """Return a row per criterion: shares (0..1) of the instructions decided, ours less human, and what the order does."""
    rows = []
    for name, title in CRITERIA.items():
        labels = [preferences.labels[name] for preferences in answers]
        decided = [label for label in labels if label is not None]
        columns = ([None if label is None else float(label == side) for label in labels] for side in ("win", "loss"))
        bias = position_bias([each.as_given[name] for each in answers], [each.swapped[name] for each in answers])
        rows.append({
            "criterion": title, **{side: ratio(decided.count(side), len(decided)) for side in ("win", "tie", "loss")},
            "difference": paired_difference(*columns), "consistent": bias.consistent, "first": bias.first_rate,
        })  # fmt: skip
    return rows


def _preferences(groups: Mapping[str, Sequence[Compared]]) -> Table:
    """Shares of wins, ties and losses of our lists by criterion, and what the order does (Table 1b)."""
    by_group = {group: [each.preferences for each in done if each.preferences] for group, done in groups.items()}
    rows = [{"group": group, **row} for group, answers in by_group.items() if answers for row in tally(answers)]
    rows += [
        {"group": "all", "criterion": row["Criterion"], "win": row["A win"] / 100, "loss": row["B win"] / 100,
         "difference": Score(row["Delta"] / 100, 248), PUBLISHED: True}
        for row in (paper_rows("flexbench", "flexbench_table1b") if rows else ())
    ]  # fmt: skip
    columns = (
        Column("group", "instructions"), Column("criterion", "criterion"),
        *(Column(name, title, "number", digits=1) for name, title in (("win", "ours %"), ("tie", "tie %"), ("loss", "human %"))),
        Column("difference", "ours less human", "score", "In points; None is undecided and counted.", "points", digits=1,
               parts=("value", "interval", "n", "unscored")),
        Column("consistent", "same %", "number", "How often both orders say the same.", digits=1, minor=2),
        Column("first", "first %", "number", "How often the list shown first is chosen; 50 is free of bias.", digits=1, minor=1),
    )  # fmt: skip
    note = "Each pair is asked with either list first; what hangs on the order is a tie."
    return Table("preferences", columns, rows, "Preference of the judge", note, keys=2)


def _counts(done: Sequence[Compared]) -> Table:
    human, ours = zip(*(comparison.counts for comparison in done), strict=True)
    sides = {"human": human, "ours": ours, "ours less human": [b - a for a, b in zip(human, ours, strict=True)]}
    rows = [
        {"side": side, "mean": spread(numbers).mean, "deviation": spread(numbers).deviation, "least": min(numbers),
         "median": float(median(numbers)), "most": max(numbers)} for side, numbers in sides.items()
    ]  # fmt: skip
    kinds: dict[str, Kind] = dict.fromkeys(("mean", "deviation", "least", "median", "most"), "number")
    kinds |= {"least": "count", "most": "count"}
    columns = [Column("side", ""), *(Column(name, name, kind, unit="", digits=2) for name, kind in kinds.items())]
    note = "The paper's Figure 10 has mostly 4 to 7 on both sides, ours a little more, and at times over 15."
    return Table("counts", columns, rows, "Questions per instruction", note)


def _distribution(done: Sequence[Compared]) -> Plot:
    """How many instructions have how many questions, by side (figure 10b)."""
    human, ours = (Counter(comparison.counts[side] for comparison in done) for side in (0, 1))
    most, top = max(*human, *ours), max(*human.values(), *ours.values())
    series = [
        Series(name, tuple((float(n), float(counts[n]), 0.3, f"{counts[n]} with {n}") for n in range(1, most + 1)), joined=True)
        for name, counts in (("human", human), ("ours", ours))
    ]  # fmt: skip
    axes = Axis("questions", 0, most + 1), Axis("instructions", 0, 1.1 * top)
    return Plot("Instructions by their number of questions", tuple(series), *axes)
