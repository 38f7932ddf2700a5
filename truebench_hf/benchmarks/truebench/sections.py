"""What the report of a run shows: the pass rate, the criteria missed most, scores by group, human labels, instances."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from truebench_hf.benchmarks.truebench.data import CATEGORIES, LANGUAGES
from truebench_hf.benchmarks.truebench.labels import PLURAL
from truebench_hf.benchmarks.truebench.models import models_of, scores_of
from truebench_hf.benchmarks.truebench.requirements import missed_most, requirements
from truebench_hf.benchmarks.truebench.scores import REPEATED, as_frames, by_category_and_language, passes
from truebench_hf.data.judged import Judged
from truebench_hf.options import NOBODY
from truebench_hf.report.conversation import conversation
from truebench_hf.report.page import page_bytes
from truebench_hf.report.sections import Conversation, Conversations, Grid, Matrix, Section, percent, repeated
from truebench_hf.report.table import ABOUT, Column, Table, pairs
from truebench_hf.results.estimators import ordered
from truebench_hf.results.report import Report
from truebench_hf.results.verdicts import VerdictFrames
from truebench_hf.text.terminal import how_many
from truebench_hf.types import Score

# By name in scores.json: how a score is called, and what it is.
HEADLINES = {
    "overall": ("Pass rate", "The share of instances whose every criterion of every turn is met."),
    "strict": ("Strict (unscored = fail)", "The same with unscored instances as failed."),
    "official": ("Official rule", "A criterion without a verdict does not count."),
    "single_turn": ("Single-turn", "The pass rate of instances of one turn."),
    "multi_turn": ("Multi-turn", "The pass rate of instances of several turns."),
    "soft_criterion": ("Soft by criterion", "The mean over instances of the share of criteria that are met."),
    "soft_turn": ("Soft by turn", "The mean over instances of the share of turns that pass."),
    "drfr": ("DRFR (criteria)", "The share of all decided criteria that are met."),
    "weighted": ("Weighted share of points", "The mean over instances of the points that are met, of all positive ones."),
    "flip_rate": ("Flip rate (criteria whose votes differ)", "The share of criteria on which votes are not unanimous."),
    "vote_share": ("Vote share (votes that agree with the verdict)", "The mean share of votes cast for the verdict."),
    "conflicting": ("Conflicting (criteria given two labels)", "The share of criteria to which one answer gave two labels."),
}  # fmt: skip
_TURNS = ("single_turn", "multi_turn")
_REASONS = 5
_MOST_GROUPS = 100  # of a kind: nobody reads more, and a page shall stay small
_PAGE = 3_500_000  # bytes of conversations on a page, which stays below 5 MB with all else
_FRAME = 900  # bytes of a conversation beside its texts, and of a verdict a quarter of it
_PARTS: Any = ("value", "interval", "n", "unscored")


def sections(
    report: Report, judged: Sequence[Judged] = (), frames: VerdictFrames | None = None, folder: str = ""
) -> list[Section]:
    """Everything the report of a lone model shows, in order; `frames` are what is judged without its texts.

    Without `judged` what the terminal shows is there all the same. `folder` is where all conversations are.
    """
    groups = {name: group for name, group in report.scores.items() if isinstance(group, Mapping) and group}
    several = groups.pop(REPEATED, None)
    shown: list[Section] = [_headline(report)]
    if judged:
        shown.append(missed_most(judged))
    if several:
        shown.append(repeated(several))
    shown += [_group(name, group) for name, group in groups.items()]
    if cells := by_category_and_language(frames or as_frames(judged), report.provenance):
        shown += _by_category_and_language(cells)
    if report.bias_corrected:
        shown.append(human_labels(report.bias_corrected))
    if report.unscored:
        shown.append(unscored(report, several is not None))
    return [*shown, conversations(report, judged, several is not None, folder)] if judged else shown


def model_sections(report: Report, judged: Sequence[Judged] = (), folder: str = "") -> list[Section]:
    """The same of a report of several models: one table of them, and their groups side by side."""
    models = models_of(report.provenance)
    scores = cast("Mapping[str, Mapping[str, Score]]", report.scores)
    samples = {model: found for model in models if (found := scores_of(scores, model).get(REPEATED))}
    shown: list[Section] = [_models(report, scores)]
    if judged:
        shown.append(requirements(judged))
    shown += [repeated(found, f"Repeated samples: {model}") for model, found in samples.items()]
    shown += [matrix for by in ("category", "language", "task") if (matrix := _side_by_side(by, scores, models)).rows]
    for model, found in report.bias_corrected.items():
        section = human_labels(found)
        shown.append(replace(section, title=f"{section.title}: {model}"))
    if report.unscored:
        shown.append(unscored(report, bool(samples)))
    return [*shown, conversations(report, judged, bool(samples), folder, named=True)] if judged else shown


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


def _headline(report: Report) -> Table:
    """The pass rate, and folded below it every other score."""
    scores = {name: score for name, score in report.scores.items() if isinstance(score, Score)}
    alone = [name for name in _TURNS if name in scores and not scores[name].n + scores[name].unscored]
    left_out = {*(_TURNS if alone else ()), *meaningless(report)}  # data of one sort
    rows = [
        {"score": title, ABOUT: about, "value": scores[name]}
        for name, (title, about) in HEADLINES.items()
        if name in scores and name not in left_out
    ]
    note = (
        "95 % intervals: Wilson for rates over instances; for shares of criteria Wilson with instances as clusters, and "
        f"none from fewer than ten instances. {_open(report)}"
    )
    return Table("scores", _columns("Score"), rows, note=note, headline=True)


def _open(report: Report) -> str:
    if is_official(report):
        return "Undecided instances count by the labels given, as the official rule has it."
    return "Unscored instances are left out of the pass rate and counted beside it."


def meaningless(report: Report) -> set[str]:
    """The figures that say nothing: the official rule leaves out what nobody was asked about, as if it were met."""
    return {"official"} if report.provenance.get("judge") == NOBODY and not is_official(report) else set()


def is_official(report: Report) -> bool:
    """Whether its figures follow the official rule."""
    return report.provenance.get("protocol") == "official"


def _columns(title: str, key: str = "score") -> list[Column]:
    return [Column(key, title), Column("value", "%", "score", parts=_PARTS, drawn=True)]


def _group(name: str, group: Mapping[str, Score]) -> Table:
    title = name.removeprefix("by_")
    rows = [{title: key, "value": score} for key, score in list(group.items())[:_MOST_GROUPS]]
    more = f"And {len(group) - len(rows):,} more, in scores.json." if len(group) > len(rows) else ""
    return Table(name, _columns(title.capitalize(), title), rows, note=more, printed=name != "by_task")


def _by_category_and_language(cells: Mapping[tuple[str, str], Score]) -> list[Matrix]:
    categories, languages = (
        ordered({names[i] for names in cells}, first) for i, first in ((0, CATEGORIES), (1, LANGUAGES))
    )
    if max(len(categories), len(languages)) > _MOST_GROUPS:
        return []
    rows = tuple((name, tuple(cells.get((name, language)) for language in languages)) for name in categories)
    return [Matrix("Category by language", "Pass rate in %", tuple(languages), rows)]


def _models(report: Report, scores: Mapping[str, Mapping[str, Score]]) -> Table:
    """One row a model: the pass rate with its interval, and what stands beside it."""
    there = {name for name in HEADLINES if any(score.n + score.unscored for score in scores.get(name, {}).values())}
    there -= meaningless(report)
    if not there.issuperset(_TURNS):  # data of one sort
        there -= set(_TURNS)
    beside = [name for name in HEADLINES if name in there and name != "overall"]
    (title, about), *_ = HEADLINES.values()
    columns = [
        Column("model", "Model"),
        Column("overall", title, "score", about, parts=_PARTS, drawn=True),
        *(Column(name, HEADLINES[name][0], "score", HEADLINES[name][1], minor=1) for name in beside),
    ]
    rows = [
        {"model": model, **{name: scores[name].get(model) for name in ("overall", *beside)}}
        for model in scores["overall"]
    ]
    return Table("scores", columns, rows, "Models", f"In %; intervals by Wilson. {_open(report)}")


def _side_by_side(by: str, scores: Mapping[str, Mapping[str, Score]], models: Sequence[str]) -> Matrix:
    """The pass rate of every group and model; without rows where the data tells no groups."""
    found = {name.partition(":")[2]: cells for name, cells in scores.items() if name.startswith(f"by_{by}:")}
    rows = tuple((group, tuple(cells.get(model) for model in models)) for group, cells in found.items())
    more = f"And {len(rows) - _MOST_GROUPS:,} more, in scores.json." if len(rows) > _MOST_GROUPS else ""
    return Matrix(by.capitalize(), "Pass rate in %", tuple(models), rows[:_MOST_GROUPS], more)


def unscored(report: Report, several: bool) -> Table:
    """What has no score, of `several` samples each by itself, and the first reasons."""
    count = how_many(len(report.unscored), "sample" if several else "instance")
    title = f"Unscored: {count}, left out of the {'mean of their instance' if several else 'pass rate'}"
    if is_official(report):
        title = f"Undecided: {count}; the official rule counts them by the labels given"
    rows = [(name, reason[:160]) for name, reason in list(report.unscored.items())[:_REASONS]]
    more = len(report.unscored) - len(rows)
    return pairs(title, rows, f"And {more} more, in scores.json." if more else "")


def conversations(
    report: Report, judged: Sequence[Judged], several: bool, folder: str = "", *, named: bool = False
) -> Conversations:
    """The instances, failed ones first, by the run's own rule, as many as a page holds; `named` with whose answer it is."""
    made = report.provenance
    order = sorted(judged, key=lambda item: {False: 0, None: 1, True: 2}[passes(item, made)])
    rows: list[Conversation] = []
    held = 0
    for item in order:
        size = _size(item)
        if size > _PAGE // 4:  # a few giants would leave no room for others
            continue
        if (held := held + size) > _PAGE:
            break
        rows.append(conversation(item, passes(item, made), several, item.response.model if named else ""))
    more = len(judged) - len(rows)
    note = f"And {more:,} more: `truebench space --runs {folder or 'DIR'}` shows all." if more else ""
    return Conversations("Samples" if several else "Instances", tuple(rows), note)


def _size(item: Judged) -> int:
    """About how many bytes of a page a conversation takes."""
    texts = [message.content for message in item.response.messages] + list(item.response.reasoning)
    verdicts = [verdict for turn in item.verdicts for verdict in turn]
    texts += [text for verdict in verdicts for text in (verdict.criterion.text, verdict.reason)]
    return page_bytes(texts) + _FRAME * (1 + len(verdicts) // 3)


_TIES = (
    "they are the difficult ones, so what is left flatters the judge and is no random sample: have an adjudicator settle "
    "them (`truebench label in --decisions`)"
)
_METHODS = {
    "stratified": "stratified by verdict (double sampling)",
    "prediction_powered": "stratified by verdict, with the judge's probabilities or votes (PPI++)",
}
_TITLES = {"instance": "Instances that truly pass", "criterion": "Criteria truly met"}
_VERDICTS = {"pass": "judged to pass", "fail": "judged to fail", "undecided": "undecided"}
_Found = Mapping[str, Any]


def human_labels(found: _Found) -> Grid:
    """What the labels say of the run: a report's `bias_corrected`, estimate or why it is withheld, and its grounds."""
    note = (
        "The interval is for runs like this one, and carries the uncertainty of the run and that of the labels. Labels "
        "alone: the same sample, weighted, without the judge's verdicts on the rest."
    )
    return Grid("What human labels say", (), tuple(_rows(found)), note=note, prose=(1,))


def _rows(found: _Found) -> list[tuple[str, str]]:
    units = PLURAL[found["unit"]]
    title = _TITLES[found["unit"]]
    if "instances" in found:  # which have several samples
        title, units = title.replace("Instances", "Samples"), units.replace("instances", "samples")
    rows = [(title, _estimate(found))]
    if found["method"]:
        rows.append(("Method", _method(found)))
    if found["effective_labels"] is not None:
        worth = (
            f"{found['effective_labels']:.0f} labels on a simple random sample of the run; {found['labels']} were given"
        )
        rows.append(("As good as", worth))
    rows.append(("As judged", _observed(found)))
    if alone := found["labels_alone"]:
        same = found["withheld"] is not None and alone["withheld"] == found["withheld"]
        told = _estimate(alone | {"withheld": "for the same reason"} if same else alone)
        rows.append(("Labels alone", f"{told} ({found['labels']} labels)"))
    if found["strata"]:
        rows.append(("Labelled", "; ".join(map(_stratum, found["strata"]))))
    judge = found["judge"]
    rows += [
        (
            "Youden's J of the judge",
            _j(judge) + ("; over settled ones only" if found["ties"] + found["partly"] else ""),
        ),
        ("Sensitivity, specificity", f"{_percent(judge['sensitivity'])}, {_percent(judge['specificity'])}"),
        ("Labels", f"{_counts(judge)}; of this run's answers"),
    ]
    if criteria := found["criteria"]:
        rows += [(_TITLES["criterion"], _estimate(criteria)), ("Criteria as judged", _observed(criteria))]
    rows += _left_out(found, units)
    return rows


def _estimate(found: _Found) -> str:
    low, high = (100 * end for end in found["bounds"] or found["ci95"] or (0, 1))
    if found["withheld"] is not None:
        bounds = f"; {low:.1f} to {high:.1f} %, whatever the open ones are" if found["bounds"] else ""
        return f"withheld: {found['withheld']}{bounds}"
    open_ = ", whatever the open ones are" if found["bounds"] else ""
    return f"{_percent(found['estimate'])}, 95 % interval {low:.1f} to {high:.1f}{open_}"


def _method(found: _Found) -> str:
    scored = "" if found["lambda"] is None else f", these weighted by lambda {found['lambda']:.2f} (0 = ignored)"
    return _METHODS[found["method"]] + scored + "; chosen before a label was read"


def _observed(found: _Found) -> str:
    rest = f", {found['undecided']} undecided" if found["undecided"] else ""
    of = f", of {found['instances']} instances" if "instances" in found else ""
    return f"{_percent(found['observed'])} (n = {found['n']}{rest}{of})"


def _stratum(stratum: _Found) -> str:
    told = "" if stratum["share"] is None else f" ({100 * stratum['share']:.1f} % of these truly pass)"
    return f"{stratum['labelled']} of {stratum['n']} {_VERDICTS[stratum['name']]}{told}"


def _j(rates: _Found) -> str:
    if rates["youden_j"] is None:
        return "- (no label of one of the two kinds)"
    return f"{rates['youden_j']:.2f}, at least {rates['j_lower']:.2f} (1 = knows all, 0 = guesses)"


def _counts(rates: _Found) -> str:
    parts = [f"{rates['n1']} truly pass", f"{rates['n0']} truly fail"]
    if rates["unusable"]:
        parts.append(f"{rates['unusable']} without label or verdict")
    return ", ".join(parts)


def _left_out(found: _Found, units: str) -> list[tuple[str, str]]:
    parts = []
    if ties := found["ties"]:
        parts.append(f"{ties} on which annotators disagree; {_TIES}")
    if open_ := found["unanswered"]:
        partly = f", {found['partly']} of them in part" if found["partly"] else ""
        parts.append(f"{open_} of {found['drawn']} {units} drawn are not labelled to the end{partly}")
    if missing := found["incomplete"]:
        parts.append(f"{missing} instances to which the model gave no complete answer")
    return [("Left out", "; ".join(parts))] if parts else []


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{percent(share)} %"
