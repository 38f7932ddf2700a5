"""Best of N: N sampled answers to every instruction, scored by the model itself, and the top ones selected (section 4.2).

`stick`: the pass rate of one's own checklist. `direct`: one rating of the whole answer from 1 to 5 (appendix G.4).
`reward:MODEL`: a reward model, which is no self-selection any more. All score the same answers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from truebench_hf.benchmarks.tick import checklists
from truebench_hf.benchmarks.tick.checklists import Item, Listed
from truebench_hf.benchmarks.tick.scoring import INTERVAL, PAIRED_NOTE, difference_points, paper_rows
from truebench_hf.benchmarks.tick.self_judging import (
    OUTSIDE_NAMES,
    Outside,
    SelfJudging,
    SelfJudgingOptions,
    case_of,
    closing_sections,
    of_verdicts,
    opening,
    outside_facts,
    outside_json,
    outside_lead,
    verdict_rows,
)
from truebench_hf.data.case import Case
from truebench_hf.engine.retry import RequestFailed
from truebench_hf.errors import UserError, unknown
from truebench_hf.judging.ratings import rate
from truebench_hf.judging.sample_prompts import check_prompts
from truebench_hf.metrics import repeated
from truebench_hf.metrics.binary import mean_of
from truebench_hf.metrics.comparison import PairedDifference, paired_difference
from truebench_hf.metrics.pass_rate import mean_share
from truebench_hf.models.asking import SchemaFallback
from truebench_hf.models.protocol import ChatRequest, Completion, Sampling
from truebench_hf.options import Binds, at_least_one, option, role
from truebench_hf.report.conversation import as_counted
from truebench_hf.report.sections import Conversation, Conversations, Exchange, Grid, Section, fixed, interval, value
from truebench_hf.study.outcome import Board, Column, Outcome, Row
from truebench_hf.text import anonymous
from truebench_hf.types import Instance, Message, Score, Verdict

STICK, DIRECT = "stick", "direct"


@dataclass(frozen=True, kw_only=True)
class BestOfOptions(SelfJudgingOptions):
    """How many answers are drawn, and what selects among them."""

    n: int = option(8, binds=Binds(late=True), help="How many answers are drawn per instruction.")
    by: tuple[str, ...] = option(
        (), binds=Binds(grows=True, late=True),
        help="What selects: stick (the model's own checklist; if none is named), direct (its rating from 1 to 5) or reward:REPO_OR_PATH; may "
        "be repeated, all select among the same answers."
    )  # fmt: skip
    reward: tuple[str, ...] = role(
        (), help="The same as --by reward:..., for the options of reward models.", binds=Binds(grows=True, late=True)
    )
    temperature: float = option(1.0, binds=True, help="Sampling temperature of the answers; greedy is drawn at 0.")

    def __post_init__(self) -> None:
        super().__post_init__()
        rewards = dict.fromkeys([*(name for name in self.by if name.startswith("reward:")), *self.reward])
        object.__setattr__(self, "reward", tuple(rewards))
        object.__setattr__(self, "by", tuple(dict.fromkeys((*self.by, *rewards))) or (STICK,))
        at_least_one(self, "n")
        if wrong := [spec for spec in self.reward if not spec.startswith("reward:")]:
            raise UserError(f"--reward {wrong[0]}: a reward model is reward:REPO_OR_PATH")
        for name in self.by:
            if name not in (STICK, DIRECT, *self.reward):
                raise unknown("scoring function", name, (STICK, DIRECT, "reward:REPO_OR_PATH"))
        if self.temperature == 0 and self.n > 1:
            raise UserError("--temperature 0 draws the same answer every time; give more, e.g. --temperature 1")


class BestOf(SelfJudging):
    """The answers to every instruction; `value` is the content of `scores.json`."""

    kind, unit = "best-of", "instructions"
    files = ("scores.json", "answers.jsonl", checklists.FILE)
    editable = checklists.EDITABLE
    options: BestOfOptions

    def __init__(self, options: BestOfOptions) -> None:
        super().__init__(options, by_checklist=STICK in options.by)
        used = {"generate_checklist": self.by_checklist, "rating": DIRECT in options.by or options.outside == "rating"}
        self.prompts = tuple(name for name, is_used in used.items() if is_used)

    def check(self) -> None:
        for most in (5, 10):
            check_prompts(self.prompts, self.options.prompts, most=most)

    def setup(self) -> None:
        super().setup()
        self.rater = SchemaFallback(self.insider.caller, self.options.structured)

    async def work(self, item: Item) -> Sampled:
        """Draw the answers, one checklist beside them, and have everybody score every answer."""
        by = self.options.by
        listed, (first, *drawn) = await asyncio.gather(self.listed(item), self._drawn(checklists.bare(item.instance)))
        greedy, *answers = await asyncio.gather(
            self._judged(item, listed, first, ()), *(self._judged(item, listed, candidate, by) for candidate in drawn)
        )
        return Sampled(item.instance, listed, tuple(answers), greedy)

    async def _drawn(self, instance: Instance) -> list[Completion | str]:
        """The greedy answer, and the sampled ones."""
        greedy = Sampling(0.0, max_tokens=self.options.max_tokens)
        sampled = (self.answer(instance, self.options.sampling, sample) for sample in range(self.options.n))
        return await asyncio.gather(self.answer(instance, greedy), *sampled)

    async def _judged(self, item: Item, listed: Listed | None, reply: Completion | str, by: Sequence[str]) -> Answer:
        """An answer with the scores it gets."""
        if isinstance(reply, str):
            return Answer(None, reply, outside=self.unanswered(item.instance, reply))
        case = case_of(item.instance, reply.text)
        others = [name for name in by if name != STICK]
        criteria = listed.criteria if listed and STICK in by else ()
        verdicts, outside, scores = await asyncio.gather(
            self.verdicts(case, criteria), self.outside(case),
            asyncio.gather(*(self._scored(item.instance, case, name) for name in others)),
        )  # fmt: skip
        own = of_verdicts(verdicts)
        inside = dict(zip(others, scores, strict=True)) | {STICK: Selecting(own.score, own.reason)}
        return Answer(reply.text, "", reply.truncated, verdicts, {name: inside[name] for name in by}, outside)

    async def _scored(self, instance: Instance, case: Case, by: str) -> Selecting:
        """The score of an answer by direct rating or by a reward model."""
        bare = replace(case, criteria=(), reference=None)
        if by == DIRECT:
            sampling = self.options.inside.sampling
            rating = await rate(self.rater, bare, self.options.prompts, 5, sampling=sampling)
            return Selecting(rating.value, "" if rating.value is not None else rating.reason)
        caller = self.caller("reward", self.options.reward.index(by) + 1)
        request = ChatRequest((*opening(instance), Message("assistant", case.response)), example="0.5")
        try:
            return Selecting(float((await caller.complete(request)).text))
        except RequestFailed as error:
            return Selecting(None, f"no reward: {error}")

    def score(self, done: Sequence[Sampled]) -> Outcome[dict[str, Any]]:
        options = self.options
        cut = sum(answer.truncated for sampled in done for answer in sampled.answers)
        result = best_of_summary(done, options.by, options.outside is not None)
        return self.outcome(
            done, result, {"answers.jsonl": [sampled.row(options.by) for sampled in done]}, title="STICK: best of N",
            sections=best_of_sections(done, options, result), lead=best_of_lead(options), notes=self.notes(cut),
            board=best_of_board(done, options, self.setting(done)),
        )  # fmt: skip


def best_of(options: BestOfOptions) -> dict[str, Any]:
    """Draw and select answers into `options.out`. Returns the content of `scores.json`. Raises UserError."""
    return BestOf(options).run().value


GREEDY, RANDOM, BEST = "greedy", "random", "best"


@dataclass(frozen=True, slots=True)
class Selecting:
    """What one scoring function says of one answer: the higher the better, None where undecided and `reason` says why."""

    score: float | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer, None where `problem` says why there is none. `inside` has a score by each scoring function."""

    text: str | None
    problem: str = ""
    truncated: bool = False
    verdicts: tuple[Verdict, ...] = ()
    inside: Mapping[str, Selecting] = field(default_factory=dict)
    outside: Outside | None = None


@dataclass(frozen=True, slots=True)
class Sampled:
    """An instruction with its `n` sampled answers and the greedy one, which nothing selects from."""

    instance: Instance
    listed: Listed | None
    answers: tuple[Answer, ...]
    greedy: Answer

    @property
    def worth(self) -> list[float | None]:
        """The outside scores of the answers."""
        return [_worth(answer) for answer in self.answers]

    def selected(self, by: str) -> repeated.Selected:
        """What a scoring function selects. An answer that there is not is undecided, and so no candidate."""
        inside = [answer.inside[by].score if by in answer.inside else None for answer in self.answers]
        return repeated.select(inside, self.worth)

    def value(self, by: str) -> float | None:
        """The outside score of a way to choose: a scoring function's name, or greedy, random or best."""
        rows = {GREEDY: _worth(self.greedy), RANDOM: mean_of(*self.worth), BEST: repeated.best(self.worth)}
        return rows[by] if by in rows else self.selected(by).score

    def precision(self, by: str) -> float | None:
        """The share of what is selected that is best by the outside score; None for greedy, which does not select."""
        chance = repeated.select(self.worth, self.worth)
        return {GREEDY: None, RANDOM: chance.chance, BEST: chance.precision}.get(by, self.selected(by).precision)

    def row(self, by: Sequence[str]) -> dict[str, Any]:
        """The line of `answers.jsonl`."""
        selected = {name: self.selected(name).places for name in by}
        rows = [
            _row(answer) | {"selected_by": [n for n in by if i in selected[n]]} for i, answer in enumerate(self.answers)
        ]
        return {"id": self.instance.id, "answers": rows, "greedy": _row(self.greedy)}


@dataclass(frozen=True)
class Line:
    """A way to choose, over all instructions: mean outside score and precision, and how it differs from greedy.

    `tied` is the mean number of answers selected, `unselected` how many instructions had no answer with a score.
    """

    by: str
    outside: Score
    precision: Score | None
    versus: PairedDifference
    tied: float | None = None
    unselected: int = 0


def selection_lines(done: Sequence[Sampled], by: Sequence[str]) -> list[Line]:
    """Greedy, a random pick, every scoring function, and the best there is to choose."""
    return [_line_by(done, name) for name in (GREEDY, RANDOM, *by, BEST)]


def _line_by(done: Sequence[Sampled], by: str) -> Line:
    values = [sampled.value(by) for sampled in done]
    versus = paired_difference(values, [sampled.value(GREEDY) for sampled in done])
    precision = None if by == GREEDY else mean_share([sampled.precision(by) for sampled in done])
    if by in (GREEDY, RANDOM, BEST):
        return Line(by, mean_share(values), precision, versus)
    chosen = selected_sizes(done, by)
    return Line(by, mean_share(values), precision, versus, mean_of(*chosen), len(done) - len(chosen))


def selected_sizes(done: Sequence[Sampled], by: str) -> list[int]:
    """How many answers are selected of each instruction of which any is."""
    return [size for sampled in done if (size := len(sampled.selected(by).places))]


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


def best_of_summary(done: Sequence[Sampled], by: Sequence[str], outside: bool) -> dict[str, Any]:
    """The content of `scores.json`."""
    open_ = {sampled.instance.id: why for sampled in done if (why := undecided(sampled, by, outside))}
    return {
        "instructions": len(done),
        "checklists": checklists.summary([sampled.listed for sampled in done if sampled.listed]),
        "lines": [asdict(line) for line in selection_lines(done, by)] if outside else [],
        "tied": {name: mean_of(*selected_sizes(done, name)) for name in by},
        "unselected": {name: [o.instance.id for o in done if not o.selected(name).places] for name in by},
        "undecided": open_,
        "incomplete": len(open_),
    }


def _worth(answer: Answer) -> float | None:
    return answer.outside.score if answer.outside else None


def _row(answer: Answer) -> dict[str, Any]:
    row: dict[str, Any] = {"text": answer.text}
    row |= {name: value for name in ("problem", "truncated") if (value := getattr(answer, name))}
    if answer.verdicts:
        row["verdicts"] = verdict_rows(answer.verdicts)
    row |= {"scores": {name: asdict(score) for name, score in answer.inside.items()}} if answer.inside else {}
    return row | ({"outside": outside_json(answer.outside)} if answer.outside else {})


_WORDS = {GREEDY: "greedy (temperature 0)", RANDOM: "random pick (expected)", BEST: "best possible"}
# The paper's columns for an outside score: data set, its measure, and what makes it percent.
_PRINTED = {"drfr": ("InFoBench", "DRFR", 100), "rating": ("WildBench", "WB-Score", 1)}
_TABLES = {"5": "Command-R+", "8": "Llama3.1-70B"}


def best_of_sections(done: Sequence[Sampled], options: Any, result: Mapping[str, Any]) -> list[Section]:
    """The report, in order; `result` is their summary."""
    sections: list[Section] = [_lines(done, options)] if options.outside else []
    sections.append(_ties(done, options))
    sections += closing_sections("Something undecided", "what", result)
    note = "All answers to each instruction with the model's own verdicts; the greedy one is the last."
    return [*sections, Conversations("Answers", tuple(_conversation(sampled, options.by) for sampled in done), note)]


def best_of_lead(options: Any) -> str:
    """Who selected by what, in a line."""
    judge = f", judged by {options.judge or 'itself'}" if set(options.by) - set(options.reward) else ""
    return f"best of {options.n} answers of {options.model} by {', '.join(options.by)}{judge}; {outside_lead(options)}"


def _lines(done: Sequence[Sampled], options: Any) -> Grid:
    header = ("selected by", "score %", INTERVAL, "n", "undecided", "precision %", "over greedy", INTERVAL)
    drfr = options.outside == "drfr"
    measure = "the pass rate on the given criteria" if drfr else OUTSIDE_NAMES[options.outside].lower()
    note = (
        f"Score: {measure}, averaged over instructions; over all answers that share the top selection score. Precision: the "
        "share of these that is best by the outside score. An instruction with an undecided outside score that matters is "
        f"left out of a line, and counted. {PAIRED_NOTE}"
    )
    note += " The paper's DRFR weighs every question alike." if drfr else ""
    rows = tuple(_line(line) for line in selection_lines(done, options.by))
    return Grid(f"Best of {options.n}", header, rows, paper=_printed(options.outside), note=note)


def _line(line: Line) -> tuple[str | int, ...]:
    return (
        _WORDS.get(line.by, line.by), value(line.outside), interval(line.outside), line.outside.n,
        line.outside.unscored or "", value(line.precision) if line.precision else "-",
        *(difference_points(line.versus) if line.by != GREEDY else ("", "")),
    )  # fmt: skip


def _printed(outside: str) -> tuple[tuple[str | int, ...], ...]:
    """Tables 5 and 8 for such an outside score; the paper prints no n and no intervals."""
    if outside not in _PRINTED:
        return ()
    data, measure, percent = _PRINTED[outside]
    rows = []
    for number, model in _TABLES.items():
        printed = paper_rows(number)
        base = percent * printed[0][f"{data}/{measure}"]
        for row in printed:
            score, precision = percent * row[f"{data}/{measure}"], row[f"{data}/Precision"]
            share = "-" if precision is None else fixed(100 * precision, 1)
            over = "" if row is printed[0] else f"{score - base:+.1f}"
            rows.append((f"{row['Scoring Function']} ({model}, {data})", fixed(score, 1), "", "", "", share, over, ""))
    return tuple(rows)


def _ties(done: Sequence[Sampled], options: Any) -> Grid:
    """How many answers a scoring function selects: it cannot tell more of them apart."""
    rows = []
    for name in options.by:
        sizes = selected_sizes(done, name)
        counts = len(sizes), sizes.count(1), sizes.count(options.n)
        rows.append((name, *counts, fixed(mean_of(*sizes)), len(done) - len(sizes)))
    header = ("selected by", "instructions", "one answer", "all answers", "mean selected", "none had a score")
    return Grid("Ties", header, tuple(rows))


def _conversation(sampled: Sampled, by: Sequence[str]) -> Conversation:
    prompt_messages = (Message("user", sampled.instance.turns[0].prompt),)
    selected = {name: sampled.selected(name).places for name in by}
    exchanges = []
    for number, answer in enumerate((*sampled.answers, sampled.greedy)):
        chosen = [name for name in by if number in selected[name]]
        text = f"answer {number + 1}{', selected by ' + ', '.join(chosen) if chosen else ''}"
        scores = [(name, score.score) for name, score in answer.inside.items()]
        scores += [("outside", answer.outside.score)] if answer.outside else []
        text = text if number < len(sampled.answers) else "(greedy)"
        lines = [text, *(f"{name}: {fixed(s, 3)}" for name, s in scores)]
        message = Message("assistant", answer.problem if answer.text is None else answer.text)
        verdicts = tuple(map(as_counted, answer.verdicts))
        exchanges.append(Exchange((*(() if number else prompt_messages), message), verdicts, "\n".join(lines)))
    return Conversation(sampled.instance.id, tuple(exchanges), "", language=sampled.instance.language)


def best_of_board(done: Sequence[Sampled], options: Any, setting: str) -> Board | None:
    """A row per way to choose; ranked together over the same data and outside judge. None without an outside score."""
    if not options.outside:
        return None
    columns = (Column("outside", "Outside score"), Column("precision", "Precision"))
    model, rows = anonymous.name(options.model), []
    for line in selection_lines(done, options.by):
        scores = {"outside": line.outside} | ({"precision": line.precision} if line.precision else {})
        how = _WORDS.get(line.by, anonymous.name(line.by))
        rows.append(Row(f"{model}, {how}", setting, scores, outside_facts(options) | {"N": str(options.n), "By": how}))
    return Board(
        "outside", columns, tuple(rows), title="STICK: best of N", unit="Outside score of what was selected, in %"
    )
