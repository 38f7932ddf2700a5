"""The Rubric Arbitration Framework: a coarse pass, a fine pass, then meta-judges (RubricEval section 3.3).

Base judges decide the whole checklist in one call; where they all agree the rubric is dropped as too easy. The others
are judged one rubric a call; agreement makes them `easy`. Meta-judges read the rationales on what is still disputed;
their agreement makes it `hard`.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, ClassVar

from truebench_hf.benchmarks.rubric_eval import data
from truebench_hf.benchmarks.rubric_eval.arbitration.funnel import (
    SPLITS,
    Trace,
    disputed,
    funnel_tables,
    leave,
    notes,
    unanimous,
)
from truebench_hf.benchmarks.rubric_eval.arbitration.validation import Trusted, read_trusted, validation_tables
from truebench_hf.data.judged import Case
from truebench_hf.data.rubrics import Item
from truebench_hf.engine.retry import RequestFailed
from truebench_hf.errors import UserError
from truebench_hf.judging.case import sections as case_sections
from truebench_hf.judging.judge import CriteriaJudge, JudgeSettings
from truebench_hf.judging.rules.deciding import ruled
from truebench_hf.judging.signed_asking import PASS_FAIL
from truebench_hf.models.caller import Caller
from truebench_hf.models.protocol import ChatRequest, Sampling
from truebench_hf.options import Binds, option, role
from truebench_hf.report.table import Table
from truebench_hf.study.items import Items
from truebench_hf.study.options import LabellingOptions, numbered
from truebench_hf.study.outcome import Outcome
from truebench_hf.study.study import Study
from truebench_hf.types import Label, Verdict


@dataclass(frozen=True, kw_only=True)
class ArbitrateOptions(LabellingOptions):
    """What is labelled, by whom, and where the labels go."""

    TEXT_LEVEL: ClassVar[str] = "checklist"
    RULES: ClassVar[tuple[str, ...]] = ("off", "evidence")  # of what rules decide nothing would be left to arbitrate

    data: str = option(help="SOURCE:PATH (e.g. structflowbench:FILE), rubric_mini, or a JSONL in rubric_eval columns.")
    judge: tuple[str, ...] = role(help="Base judge: two or more (the paper has four); repeat the flag.")
    meta_judge: tuple[str, ...] = role(help="Meta-judge: two or more, who all have to agree; repeat the flag.")
    responder: tuple[str, ...] = role((), help="Model that answers what has no response; of several one each by lot.")
    candidate: tuple[str, ...] = role(
        (),
        binds=Binds(grows=True, late=True),
        help="Further judge to rank on the reference; it has no say in the labels. May be repeated.",
    )
    seed: int = option(
        0, binds=True, help="Draws the sample, the responder of each instruction and the order of the rationales."
    )
    reference: str | None = option(
        None, help="Trusted labels (rubric_mini, or JSONL with id and label) to validate by."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for flag, names in (("--judge", self.judge), ("--meta-judge", self.meta_judge)):
            if len(names) < 2:
                raise UserError(f"{flag} {', '.join(names)}: name at least two, each with a {flag} of its own")
        if self.candidate and self.reference is None:
            raise UserError("a --candidate is ranked on trusted labels: name them with --reference")
        if both := set(self.candidate) & set(self.judge):
            raise UserError(f"--candidate {both.pop()}: is a base judge already, and ranked with the candidates")

    def settings(self, spec: str, part: str) -> JudgeSettings:
        """How a judge decides in a pass: coarse, or any other for one rubric a call."""
        return self.judging(spec, "checklist" if part == "coarse" else "rubric")


@dataclass(frozen=True)
class Answered:
    """An item with its response; `problem` says why it has none. `truncated`: cut off at the token limit."""

    item: Item
    problem: str | None = None
    truncated: bool = False


_WORDS: Mapping[Label | None, str] = {label: word for word, label in PASS_FAIL.items()}
Labelled = tuple[Answered, list[Trace]]  # a response, and each of its rubrics through the funnel


class Arbitration(Study[ArbitrateOptions, Item, Labelled, dict[str, Table]]):
    """Responses with their rubrics through all three stages; `value` are the tables by name."""

    kind = "arbitrate"
    needs = ("sklearn",)
    files = ("exits.jsonl", "labels")
    prompts = ("meta_judge",)
    unforeseen = (
        "What the judges disagree on is not known: the fine look, meta-judges and labels to compare with come on top."
    )
    unit = "responses"

    def items(self) -> Items[Item]:
        options, usable = self.options, data.read(self.options.data)
        self.trusted = read_trusted(options.reference) if options.reference else Trusted({})

        def content(item: Item) -> list[Any]:  # the rows that are written hold more of an item than judges see
            hints = [rubric.hint for rubric in item.rubrics]
            return [*data.content(item), item.source, item.model, item.answered, hints]

        return replace(data.selection(usable, usable.left_out.reasons), content=content)

    def judge_settings(self) -> list[JudgeSettings]:
        judges = (*self.options.judge, *self.options.candidate)
        return [self.options.settings(spec, part) for spec, part in product(judges, ("coarse", "fine"))]

    def check(self) -> None:
        self.chosen = prepare(self.chosen, numbered(self.options.responder), self.options.seed)

    def trial_values(self) -> Sequence[Mapping[str, Any]]:
        return [{"decision": self.options.decides(spec)} for spec in self.options.meta_judge]

    def setup(self) -> None:
        self.responders = {
            name: self.caller("responder", number, f"answer {name}")
            for number, name in enumerate(numbered(self.options.responder), 1)
        }
        self.coarse, self.fine, self.meta = (
            self._panel("coarse"),
            self._panel("fine"),
            self._panel("meta", "meta_judge"),
        )
        # Looks that only the comparison with trusted labels needs are paid for under a name of their own.
        self.extra, self.candidates = self._panel("validation"), self._panel("validation", "candidate")
        self.extra_meta = self._panel("validation", "meta_judge")

    def _panel(self, part: str, role: str = "judge") -> tuple[CriteriaJudge, ...]:
        specs = getattr(self.options, role)
        return tuple(
            self.judge(self.options.settings(spec, part), role, number, f"{part} {name}")
            for number, (spec, name) in enumerate(zip(specs, numbered(specs), strict=True), 1)
        )

    async def work(self, item: Item) -> Labelled:
        """The rubrics of one response through all three stages."""
        answered = await answer(item, self.responders, self.options.sampling)
        item, everything = answered.item, range(len(item.case.criteria))
        if answered.problem is not None:
            return answered, [Trace(item, i, "unanswered", None, answered.problem) for i in everything]
        coarse = await columns(self.coarse, item, everything)
        going = [i for i in everything if unanimous(coarse[i]) is None]
        known = [i for i in everything if self.trusted.label(item, i) is not None]
        fine, extra, candidates = await asyncio.gather(
            columns(self.fine, item, going, coarse),
            columns(self.extra, item, [i for i in known if i not in going], coarse),
            columns(self.candidates, item, known),
        )
        looks = fine | extra
        disputes = [(i, self.meta if i in fine else self.extra_meta) for i in looks if disputed(looks[i])]
        reviews = iter(await asyncio.gather(*(
            meta_verdict(judge, self.options.seed, item.rubric(i).id, item.only([i]), looks[i])
            for i, judges in disputes for judge in judges
        )))  # fmt: skip
        meta = {i: [next(reviews) for _ in judges] for i, judges in disputes}
        return answered, [
            replace(leave(item, i, coarse[i], looks.get(i, ()), meta.get(i, ())), candidates=candidates.get(i, ()))
            for i in everything
        ]

    def score(self, done: Sequence[Labelled]) -> Outcome[dict[str, Table]]:
        options, answered = self.options, [response for response, _ in done]
        traces = [trace for _, of_response in done for trace in of_response]
        tables = funnel_tables(answered, traces, self.folder.ledger.usage()["total"])
        if self.trusted.labels:
            tables += validation_tables(traces, self.trusted, numbered(options.judge), numbered(options.candidate))
        # Labels in a folder of their own, which other commands and `load_dataset` take as a data set of two splits.
        items: dict[str, Any] = {
            f"labels/{split}.jsonl": [trace.row() for trace in traces if trace.exit == split] for split in SPLITS
        }
        items["exits.jsonl"] = [trace.exit_row() for trace in traces]
        return Outcome(
            {table.name: table for table in tables if table.name}, title="RubricEval: rubric arbitration", tables=tables,
            items=items, notes=notes(options, answered, traces),
        )  # fmt: skip


def arbitrate(options: ArbitrateOptions) -> dict[str, Table]:
    """Label the rubrics of `options.data` and write the splits into `options.out`. Returns the tables by name.

    Raises UserError on options, data or models that cannot be used.
    """
    return Arbitration(options).run().value


def prepare(items: Sequence[Item], responders: Sequence[str], seed: int) -> list[Item]:
    """Settle where each response comes from: the data, or a model drawn by lot (section 3.2).

    An item to be answered gets its responder's spec as `model`. The draw depends on the seed and the item alone, so
    that another limit draws no other model. Raises UserError where an item has no response and nobody to answer it.
    """
    settled = []
    for item in items:
        if item.answered:
            settled.append(item)
        elif responders:
            settled.append(replace(item, model=random.Random(f"{seed} {item.id}").choice(responders)))
        else:
            raise UserError(f"{item.instruction_id} of {item.source} has no response: name a --responder")
    return settled


async def answer(item: Item, callers: Mapping[str, Caller], sampling: Sampling) -> Answered:
    """The item with its response, asked for where it has none. An error text never becomes a response."""
    if item.answered:
        return Answered(item)
    try:
        completion = await callers[item.model].complete(ChatRequest(item.messages, sampling))
    except RequestFailed as error:
        return Answered(item, f"{item.model} gave no answer: {error}")
    if not completion.text.strip():
        why = "its thinking used up the token limit" if completion.truncated else "its text is empty"
        return Answered(item, f"{item.model} gave no answer: {why}")
    return Answered(item.responded(completion.text, item.model), truncated=completion.truncated)


async def columns(
    judges: Sequence[CriteriaJudge], item: Item, chosen: Sequence[int],
    coarse: Mapping[int, Sequence[Verdict]] | None = None,
) -> dict[int, tuple[Verdict, ...]]:  # fmt: skip
    """The verdicts of all judges of a pass on each rubric at the positions `chosen`.

    A judge that gives probabilities is not asked again about what it decided in the `coarse` pass: its answer to a
    question does not depend on what else is asked.
    """
    if not chosen or not judges:
        return {}
    case = item.only(chosen)

    async def column(place: int, judge: CriteriaJudge) -> Sequence[Verdict]:
        if coarse is not None and judge.settings.level == "decision":
            return [coarse[i][place] for i in chosen]
        return await judge.verdicts(case)

    by_judge = await asyncio.gather(*(column(place, judge) for place, judge in enumerate(judges)))
    return dict(zip(chosen, zip(*by_judge, strict=True), strict=True))


async def meta_verdict(judge: CriteriaJudge, seed: int, name: str, case: Case, base: Sequence[Verdict]) -> Verdict:
    """Decide the one criterion of `case` by what the base judges wrote about it.

    A meta-judge sees every decided base judge's verdict and rationale, without names and in an order of its own (set by
    the seed and `name`, the rubric's id), so that neither a judge's reputation nor its place can sway it. With rules on it
    is told what programs measured: what they decide no judge disputes.
    """
    order = random.Random(f"{seed} {name} {judge.caller.model.spec}")
    decided = [verdict for verdict in base if verdict.label in _WORDS]
    opinions = [
        {"verdict": _WORDS[verdict.label], "reason": verdict.reason or "(no reason given)"}
        for verdict in order.sample(decided, len(decided))
    ]
    case = ruled(case, judge.settings.rules).rest
    # The rationales stand between tags too, and must not be able to close them.
    values = {**case_sections(case, beside=[opinion["reason"] for opinion in opinions]), "opinions": opinions}
    if judge.settings.level == "decision":
        state = judge.prompts.render("meta_judge", **values, decision=True, structured=False)
        (verdict,) = await judge.by_probability(case.criteria, values["criteria"], state)
    else:
        (verdict,) = await judge.by_text("meta_judge", case.criteria, values | {"decision": False})
    return verdict
