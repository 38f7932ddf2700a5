"""What the report of a run shows: the pass rate, the criteria missed most, scores by group, human labels, instances."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from truebench_hf.report.sections import Conversation, Conversations, Matrix, Section, repeated
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


def run_tables(report: Report, judged: Sequence[Judged] = ()) -> list[Table]:
    """Return the tables of a report, in order; those that need the answers only where some are `judged`."""
    models = models_of(report.provenance) if report.provenance else []
    groups = {name: group for name, group in report.scores.items() if isinstance(group, Mapping) and group}
    repeated_samples = any(name.partition(":")[0] == REPEATED for name in groups)
    if len(models) > 1:
        tables = [
            _models(report),
            *(human_labels(corrected, model) for model, corrected in report.bias_corrected.items()),
        ]
    else:
        tables = [_headline(report), *([missed_most(judged)] if judged else [])]
        tables += [_group(name, group) for name, group in groups.items() if name != REPEATED]
        tables += [human_labels(report.bias_corrected)] if report.bias_corrected else []
    return [*tables, *([unscored(report, repeated_samples)] if report.unscored else [])]


def run_charts(report: Report, judged: Sequence[Judged] = (), frames: VerdictFrames | None = None) -> list[Section]:
    """Return what is drawn beside them; `frames` are what is judged without its texts."""
    models = models_of(report.provenance) if report.provenance else []
    if len(models) > 1:
        scores = cast("Mapping[str, Mapping[str, Score]]", report.scores)
        samples = {model: group for model in models if (group := scores_of(scores, model).get(REPEATED))}
        charts: list[Section] = [requirements(judged)] if judged else []
        charts += [repeated(group, f"Repeated samples: {model}") for model, group in samples.items()]
        return charts + [m for by in ("category", "language", "task") if (m := _side_by_side(by, scores, models)).rows]
    samples_of_one = cast("Mapping[str, Score]", report.scores.get(REPEATED, {}))
    charts = [repeated(samples_of_one)] if samples_of_one else []
    cells = by_category_and_language(frames or as_frames(judged), report.provenance)
    return charts + (_by_category_and_language(cells) if cells else [])


def lead(report: Report) -> str:
    """Who was judged by whom, in a line; "" where nobody knows."""
    provenance = report.provenance
    by = f" judged by {provenance['judge']}" if provenance.get("judge") else ""
    if provenance.get("judge") == NOBODY:
        by = ", no judge: what can be counted is decided"
    level = f", level {provenance['judging']['level']}" if provenance.get("judging", {}).get("level") else ""
    return f"{' · '.join(models_of(provenance))}{by}{level}" if provenance else ""


def facts(report: Report) -> dict[str, object]:
    """What was run."""
    provenance = report.provenance
    judging = provenance.get("judging", {})
    return {
        "Model": " · ".join(models_of(provenance)),
        "Judge": provenance.get("judge"),
        "Judge level": judging.get("level"),
        "Cascade judge": provenance.get("cascade_judge"),
        "Reasoning": {True: "on", False: "off"}.get(judging.get("reasoning")),
        "Protocol": provenance.get("protocol"),
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
    return Table("", _columns("Score"), rows, note=note, headline=True)


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
    return Table("", _columns(title.capitalize(), title), rows, note=more, printed=name != "by_task")


def _by_category_and_language(cells: Mapping[tuple[str, str], Score]) -> list[Matrix]:
    categories, languages = (
        ordered({names[i] for names in cells}, first) for i, first in ((0, CATEGORIES), (1, LANGUAGES))
    )
    if max(len(categories), len(languages)) > _MOST_GROUPS:
        return []
    rows = tuple((name, tuple(cells.get((name, language)) for language in languages)) for name in categories)
    return [Matrix("Category by language", "Pass rate in %", tuple(languages), rows)]


def _models(report: Report) -> Table:
    """One row a model: the pass rate with its interval, and what stands beside it."""
    scores = cast("Mapping[str, Mapping[str, Score]]", report.scores)
    known = {name for name in HEADLINES if any(score.n + score.unscored for score in scores.get(name, {}).values())}
    known -= meaningless(report)
    if not known.issuperset(_TURNS):  # data of one sort
        known -= set(_TURNS)
    beside = [name for name in HEADLINES if name in known and name != "overall"]
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
    return Table("", columns, rows, "Models", f"In %; intervals by Wilson. {_open(report)}")


def _side_by_side(by: str, scores: Mapping[str, Mapping[str, Score]], models: Sequence[str]) -> Matrix:
    """The pass rate of every group and model; without rows where the data tells no groups."""
    groups = {name.partition(":")[2]: cells for name, cells in scores.items() if name.startswith(f"by_{by}:")}
    rows = tuple((group, tuple(cells.get(model) for model in models)) for group, cells in groups.items())
    more = f"And {len(rows) - _MOST_GROUPS:,} more, in scores.json." if len(rows) > _MOST_GROUPS else ""
    return Matrix(by.capitalize(), "Pass rate in %", tuple(models), rows[:_MOST_GROUPS], more)


def unscored(report: Report, samples: bool) -> Table:
    """What has no score, of several `samples` each by itself, and the first reasons."""
    count = how_many(len(report.unscored), "sample" if samples else "instance")
    title = f"Unscored: {count}, left out of the {'mean of their instance' if samples else 'pass rate'}"
    if is_official(report):
        title = f"Undecided: {count}; the official rule counts them by the labels given"
    rows = [(name, reason[:160]) for name, reason in list(report.unscored.items())[:_REASONS]]
    more = len(report.unscored) - len(rows)
    return pairs(title, rows, f"And {more} more, in scores.json." if more else "")


def conversations(report: Report, judged: Sequence[Judged], folder: str = "") -> Conversations:
    """The instances, failed ones first, by the run's own rule, as many as a page holds.

    `folder` is where all of them are. Those of several models are named with whose answer it is.
    """
    provenance = report.provenance
    named = len(models_of(provenance)) > 1 if provenance else False
    samples = any(item.response.sample > 1 for item in judged)
    order = sorted(judged, key=lambda item: {False: 0, None: 1, True: 2}[passes(item, provenance)])
    rows: list[Conversation] = []
    held = 0
    for item in order:
        size = _size(item)
        if size > _PAGE // 4:  # a few giants would leave no room for others
            continue
        if (held := held + size) > _PAGE:
            break
        rows.append(conversation(item, passes(item, provenance), samples, item.response.model if named else ""))
    more = len(judged) - len(rows)
    note = f"And {more:,} more: `truebench space --runs {folder or 'DIR'}` shows all." if more else ""
    return Conversations("Samples" if samples else "Instances", tuple(rows), note)


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
_HUMAN = (
    Column("what", ""), Column("share", "%", "score", parts=("value", "interval", "n"), drawn=True), Column("how", "", "prose"),
)  # fmt: skip


def human_labels(correction: Mapping[str, Any], model: str = "") -> Table:
    """What the labels say of a run: a report's `bias_corrected`, estimate or why it is withheld, and its grounds."""
    samples = "instances" in correction  # which have several samples
    units, title = PLURAL[correction["unit"]], _TITLES[correction["unit"]]
    if samples:
        title, units = title.replace("Instances", "Samples"), units.replace("instances", "samples")
    judge, alone = correction["judge"], correction["labels_alone"]
    rows = [_estimate(title, correction, correction["labels"], _method(correction))]
    if alone:
        same = correction["withheld"] is not None and alone["withheld"] == correction["withheld"]
        alone = alone | ({"withheld": "for the same reason"} if same else {})
        rows.append(_estimate("Labels alone", alone, correction["labels"], "weighted, without verdicts on the rest"))
    rows.append(_observed("As judged", correction))
    if criteria := correction["criteria"]:
        rows.append(_estimate(_TITLES["criterion"], criteria, criteria["labels"]))
        rows.append(_observed("Criteria as judged", criteria))
    rows += [
        {"what": f"Truly pass, {_VERDICTS[stratum['name']]}", "share": Score(stratum["share"], stratum["labelled"]),
         "how": f"{stratum['labelled']} of {stratum['n']} labelled"}
        for stratum in correction["strata"]
    ]  # fmt: skip
    rows += [
        {"what": "Sensitivity of the judge", "share": Score(judge["sensitivity"], judge["n1"]), "how": "of those that truly pass"},
        {"what": "Specificity of the judge", "share": Score(judge["specificity"], judge["n0"]), "how": "of those that truly fail"},
        {"what": "Youden's J of the judge", "how": _youden(correction)},
    ]  # fmt: skip
    rows += _left_out(correction, units)
    note = "The interval is for runs like this one, and carries the uncertainty of the run and that of the labels."
    return Table("", _HUMAN, rows, f"What human labels say{model and f': {model}'}", note)


def _estimate(title: str, estimate: Mapping[str, Any], labels: int, how: str = "") -> dict[str, Any]:
    bounds = estimate["bounds"] or estimate["ci95"]
    share = Score(None if estimate["withheld"] else estimate["estimate"], labels, 0, bounds and (bounds[0], bounds[1]))
    why = [f"withheld: {estimate['withheld']}"] if estimate["withheld"] is not None else [how] * bool(how)
    why += ["the interval holds whatever the open ones are"] if estimate["bounds"] else []
    return {"what": title, "share": share, "how": "; ".join(why)}


def _method(correction: Mapping[str, Any]) -> str:
    if not correction["method"]:
        return ""
    weight = correction["lambda"]
    scored = "" if weight is None else f", these weighted by lambda {weight:.2f} (0 = ignored)"
    worth = correction["effective_labels"]
    as_good = "" if worth is None else f"; as good as {worth:.0f} labels on a simple random sample of the run"
    return f"{_METHODS[correction['method']]}{scored}; chosen before a label was read{as_good}"


def _observed(title: str, correction: Mapping[str, Any]) -> dict[str, Any]:
    share = Score(correction["observed"], correction["n"], correction["undecided"])
    return {
        "what": title,
        "share": share,
        "how": f"of {correction['instances']} instances" if "instances" in correction else "",
    }


def _youden(correction: Mapping[str, Any]) -> str:
    judge = correction["judge"]
    without = f"; {judge['unusable']} without label or verdict" if judge["unusable"] else ""
    settled = "; over settled ones only" if correction["ties"] + correction["partly"] else ""
    if judge["youden_j"] is None:
        return f"none: no label of one of the two kinds{without}{settled}"
    return f"{judge['youden_j']:.2f}, at least {judge['j_lower']:.2f} (1 = knows all, 0 = guesses){without}{settled}"


def _left_out(correction: Mapping[str, Any], units: str) -> list[dict[str, Any]]:
    parts = []
    if ties := correction["ties"]:
        parts.append(f"{ties} on which annotators disagree; {_TIES}")
    if unanswered := correction["unanswered"]:
        partly = f", {correction['partly']} of them in part" if correction["partly"] else ""
        parts.append(f"{unanswered} of {correction['drawn']} {units} drawn are not labelled to the end{partly}")
    if missing := correction["incomplete"]:
        parts.append(f"{missing} instances to which the model gave no complete answer")
    return [{"what": "Left out", "how": "; ".join(parts)}] if parts else []
