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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from truebench_hf.benchmarks.truebench.run import Answered, benchmark
from truebench_hf.data.judged import Case, cases, judgment
from truebench_hf.hashing import canonical, digest
from truebench_hf.judging.judge import CriteriaJudge
from truebench_hf.judging.ratings import ask_ratings
from truebench_hf.models.asking import SchemaFallback
from truebench_hf.prompts import Prompts, sections
from truebench_hf.report.labels import Question, material
from truebench_hf.report.table import paper_rows
from truebench_hf.types import Instance, Response

FINAL, CHECKLIST, OPTIONS = "final_score", "checklist", ("pass", "fail")


@dataclass(frozen=True, slots=True)
class JudgingMethod:
    """A type of criteria: what tables call it, the end of its scale, and its prompt ("": the judge's)."""

    title: str
    most: int
    prompt: str


METHODS: Mapping[str, JudgingMethod] = {
    "mt-bench": JudgingMethod("MT-Bench-like: 1 to 10, no criteria", 10, "rating_whole"),
    "flask": JudgingMethod("FLASK-like: mean of skills, 1 to 5", 5, "rating_skills"),
    "biggen": JudgingMethod("BiGGen-like: 1 to 5 on the criteria", 5, "rating_criteria"),
    CHECKLIST: JudgingMethod("TRUEBench: checklist, pass or fail", 1, ""),
}


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


async def rated(
    name: str, schemas: SchemaFallback, judge: CriteriaJudge, prompts: Prompts, instance: Instance, response: Response
) -> Rated:
    """Return what a response gets by one of `METHODS`; one that broke off, or was never given, is not judged."""
    if response.error is not None or len(response.answers) < len(instance.turns):
        return Rated(None, f"no answer: {response.error or 'not generated'}")
    if name == CHECKLIST:
        return await _by_checklist(judge, instance, response)
    case, method = as_one_case(instance, response), METHODS[name]
    skills = skills_by_category().get(instance.category, ()) if name == "flask" else ()
    keys = {skill.name: skill.key for skill in skills}  # by what they are called
    if name == "biggen":
        keys = {key: key for key in (f"criteria_{number}" for number in range(1, len(case.criteria) + 1))}
    if name != "mt-bench" and not keys:
        missing = f"category {instance.category or '(none)'} has no skills in the paper"
        return Rated(None, missing if name == "flask" else "no criteria")
    visible = case if name == "biggen" else replace(case, criteria=())
    inserts = {**sections(visible), "turns": len(instance.turns), "skills": skills}
    wanted = (*keys.values(), FINAL) if keys else ("rating",)
    ratings = await ask_ratings(schemas, prompts, method.prompt, inserts, wanted, method.most)
    parts = {part: ratings.labels.get(key) for part, key in keys.items()}
    score, reason = ratings.labels.get(wanted[-1]), ratings.problem or ratings.reason
    if name != "flask":
        return Rated(score, reason, parts)
    if open_skills := [part for part, value in parts.items() if value is None]:
        # A mean over the rest would be one of other skills than everybody else's.
        return Rated(None, f"{', '.join(open_skills)}: {ratings.problem}", parts, score)
    return Rated(sum(value or 0 for value in parts.values()) / len(parts), reason, parts, score)


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


async def _by_checklist(judge: CriteriaJudge, instance: Instance, response: Response) -> Rated:
    turns = [replace(case, reference=None) for case in cases(instance, response, benchmark(instance))]
    item = judgment(instance, response, await asyncio.gather(*map(judge.verdicts, turns)), {})
    labels = [verdict.label for turn in item.verdicts for verdict in turn]
    parts = {f"criteria_{number}": label for number, label in enumerate(labels, 1)}
    if item.passed is None:
        return Rated(None, item.undecided, parts)
    failed = (
        v.reason for turn in item.verdicts for v in turn if v.label == ("yes" if v.criterion.weight < 0 else "no")
    )
    return Rated(float(item.passed), next(failed, ""), parts)


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


def response_id(instance: Instance, response: Response) -> str:
    """Return a name for a conversation on an instance, equal for equal answers; "" where it is not complete.

    It tells nothing of its model.
    """
    if response.error is not None or len(response.answers) < len(instance.turns):
        return ""
    messages = [[message.role, message.content] for message in response.messages]
    return f"r{digest(canonical([instance.id, messages]))[:15]}"  # no spreadsheet program takes it for a number


def questions(answered: Sequence[Answered]) -> list[Question]:
    """Return a question for each different response that is complete: without criteria, reference and model."""
    by_id: dict[str, Question] = {}
    for instance, response in answered:
        if not (name := response_id(instance, response)):
            continue
        last, turns = cases(instance, response)[-1], len(instance.turns)
        what = "the response" if turns == 1 else f"the last {turns} answers of the assistant, the response among them,"
        by_id[name] = Question(
            name, f"Judge by the user's request alone: does {what} do what was asked, so that it can be used as it is?",
            material(last.history, last.instruction, last.response, Context=instance.context), OPTIONS,
            group=digest(instance.id), blind=(instance, response),
        )  # fmt: skip
    return [by_id[name] for name in sorted(by_id)]  # hashes: the same model does not come first in every group


def people_say(rows: Sequence[Mapping[str, Any]], known: Sequence[str]) -> dict[str, tuple[bool | None, str]]:
    """Return of each response with one of these ids whether people pass it, or None and why that is open.

    What a rater left out (in the sheet, or with the end of a sheet that was cut) is open, whatever the others say: where
    two agree the third could change nothing, but to keep these alone would keep the easy ones.
    """
    by_id = {row["id"]: row for row in rows}
    answers = {name: [entry["label"] for entry in by_id[name]["annotations"]] for name in known if name in by_id}
    most = max(map(len, answers.values()), default=0)
    result: dict[str, tuple[bool | None, str]] = {}
    for name in known:
        row, own = by_id.get(name, {}), answers.get(name, [])
        count = sum(label is not None for label in own)
        reasons = {
            "no rater was asked": not own, "nobody answered": not count, "a rater's answer is missing": count < most,
            "the raters are tied": row.get("label") is None,
        }  # fmt: skip
        reason = next((reason for reason, holds in reasons.items() if holds and row.get("how") != "decided"), "")
        result[name] = None if reason else row["label"] == OPTIONS[0], reason
    return result
