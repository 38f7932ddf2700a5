"""`truebench flex study decompose`: our dimensions against human ones (paper 001, section 5.2 and appendix C)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from truebench_hf.benchmarks.flexbench.comparison import (
    CRITERIA,
    DISSIMILAR,
    MEASURES,
    PROMPT,
    Compared,
    Preferences,
    compare,
    left_over,
    preferences,
    scores,
    similarities,
    summary,
    tally,
)
from truebench_hf.benchmarks.flexbench.decomposition import BUILT_IN, HELP, Matched, Pair, match, read_human, read_ours
from truebench_hf.errors import UserError
from truebench_hf.judging.judge import JUDGE_SAMPLING
from truebench_hf.judging.sample_prompts import check_prompts
from truebench_hf.metrics.texts import spread
from truebench_hf.models.asking import SchemaFallback
from truebench_hf.models.embedding import bert_scores, check_bert_score, embed
from truebench_hf.options import Binds, option, role
from truebench_hf.report.paper import paper_rows
from truebench_hf.report.sections import (
    Axis,
    Bars,
    Cells,
    Grid,
    Plot,
    Section,
    Series,
    fixed,
    percent,
    points,
    points_between,
)
from truebench_hf.study.items import Items
from truebench_hf.study.options import FolderOptions, ReplyOptions
from truebench_hf.study.outcome import Outcome
from truebench_hf.study.study import Study


@dataclass(frozen=True, kw_only=True)
class DecomposeOptions(FolderOptions, ReplyOptions):
    """Which decompositions are compared, and how."""

    folders: tuple[str, ...] = option(
        help=f"Ours: folders that `flex build` wrote, YAML files, or {BUILT_IN}.", argument=True, panel="Data"
    )
    human: str = option(help=f"People's: {HELP}", panel="Data")
    judge: str | None = role(
        None, help="Who says which of two lists is better; none: similarity and counts alone.",
        binds=Binds(late=True, grows=True),
    )  # fmt: skip
    bertscore: bool = option(False, help="BERTScore, too (needs the package bert-score).")


class FlexDecompose(Study[DecomposeOptions, Pair, Preferences | None, list[Compared]]):
    """Every instruction that both sides took apart."""

    kind, unit, prompts, boards = "flexdecompose", "instructions", (PROMPT,), False
    needs = ("rouge_score",)
    files = ("scores.json", "comparisons.jsonl")

    def items(self) -> Items[Pair]:
        options = self.options
        human, self.left_out = read_human(options.human)
        self.matched: Matched = match(human, read_ours(options.folders))
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
        check_prompts((PROMPT,), options.prompts, options.structured)
        if options.bertscore:
            check_bert_score()
        if not options.estimate:  # before a judge is paid for what could not be reported
            self.similarities = similarities(self.chosen, embed, bert_scores if options.bertscore else None)

    def setup(self) -> None:
        if self.options.judge is not None:
            self.schemas = SchemaFallback(self.caller("judge"), self.options.structured)

    async def work(self, pair: Pair) -> Preferences | None:
        if self.options.judge is None:
            return None
        return await compare(self.schemas, pair, self.options.prompts, JUDGE_SAMPLING)

    def score(self, done: Sequence[Preferences | None]) -> Outcome[list[Compared]]:
        matched = self.matched
        found = [Compared(*each) for each in zip(self.chosen, self.similarities, done, strict=True)]
        undecided = sum(None in one.labels.values() for one in done if one is not None)
        content = scores(found, matched) | {"provenance": self.provenance}
        files = {"scores.json": content, "comparisons.jsonl": [one.row() for one in found]}
        shown = sections(found, matched)
        return Outcome(found, files, TITLE, shown, lead=LEAD, notes=self._notes(undecided), incomplete=undecided)

    def _notes(self, undecided: int) -> list[str]:
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
        return notes


TITLE = "FlexBench: decompositions compared"
LEAD = "Dimensions that were derived from instructions, held against questions that people wrote for them."
_SIMILAR = (
    "Nearest: every human question with the one of ours that is most alike by sentence cosine, which may serve several. "
    "One to one: no question twice; the longer list keeps some over. Cosine and BERTScore are by all-MiniLM-L6-v2; the "
    "paper names no model, and its figures of these cannot be compared with them."
)
_PREFERRED = (
    "In percent of the instructions decided, each asked with either list first; what hangs on the order is a tie. "
    "Difference: ours less human, in points, with a 95 % interval from ten instructions on. Same: both orders say the "
    "same. First: of all choices of a list the share for the one shown first (50: free of bias)."
)
_PRINTED = 20  # rows of a list on the terminal; the page has all


def sections(done: Sequence[Compared], matched: Matched) -> list[Section]:
    """Everything a report shows, in order."""
    shown: list[Section] = [_overview(done, matched), _similar("Similarity of partners", done, _table_1a())]
    if found := preferences(done):
        shown.append(_preferred("Preference of the judge", found, _table_1b()))
    shown += [_counts(done), _differences(done), _distribution(done)]
    shown += _dissimilar([one for one in done if one.dissimilar])
    return [*shown, *(one for one in (_alone(matched), _left_over(done), _partners(done)) if one.rows)]


def _overview(done: Sequence[Compared], matched: Matched) -> Grid:
    rows: tuple[Cells, ...] = (
        ("instructions compared", len(done)), ("human questions", sum(one.counts[0] for one in done)),
        ("our dimensions", sum(one.counts[1] for one in done)),
        ("instructions that only people took apart", len(matched.human_only)),
        ("instructions that only we took apart", len(matched.ours_only)),
        ("dissimilar instructions", sum(one.dissimilar for one in done)),
    )  # fmt: skip
    return Grid("Decompositions", (), rows)


def _similar(title: str, done: Sequence[Compared], paper: tuple[Cells, ...] = ()) -> Grid:
    """Mean and deviation of every measure, for both alignments."""
    near = summary([one for found in done for one in found.similarity.nearest])
    alone = summary([one for found in done for one in found.similarity.one_to_one])
    rows = tuple(
        (MEASURES[name], *(cell for one in (near[name], alone[name]) for cell in
                           (one.n, fixed(one.mean, 3), fixed(one.deviation, 3)))) for name in near
    )  # fmt: skip
    header = ("", *(f"{way}: {part}" for way in ("nearest", "one to one") for part in ("pairs", "mean", "deviation")))
    return Grid(title, header, rows, paper, _SIMILAR)


def _preferred(title: str, found: Sequence[Preferences], paper: tuple[Cells, ...] = ()) -> Grid:
    """Shares of wins, ties and losses of our lists by criterion, and what the order does."""
    rows: list[Cells] = []
    for name, one in tally(found).items():
        gap = one.difference
        ends = f" ({points_between(gap.interval)})" if gap.interval else ""
        shares = [percent(share, 1) for share in (one.win, one.tie, one.loss)]
        told = "-" if gap.difference is None else f"{points(gap.difference)}{ends}"
        order = percent(one.bias.consistent, 1), percent(one.bias.first_rate, 1)
        rows.append((CRITERIA[name], *shares, told, gap.n, gap.left_out, *order))
    header = ("", "ours %", "tie %", "human %", "difference", "instructions", "not judged", "same %", "first %")
    return Grid(title, header, tuple(rows), paper, _PREFERRED)


def _counts(done: Sequence[Compared]) -> Grid:
    human, ours = ([one.counts[side] for one in done] for side in (0, 1))
    columns = {"human": human, "ours": ours, "ours less human": [b - a for a, b in zip(human, ours, strict=True)]}
    rows = tuple(
        (name, fixed(spread(numbers).mean), fixed(spread(numbers).deviation), min(numbers), fixed(median(numbers), 1),
         max(numbers)) for name, numbers in columns.items()
    )  # fmt: skip
    note = "The paper's Figure 10 has mostly 4 to 7 on both sides, ours a little more, and at times over 15."
    return Grid("Questions per instruction", ("", "mean", "deviation", "least", "median", "most"), rows, note=note)


def _differences(done: Sequence[Compared]) -> Bars:
    gaps = Counter(one.counts[1] - one.counts[0] for one in done)
    bars = tuple((f"{gap:+d}" if gap else "0", float(gaps[gap]), str(gaps[gap])) for gap in sorted(gaps))
    return Bars("Instructions by how many more dimensions we have", bars)


def _distribution(done: Sequence[Compared]) -> Plot:
    series = []
    most = max(max(one.counts) for one in done)
    for side, name in enumerate(("human", "ours")):
        found = Counter(one.counts[side] for one in done)
        dots = tuple((float(n), float(found[n]), 0.3, f"{name}: {found[n]} with {n}") for n in range(1, most + 1))
        series.append(Series(name, dots, joined=True))
    top = max(y for one in series for _, y, _, _ in one.points)
    return Plot(
        "Instructions by their number of questions", tuple(series), Axis("questions", 0, most + 1),
        Axis("instructions", 0, top * 1.1),
    )  # fmt: skip


def _dissimilar(done: Sequence[Compared]) -> list[Section]:
    """The instructions on which both sides differ most (appendix C.2)."""
    note = (
        f"Instructions whose human questions have a mean cosine under {DISSIMILAR:g} to the nearest of ours. In the paper the "
        "judge prefers ours on these still more than elsewhere (appendix C.2, without figures)."
    )
    rows = tuple((one.pair.human.id, fixed(one.similarity.cosine, 3), *one.counts) for one in done)
    title = "Dissimilar instructions"
    if not done:
        return []
    header = ("instruction", "mean cosine", "human", "ours")
    shown: list[Section] = [
        Grid(title, header, rows, note=note, printed=len(rows) <= _PRINTED),
        _similar(f"{title}: similarity", done),
    ]
    if found := preferences(done):
        shown.append(_preferred(f"{title}: preference of the judge", found))
    return shown


def _alone(matched: Matched) -> Grid:
    sides = (("people", matched.human_only), ("ours", matched.ours_only))
    rows = tuple((side, name) for side, names in sides for name in names)
    note = "Neither their ids nor their texts are on the other side."
    return Grid("Instructions of one side alone", ("", "instruction"), rows, note=note, printed=len(rows) <= _PRINTED)


def _left_over(done: Sequence[Compared]) -> Grid:
    rows = [
        (one.pair.human.id, side, text) for one in done
        for side, texts in zip(("human", "ours"), left_over(one.pair, one.similarity.one_to_one), strict=True)
        for text in texts
    ]  # fmt: skip
    header = ("instruction", "", "question")
    return Grid("Questions that one-to-one alignment leaves over", header, tuple(rows), printed=False, prose=(2,))


def _partners(done: Sequence[Compared]) -> Grid:
    rows = tuple(
        (one.pair.human.id, one.pair.human.questions[p.human], one.pair.ours.questions[p.ours],
         fixed(p.measures["cosine"], 3), fixed(p.measures["rouge_l"], 3))
        for one in done for p in one.similarity.nearest
    )  # fmt: skip
    header = ("instruction", "human question", "the nearest of ours", "cosine", "ROUGE-L")
    return Grid("Nearest partners", header, rows, printed=False, prose=(1, 2))


def _table_1a() -> tuple[Cells, ...]:
    rows = paper_rows("flexbench", "flexbench_table1a")
    return tuple((row["Metric"], 1560, f"{row['Mean']:.3f}", f"{row['Std']:.3f}", "", "", "") for row in rows)


def _table_1b() -> tuple[Cells, ...]:
    rows = paper_rows("flexbench", "flexbench_table1b")
    return tuple(
        (row["Criterion"], f"{row['A win']:.1f}", "", f"{row['B win']:.1f}", f"{row['Delta']:+.1f}", 248, "", "", "")
        for row in rows
    )
