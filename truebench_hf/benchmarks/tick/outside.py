"""A score that the model under test cannot see: what its own checklists and ratings are held against (paper 004, section 4).

`drfr`: a judge answers the criteria that the data gives, as InFoBench does. `rating`: a judge rates the response from 1
to 10 with these criteria in its prompt, as WildBench does. `exact`: the final answer is the reference, as in LiveBench
(`metrics.exact_answer` says what counts as the same).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from truebench_hf.data.case import Case
from truebench_hf.errors import UserError, unknown
from truebench_hf.judging.judge import Judge
from truebench_hf.judging.ratings import rate
from truebench_hf.metrics.pass_rate import checklist_share, drfr, mean_share, outcome, pass_rate
from truebench_hf.metrics.texts import exact_answer
from truebench_hf.models.asking import SchemaFallback
from truebench_hf.options import Binds, Options, option, role
from truebench_hf.text import anonymous
from truebench_hf.types import Instance, Label, Score, Verdict

NAMES = {"drfr": "DRFR on the given criteria", "rating": "Rating (1 to 10, times 10)", "exact": "Exact answers"}
_JUDGED = ("drfr", "rating")
SCALE = 10


@dataclass(frozen=True, kw_only=True)
class OutsideOptions(Options):
    """What responses are worth outside the model's own eyes."""

    outside: str | None = option(
        None, binds=Binds(late=True), help="A score that the model cannot see: drfr (the criteria of the data, answered by "
        "--outside-judge), rating (1 to 10 by --outside-judge, these criteria in its prompt, times 10) or exact (the final "
        "answer is the reference of the row, letter case and signs at its ends aside)."
    )  # fmt: skip
    outside_judge: str | None = role(None, help="Judge of the outside score.", binds=Binds(late=True))

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.outside is not None and self.outside not in NAMES:
            raise unknown("outside score", self.outside, NAMES)
        if self.judged_outside and not self.outside_judge:
            raise UserError(
                f"--outside {self.outside} needs an --outside-judge: the model's own eyes are the inside score"
            )
        if self.outside_judge and not self.judged_outside:
            raise UserError("--outside-judge goes with --outside drfr or rating")

    @property
    def judged_outside(self) -> bool:
        """Whether somebody judges, and is shown the criteria of the data."""
        return self.outside in _JUDGED


@dataclass(frozen=True, slots=True)
class Outside:
    """What one response is worth: a share (0 to 1), None where it is undecided and `reason` says why.

    With `drfr` it is the pass rate, of `labels` as they count (yes: as it should be).
    """

    score: float | None
    labels: tuple[Label | None, ...] = ()
    reason: str = ""


class OutsideJudge:
    """Whoever gives the outside scores of a study; nobody where `kind` is None."""

    def __init__(self, kind: str | None, judge: Judge | None) -> None:
        self.kind, self._judge = kind, judge
        self._schemas = SchemaFallback(judge.caller, judge.settings.structured) if judge else None

    async def score(self, case: Case) -> Outside:
        """The score of the response of a case, which holds the criteria and the reference that the data gives."""
        if self.kind == "exact":
            if not case.reference:
                return Outside(None, reason="the row has no reference")
            return Outside(float(exact_answer(case.response, case.reference)))
        assert self._judge is not None
        assert self._schemas is not None
        if self.kind == "rating":
            sampling = self._judge.settings.sampling
            rating = await rate(self._schemas, case, self._judge.prompts, SCALE, sampling=sampling)
            return Outside(rating.value / SCALE if rating.value else None, reason="" if rating.value else rating.reason)
        if not case.criteria:
            return Outside(None, reason="the row has no criteria")
        return of_verdicts(await self._judge.verdicts(case))


def of_verdicts(verdicts: Sequence[Verdict]) -> Outside:
    """The pass rate (section 3.1.2): the share of questions answered YES; None where one is undecided, or there is none."""
    labels = tuple(outcome(verdict.label, verdict.criterion.weight) for verdict in verdicts)
    open_ = next(
        (v.reason or "undecided" for v, label in zip(verdicts, labels, strict=True) if label not in ("yes", "no")), ""
    )
    if open_ or not labels:
        return Outside(None, labels, open_ or "there are no questions")
    return Outside(checklist_share(labels), labels)


def check_rows(kind: str | None, instances: Sequence[Instance], data: str | None) -> None:
    """Raise UserError where no row has what the outside score rests on."""
    needed = {"drfr": "criteria", "exact": "a reference"}.get(kind or "")
    has = {"drfr": lambda turn: turn.criteria, "exact": lambda turn: turn.reference}
    if needed and not any(has[str(kind)](instance.turns[0]) for instance in instances):
        raise UserError(f"--outside {kind}: no row of --data {data} has {needed}; give rows that do, or another score")


def outside_score(kind: str | None, found: Sequence[Outside]) -> Score:
    """The outside score of some responses, one an instruction, with its interval.

    DRFR weighs every question alike; a mean over instructions, or the share of right answers, every instruction.
    """
    if kind == "drfr":
        return drfr([one.labels for one in found])
    return mean_share([one.score for one in found]) if kind != "exact" else pass_rate([_right(one) for one in found])


def outside_lead(options: OutsideOptions) -> str:
    """Which outside score there is, and whose, in the line that a report begins with."""
    by = f" by {options.outside_judge}" if options.outside_judge else ""
    return f"outside score: {NAMES[options.outside] if options.outside else 'none'}{by}"


def outside_facts(options: Any) -> dict[str, str]:
    """What a place on the board says of data and outside score; `options` have both."""
    found = {"Data": anonymous.name(str(options.data or "one instruction"))}
    found["Score"] = NAMES[options.outside] if options.outside else "own score"
    return found | ({"Judge": anonymous.name(options.outside_judge)} if options.outside_judge else {})


def verdict_rows(verdicts: Sequence[Verdict]) -> list[dict[str, Any]]:
    """What a file of versions or answers says of the model's own verdicts."""
    return [{"question": one.criterion.text, "label": one.label, "reason": one.reason} for one in verdicts]


def to_json(found: Outside) -> dict[str, Any]:
    """What a file of versions or answers says of it; what is empty is left out."""
    return {name: value for name, value in asdict(found).items() if value or name == "score"}


def _right(found: Outside) -> bool | None:
    return None if found.score is None else found.score == 1
