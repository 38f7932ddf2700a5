"""What the report of a run shows, in order: scores, what people say, failures, and every conversation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from truebench_hf.benchmarks.truebench import human_labels
from truebench_hf.benchmarks.truebench.data import CATEGORIES, LANGUAGES
from truebench_hf.benchmarks.truebench.models import models_of
from truebench_hf.benchmarks.truebench.requirements import requirements
from truebench_hf.benchmarks.truebench.scores import REPEATED, as_frames, by_category_and_language, passes
from truebench_hf.data.judged import Judged
from truebench_hf.options import NOBODY
from truebench_hf.report.conversation import conversation
from truebench_hf.report.repeated import repeated
from truebench_hf.report.sections import Conversations, Grid, Matrix, Scores, Section
from truebench_hf.results.estimators import ordered
from truebench_hf.results.verdicts import VerdictFrames
from truebench_hf.text.terminal import how_many
from truebench_hf.types import Report, Score

HEADLINES = {
    "overall": "Pass rate",
    "strict": "Strict (unscored = fail)",
    "official": "Official rule",
    "single_turn": "Single-turn",
    "multi_turn": "Multi-turn",
    "soft_criterion": "Soft by criterion",
    "soft_turn": "Soft by turn",
    "drfr": "DRFR (criteria)",
    "weighted": "Weighted share of points",
    "flip_rate": "Flip rate (criteria whose votes differ)",
    "vote_share": "Vote share (votes that agree with the verdict)",
    "conflicting": "Conflicting (criteria given two labels)",
}
_REASONS = 5


def sections(report: Report, judged: Sequence[Judged] = (), frames: VerdictFrames | None = None) -> list[Section]:
    """Everything a report shows, in order; `frames` are what is judged without its texts, where these are not shown.

    Without `judged` what the terminal shows is there all the same.
    """
    frames = frames or as_frames(judged)
    shown: list[Section] = [_headline(report)]
    groups = {name: group for name, group in report.scores.items() if isinstance(group, Mapping) and group}
    if judged:
        shown.append(requirements(judged))
    if several := groups.pop(REPEATED, None):
        shown.append(repeated(several))
    shown += [
        Scores(name.removeprefix("by_").capitalize(), group, printed=name != "by_task")
        for name, group in groups.items()
    ]
    if cells := by_category_and_language(frames, report.provenance):
        shown.append(_by_category_and_language(cells))
    if report.bias_corrected:
        shown.append(human_labels.section(report.bias_corrected))
    if report.unscored:
        shown.append(unscored(report, REPEATED in report.scores))
    return [*shown, conversations(report, judged, several=REPEATED in report.scores)] if judged else shown


def lead(report: Report) -> str:
    """Who was judged by whom, in a line; "" where nobody knows."""
    made = report.provenance
    by = f" judged by {made['judge']}" if made.get("judge") else ""
    if made.get("judge") == NOBODY:
        by = ", no judge: what can be counted is decided"
    level = f", level {made['judging']['level']}" if made.get("judging", {}).get("level") else ""
    return f"{' · '.join(models_of(made))}{by}{level}" if made else ""


def facts(report: Report) -> dict[str, object]:
    """What was run."""
    made = report.provenance
    judging = made.get("judging", {})
    return {
        "Model": " · ".join(models_of(made)),
        "Judge": made.get("judge"),
        "Judge level": judging.get("level"),
        "Cascade judge": made.get("cascade_judge"),
        "Reasoning": {True: "on", False: "off"}.get(judging.get("reasoning")),
        "Protocol": made.get("protocol"),
    }


def _headline(report: Report) -> Scores:
    alone = [name for name in ("single_turn", "multi_turn") if _none(report.scores.get(name))]  # data of one sort
    left_out = {*(("single_turn", "multi_turn") if alone else ()), *meaningless(report)}
    scores = {name: score for name, score in report.scores.items() if isinstance(score, Score)}
    found = {HEADLINES.get(name, name): score for name, score in scores.items() if name not in left_out}
    open_ = (
        "Undecided instances count by the labels given, as the official rule has it."
        if is_official(report)
        else "Unscored instances are left out of the pass rate and counted beside it."
    )
    note = (
        "95 % intervals: Wilson for rates over instances; for shares of criteria Wilson with instances as clusters, and "
        f"none from fewer than ten instances. {open_}"
    )
    return Scores("", found, headline=True, note=note)


def meaningless(report: Report) -> set[str]:
    """The figures that say nothing: the official rule leaves out what nobody was asked about, as if it were met."""
    return {"official"} if report.provenance.get("judge") == NOBODY and not is_official(report) else set()


def _none(score: object) -> bool:
    return isinstance(score, Score) and score.n + score.unscored == 0


def is_official(report: Report) -> bool:
    """Whether its figures follow the official rule."""
    return report.provenance.get("protocol") == "official"


def _by_category_and_language(cells: Mapping[tuple[str, str], Score]) -> Matrix:
    categories, languages = (
        ordered({names[i] for names in cells}, first) for i, first in ((0, CATEGORIES), (1, LANGUAGES))
    )
    rows = tuple((name, tuple(cells.get((name, language)) for language in languages)) for name in categories)
    return Matrix("Category by language", "Pass rate in %", tuple(languages), rows)


def unscored(report: Report, several: bool) -> Grid:
    """What has no score, of `several` samples each by itself, and the first reasons."""
    count = how_many(len(report.unscored), "sample" if several else "instance")
    title = f"Unscored: {count}, left out of the {'mean of their instance' if several else 'pass rate'}"
    if is_official(report):
        title = f"Undecided: {count}; the official rule counts them by the labels given"
    rows = tuple((name, reason[:160]) for name, reason in list(report.unscored.items())[:_REASONS])
    more = len(report.unscored) - len(rows)
    return Grid(title, (), rows, note=f"And {more} more, in scores.json." if more else "", prose=(1,))


def conversations(report: Report, judged: Sequence[Judged], *, several: bool, named: bool = False) -> Conversations:
    """Every instance, passed or not as the run's own scores count it; `named` with whose answer it is."""
    made = report.provenance
    rows = (conversation(i, passes(i, made), several, i.response.model if named else "") for i in judged)
    return Conversations("Samples" if several else "Instances", tuple(rows))
