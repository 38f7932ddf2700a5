"""What refinement did: transitions, own and outside score per iteration, and what it gained by category (Table 1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from truebench_hf.benchmarks.tick import checklists
from truebench_hf.benchmarks.tick.checklists import Listed
from truebench_hf.benchmarks.tick.scoring import INTERVAL, PAIRED_NOTE, difference_points, paper_rows
from truebench_hf.benchmarks.tick.self_judging import (
    OUTSIDE_NAMES,
    Outside,
    closing_sections,
    of_verdicts,
    outside_facts,
    outside_json,
    outside_lead,
    outside_score,
    verdict_rows,
)
from truebench_hf.metrics.comparison import PairedDifference, paired_difference
from truebench_hf.metrics.pass_rate import drfr, mean_share
from truebench_hf.metrics.votes import Transitions, broken_share, mended_share, transitions
from truebench_hf.report import sections
from truebench_hf.report.conversation import as_counted
from truebench_hf.study.outcome import Board, Column, Row
from truebench_hf.text import anonymous
from truebench_hf.types import Instance, Message, Score, Usage, Verdict

ALL = "All instructions"
STATUS = {
    "first": "the first answer",
    "rewritten": "another text than the version before",
    "unchanged": "rewritten, and the same text as before",
    "unreadable": "no rewritten response could be read; the version before stays",
    "failed": "the request failed; the version before stays, and the same command asks again",
}
REVISED = ("rewritten", "unchanged")


@dataclass(frozen=True, slots=True)
class Version:
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
    outside: Outside | None = None
    spent: Mapping[str, Usage] = field(default_factory=dict)

    @property
    def inside(self) -> Outside:
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
    listed: Listed | None
    versions: tuple[Version, ...]
    problem: str = ""
    unanswered: Outside | None = None  # its outside score, where there is no answer

    def at(self, iteration: int) -> Version:
        """The version after an iteration: whoever has stopped stays where it was."""
        return self.versions[min(iteration, len(self.versions) - 1)]

    def attempt(self, iteration: int) -> Version | None:
        """What was tried in an iteration; None where it had stopped before."""
        return self.versions[iteration] if iteration < len(self.versions) else None

    def kept(self, iteration: int, keep: str) -> Version:
        """The version to hand out after an iteration: the `last` one, or the `best` one by its own score.

        Of several best ones the first: a rewritten text has to show that it is better. Undecided scores are never best.
        """
        if keep == "last":
            return self.at(iteration)
        scores = [-1.0 if (s := version.inside.score) is None else s for version in self.versions[: iteration + 1]]
        return self.versions[scores.index(max(scores))]

    def turned(self, iteration: int) -> Transitions | None:
        """What a rewritten text did to the answers of the checklist; None where nothing was rewritten."""
        now = self.attempt(iteration) if iteration else None
        if now is None or now.status not in REVISED or not now.verdicts:
            return None
        return transitions(self.versions[iteration - 1].inside.labels, now.inside.labels)

    def rows(self) -> list[dict[str, Any]]:
        """The lines of `versions.jsonl`; what is empty is left out."""
        if not self.versions:
            return [{"id": self.instance.id, "iteration": 0, "status": "failed", "detail": self.problem}]
        return [{"id": self.instance.id} | _row(version) for version in self.versions]


def _row(version: Version) -> dict[str, Any]:
    row: dict[str, Any] = {"iteration": version.iteration, "status": version.status, "text": version.text}
    more = {name: getattr(version, name) for name in ("detail", "plan", "critique", "truncated")}
    row |= {name: value for name, value in more.items() if value}
    if version.verdicts:
        row["verdicts"] = verdict_rows(version.verdicts)
        row["own_score"] = version.inside.score
    if version.outside is not None:
        row["outside"] = outside_json(version.outside)
    return row | {"usage": {role: asdict(usage) for role, usage in version.spent.items()}}


@dataclass(frozen=True)
class Step:
    """An iteration over all instructions (0: the first answers). `own` and `outside` are of the versions kept after it.

    `status` counts what was tried; of `passing` instructions all questions are YES, so that nothing more is.
    """

    iteration: int
    status: Mapping[str, int]
    passing: int
    turned: Transitions
    mended: Score
    broken: Score
    own: Score | None
    outside: Score | None
    usage: Mapping[str, Usage]


@dataclass(frozen=True)
class Gain:
    """Mean score (0..1) of the first answers and of the kept ones over the instructions that have both.

    `versus` is the difference of the kept ones from the first (0..1), with its `n`, interval and what was left out.
    """

    category: str
    first: float | None
    refined: float | None
    versus: PairedDifference


def steps(done: Sequence[Refined], options: Any) -> list[Step]:
    """One per iteration, with the first answers as number 0."""
    return [_step(done, number, options.keep, options.outside) for number in range(options.iterations + 1)]


def _step(done: Sequence[Refined], number: int, keep: str, outside: str | None) -> Step:
    tried = [version for refined in done if (version := refined.attempt(number)) is not None]
    turned = [change for refined in done if (change := refined.turned(number)) is not None]
    kept = [refined.kept(number, keep) for refined in done if refined.versions]
    by_role: dict[str, Usage] = {}
    for version in tried:
        for role, spent in version.spent.items():
            by_role[role] = by_role.get(role, Usage()) + spent
    counts = Counter(version.status for version in tried)
    if not number:
        counts["failed"] = sum(not refined.versions for refined in done)
    status = {name: counts[name] for name in STATUS if counts[name]}
    passing = sum(refined.at(number).passes for refined in done if refined.versions)
    listed = any(version.verdicts for version in kept)
    return Step(
        number, status, passing, sum(turned, Transitions()), mended_share(turned), broken_share(turned),
        drfr([version.inside.labels for version in kept]) if listed else None,
        outside_score(outside, _outside_scores(done, number, keep)) if outside else None, by_role,
    )  # fmt: skip


def _outside_scores(done: Sequence[Refined], number: int, keep: str) -> list[Outside]:
    """The outside scores of the versions kept after an iteration, those of instructions without an answer among them."""
    scores = [refined.kept(number, keep).outside if refined.versions else refined.unanswered for refined in done]
    return [score for score in scores if score is not None]


def gains(done: Sequence[Refined], options: Any) -> list[Gain]:
    """What the kept versions are better by, over all instructions and by category; by the own score without another."""
    categories = sorted({refined.instance.category for refined in done if refined.instance.category})
    groups = {ALL: list(done)} | {name: [o for o in done if o.instance.category == name] for name in categories}
    return [_gain_in(name, some, options) for name, some in groups.items()]


def _gain_in(name: str, done: Sequence[Refined], options: Any) -> Gain:
    def share(version: Version) -> float | None:
        score = version.outside if options.outside else version.inside
        return score.score if score else None

    first = [share(refined.versions[0]) if refined.versions else None for refined in done]
    last = [share(refined.kept(options.iterations, options.keep)) if refined.versions else None for refined in done]
    both = [(was, now) for was, now in zip(first, last, strict=True) if was is not None and now is not None]
    before, after = (mean_share([pair[place] for pair in both]).value for place in (0, 1))
    return Gain(name, before, after, paired_difference(last, first))


def undecided(refined: Refined, options: Any) -> str:
    """Why there is no score of the version kept in the end; "" where there is one."""
    if not refined.versions:
        return refined.problem
    kept = refined.kept(options.iterations, options.keep)
    score = kept.outside if options.outside else kept.inside if refined.listed else None
    failed = [version.detail for version in refined.versions if version.status == "failed"]
    unscored = score.reason if score and score.score is None else ""
    return refined.problem or unscored or "; ".join(dict.fromkeys(failed))


def refine_summary(done: Sequence[Refined], options: Any) -> dict[str, Any]:
    """The content of `scores.json`."""
    open_ = {refined.instance.id: why for refined in done if (why := undecided(refined, options))}
    return {
        "instructions": len(done),
        "checklists": checklists.summary([refined.listed for refined in done if refined.listed]),
        "iterations": [asdict(step) for step in steps(done, options)],
        "gains": [asdict(gain) for gain in gains(done, options)],
        "all_yes": sum(bool(refined.versions) and refined.versions[-1].passes for refined in done),
        "undecided": open_,
        "incomplete": len(open_),
    }


_PAPER_COLUMNS = {"checklist": "STICK", "free": "Self-Refine"}
_OWN = "own score (DRFR)"
_TURNED = ("NO to YES", "%", "YES to NO", "%", "open", _OWN)
_SURE = (INTERVAL, "n", "undecided")


def refine_sections(done: Sequence[Refined], options: Any, result: Mapping[str, Any]) -> list[sections.Section]:
    """The report, in order; `result` is their summary."""
    all_steps = steps(done, options)
    scored_sections = [_iterations(all_steps, options), _gains(done, options)] if scored(options) else []
    page_sections: list[sections.Section] = [_tried(all_steps), *scored_sections, _tokens(all_steps)]
    if plot := _curve(all_steps, options):
        page_sections.append(plot)
    page_sections += closing_sections("Not refined, or without a score", "why", result)
    note = "Each version with the model's own verdicts; the last one shown is the last that was made."
    return [
        *page_sections,
        sections.Conversations("Versions", tuple(_conversation(refined, options) for refined in done), note),
    ]


def scored(options: Any) -> bool:
    """Whether there is a score of any kind: a critique in prose gives none."""
    return options.critique == "checklist" or options.outside is not None


def refine_lead(options: Any) -> str:
    """Who refined by what, in a line."""
    judge = f"by answers of {options.judge}" if options.judge else "by its own answers"
    how = f"{judge} to a checklist" if options.critique == "checklist" else "by critiques in prose"
    return f"{options.model} refined {how}, {options.keep} version kept; {outside_lead(options)}"


def _tried(all_steps: Sequence[Step]) -> sections.Grid:
    names = [name for name in STATUS if name != "first"]
    rows = tuple(
        (str(step.iteration), *(str(step.status.get(name, 0)) for name in names), str(step.passing))
        for step in all_steps
    )
    note = "; ".join(f"{name}: {STATUS[name]}" for name in names)
    return sections.Grid("What was tried", ("iteration", *names, "all YES"), rows, note=f"{note}.")


def _iterations(all_steps: Sequence[Step], options: Any) -> sections.Grid:
    by_list, outside = options.critique == "checklist", options.outside
    header = ("iteration", *(_TURNED if by_list else ()), *((OUTSIDE_NAMES[outside], *_SURE) if outside else ()))
    rows = []
    for step in all_steps:
        score = step.outside
        worth = (sections.value(score), sections.interval(score), score.n, score.unscored or "") if score else ()
        rows.append((str(step.iteration), *(_turned(step) if by_list else ()), *worth))
    by = "Transitions are of rewritten responses; a question open on one side is counted apart. " if by_list else ""
    paper = "In figure 3 of the paper (Command-R+) STICK gains up to 6.5 DRFR points on InFoBench, 7.1 on WildBench."
    note = f"{by}{paper}" if by_list else "The paper's figure 3 shows such critiques without their figures."
    return sections.Grid(f"Iterations, the {options.keep} version kept", header, tuple(rows), note=note)


def _turned(step: Step) -> tuple[str | int, ...]:
    own = sections.value(step.own) if step.own else "-"
    if not step.iteration:
        return "", "", "", "", "", own
    mended, broken = f"{step.turned.mended} of {step.mended.n}", f"{step.turned.broken} of {step.broken.n}"
    return mended, sections.value(step.mended), broken, sections.value(step.broken), step.turned.undecided, own


def _gains(done: Sequence[Refined], options: Any) -> sections.Grid:
    measures = OUTSIDE_NAMES | {"drfr": "mean pass rate on the given criteria"}
    measure = measures.get(options.outside, "own pass rate")
    note = (
        f"Score: {measure}, in percent, every instruction alike. {PAIRED_NOTE} The paper's rows are LiveBench scores after one step "
        "(Table 1)."
    )
    header = ("Category", "n", "first answer", "refined", "points", INTERVAL, "left out")
    rows = []
    for gain in gains(done, options):
        shares, versus = (sections.percent(gain.first), sections.percent(gain.refined)), gain.versus
        rows.append((gain.category, versus.n, *shares, *difference_points(versus), versus.left_out or ""))
    return sections.Grid("What refinement gained", header, tuple(rows), paper=_printed(options.critique), note=note)


def _printed(critique: str) -> tuple[tuple[str | int, ...], ...]:
    """Table 1 for this kind of critique; the paper prints no n and no intervals."""
    method = _PAPER_COLUMNS[critique]
    return tuple(
        (
            f"{row['Task']} ({model}, {method})", "", sections.fixed(row[f"{model}/Base"], 1), sections.fixed(row[f"{model}/{method}"], 1),
            f"{row[f'{model}/{method}/delta']:+.1f}", "", "",
        )
        for model in ("Command-R+", "GPT-4o")
        for row in paper_rows("1")
    )  # fmt: skip


def _tokens(all_steps: Sequence[Step]) -> sections.Grid:
    """What each iteration cost, by role: tokens in and out, and calls."""
    roles = list(dict.fromkeys(role for step in all_steps for role in step.usage))
    rows = []
    for step in all_steps:
        parts = [step.usage.get(role) for role in roles]
        cells = ["{1} + {2} ({0})".format(*cost.shown) if cost else "" for cost in parts]
        rows.append((str(step.iteration), *cells))
    note = "Tokens read + written (calls). What an earlier run of this folder had paid for is counted too."
    return sections.Grid("Tokens by iteration", ("iteration", *roles), tuple(rows), note=note)


def _curve(all_steps: Sequence[Step], options: Any) -> sections.Plot | None:
    """Scores over the iterations, as in figure 3."""
    named = {_OWN: [step.own for step in all_steps]}
    if options.outside:
        named[OUTSIDE_NAMES[options.outside]] = [step.outside for step in all_steps]
    series = tuple(sections.Series(name, _points(scores), joined=True) for name, scores in named.items() if any(scores))
    axes = sections.Axis("iteration", 0, options.iterations), sections.Axis("%", 0, 100)
    return sections.Plot("Scores by iteration", series, *axes) if series else None


def _points(scores: Sequence[Score | None]) -> tuple[tuple[float, float, float, str], ...]:
    return tuple(
        (number, 100 * score.value, 1.0, f"iteration {number}: {100 * score.value:.1f} %")
        for number, score in enumerate(scores)
        if score is not None and score.value is not None
    )


def _conversation(refined: Refined, options: Any) -> sections.Conversation:
    """The instruction, and behind it every version with the verdicts on it."""
    turn = refined.instance.turns[0]
    prompt_messages = (Message("user", turn.prompt),)
    exchanges = []
    for version in refined.versions:
        before = prompt_messages if version.iteration == 0 else ()
        thought = "\n\n".join(filter(None, (version.critique, version.plan, version.detail)))
        verdicts = tuple(map(as_counted, version.verdicts))
        exchanges.append(sections.Exchange((*before, Message("assistant", version.text)), verdicts, thought))
    if not exchanges:
        exchanges.append(sections.Exchange(prompt_messages, refined.listed.criteria if refined.listed else ()))
    outcome: sections.Outcome = ""
    if refined.versions and refined.listed:
        outcome = (
            "yes" if refined.versions[-1].passes else "no" if "no" in refined.versions[-1].inside.labels else "open"
        )
    return sections.Conversation(
        refined.instance.id, tuple(exchanges), outcome, refined.problem, language=refined.instance.language
    )


def refine_board(done: Sequence[Refined], options: Any, setting: str) -> Board | None:
    """A row per refinement: the score before and after; ranked together over the same data and outside judge.

    None without a score of any kind.
    """
    if not scored(options):
        return None
    all_steps = steps(done, options)
    columns = [Column("refined", "Refined"), Column("first", "First answer")]
    chosen = [step.outside if options.outside else step.own for step in all_steps]
    scores = {"refined": chosen[-1] or Score(None, 0), "first": chosen[0] or Score(None, 0)}
    for step, score in zip(all_steps, chosen, strict=True):
        if score is not None:
            columns.append(Column(f"iteration:{step.iteration}", f"Iteration {step.iteration}", "By iteration"))
            scores[f"iteration:{step.iteration}"] = score
    facts = outside_facts(options)
    facts |= {"Critique": options.critique, "Kept": options.keep, "Iterations": str(options.iterations)}
    row = Row(anonymous.name(options.model), setting, scores, facts)
    return Board("refined", tuple(columns), (row,), title="STICK: self-refinement", unit="Score after refinement, in %")
