"""The versions of a response, and how one is rewritten by the answers to its checklist, or by a critique of it.

Paper 004, section 4.1, appendix G.6.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from truebench_hf.benchmarks.tick.checklists import ListedChecklist
from truebench_hf.benchmarks.tick.stick import ResponseScore, judged_cells, of_verdicts
from truebench_hf.data.judged import Case
from truebench_hf.metrics.pass_rate import outcome
from truebench_hf.metrics.votes import transitions
from truebench_hf.models.asking import CUT_OFF, Problem, ask
from truebench_hf.models.caller import Caller
from truebench_hf.models.protocol import ChatRequest, Sampling
from truebench_hf.prompts import Prompts, one_line, sections
from truebench_hf.types import Instance, Message, Usage, Verdict

STATUS = {
    "first": "the first answer",
    "rewritten": "another text than the version before",
    "unchanged": "rewritten, and the same text as before",
    "unreadable": "no rewritten response could be read; the version before stays",
    "failed": "the request failed; the version before stays, and the same command asks again",
}
REVISED = ("rewritten", "unchanged")


@dataclass(frozen=True, slots=True)
class ResponseVersion:
    """The response after an iteration (0: the first answer). `verdicts` are the model's own, () without a checklist.

    `detail` says why there is no rewritten text, `spent` what the iteration cost by role.
    """

    iteration: int
    text: str
    status: str
    detail: str = ""
    plan: str = ""
    critique: str = ""
    truncated: bool = False
    verdicts: tuple[Verdict, ...] = ()
    outside: ResponseScore | None = None
    spent: Mapping[str, Usage] = field(default_factory=dict)

    @property
    def inside(self) -> ResponseScore:
        """What the model's own verdicts come to."""
        return of_verdicts(self.verdicts)

    @property
    def passes(self) -> bool:
        """Whether every question is answered YES."""
        return self.inside.score == 1


@dataclass(frozen=True, slots=True)
class Refined:
    """An instruction with its checklist (None with free critiques) and the versions in order.

    `problem` says why there is no answer, or why nothing more could be refined; "" else.
    """

    instance: Instance
    listed: ListedChecklist | None
    versions: tuple[ResponseVersion, ...]
    problem: str = ""
    unanswered: ResponseScore | None = None  # its outside score, where there is no answer

    def kept(self, iteration: int, keep: str) -> ResponseVersion:
        """The version to hand out after an iteration: the `last` one, or the `best` one by its own score.

        Whoever has stopped stays where it was. Of several best ones the first: a rewritten text has to show that it is
        better. Undecided scores are never best.
        """
        versions = self.versions[: iteration + 1]
        if keep == "last":
            return versions[-1]
        scores = [-1.0 if (s := version.inside.score) is None else s for version in versions]
        return versions[scores.index(max(scores))]

    def cells(self, iteration: int, keep: str) -> tuple[Any, ...]:
        """Of an iteration the status of what was tried (None where it had stopped before), whether all is met, what a
        rewritten text turned, and of the version kept by then labels, own and outside score."""
        if not self.versions:
            return None if iteration else "failed", False, None, None, None, self.unanswered
        tried = self.versions[iteration] if iteration < len(self.versions) else None
        kept, turned = self.kept(iteration, keep), None
        if tried and tried.status in REVISED and tried.verdicts:
            turned = transitions(self.versions[iteration - 1].inside.labels, tried.inside.labels)
        passing = self.versions[: iteration + 1][-1].passes
        return tried and tried.status, passing, turned, kept.inside.labels, kept.inside.score, kept.outside

    def rows(self) -> list[dict[str, Any]]:
        """The lines of `versions.jsonl`; what is empty is left out."""
        if not self.versions:
            return [{"id": self.instance.id, "iteration": 0, "status": "failed", "detail": self.problem}]
        rows = []
        for version in self.versions:
            row = {"id": self.instance.id} | {name: getattr(version, name) for name in ("iteration", "status", "text")}
            row |= judged_cells(version, "detail", "plan", "critique", "truncated")
            row |= {"own_score": version.inside.score} if version.verdicts else {}
            rows.append(row | {"usage": {role: asdict(usage) for role, usage in version.spent.items()}})
        return rows


_ANSWERS = {"yes": "YES", "no": "NO"}
_PLAN = re.compile(r"^[\W_]*plan\b\W*", re.IGNORECASE)
_EXAMPLE = "Mend what was answered NO, keep the rest as it is. " * 6


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A new response, and the plan that came before it."""

    text: str
    plan: str = ""


async def rewrite(
    caller: Caller, case: Case, prompts: Prompts, sampling: Sampling, *, verdicts: Sequence[Verdict] = (),
    critique: str = "", sample: int = 0,
) -> Rewrite | Problem:  # fmt: skip
    """The response of a case, rewritten by the verdicts on its checklist or by a critique of it.

    An answer without a readable response is asked again, but not one that was cut off within it: it would end at the
    same limit. What is cut off behind the closing tag is no part of the response.
    """
    questions = list(map(_answered, verdicts))
    beside = [text for question in questions for text in question.values()]
    values = sections(_unaided(case), beside=[*beside, critique])
    open_ = any(outcome(verdict.label) not in _ANSWERS for verdict in verdicts)
    text = prompts.render("refine", **values, questions=questions, critique=critique, undecided=open_)
    tag = f"answer_{values['tag']}"

    def read(answer: str, truncated: bool) -> Rewrite | Problem:
        parsed = read_rewrite(answer, tag)
        return Problem(CUT_OFF, final=True) if truncated and isinstance(parsed, Problem) else parsed

    def repair(problem: str) -> str:
        return (
            f"Your answer cannot be used: {problem}. Give your plan, then the whole new response once between <{tag}> and "
            f"</{tag}>, in the form asked for above."
        )

    # Another text than before, since what follows on a rewritten response has to be reckoned with.
    example = f"Plan: {_EXAMPLE}\n<{tag}>\n{case.response} And so on.\n</{tag}>"
    request = ChatRequest((Message("user", text),), sampling, sample, example=example)
    return await ask(caller, request, read, repair)


def read_rewrite(answer: str, tag: str) -> Rewrite | Problem:
    """The one text between `<tag>` and `</tag>`, and what stands before it; a Problem where there is none, or several.

    Both tags stand once, or as often as the same text is given again. What stands behind them is no part of it. A text
    that is the plan once more is no response.
    """
    opened, closed = answer.count(f"<{tag}>"), answer.count(f"</{tag}>")
    if not opened:
        return Problem(f"it has no <{tag}>")
    if not closed:
        return Problem(f"<{tag}> is never closed")
    texts = [text.strip("\r\n") for text in re.findall(rf"<{tag}>(.*?)</{tag}>", answer, re.DOTALL)]
    if not opened == closed == len(texts) or len(set(texts)) > 1:
        return Problem(f"<{tag}> and </{tag}> stand more than once, and not around one and the same text")
    plan = answer.partition(f"<{tag}>")[0].strip()
    if not texts[0].strip():
        return Problem("there is no text between the tags")
    # A plan and its copy may differ in heading, case, blanks and signs.
    bare_plan, bare_text = ("".join(filter(str.isalnum, _PLAN.sub("", t).casefold())) for t in (plan, texts[0]))
    if plan and bare_plan == bare_text:
        return Problem("what stands between the tags is the plan, not the new response")
    return Rewrite(texts[0], plan)


async def criticise(
    caller: Caller, case: Case, prompts: Prompts, sampling: Sampling, *, sample: int = 0
) -> str | Problem:
    """A critique of the response of a case, in prose. One that was cut off at the token limit is used as it is."""
    text = prompts.render("critique", **sections(_unaided(case)))
    request = ChatRequest((Message("user", text),), sampling, sample, example=_EXAMPLE * 3)

    def read(answer: str, truncated: bool) -> str | Problem:
        return answer.strip() or Problem("the critique is empty", final=truncated)

    return await ask(caller, request, read, lambda problem: "Your answer is empty. Write the critique.")


def _unaided(case: Case) -> Case:
    """The case without what the data knows of right answers."""
    return replace(case, criteria=(), reference=None)


def _answered(verdict: Verdict) -> dict[str, str]:
    """A question of the checklist with its answer and the judge's reason in a line, as the prompt has them.

    YES: the response is as it should be; that a fault is there is said as what it is. A probability is no reason, nor is
    why nothing was decided.
    """
    answer = _ANSWERS.get(outcome(verdict.label, verdict.criterion.weight) or "", "OPEN")
    if verdict.criterion.weight <= 0 and answer != "OPEN":
        fault = {"NO": "the fault is there, and has to go", "YES": "the fault is not there, as it should be"}
        answer = f"{answer}: {fault[answer]}"
    unreasoned = verdict.label is None or verdict.probability is not None
    reason = "" if unreasoned else " ".join(verdict.reason.split())
    return {"text": one_line(verdict.criterion), "answer": answer, "reason": reason}
