"""`truebench flex study decompose`: our dimensions against human ones (paper 001, section 5.2 and appendix C).

Every human question has the nearest of ours for a partner, by sentence cosine: 1,560 pairs over 248 instructions are
all human questions there are. One-to-one alignment stands beside it, where no question serves twice.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from truebench_hf.benchmarks.flexbench import decomposition
from truebench_hf.benchmarks.flexbench.decomposition import Matched, Partners, QuestionPair, Similarity
from truebench_hf.errors import UserError
from truebench_hf.judging.judge import JUDGE_SAMPLING
from truebench_hf.judging.signed_asking import ask_by_prompt
from truebench_hf.metrics.binary import ratio
from truebench_hf.metrics.comparison import PairedDifference, paired_difference
from truebench_hf.metrics.preference import PositionBias, joined, position_bias, turned
from truebench_hf.metrics.texts import spread
from truebench_hf.models.asking import SchemaFallback
from truebench_hf.models.classifier import bert_scores, check_bert_score, embed
from truebench_hf.models.protocol import Sampling
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
Labels = Mapping[str, str | None]


@dataclass(frozen=True)
class Preferences:
    """What a judge says of our list by criterion, "win", "tie" or "loss", shown first (`as_given`) and second (`swapped`).

    None is undecided, and `reason` says why; else it is what the judge says of both lists, in either order.
    """

    as_given: Labels
    swapped: Labels
    reason: str = ""

    @property
    def labels(self) -> dict[str, str | None]:
        """Of both orders: where they differ, a tie."""
        return {name: joined((self.as_given[name], self.swapped[name])) for name in CRITERIA}


@dataclass(frozen=True)
class QuestionTally:
    """One criterion over instructions: shares 0..1 of those decided, ours less human, and what the order does."""

    win: float | None
    tie: float | None
    loss: float | None
    difference: PairedDifference
    bias: PositionBias


async def compare(schemas: SchemaFallback, pair: QuestionPair, prompts: Prompts, sampling: Sampling) -> Preferences:
    """Our list against the human one; an answer that leaves out a criterion, or says two things of it, is asked again."""
    instruction = pair.human.instruction
    ours, human = ([" ".join(text.split()) for text in side.questions] for side in (pair.ours, pair.human))
    tag = fence(
        instruction, *sorted([*ours, *human])
    )  # in either order the same: what is asked differs in nothing else
    labels = dict.fromkeys(CRITERIA, _WORDS)
    answers = await asyncio.gather(*(
        ask_by_prompt(
            schemas, prompts, PROMPT, {"instruction": instruction, "first": first, "second": second, "tag": tag}, labels,
            sampling=sampling, reason=_REASON,
        )
        for first, second in ((ours, human), (human, ours))
    ))  # fmt: skip
    first, second = (dict.fromkeys(CRITERIA) if answer.problem else answer.labels for answer in answers)
    outcomes = list(zip(("as given", "swapped"), answers, strict=True))
    outcomes = [(order, answer) for order, answer in outcomes if answer.problem] or outcomes
    reasons = [f"{order}: {answer.problem or answer.reason}" for order, answer in outcomes]
    return Preferences(first, {name: turned(label) for name, label in second.items()}, "; ".join(reasons))


def tally(answers: Sequence[Preferences]) -> dict[str, QuestionTally]:
    """Every criterion over the instructions."""
    tallies = {}
    for name in CRITERIA:
        labels = [preferences.labels[name] for preferences in answers]
        decided = [label for label in labels if label is not None]
        win, tie, loss = (ratio(decided.count(label), len(decided)) for label in ("win", "tie", "loss"))
        columns = ([None if label is None else float(label == side) for label in labels] for side in ("win", "loss"))
        orders = ([getattr(preferences, order)[name] for preferences in answers] for order in ("as_given", "swapped"))
        tallies[name] = QuestionTally(win, tie, loss, paired_difference(*columns), position_bias(*orders))
    return tallies


DISSIMILAR = 0.85  # mean cosine under which the two lists of an instruction count as dissimilar (appendix C.2)


@dataclass(frozen=True)
class Compared:
    """An instruction's two decompositions, how alike they are, and which one a judge prefers, where one was asked."""

    pair: QuestionPair
    similarity: Similarity
    preferences: Preferences | None = None

    @property
    def counts(self) -> tuple[int, int]:
        """How many questions people have, and how many we."""
        return len(self.pair.human.questions), len(self.pair.ours.questions)

    @property
    def dissimilar(self) -> bool:
        """Whether the mean cosine of the human questions lies below `DISSIMILAR`."""
        return self.similarity.cosine is not None and self.similarity.cosine < DISSIMILAR

    def row(self) -> dict[str, Any]:
        """As it stands in comparisons.jsonl."""
        pair = self.pair
        human, ours = decomposition.left_over(pair, self.similarity.one_to_one)
        row: dict[str, Any] = {
            "id": pair.human.id, "our_id": pair.ours.id, "cosine": self.similarity.cosine,
            "human": pair.human.questions, "ours": pair.ours.questions,
            "nearest": self._partners(self.similarity.nearest), "one_to_one": self._partners(self.similarity.one_to_one),
            "human_left_over": human, "ours_left_over": ours, "never_nearest": decomposition.left_over(pair, self.similarity.nearest)[1],
        }  # fmt: skip
        if self.preferences:
            row["preferences"] = asdict(self.preferences) | {"labels": self.preferences.labels}
        return row

    def _partners(self, partners: Sequence[Partners]) -> list[dict[str, Any]]:
        human, ours = self.pair.human.questions, self.pair.ours.questions
        return [{"human": human[partner.human], "ours": ours[partner.ours], **partner.measures} for partner in partners]


_PRINTED = 20  # rows of a list on the terminal; the page has all


@dataclass(frozen=True, kw_only=True)
class DecomposeOptions(FolderOptions, ReplyOptions):
    """Which decompositions are compared, and how."""

    folders: tuple[str, ...] = option(
        help=f"Ours: folders that `flex build` wrote, YAML files, or {decomposition.BUILT_IN}.",
        argument=True,
        panel="Data",
    )
    human: str = option(help=f"People's: {decomposition.HELP}", panel="Data")
    judge: str | None = role(
        None, help="Who says which of two lists is better; none: similarity and counts alone.",
        binds=Binds(late=True, grows=True),
    )  # fmt: skip
    bertscore: bool = option(False, help="BERTScore, too (needs the package bert-score).")


class FlexDecompose(Study[DecomposeOptions, QuestionPair, Preferences | None, list[Compared]]):
    """Every instruction that both sides took apart."""

    kind, unit, prompts, boards = "flexdecompose", "instructions", (PROMPT,), False
    needs = ("rouge_score",)
    files = ("comparisons.jsonl",)

    def items(self) -> Items[QuestionPair]:
        options = self.options
        human, self.left_out = decomposition.read_human(options.human)
        self.matched: Matched = decomposition.match(human, decomposition.read_ours(options.folders))
        if not self.matched.pairs:
            raise UserError(
                f"none of the {len(human)} instructions of --human {options.human} stands in {', '.join(options.folders)}, "
                f"by id or text; `truebench flex build {options.human} --out FOLDER` takes them apart"
            )
        return Items(
            self.matched.pairs, lambda pair: pair.human.id, None, size=lambda pair: len(pair.human.instruction)
        )

    def check(self) -> None:
        options = self.options
        if options.bertscore:
            check_bert_score()
        if not options.estimate:  # before a judge is paid for what could not be reported
            self.similarities = decomposition.similarities(
                self.chosen, embed, bert_scores if options.bertscore else None
            )

    def setup(self) -> None:
        if self.options.judge is not None:
            self.schemas = SchemaFallback(self.caller("judge"), self.options.structured)

    async def work(self, pair: QuestionPair) -> Preferences | None:
        if self.options.judge is None:
            return None
        return await compare(self.schemas, pair, self.options.prompts, JUDGE_SAMPLING)

    def score(self, done: Sequence[Preferences | None]) -> Outcome[list[Compared]]:
        compared = [Compared(*each) for each in zip(self.chosen, self.similarities, done, strict=True)]
        undecided = sum(None in comparison.labels.values() for comparison in done if comparison is not None)
        matched, notes = self.matched, list(self.left_out)
        if alone := len(matched.human_only):
            notes.append(f"{alone} instructions of --human are not among ours, and not compared")
        if other := matched.other_text:
            notes.append(
                f"{len(other)} instructions have the same id on both sides and another text ({', '.join(other[:5])}"
                f"{' ...' if len(other) > 5 else ''}): are they the same?"
            )
        if undecided:
            notes.append(
                f"on {undecided} instructions the judge is undecided; they are left out of its shares, and counted"
            )
        return Outcome(
            compared, title="FlexBench: decompositions compared", tables=tables(compared, matched),
            charts=[_distribution(compared)], items={"comparisons.jsonl": [comparison.row() for comparison in compared]},
            lead="Dimensions that were derived from instructions, held against questions that people wrote for them.",
            notes=notes, incomplete=undecided,
        )  # fmt: skip


def tables(done: Sequence[Compared], matched: Matched) -> list[Table]:
    """Return all tables; those on dissimilar instructions alone stand as rows of their own (appendix C.2)."""
    groups = {"all": list(done), "dissimilar": [comparison for comparison in done if comparison.dissimilar]}
    overview = {
        "instructions": len(done), "human_questions": sum(comparison.counts[0] for comparison in done),
        "our_questions": sum(comparison.counts[1] for comparison in done), "human_only": len(matched.human_only),
        "ours_only": len(matched.ours_only), "dissimilar": len(groups["dissimilar"]),
    }  # fmt: skip
    columns = [Column(name, name.replace("_", " "), "count") for name in overview]
    dissimilar = [
        {"instruction": comparison.pair.human.id, "cosine": comparison.similarity.cosine,
         "human": comparison.counts[0], "ours": comparison.counts[1]}
        for comparison in groups["dissimilar"]
    ]  # fmt: skip
    by_instruction = (
        Column("instruction", "instruction"), Column("cosine", "mean cosine", "number", unit="", digits=3),
        Column("human", "human", "count"), Column("ours", "ours", "count"),
    )  # fmt: skip
    partners = [
        {"instruction": comparison.pair.human.id, **partner}
        for comparison in done
        for partner in comparison.row()["nearest"]
    ]
    by_partner = (
        Column("instruction", "instruction"), Column("human", "human question", "prose"),
        Column("ours", "the nearest of ours", "prose"), Column("cosine", "cosine", "number", unit="", digits=3),
        Column("rouge_l", "ROUGE-L", "number", unit="", digits=3),
    )  # fmt: skip
    results = [
        Table("decompositions", columns, [overview], "Decompositions", keys=0), _similarity(groups), _preferences(groups),
        _counts(done),
        Table("dissimilar", by_instruction, dissimilar, "Dissimilar instructions", printed=len(dissimilar) <= _PRINTED),
        Table("partners", by_partner, partners, "Nearest partners", keys=2, printed=False),
    ]  # fmt: skip
    return [table for table in results if table.rows]


def _similarity(groups: Mapping[str, Sequence[Compared]]) -> Table:
    """Mean and deviation of every measure, by alignment."""
    rows: list[dict[str, Any]] = [
        {"group": group, "alignment": title, "measure": decomposition.MEASURES[name], "pairs": part.n, "mean": part.mean, "deviation": part.deviation}
        for group, done in groups.items() if done
        for way, title in (("nearest", "nearest"), ("one_to_one", "one to one"))
        for name, part in decomposition.summary([partner for each in done for partner in getattr(each.similarity, way)]).items()
    ]  # fmt: skip
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


def _preferences(groups: Mapping[str, Sequence[Compared]]) -> Table:
    """Shares of wins, ties and losses of our lists by criterion, and what the order does."""
    rows: list[dict[str, Any]] = []
    for group, done in groups.items():
        for name, counted in tally([each.preferences for each in done if each.preferences]).items() if done else ():
            gap = counted.difference
            if gap.n or gap.left_out:
                difference = Score(gap.difference, gap.n, gap.left_out, gap.interval)
                rows.append({
                    "group": group, "criterion": CRITERIA[name], "win": counted.win, "tie": counted.tie, "loss": counted.loss,
                    "difference": difference, "consistent": counted.bias.consistent, "first": counted.bias.first_rate,
                })  # fmt: skip
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
    human, ours = ([comparison.counts[side] for comparison in done] for side in (0, 1))
    sides = {"human": human, "ours": ours, "ours less human": [b - a for a, b in zip(human, ours, strict=True)]}
    rows = [
        {"side": side, "mean": spread(numbers).mean, "deviation": spread(numbers).deviation, "least": min(numbers),
         "median": float(median(numbers)), "most": max(numbers)} for side, numbers in sides.items()
    ]  # fmt: skip
    figures = ("mean", "deviation", "least", "median", "most")
    kinds: dict[str, Kind] = {"least": "count", "most": "count"}
    columns = [
        Column("side", ""),
        *(Column(name, name, kinds.get(name, "number"), unit="", digits=2) for name in figures),
    ]
    note = "The paper's Figure 10 has mostly 4 to 7 on both sides, ours a little more, and at times over 15."
    return Table("counts", columns, rows, "Questions per instruction", note)


def _distribution(done: Sequence[Compared]) -> Plot:
    """How many instructions have how many questions, by side (figure 10b)."""
    most = max(max(comparison.counts) for comparison in done)
    series, top = [], 0
    for name, numbers in zip(
        ("human", "ours"), zip(*(comparison.counts for comparison in done), strict=True), strict=True
    ):
        counts = Counter(numbers)
        points = [(float(n), float(counts[n]), 0.3, f"{counts[n]} with {n}") for n in range(1, most + 1)]
        series.append(Series(name, tuple(points), joined=True))
        top = max(top, *counts.values())
    axes = Axis("questions", 0, most + 1), Axis("instructions", 0, 1.1 * top)
    return Plot("Instructions by their number of questions", tuple(series), *axes)
