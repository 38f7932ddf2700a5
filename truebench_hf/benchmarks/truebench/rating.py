"""Complete responses rated: by a judge in four ways (paper 000, section 5.1, listings 2 to 5), and by people (appendix F).

mt-bench: one rating from 1 to 10, without criteria. flask: the skills of the category, 1 to 5 each; the score is our mean
over them, the judge's own final score stands beside it. biggen: every criterion and then one final score, 1 to 5, which is
the score. checklist: TRUEBench's own, pass or fail by the judge that `truebench run` has.

All four see the same: instruction, conversation and document, and no reference answer (listing 2 shows one, and speaks of
a second question: neither exists here). A conversation of several turns is rated as one; the checklist is judged turn by
turn, as in a run.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from truebench_hf.benchmarks.truebench.study import Answered, benchmark
from truebench_hf.data.judged import Case, cases, judgment
from truebench_hf.hashing import canonical, digest
from truebench_hf.judging.case import sections
from truebench_hf.judging.judge import CriteriaJudge
from truebench_hf.judging.ratings import Ratings, ask_ratings
from truebench_hf.metrics.votes import majority
from truebench_hf.models.asking import SchemaFallback
from truebench_hf.models.protocol import Sampling
from truebench_hf.prompts import Prompts
from truebench_hf.report.labels import Annotations, agreement
from truebench_hf.report.sheets import Question, material
from truebench_hf.report.table import paper_rows
from truebench_hf.types import Instance, Response, Score

FINAL = "final_score"


@dataclass(frozen=True, slots=True)
class Rated:
    """What a response got: on the scale of its type (1 or 0 by a checklist: passed or not), None where that is open.

    `reason` is what the judge said, or why it is open. `parts` are the ratings (or labels) that it came with, by skill or
    criterion; `own_final` is the judge's own final score where ours is another.
    """

    value: float | None
    reason: str = ""
    parts: Mapping[str, int | str | None] = field(default_factory=dict)
    own_final: int | None = None


@dataclass(frozen=True, slots=True)
class RatingJudge:
    """Who is asked about a type of criteria, and how."""

    schemas: SchemaFallback
    prompts: Prompts
    sampling: Sampling
    judge: CriteriaJudge

    async def ratings(self, prompt: str, case: Case, keys: Sequence[str], scale: int, **values: Any) -> Ratings:
        """The ratings under these keys that the judge gives when asked by this prompt."""
        inserts = {**sections(case), **values}
        return await ask_ratings(self.schemas, self.prompts, prompt, inserts, keys, scale, sampling=self.sampling)


@dataclass(frozen=True, slots=True)
class JudgingMethod:
    """A type of criteria: what tables call it, the end of its scale, its prompt ("": the judge's), how it is judged."""

    title: str
    most: int
    prompt: str
    judged: Callable[[RatingJudge, Instance, Response], Awaitable[Rated]]


def as_one_case(instance: Instance, response: Response) -> Case:
    """A conversation as one case: its last answer with all before it, and the criteria of all turns."""
    *_, last = cases(instance, response, benchmark(instance))
    multi_turn = len(instance.turns) > 1
    criteria = [
        # By how well it is met, so that a fault is turned round.
        replace(
            criterion, weight=1.0, rule=None,
            text=f"Turn {number}: " * multi_turn + "Without this fault: " * (criterion.weight < 0) + criterion.text,
        )
        for number, turn in enumerate(instance.turns, 1) for criterion in turn.criteria
    ]  # fmt: skip
    return replace(last, criteria=tuple(criteria), reference=None)


async def _mt_bench(judge: RatingJudge, instance: Instance, response: Response) -> Rated:
    case = replace(as_one_case(instance, response), criteria=())
    ratings = await judge.ratings("rating_whole", case, ("rating",), 10, turns=len(instance.turns))
    return Rated(ratings.values.get("rating"), ratings.problem or ratings.reason)


async def _flask(judge: RatingJudge, instance: Instance, response: Response) -> Rated:
    skills = skills_by_category().get(instance.category, ())
    if not skills:
        return Rated(None, f"category {instance.category or '(none)'} has no skills in the paper")
    case = replace(as_one_case(instance, response), criteria=())
    keys = [skill.key for skill in skills]
    ratings = await judge.ratings("rating_skills", case, (*keys, FINAL), 5, turns=len(instance.turns), skills=skills)
    parts = {skill.name: ratings.values.get(skill.key) for skill in skills}
    values = [value for value in parts.values() if value is not None]
    if missing := [name for name, value in parts.items() if value is None]:
        # A mean over the rest would be one of other skills than everybody else's.
        return Rated(None, f"{', '.join(missing)}: {ratings.problem}", parts, ratings.values.get(FINAL))
    return Rated(sum(values) / len(values), ratings.problem or ratings.reason, parts, ratings.values.get(FINAL))


async def _biggen(judge: RatingJudge, instance: Instance, response: Response) -> Rated:
    case = as_one_case(instance, response)
    if not case.criteria:
        return Rated(None, "no criteria")
    keys = [f"criteria_{number}" for number in range(1, len(case.criteria) + 1)]
    ratings = await judge.ratings("rating_criteria", case, (*keys, FINAL), 5, turns=len(instance.turns))
    return Rated(
        ratings.values.get(FINAL), ratings.problem or ratings.reason, {key: ratings.values.get(key) for key in keys}
    )


async def _checklist(judge: RatingJudge, instance: Instance, response: Response) -> Rated:
    turns = [replace(case, reference=None) for case in cases(instance, response, benchmark(instance))]
    item = judgment(instance, response, await asyncio.gather(*map(judge.judge.verdicts, turns)), {})
    labels = [verdict.label for turn in item.verdicts for verdict in turn]
    parts = {f"criteria_{number}": label for number, label in enumerate(labels, 1)}
    if item.passed is None:
        return Rated(None, item.undecided, parts)
    failed = (
        v.reason for turn in item.verdicts for v in turn if v.label == ("yes" if v.criterion.weight < 0 else "no")
    )
    return Rated(float(item.passed), next(failed, ""), parts)


METHODS: Mapping[str, JudgingMethod] = {
    "mt-bench": JudgingMethod("MT-Bench-like: 1 to 10, no criteria", 10, "rating_whole", _mt_bench),
    "flask": JudgingMethod("FLASK-like: mean of skills, 1 to 5", 5, "rating_skills", _flask),
    "biggen": JudgingMethod("BiGGen-like: 1 to 5 on the criteria", 5, "rating_criteria", _biggen),
    "checklist": JudgingMethod("TRUEBench: checklist, pass or fail", 1, "", _checklist),
}


async def rated(method: JudgingMethod, judge: RatingJudge, instance: Instance, response: Response) -> Rated:
    """A whole response judged; one that broke off, or was never given, is not judged, and the reason says so."""
    if response.error is not None or len(response.answers) < len(instance.turns):
        return Rated(None, f"no answer: {response.error or 'not generated'}")
    return await method.judged(judge, instance, response)


@dataclass(frozen=True, slots=True)
class Skill:
    """A skill, its key in answers, and what each number from 1 on means."""

    name: str
    key: str
    levels: tuple[str, ...]


@cache
def skills_by_category() -> Mapping[str, tuple[Skill, ...]]:
    """The skills of each of the ten categories, in the paper's order."""
    levels = json.loads(Path(__file__).with_name("skills.json").read_text(encoding="utf-8"))
    return {
        row["Category"]: tuple(
            Skill(name, name.lower().replace(" ", "_"), tuple(levels[name])) for name in row["Skills"]
        )
        for row in paper_rows("truebench", "truebench_tables9-18")
    }


RATERS = 3  # in the paper
OPTIONS = ("pass", "fail")


@dataclass(frozen=True)
class People:
    """What raters say: per response id whether it passes, None where that is open, with the reason in `open`.

    `pairs` are Cohen's kappas of every two raters with a response in common; `strangers` are ids of labels that are not
    among the responses.
    """

    raters: tuple[str, ...]
    passed: Mapping[str, bool | None]
    open: Mapping[str, str]
    pairs: Mapping[tuple[str, str], Score]
    strangers: tuple[str, ...]
    most: int  # raters of the response that has most

    @property
    def ceiling(self) -> float | None:
        """The mean kappa of two raters: more agreement than people have among themselves cannot be asked of a judge."""
        known = [kappa.value for kappa in self.pairs.values() if kappa.value is not None]
        return sum(known) / len(known) if known else None


def response_id(instance: Instance, response: Response) -> str:
    """A name for a conversation on an instance, equal for equal answers; it tells nothing of its model."""
    messages = [[message.role, message.content] for message in response.messages]
    return f"r{digest(canonical([instance.id, messages]))[:15]}"  # no spreadsheet program takes it for a number


def questions(answered: Sequence[Answered]) -> list[Question]:
    """A question for each different response that is complete: without criteria, reference and model."""
    by_id: dict[str, Question] = {}
    for instance, response in answered:
        turns = len(instance.turns)
        if response.error is not None or len(response.answers) < turns:
            continue
        last, name = cases(instance, response)[-1], response_id(instance, response)
        what = "the response" if turns == 1 else f"the last {turns} answers of the assistant, the response among them,"
        by_id[name] = Question(
            name, f"Judge by the user's request alone: does {what} do what was asked, so that it can be used as it is?",
            material(last.history, last.instruction, last.response, Context=instance.context), OPTIONS,
            group=digest(instance.id), blind=(instance, response),
        )  # fmt: skip
    return [by_id[name] for name in sorted(by_id)]  # hashes: the same model does not come first in every group


def read_ratings(rows: Sequence[Mapping[str, Any]], known: Sequence[str]) -> People:
    """What rows of labels say of the responses with these ids."""
    wanted, by_id = set(known), {row["id"]: row for row in rows}
    by_name = {
        name: {entry["annotator"]: entry["label"] for entry in row["annotations"]}
        for name, row in by_id.items()
        if name in wanted
    }
    most = max(map(len, by_name.values()), default=0)
    passed: dict[str, bool | None] = {}
    reasons: dict[str, str] = {}
    for name in wanted:
        if (row := by_id.get(name)) and row["how"] == "decided":
            passed[name] = row["label"] == OPTIONS[0]
            continue
        own = by_name.get(name, {})
        labels = [label for label in own.values() if label is not None]
        label = majority(labels).label
        # What a rater left out (in the sheet, or with the end of a sheet that was cut) is open, whatever the others say:
        # where two agree the third could change nothing, but to keep these alone would keep the easy ones.
        if not own:
            reasons[name] = "no rater was asked"
        elif len(labels) < most:
            reasons[name] = "a rater's answer is missing" if labels else "nobody answered"
        elif label is None:
            reasons[name] = "the raters are tied"
        passed[name] = None if name in reasons else label == OPTIONS[0]
    among = agreement(Annotations(by_name, dict.fromkeys(by_name, OPTIONS)))
    pairs = {pair: kappa for pair, kappa in among.cohen.items() if kappa.n}
    return People(among.annotators, passed, reasons, pairs, tuple(name for name in by_id if name not in wanted), most)
