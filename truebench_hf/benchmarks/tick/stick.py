"""A model that judges its own answers (STICK, paper 004, section 4), and the score that it cannot see.

What refinement and best of N share. The outside scores: with `drfr` a judge answers the criteria that the data gives, as
InFoBench does; with `rating` a judge rates the response from 1 to 10 with these criteria in its prompt, as WildBench
does; with `exact` the final answer is the reference, as in LiveBench (see `metrics.texts.exact_answer`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar

from truebench_hf.benchmarks.tick import checklists
from truebench_hf.data.judged import Case, as_answered, cases, sent, with_history
from truebench_hf.engine.retry import RequestFailed
from truebench_hf.errors import UserError
from truebench_hf.hashing import canonical, digest
from truebench_hf.judging.checklists import folded
from truebench_hf.judging.judge import CriteriaJudge, JudgeSettings, prompts_used
from truebench_hf.judging.ratings import rate
from truebench_hf.metrics.pass_rate import checklist_share, drfr, mean_share, outcome, pass_rate
from truebench_hf.metrics.texts import exact_answer
from truebench_hf.models.asking import SchemaFallback
from truebench_hf.models.protocol import ChatRequest, Completion, Sampling
from truebench_hf.models.spec import family
from truebench_hf.options import Binds, option, role
from truebench_hf.report.sections import Conversation, Exchange, as_counted, exchanges
from truebench_hf.report.sections import Outcome as Mark
from truebench_hf.report.table import Table
from truebench_hf.study.items import Items
from truebench_hf.study.notes import cut_off, weak_judges
from truebench_hf.study.options import LabellingOptions
from truebench_hf.study.outcome import Outcome
from truebench_hf.study.ranking import Ranking
from truebench_hf.study.study import Study
from truebench_hf.text.terminal import shortened
from truebench_hf.types import Criterion, Instance, Label, Message, Response, Score, Verdict

OUTSIDE_NAMES = {"drfr": "DRFR on the given criteria", "rating": "Rating (1 to 10, times 10)", "exact": "Exact answers"}
SCALE = 10
_OPENING = 120  # characters of a prompt


@dataclass(frozen=True, slots=True)
class ResponseScore:
    """What one response is worth: a share (0 to 1), None where it is undecided and `reason` says why.

    With `drfr` it is the pass rate, of `labels` as they count (yes: as it should be).
    """

    score: float | None
    labels: tuple[Label | None, ...] = ()
    reason: str = ""


def of_verdicts(verdicts: Sequence[Verdict]) -> ResponseScore:
    """The pass rate (section 3.1.2): the share of questions answered YES; None where one is undecided, or there is none."""
    labels = tuple(outcome(verdict.label, verdict.criterion.weight) for verdict in verdicts)
    undecided = [
        v.reason or "undecided" for v, label in zip(verdicts, labels, strict=True) if label not in ("yes", "no")
    ]
    reason = next(iter(undecided), "" if labels else "there are no questions")
    return ResponseScore(checklist_share(labels), labels, reason)


def outside_score(kind: str | None, outside_scores: Sequence[ResponseScore]) -> Score:
    """The outside score of some responses, one an instruction, with its interval.

    DRFR weighs every question alike; a mean over instructions, or the share of right answers, every instruction.
    """
    if kind == "drfr":
        return drfr([outside.labels for outside in outside_scores])
    scores = [outside.score for outside in outside_scores]
    return mean_share(scores) if kind != "exact" else pass_rate([s if s is None else s == 1 for s in scores])


def judged_cells(answer: Any, *names: str) -> dict[str, Any]:
    """What a file says of a version or an answer without what is empty: these fields, the verdicts, the outside score."""
    cells: dict[str, Any] = {name: getattr(answer, name) for name in names}
    cells["verdicts"] = [{"question": v.criterion.text, "label": v.label, "reason": v.reason} for v in answer.verdicts]
    outside = asdict(answer.outside) if answer.outside else {}
    cells["outside"] = {name: value for name, value in outside.items() if value or name == "score"}
    return {name: value for name, value in cells.items() if value}


_EXAMPLE = "A sentence of a response that does what the instruction asks for. " * 20


class SelfJudgingOptions(checklists.InstructionOptions, checklists.ChecklistOptions, LabellingOptions):
    """Who answers, who judges the answers, by default the model itself, and what they are worth outside its own eyes."""

    PANEL: ClassVar[str] = "Method"
    model: str = role(help="Model under test: it answers, and judges its own answers.")
    judge: str | None = role(None, help="Who judges in the model's place, if anybody.", binds=Binds(late=True))
    outside: str | None = option(
        None, choices=OUTSIDE_NAMES, binds=Binds(late=True), help="A score that the model cannot see: drfr (the criteria of the data, answered by "
        "--outside-judge), rating (1 to 10 by --outside-judge, these criteria in its prompt, times 10) or exact (the final "
        "answer is the reference of the row, letter case and signs at its ends aside)."
    )  # fmt: skip
    outside_judge: str | None = role(None, help="Judge of the outside score.", binds=Binds(late=True))

    def model_post_init(self, context: Any) -> None:
        super().model_post_init(context)
        if self.judged_outside and not self.outside_judge:
            raise UserError(f"--outside {self.outside} needs an --outside-judge")
        if self.outside_judge and not self.judged_outside:
            raise UserError("--outside-judge goes with --outside drfr or rating")

    @property
    def judged_outside(self) -> bool:
        """Whether somebody judges, and is shown the criteria of the data."""
        return self.outside in ("drfr", "rating")

    @property
    def lead(self) -> str:
        """Which outside score there is, and whose, in the line that a report begins with."""
        by = f" by {self.outside_judge}" if self.outside_judge else ""
        return f"outside score: {OUTSIDE_NAMES[self.outside] if self.outside else 'none'}{by}"

    @property
    def OWN(self) -> bool:  # type: ignore[override]
        """Criteria of the data are the model's checklist, unless the outside score rests on them."""
        return not self.judged_outside

    @property
    def judging_role(self) -> str:
        """The role of who judges the model's answers."""
        return "judge" if self.judge else "model"

    @property
    def writer(self) -> str:
        return "generator" if self.generator else self.judging_role

    @property
    def inside(self) -> JudgeSettings:
        """How the model's answers are judged, a question a call."""
        return self.judging(self.judge or self.model, "rubric")

    @property
    def judge_levels(self) -> dict[str, str]:
        """The level of everybody who judges, by spec."""
        judges = [self.judge or self.model, *([self.outside_judge] if self.outside_judge else [])]
        return {spec: "decision" if self.decides(spec) else self.TEXT_LEVEL for spec in judges}


class SelfJudging(Study[Any, checklists.ChecklistItem, Any, dict[str, Table]]):
    """What studies of self-judging share: their items, and how a text is judged from inside and outside."""

    unforeseen = "Checklists yet to be written are reckoned at five questions, and no answer as one that passes."

    def __init__(self, options: Any, *, by_checklist: bool) -> None:
        super().__init__(options)
        self.by_checklist = by_checklist  # whether the model answers the questions of checklists

    def items(self) -> Items[checklists.ChecklistItem]:
        """The single-turn instructions; conversations are left out, as in figure 3 and table 5 of the paper."""
        options, loaded = self.options, checklists.load_items(self.options)
        single = [item for item in loaded.every if not item.instance.history]
        talks = [f"{item.instance.id}: a conversation" for item in loaded.every if item.instance.history]
        if not single:
            raise UserError(f"--data {options.data}: all rows are conversations of several turns, which are left out")
        needed = {"drfr": "criteria", "exact": "reference"}.get(options.outside or "")
        if needed and not any(getattr(item.instance.turns[0], needed) for item in single):
            what = f"no row of --data {options.data} has {needed}"
            raise UserError(f"--outside {options.outside}: {what}; give rows that do, or another score")
        for item in single if options.judged_outside else ():
            seen = {folded(criterion.text) for criterion in item.known.criteria} if item.known else set()
            turn = item.instance.turns[0]
            if seen and seen <= {folded(criterion.text) for criterion in turn.criteria}:  # all, some, in any order
                fault = f"the checklist of {item.instance.id} is made of the criteria that score outside"
                raise UserError(f"--checklists {options.checklists}: {fault}; the model must not see it: leave it out")
        if not self.by_checklist or all(item.known for item in single):
            self.unasked = {"generator"}  # nobody writes checklists: how they would be says nothing
        return replace(loaded, every=single, left_out=(*loaded.left_out, *talks))

    def judge_settings(self) -> list[JudgeSettings]:
        options = self.options
        inside = [options.inside] if self.by_checklist else []
        return [*inside, *([options.judging(options.outside_judge, "rubric")] if options.outside_judge else [])]

    def setup(self) -> None:
        options = self.options
        caller = self.caller(options.judging_role).in_role("judge")
        self.insider = CriteriaJudge(caller, options.inside, options.prompts)
        if options.outside_judge:
            self.outsider = self.judge(self.judge_settings()[-1], "outside_judge")  # its settings are the last ones
            self.outside_schemas = SchemaFallback(self.outsider.caller, options.structured)

    async def listed(self, item: checklists.ChecklistItem) -> checklists.ListedChecklist | None:
        """The checklist of an instruction; None where nobody uses them."""
        return await checklists.checklist_for(self, item) if self.by_checklist else None

    async def answer(self, instance: Instance, sampling: Sampling, sample: int = 0) -> Completion | str:
        """An answer of the model; a text says why there is none."""
        example = f"{_EXAMPLE}{sampling.temperature} {sample}"  # of equal answers only one would be judged
        request = ChatRequest(opening(instance), sampling, sample, example=example)
        try:
            return await self.caller("model").complete(request)
        except RequestFailed as error:
            return f"the model gave no answer: {error}"

    async def verdicts(self, case: Case, criteria: Sequence[Criterion]) -> tuple[Verdict, ...]:
        """The inside verdicts on a response. Who gives them sees nothing of what the data knows of right answers."""
        return await self.insider.verdicts(replace(case, criteria=tuple(criteria), reference=None))

    async def outside(self, case: Case) -> ResponseScore | None:
        """The outside score of a response, by what the data knows of right answers; None where none was asked for."""
        kind = self.options.outside
        if kind is None:
            return None
        if kind == "exact":
            if not case.reference:
                return ResponseScore(None, reason="the row has no reference")
            return ResponseScore(float(exact_answer(case.response, case.reference)))
        if kind == "rating":
            sampling = self.outsider.settings.sampling
            rating = await rate(self.outside_schemas, case, self.options.prompts, SCALE, sampling=sampling)
            share = rating.value / SCALE if rating.value else None
            return ResponseScore(share, reason="" if rating.value else rating.reason)
        if not case.criteria:
            return ResponseScore(None, reason="the row has no criteria")
        return of_verdicts(await self.outsider.verdicts(case))

    def unanswered(self, instance: Instance, reason: str) -> ResponseScore | None:
        """The outside score of a response that there is not."""
        labels = (None,) * len(instance.turns[0].criteria) if self.options.outside == "drfr" else ()
        return ResponseScore(None, labels, reason) if self.options.outside else None

    def outcome(
        self, done: Sequence[Any], tables: Sequence[Table], undecided: Sequence[tuple[str, str]], items: Mapping[str, Any],
        **more: Any,
    ) -> Outcome[dict[str, Table]]:  # fmt: skip
        """What comes of it; `items` has the file of what the model wrote, `undecided` what is open, and why."""
        listed = [item.listed for item in done if item.listed]
        if self.by_checklist:
            items = {**items, checklists.FILE: checklists.filed(self.options, listed)}
        tables = [*tables, *checklists.reasons("undecided", "Undecided", undecided)]
        tables += checklists.checklist_tables(listed) if listed else []
        by_name = {table.name: table for table in tables}
        return Outcome(by_name, tables=tables, items=items, incomplete=len(undecided), **more)

    def ranking(self, table: Table, by: str, done: Sequence[Any], **facts: str) -> Ranking:
        """The place of a table's rows, with what a board says of data and outside score beside these facts.

        Ranked together are results with the same instructions, all that the data says of them, and the same outside judge,
        judging alike. Without one nothing is comparable, since everybody is their own judge.
        """
        options = self.options
        judge: list[Any] = [options.outside]
        if options.outside_judge:
            how = options.judging(options.outside_judge, "rubric")
            used = ("rating",) if options.outside == "rating" else prompts_used(how)
            own = asdict(self.roles["outside_judge"][0].identity)
            judge += [own, asdict(how), {name: options.prompts.hash(name) for name in used}]
        instances = digest(canonical([asdict(item.instance) for item in done]))
        facts = {
            "Data": str(options.data or "one instruction"),
            "Score": OUTSIDE_NAMES[options.outside] if options.outside else "own score",
            **({"Judge": options.outside_judge} if options.outside_judge else {}), **facts,
        }  # fmt: skip
        alike = [instances, judge, [] if options.outside else [options.model]]
        return Ranking(table, by, alike, title=table.title, unit=table.note, facts=facts)

    def notes(self, cut: int, *, scored: bool = True) -> list[str]:
        """What a reader has to know: `cut` answers were cut off; `scored` is whether the model has scores of its own."""
        options, notes = self.options, []
        if options.outside is None:
            own = "the model's own is what it aims at, and says nothing of real gains."
            none = "and critiques in prose give none: add --outside to see what refinement gains."
            notes.append(f"No outside score: {own}" if scored else f"No outside score, {none}")
        if options.outside_judge and family(options.outside_judge) == family(options.model):
            notes.append("The outside judge and the model belong to one family, which favours the model.")
        judges = filter(None, (options.judge or options.model, options.outside_judge))
        return [*notes, *cut_off(cut), *weak_judges(judges)]


def case_of(instance: Instance, text: str) -> Case:
    """The answer to an instruction as judges outside see it: with the criteria and the reference of the data."""
    return cases(instance, Response(instance.id, "", as_answered(instance, [text])), "tick")[0]


def opening(instance: Instance) -> tuple[Message, ...]:
    """What the model is sent to answer an instruction."""
    return sent(instance, (*as_answered(instance, ()), Message("user", instance.turns[0].prompt)))


def answers_beside(
    instance: Instance, answers: Iterable[Exchange], outcome: Mark = "", error: str = "", subset: str = ""
) -> Conversation:
    """An instruction with answers to it beside each other, each under its title."""
    prompt = instance.turns[0].prompt
    asked = with_history(instance, (*as_answered(instance, ()), Message("user", prompt)))
    return Conversation(
        " · ".join(filter(None, (instance.id, subset))), (*exchanges(asked, ()), *answers), outcome, error,
        language=instance.language, opening=shortened(prompt, _OPENING), beside=True,
    )  # fmt: skip


def answer_titled(title: str, text: str, verdicts: Sequence[Verdict] = (), thoughts: str = "") -> Exchange:
    """One of several answers, with the verdicts on it as they count."""
    return Exchange((Message("assistant", text),), tuple(map(as_counted, verdicts)), thoughts, title=title)
