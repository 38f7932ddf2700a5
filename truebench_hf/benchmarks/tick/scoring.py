"""From judged checklists to scores, tables and a place on the board (paper 004, section 3): for all who judge responses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations, product
from typing import TYPE_CHECKING, Any

from truebench_hf.benchmarks.tick import checklists
from truebench_hf.benchmarks.tick.checklists import ListedChecklist, checklist_tables, reasons, unanswered
from truebench_hf.data.judged import Judged, cases, judgment, sample_name
from truebench_hf.data.records import RESPONSES, judgment_lines, response_lines
from truebench_hf.hashing import canonical, digest
from truebench_hf.judging.judge import CriteriaJudge
from truebench_hf.judging.rules.deciding import JUDGE
from truebench_hf.metrics.agreement import by_group
from truebench_hf.metrics.comparison import paired_difference
from truebench_hf.metrics.pass_rate import checklist_share, instance_passes, mean_share, pass_rate, pooled
from truebench_hf.metrics.preference import preference_from_scores
from truebench_hf.metrics.votes import summary
from truebench_hf.models.caller import metered
from truebench_hf.models.spec import family
from truebench_hf.report import table as reports
from truebench_hf.report.sections import Conversation, Conversations, conversation, exchanges
from truebench_hf.report.table import PUBLISHED, Column, Part, Table
from truebench_hf.results.report import Report
from truebench_hf.results.verdicts import unit_means
from truebench_hf.study.notes import cut_off, decided_by_rules, rules_fact, weak_judges
from truebench_hf.study.outcome import Outcome
from truebench_hf.study.ranking import Ranking
from truebench_hf.study.study import Study
from truebench_hf.types import Instance, Response, Score

if TYPE_CHECKING:
    from pandas import DataFrame

BENCHMARK = "tick"  # what judge prompts know the conventions of its questions by
VERDICTS = "verdicts.jsonl"  # not judgments.jsonl, by which the Space knows the conversations of a single model
FILES = (checklists.FILE, RESPONSES, VERDICTS)
REPEATED = "repeated_samples"
ALL: tuple[Part, ...] = ("value", "interval", "n", "unscored")
MODEL = Column("model", "Model")
MEASURES = (
    Column("pass_rate", "Pass rate", "score", "The mean over instructions of the share of questions answered YES; a response "
           "with an open question has none.", parts=ALL, drawn=True),
    Column("drfr", "DRFR", "score", "The share of all answered questions that are answered YES.", parts=("value", "interval"), minor=1),
    Column("all_met", "All met", "score", "The share of responses with every question answered YES.", minor=1),
)  # fmt: skip
_SIDES = ("win", "tie", "loss")
_JUDGING = ("judge_models", "judge_level", "threshold", "votes", "judge_temperature", "structured", "rules")
PAIRED_NOTE = (
    "Intervals of differences are paired; with fewer than ten instructions McNemar's p, where scores are 0 or 1."
)


def paper_rows(table: str, **columns: str) -> list[dict[str, Any]]:
    """The rows of one of the paper's tables (1, 2, 3a, 3b, 4 to 8), keyed by column, or by ours for those of its
    `columns` that are named. Raises KeyError for others."""
    rows = reports.paper_rows("tick", f"tick_table{table}")
    return [{ours: row[theirs] for ours, theirs in columns.items()} for row in rows] if columns else rows


def beside_paper(table: Table, rows: Iterable[Mapping[str, Any]]) -> Table:
    """The table with rows of the paper below its own, marked as such; it prints scores without n and intervals."""
    scores = {column.name for column in table.columns if column.kind == "score"}
    printed = (
        {name: Score(value, 0) if name in scores and value is not None else value for name, value in row.items()} for row in rows
    )  # fmt: skip
    return replace(table, rows=[*table.rows, *({**row, PUBLISHED: True} for row in printed)])


def grouped_table(
    name: str, frame: DataFrame, by: Sequence[str], estimate: Callable[[DataFrame], Mapping[str, Any]],
    columns: Sequence[Column], *, published: Iterable[Mapping[str, Any]] = (), **more: Any,
) -> Table:  # fmt: skip
    """Return a table of what `estimate` makes of each group of rows, the groups as its keys; rows of the paper below."""
    return beside_paper(Table.of_frame(name, by_group(frame, by, estimate), columns, keys=len(by), **more), published)


def difference_columns(title: str, about: str = "") -> tuple[Column, Column]:
    """The columns of a paired difference, in points: the difference with its interval, and McNemar's p."""
    test = Column("p_value", "p (McNemar)", "p_value", "Of the exact test, where every score is 0 or 1.", minor=2)
    return Column("difference", title, "score", about, "points", parts=("value", "interval"), drawn=True), test


def difference_cells(first: Sequence[float | None], second: Sequence[float | None]) -> dict[str, Any]:
    """The cells of these columns, of first less second: `unscored` are rows that only one of the two has a score on."""
    paired = paired_difference(first, second)
    return {"difference": paired, "p_value": paired.p_value}


def frame_of(
    columns: Sequence[str], rows: Iterable[Sequence[Any]], order: Mapping[str, Iterable[str] | None] | None = None
) -> DataFrame:
    """Return rows as a frame of objects: None stays None, and a count stays whole.

    Columns in `order` are categoricals, in the order named there, or where None is named in that of appearance.
    """
    import pandas as pd

    frame = pd.DataFrame(list(rows), columns=list(columns), dtype=object)
    for name, names in (order or {}).items():
        texts = list(map(str, frame[name]))  # a model in memory is one by its name
        known = dict.fromkeys(texts if names is None else map(str, names))
        frame[name] = pd.Categorical(texts, categories=list(known))
    return frame


@dataclass(frozen=True, slots=True)
class GradedResponse:
    """An instruction, its checklist, and what was judged of each model's responses; nothing without a checklist."""

    listed: ListedChecklist
    judged: Mapping[str, Sequence[Judged]]


async def judged(judge: CriteriaJudge, instance: Instance, response: Response) -> Judged:
    """The response to an instruction, with an answer to every question; without a response none, with the reason."""
    spent = metered()
    verdicts = [await judge.verdicts(case) for case in cases(instance, response, BENCHMARK)]
    return judgment(instance, response, verdicts, spent | {"model": response.usage})


def response_frame(graded: Sequence[GradedResponse], models: Sequence[str]) -> DataFrame:
    """A row per response, and one without anything for each instruction that has no checklist or no response of a model.

    Columns: model (categorical, in order), id, category (of the instruction), pass_rate (the share of questions answered
    YES; NaN while one is open), met (1 where all are, else 0; NaN: open), yes, decided and open (questions), reason (why
    there is no pass rate, else ""), named (the response, with its number where there are more).
    """
    rows: list[tuple[Any, ...]] = []
    for entry, model in product(graded, models):
        instance, samples = entry.listed.instance, entry.judged.get(model, ())
        about = model, instance.id, instance.category
        beside = any(sample.response.sample > 1 for sample in samples)
        if not (entry.listed.criteria and samples):
            reason = "no response" if entry.listed.criteria else f"no checklist: {entry.listed.problem}"
            rows.append((*about, None, None, 0, 0, 0, reason, instance.id))
            continue
        for sample in samples:
            labels = [label for turn in sample.outcomes for label in turn]
            share, decided = checklist_share(labels), sum(label in ("yes", "no") for label in labels)
            counts = labels.count("yes"), decided, len(labels) - decided
            reason, name = "" if share is not None else sample.undecided, sample_name(*sample.key, beside=beside)
            rows.append((*about, share, instance_passes([labels]), *counts, reason, name))
    columns = ("model", "id", "category", "pass_rate", "met", "yes", "decided", "open", "reason", "named")
    frame = frame_of(columns, rows, {"model": models})
    return frame.astype({"pass_rate": float, "met": float, "yes": int, "decided": int, "open": int})


def measures(rows: DataFrame) -> dict[str, Score]:
    """Return the three scores of some rows of a `response_frame`; of several samples of an instruction the mean counts."""
    answered = rows[["id", "yes", "decided"]].groupby("id", sort=False).sum()
    answered = answered[answered["decided"] > 0]
    return {
        "pass_rate": mean_share(unit_means(rows["pass_rate"].to_numpy(), rows["id"].to_numpy())),
        "drfr": pooled(answered["yes"].to_numpy(), answered["decided"].to_numpy(), int(rows["open"].sum())),
        "all_met": pass_rate(unit_means(rows["met"].to_numpy(), rows["id"].to_numpy())),
    }


def pair_table(frame: DataFrame) -> Table:
    """Return how every two models do on the same instructions: whose pass rate is higher there, and by how much."""
    import numpy as np

    shares = {
        model: [None if np.isnan(share) else share for share in unit_means(part["pass_rate"].to_numpy(), part["id"])]
        for model, part in frame.groupby("model", observed=False, sort=True)
    }
    rows = []
    for first, second in combinations(shares, 2):
        labels = [preference_from_scores(a, b) for a, b in zip(shares[first], shares[second], strict=True)]
        sides = {name: [None if label is None else label == name for label in labels] for name in _SIDES}
        rates = {name: pass_rate(side) for name, side in sides.items()}
        rows.append({"first": first, "second": second, **rates, **difference_cells(shares[first], shares[second])})
    columns = [
        Column("first", "First"), Column("second", "Second"),
        *(Column(name, f"{name} %", "score", parts=("value", "interval"), minor=int(name != "win")) for name in _SIDES),
    ]  # fmt: skip
    about = "The pass rate of the first less that of the second, on the instructions on which both have one."
    note = (
        f"On each instruction the response with the higher pass rate wins; shares have Wilson intervals. {PAIRED_NOTE}"
    )
    columns += difference_columns("points", about)
    return Table("pairs", columns, rows, "Models against each other", note, keys=2)


def score_tables(frame: DataFrame) -> list[Table]:
    """Return the scores of the models, those by category where the data has any, and what repeated samples tell."""
    note = "Intervals have instructions as clusters; none from fewer than ten."
    columns: Sequence[Column] = (MODEL, *MEASURES)
    tables = [grouped_table("scores", frame, ["model"], measures, columns, title="Models", note=note)]
    if frame["model"].nunique() > 1:
        tables.append(pair_table(frame))
    if len(named := frame[frame["category"] != ""]):
        by, columns = ["category", "model"], (Column("category", "Category"), *columns)
        by_category = grouped_table("categories", named, by, measures, columns, title="By category")
        tables.append(replace(by_category, printed=len(by_category.rows) <= 30))
    if not frame.duplicated(["model", "id"]).any():
        return tables
    rows = []
    for model, part in frame.groupby("model", observed=True, sort=True):
        responses = [own["met"] for _, own in part.groupby("id", sort=False)]
        passed = [[None if met != met else bool(met) for met in own] for own in responses]
        rows += [{"model": model, "name": name, "score": score} for name, score in summary(passed).items()]
    about = (
        "any_of_K: that one of K responses has all questions answered YES (pass@K); all_of_K: that all have (pass^K)."
    )
    score = Column("score", "all met", "score", about, parts=ALL, drawn=True)
    note = "By instruction; unscored where undecided responses could change it, or there are fewer than K."
    columns = (MODEL, Column("name", "of K responses"), score)
    return [*tables, Table(REPEATED, columns, rows, "Repeated samples", note, keys=2)]


def unscored(graded: Sequence[GradedResponse], frame: DataFrame) -> list[tuple[str, str, str]]:
    """(id, model, why) of what has no pass rate: one an instruction without a checklist, else one a response."""
    without = {entry.listed.instance.id for entry in graded if not entry.listed.criteria}
    rows = frame.loc[frame["reason"] != "", ["id", "named", "model", "reason"]].itertuples(index=False)
    keys = ((row.id, "", row.reason) if row.id in without else (row.named, str(row.model), row.reason) for row in rows)
    return list(dict.fromkeys(keys))


def results(
    study: Study[Any, Any, Any, Any], graded: Sequence[GradedResponse], models: Sequence[str]
) -> Outcome[Report]:
    """The scores of every model, the models against each other, and all that a study leaves in its folder."""
    judge, how, provenance = study.options.judge, study.options.settings, study.provenance
    frame = response_frame(graded, models)
    tables, missing, listed = score_tables(frame), unscored(graded, frame), [entry.listed for entry in graded]
    all_judged = [sample for entry in graded for samples in entry.judged.values() for sample in samples]
    notes = cut_off(sum(len(item.response.truncated) for item in all_judged))
    if own := [model for model in models if family(model) == family(judge)]:
        notes.append(f"Self-judged: {', '.join(own)} and the judge belong to one family, which favours the model.")
    answered = [turn for item in all_judged for turn in item.verdicts[: len(item.response.answers)]]
    ruled = [verdict.judge == JUDGE for turn in answered for verdict in turn]
    notes += [decided_by_rules(sum(ruled), len(ruled))] if how.rules == "decide" else []
    notes += weak_judges([judge])
    why = {f"{id} ({model})" if model else id: reason for id, model, reason in missing}
    report = Report(
        _by_name(tables),
        why,
        study.folder.usage(),
        provenance,
        tuple(notes),
        judged=tuple(all_judged),
        models=tuple(models),
    )
    return Outcome(
        report, title="TICK: checklists answered", lead=f"{', '.join(models)} judged by {judge}", notes=notes,
        tables=[*tables, *reasons("unscored", "Without a pass rate", missing), *checklist_tables(listed)],
        conversations=Conversations("Responses, question by question", tuple(_conversations(graded))),
        items={
            checklists.FILE: checklists.filed(study.options, listed),
            RESPONSES: response_lines((item.instance, item.response) for item in all_judged),
            VERDICTS: judgment_lines(all_judged, judge),
        },
        facts={"Judge": judge, "Checklists": _origins(listed)},
        ranking=_ranking(graded, tables, provenance), incomplete=len(missing),
    )  # fmt: skip


def _by_name(tables: Sequence[Table]) -> dict[str, dict[str, Score]]:
    """The scores by name and model, as a `Report` has them: those of a category are `pass_rate:CATEGORY`."""
    named: dict[str, dict[str, Score]] = {column.name: {} for column in MEASURES}
    by_table = {table.name: table.rows for table in tables}
    for row in by_table["scores"]:
        for column in MEASURES:
            named[column.name][row["model"]] = row[column.name]
    for row in by_table.get("categories", ()):
        named.setdefault(f"pass_rate:{row['category']}", {})[row["model"]] = row["pass_rate"]
    for row in by_table.get(REPEATED, ()):
        named.setdefault(f"{REPEATED}:{row['name']}", {})[row["model"]] = row["score"]
    return named


def _conversations(graded: Sequence[GradedResponse]) -> Iterator[Conversation]:
    """Every response with the answers to its questions; responses to one instruction stand together."""
    repeated = any(len(samples) > 1 for entry in graded for samples in entry.judged.values())
    for entry in graded:
        before = exchanges(entry.listed.instance.history, ())
        for model, sample in ((model, sample) for model, samples in entry.judged.items() for sample in samples):
            drawn = conversation(sample, sample.passed, repeated, model)
            yield replace(drawn, exchanges=(*before, *drawn.exchanges))
        if not entry.judged:
            yield unanswered(entry.listed)


def _origins(listed: Sequence[ListedChecklist]) -> str:
    """Whose the checklists are: the models that wrote them, and where others come from."""
    origins = []
    for checklist in listed:
        origin = checklist.generator or "the data"
        if checklist.source == "file":  # people may have edited it
            origin = f"{origin}, as given by --checklists" if checklist.generator else "given by --checklists"
        origins += [origin] if checklist.criteria else []
    return ", ".join(dict.fromkeys(origins)) or "none"


def _ranking(graded: Sequence[GradedResponse], tables: Sequence[Table], provenance: Mapping[str, Any]) -> Ranking:
    """A row a model; ranked together are those with the same instructions, the same questions and the same judging."""
    how = {name: provenance.get(name) for name in _JUDGING}
    how["prompts"] = {name: text for name, text in provenance["prompts"].items() if name not in checklists.PROMPTS}
    instances = [asdict(entry.listed.instance) for entry in graded]  # with its criteria, whoever wrote them
    judge = str(provenance["judge"]) + "".join(f" (rules {mode})" for mode in rules_fact(provenance).values())
    facts = {
        "Judge": judge, "Checklists": _origins([entry.listed for entry in graded]),
        "Data": str(provenance.get("data") or "one instruction"),
    }  # fmt: skip
    if (most := max((len(samples) for entry in graded for samples in entry.judged.values()), default=1)) > 1:
        facts["Samples"] = str(most)
    named = {table.name: table for table in tables}
    rows = {(row["model"],): dict(row) for row in named["scores"].rows}
    groups = group_columns(rows, named.get("categories"), "category", "pass_rate", "Categories")
    table = Table("", [MODEL, *MEASURES, *groups], list(rows.values()))
    alike, unit = [digest(canonical(instances)), how], "Mean pass rate in %: questions answered YES"
    return Ranking(table, "pass_rate", alike, title="TICK: any prompts", unit=unit, facts=facts)


def group_columns(
    rows: Mapping[tuple[Any, ...], dict[str, Any]], table: Table | None, by: str, value: str, group: str
) -> list[Column]:  # fmt: skip
    """Put the scores that a table has by group into the rows of their other keys; returns a board's columns of them."""
    columns: dict[str, Column] = {}
    for row in table.rows if table else ():
        if row[by]:
            name = f"{by}:{row[by]}"
            columns[name] = Column(name, row[by], "score", group=group)
            rows[tuple(row[key.name] for key in table.columns[: table.keys] if key.name != by)][name] = row[value]  # type: ignore[union-attr]
    return list(columns.values())
