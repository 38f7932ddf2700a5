"""Best of N: N sampled answers to every instruction, scored by the model itself, and the top ones selected (section 4.2).

`stick`: the pass rate of one's own checklist. `direct`: one rating of the whole answer from 1 to 5 (appendix G.4).
`reward:MODEL`: a reward model, which is no self-selection any more. All score the same answers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from truebench_hf.benchmarks.tick import checklists, scoring, stick
from truebench_hf.benchmarks.tick.checklists import ChecklistItem, ListedChecklist
from truebench_hf.data.judged import Case
from truebench_hf.engine.pool import together
from truebench_hf.engine.retry import RequestFailed
from truebench_hf.errors import UserError, unknown
from truebench_hf.judging.ratings import rate
from truebench_hf.metrics import votes
from truebench_hf.metrics.binary import mean_of
from truebench_hf.metrics.pass_rate import mean_share
from truebench_hf.models.asking import SchemaFallback
from truebench_hf.models.protocol import ChatRequest, Completion, Sampling
from truebench_hf.options import Binds, option, role
from truebench_hf.report.sections import Conversation, Conversations, fixed
from truebench_hf.report.table import Column, Table
from truebench_hf.study.outcome import Outcome
from truebench_hf.study.ranking import Ranking
from truebench_hf.text import anonymous
from truebench_hf.types import Instance, Message, Verdict

if TYPE_CHECKING:
    from pandas import DataFrame

STICK, DIRECT = "stick", "direct"
ANSWERS = "answers.jsonl"


class BestOfOptions(stick.SelfJudgingOptions):
    """How many answers are drawn, and what selects among them."""

    n: int = option(8, ge=1, binds=Binds(late=True), help="How many answers are drawn per instruction.")
    by: tuple[str, ...] = option(
        (), binds=Binds(grows=True, late=True),
        help="What selects: stick (the model's own checklist; if none is named), direct (its rating from 1 to 5) or reward:REPO_OR_PATH; may "
        "be repeated, all select among the same answers."
    )  # fmt: skip
    reward: tuple[str, ...] = role(
        (), help="The same as --by reward:..., for the options of reward models.", binds=Binds(grows=True, late=True)
    )
    temperature: float = option(
        1.0, ge=0, binds=True, help="Sampling temperature of the answers; greedy is drawn at 0."
    )

    def model_post_init(self, context: Any) -> None:
        super().model_post_init(context)
        rewards = dict.fromkeys([*(name for name in self.by if name.startswith("reward:")), *self.reward])
        object.__setattr__(self, "reward", tuple(rewards))
        object.__setattr__(self, "by", tuple(dict.fromkeys((*self.by, *rewards))) or (STICK,))
        if wrong := [spec for spec in self.reward if not spec.startswith("reward:")]:
            raise UserError(f"--reward {wrong[0]}: a reward model is reward:REPO_OR_PATH")
        for name in self.by:
            if name not in (STICK, DIRECT, *self.reward):
                raise unknown("scoring function", name, (STICK, DIRECT, "reward:REPO_OR_PATH"))
        if self.temperature == 0 and self.n > 1:
            raise UserError("--temperature 0 draws the same answer every time; give more, e.g. --temperature 1")


class BestOf(stick.SelfJudging):
    """The answers to every instruction; `value` is the tables by name."""

    kind, unit = "best-of", "instructions"
    files = (ANSWERS, checklists.FILE)
    editable = checklists.EDITABLE
    options: BestOfOptions

    def __init__(self, options: BestOfOptions) -> None:
        super().__init__(options, by_checklist=STICK in options.by)
        used = {"generate_checklist": self.by_checklist, "rating": DIRECT in options.by or options.outside == "rating"}
        self.prompts = tuple(name for name, is_used in used.items() if is_used)

    def trial_values(self) -> Sequence[Mapping[str, Any]]:
        return ({"most": 5}, {"most": 10})

    def setup(self) -> None:
        super().setup()
        self.rater = SchemaFallback(self.insider.caller, self.options.structured)

    async def work(self, item: ChecklistItem) -> Sampled:
        """Draw the answers, one checklist beside them, and have everybody score every answer."""
        by, options, instance = self.options.by, self.options, checklists.bare(item.instance)
        greedy = Sampling(0.0, max_tokens=options.max_tokens)
        drawing = [self.answer(instance, greedy)]
        drawing += [self.answer(instance, options.sampling, sample) for sample in range(options.n)]
        listed, (first, *drawn) = await asyncio.gather(self.listed(item), together(drawing))
        judging = [self._judged(item, listed, first, ())]
        judging += [self._judged(item, listed, candidate, by) for candidate in drawn]
        judged, *answers = await asyncio.gather(*judging)
        return Sampled(item.instance, listed, tuple(answers), judged)

    async def _judged(
        self, item: ChecklistItem, listed: ListedChecklist | None, reply: Completion | str, by: Sequence[str]
    ) -> SampledAnswer:
        """An answer with the scores it gets."""
        if isinstance(reply, str):
            return SampledAnswer(None, reply, outside=self.unanswered(item.instance, reply))
        case = stick.case_of(item.instance, reply.text)
        others = [name for name in by if name != STICK]
        criteria = listed.criteria if listed and STICK in by else ()
        verdicts, outside, scores = await asyncio.gather(
            self.verdicts(case, criteria), self.outside(case),
            asyncio.gather(*(self._scored(item.instance, case, name) for name in others)),
        )  # fmt: skip
        inside = dict(zip(others, scores, strict=True)) | {STICK: stick.of_verdicts(verdicts)}
        return SampledAnswer(reply.text, "", reply.truncated, verdicts, {name: inside[name] for name in by}, outside)

    async def _scored(self, instance: Instance, case: Case, by: str) -> stick.ResponseScore:
        """The score of an answer by direct rating or by a reward model: the higher the better."""
        if by == DIRECT:
            unaided, sampling = replace(case, criteria=(), reference=None), self.options.inside.sampling
            rating = await rate(self.rater, unaided, self.options.prompts, 5, sampling=sampling)
            return stick.ResponseScore(rating.value, reason="" if rating.value is not None else rating.reason)
        caller = self.caller("reward", self.options.reward.index(by) + 1)
        request = ChatRequest((*stick.opening(instance), Message("assistant", case.response)), example="0.5")
        try:
            return stick.ResponseScore(float((await caller.complete(request)).text))
        except RequestFailed as error:
            return stick.ResponseScore(None, reason=f"no reward: {error}")

    def score(self, done: Sequence[Sampled]) -> Outcome[dict[str, Table]]:
        options = self.options
        missing = [(o.instance.id, why) for o in done if (why := undecided(o, options.by, options.outside is not None))]
        lines = line_table(done, options)
        judge = f", judged by {options.judge or 'itself'}" if set(options.by) - set(options.reward) else ""
        lead = f"best of {options.n} answers of {options.model} by {', '.join(options.by)}{judge}; {options.lead}"
        note = "All answers to each instruction with the model's own verdicts; the greedy one is the last."
        return self.outcome(
            done, [lines], missing,
            {ANSWERS: [sampled.row(options.by) for sampled in done]}, title="STICK: best of N", lead=lead,
            notes=self.notes(sum(answer.truncated for sampled in done for answer in sampled.answers)),
            conversations=Conversations("Best of N: answers", tuple(_conversation(sampled, options.by) for sampled in done), note),
            ranking=self._ranking(lines, done) if options.outside else None,
        )  # fmt: skip

    def _ranking(self, lines: Table, done: Sequence[Sampled]) -> Ranking:
        """A row per way to choose; ranked together over the same data and outside judge."""
        options, names = self.options, ("outside", "precision")
        scores = (replace(column, title=column.name.capitalize()) for column in lines.columns if column.name in names)
        columns = [scoring.MODEL, *scores, Column("by", "By")]
        model = anonymous.name(options.model)
        rows = [{**row, "model": f"{model}, {anonymous.name(row['by'])}"} for row in lines.rows]
        table = Table("", columns, rows, "STICK: best of N", "Outside score of what was selected, in %")
        return self.ranking(table, "outside", done, N=str(options.n))


GREEDY, RANDOM, BEST = "greedy", "random", "best"


@dataclass(frozen=True, slots=True)
class SampledAnswer:
    """One answer, None where `problem` says why there is none. `inside` has a score by each scoring function."""

    text: str | None
    problem: str = ""
    truncated: bool = False
    verdicts: tuple[Verdict, ...] = ()
    inside: Mapping[str, stick.ResponseScore] = field(default_factory=dict)
    outside: stick.ResponseScore | None = None

    @property
    def worth(self) -> float | None:
        """The outside score."""
        return self.outside.score if self.outside else None

    def row(self) -> dict[str, Any]:
        """What a line of `answers.jsonl` says of it, without what is empty."""
        scores = {name: {"score": inside.score, "reason": inside.reason} for name, inside in self.inside.items()}
        cells = ({"scores": scores} if scores else {}) | stick.judged_cells(self, "problem", "truncated")
        return {"text": self.text, **cells}


@dataclass(frozen=True, slots=True)
class Sampled:
    """An instruction with its `n` sampled answers and the greedy one, which nothing selects from."""

    instance: Instance
    listed: ListedChecklist | None
    answers: tuple[SampledAnswer, ...]
    greedy: SampledAnswer

    def selected(self, by: str) -> votes.Selected:
        """What a scoring function selects. An answer that there is not is undecided, and so no candidate."""
        inside = [answer.inside[by].score if by in answer.inside else None for answer in self.answers]
        return votes.select(inside, [answer.worth for answer in self.answers])

    def value(self, by: str) -> tuple[float | None, float | None]:
        """What a way to choose is worth: a scoring function's name, or greedy, random or best.

        The mean outside score of what it selects, and its precision: the share of that which is best by the outside
        score; None for greedy, which does not select.
        """
        worth = [answer.worth for answer in self.answers]
        chance, selected = votes.select(worth, worth), self.selected(by)
        ways = {
            GREEDY: (self.greedy.worth, None),
            RANDOM: (mean_of(*worth), chance.chance),
            BEST: (votes.best(worth), chance.precision),
        }
        return ways.get(by, (selected.score, selected.precision))

    def row(self, by: Sequence[str]) -> dict[str, Any]:
        """The line of `answers.jsonl`."""
        places = {name: self.selected(name).places for name in by}
        selected = ([name for name in by if place in places[name]] for place in range(len(self.answers)))
        rows = [answer.row() | {"selected_by": names} for answer, names in zip(self.answers, selected, strict=True)]
        return {"id": self.instance.id, "answers": rows, "greedy": self.greedy.row()}


def undecided(sampled: Sampled, by: Sequence[str], outside: bool) -> str:
    """What is missing of an instruction; "" where everything is decided."""
    answers = (*sampled.answers, sampled.greedy)
    reasons = [answer.problem for answer in answers if answer.text is None]
    # Without a checklist no answer has a pass rate, for that one reason.
    none = sampled.listed is not None and not sampled.listed.criteria
    reasons += [f"no checklist: {sampled.listed.problem}"] if sampled.listed and none else []
    scores = [(name, score) for answer in sampled.answers for name, score in answer.inside.items() if name in by]
    reasons += [f"{n}: {s.reason}" for n, s in scores if s.score is None and not (none and n == "stick")]
    if outside:
        reasons += [f"outside: {a.outside.reason}" for a in answers if a.outside and a.outside.score is None]
    return "; ".join(dict.fromkeys(filter(None, reasons)))


_WORDS = {GREEDY: "greedy (temperature 0)", RANDOM: "random pick (expected)", BEST: "best possible"}
# The paper's columns for an outside score: data set, its measure, and what makes it a share.
_PRINTED = {"drfr": ("InFoBench", "DRFR", 1), "rating": ("WildBench", "WB-Score", 100)}
_TABLES = {"5": "Command-R+", "8": "Llama3.1-70B"}


_TIES = (
    Column("tied", "selected, mean", "number", "Answers that share the top score: it cannot tell more of them apart.", unit="",
           minor=2),
    Column("single", "one answer", "count", "Instructions of which one answer is selected.", minor=3),
    Column("all", "all answers", "count", "Instructions of which all answers are selected.", minor=3),
    Column("unselected", "none", "count", "Instructions of which no answer has a score.", minor=2),
)  # fmt: skip


def line_table(done: Sequence[Sampled], options: BestOfOptions) -> Table:
    """Return what every way to choose is worth over all instructions, how it differs from greedy, and how many answers it
    selects (Tables 5 and 8); without an outside score the last alone."""
    ways = (GREEDY, RANDOM, *options.by, BEST) if options.outside else options.by
    rows = [
        (_WORDS.get(way, way), *sampled.value(way), sampled.greedy.worth, len(sampled.selected(way).places))
        for way in ways for sampled in done
    ]  # fmt: skip
    order = {"by": [_WORDS.get(way, way) for way in ways]}
    frame = scoring.frame_of(("by", "outside", "precision", "greedy", "selected"), rows, order)

    def line(rows: DataFrame) -> dict[str, Any]:
        way = rows["by"].iloc[0] if len(rows) else _WORDS[GREEDY]
        outside, precision, greedy = (list(rows[name]) for name in ("outside", "precision", "greedy"))
        sizes = [size for size in rows["selected"] if size]
        cells = {
            "outside": mean_share(outside), "precision": mean_share(precision), **scoring.difference_cells(outside, greedy),
            "tied": mean_of(*sizes), "single": sizes.count(1), "all": sizes.count(options.n), "unselected": len(rows) - len(sizes),
        }  # fmt: skip
        blank = ["precision", "difference", "p_value"] if way == _WORDS[GREEDY] else []
        return cells | dict.fromkeys(blank if way in options.by else [*blank, *(column.name for column in _TIES)])

    drfr = options.outside == "drfr"
    measure = "The pass rate on the given criteria" if drfr else stick.OUTSIDE_NAMES.get(options.outside or "", "")
    columns = [
        Column("by", "selected by"),
        Column("outside", "score %", "score", f"{measure}, over all answers that share the top selection score.",
               parts=("value", "interval", "unscored"), drawn=True),
        Column("precision", "precision %", "score", "The share of what is selected that is best by the outside score."),
        *scoring.difference_columns("over greedy", "The outside score less that of the greedy answer."),
    ]  # fmt: skip
    note = scoring.PAIRED_NOTE + (" The paper's DRFR weighs every question alike." if drfr else "")
    if not options.outside:
        columns, note = columns[:1], ""
    published, title = _published(options.outside or ""), f"Best of {options.n}"
    return scoring.grouped_table(
        "lines", frame, ["by"], line, [*columns, *_TIES], published=published, title=title, note=note
    )


def _published(outside: str) -> list[dict[str, Any]]:
    """Tables 5 and 8 for such an outside score; the paper prints no n and no intervals."""
    if outside not in _PRINTED:
        return []
    data, measure, unit = _PRINTED[outside]
    rows = []
    for number, model in _TABLES.items():
        printed = scoring.paper_rows(number)
        greedy = printed[0][f"{data}/{measure}"] / unit
        for row in printed:
            score, precision = row[f"{data}/{measure}"] / unit, row[f"{data}/Precision"]
            rows.append({
                "by": f"{row['Scoring Function']} ({model}, {data})", "outside": score,
                "precision": precision,
                "difference": None if row is printed[0] else score - greedy,
            })  # fmt: skip
    return rows


def _conversation(sampled: Sampled, by: Sequence[str]) -> Conversation:
    selected = {name: sampled.selected(name).places for name in by}
    answers = []
    for number, answer in enumerate((*sampled.answers, sampled.greedy)):
        chosen = [name for name in by if number in selected[name]]
        scores = {name: score.score for name, score in answer.inside.items()}
        scores |= {"outside": answer.outside.score} if answer.outside else {}
        parts = ["Greedy answer" if answer is sampled.greedy else f"Answer {number + 1}"]
        parts += [f"selected by {', '.join(chosen)}"] if chosen else []
        parts += [", ".join(f"{name} {fixed(score)}" for name, score in scores.items())] if scores else []
        text = answer.problem if answer.text is None else answer.text
        answers.append(stick.answer_titled(" · ".join(parts), text, answer.verdicts))
    return stick.answers_beside(sampled.instance, answers)
