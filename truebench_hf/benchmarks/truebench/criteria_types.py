"""`truebench study compare-criteria`: the same responses judged by four types of criteria, and held against people.

Abstract: TRUEBench's claim that a checklist agrees with people better than ratings do, on responses, data and a judge of
one's own (paper 000, section 5.1, appendices C.3 and E, Figures 7 and 8).
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from truebench_hf.benchmarks.truebench import rating
from truebench_hf.benchmarks.truebench.data import InstanceOptions, ModelResponses, SeveralOptions, answered
from truebench_hf.benchmarks.truebench.rating import CHECKLIST, METHODS, Rated, rated
from truebench_hf.benchmarks.truebench.run import Answered, answer
from truebench_hf.data import jsonl
from truebench_hf.data.records import RESPONSES, Reader, response_lines
from truebench_hf.engine.folder import RunFolder
from truebench_hf.judging.judge import CriteriaJudge, JudgeSettings
from truebench_hf.metrics.agreement import agreement, by_group
from truebench_hf.metrics.binary import mean_of
from truebench_hf.metrics.choosing import by_threshold, first_half, halved_kappa
from truebench_hf.metrics.kappa import verbal_band
from truebench_hf.metrics.pass_rate import joint_mean, mean_share, pass_rate
from truebench_hf.models.asking import SchemaFallback
from truebench_hf.options import Binds, option, role
from truebench_hf.report import labels
from truebench_hf.report.labels import Annotations, Question
from truebench_hf.report.sections import Matrix
from truebench_hf.report.table import PUBLISHED, Column, Table, paper_rows, plain
from truebench_hf.results.folder import Results
from truebench_hf.study.items import Items
from truebench_hf.study.labelling import LabelAskOptions, LabelInOptions, Labelling, Taken, written_anew
from truebench_hf.study.notes import cut_off, weak_judges
from truebench_hf.study.options import JudgingOptions
from truebench_hf.study.outcome import WRITTEN, Outcome
from truebench_hf.study.study import Study
from truebench_hf.types import Instance, Response, Score

if TYPE_CHECKING:
    from pandas import DataFrame

KIND, RATINGS, SEED = "criteria-types", "ratings.jsonl", "seed"
_KAPPA: Any = {"kind": "score", "unit": "", "digits": 3}
_TYPE = Column("type", "Type of criteria")


class CompareCriteriaOptions(InstanceOptions, JudgingOptions, SeveralOptions):
    """Which responses, and who judges them by which types of criteria."""

    TEXT_LEVEL: ClassVar[str] = CHECKLIST

    judge: str = role(help="Judge by all types of criteria: a spec.", binds=Binds(late=True))
    type: tuple[str, ...] = option(
        (), panel="Judging", help=f"{', '.join(METHODS)}: a type of criteria; may be repeated; all four if not given.",
        binds=Binds("types", lambda options: list(options.types), grows=True), choices=tuple(METHODS),
    )  # fmt: skip

    @property
    def types(self) -> tuple[str, ...]:
        """The types asked for, in the paper's order."""
        return tuple(name for name in METHODS if not self.type or name in self.type)


RatedResponse = tuple[Instance, Response, Mapping[str, Rated]]  # with what it got by type


class CompareCriteria(Study[CompareCriteriaOptions, ModelResponses, list[RatedResponse], dict[str, Table]]):
    """Every response to every instance, by every type of criteria; `value` are the tables by name."""

    kind, unit = KIND, "instances"
    files = (RATINGS, RESPONSES)
    prompts = tuple(method.prompt for method in METHODS.values() if method.prompt)

    def items(self) -> Items[ModelResponses]:
        """The instances; of one that is sampled all responses are."""
        options = self.options
        return answered(options, options.chosen(judged=bool({"biggen", CHECKLIST} & set(options.types))))[0]

    def judge_settings(self) -> list[JudgeSettings]:
        return [self.options.judging(self.options.judge, CHECKLIST)]

    def setup(self) -> None:
        # One model, however many types: together they ask it no more at a time than the option allows.
        options, (settings,) = self.options, self.judge_settings()
        self.judges: dict[str, tuple[SchemaFallback, CriteriaJudge]] = {}
        for name in options.types:
            own = self.caller("judge").in_role(name)
            judge = CriteriaJudge(own, settings, options.prompts)
            self.judges[name] = SchemaFallback(own, options.structured), judge

    async def work(self, item: ModelResponses) -> list[RatedResponse]:
        """The responses that there are and those made here, each judged in every way."""
        instance, numbers = item.instance, range(1, len(self.options.model) + 1)
        new = await asyncio.gather(*(answer(self, instance, number) for number in numbers))
        return await asyncio.gather(*(self._rated(instance, response) for response in (*item.responses, *new)))

    async def _rated(self, instance: Instance, response: Response) -> RatedResponse:
        prompts = self.options.prompts
        ratings = await asyncio.gather(*(
            rated(name, *judges, prompts, instance, response) for name, judges in self.judges.items()
        ))  # fmt: skip
        return instance, response, dict(zip(self.judges, ratings, strict=True))

    def score(self, done: Sequence[list[RatedResponse]]) -> Outcome[dict[str, Table]]:
        rows = [row for rows in done for row in rows]
        lines = [
            {"id": instance.id, "category": instance.category, "model": response.model,
             "response_id": rating.response_id(instance, response), "type": name, **asdict(value)}
            for instance, response, by_type in rows for name, value in by_type.items()
        ]  # fmt: skip
        return outcome(self.folder, [(instance, response) for instance, response, _ in rows], lines, self.options.seed)


def outcome(
    folder: RunFolder, responses: Sequence[Answered], lines: Sequence[Mapping[str, Any]], seed: int
) -> Outcome[dict[str, Table]]:
    """The outcome of responses and of the lines on what they got, one a response and type, with the labels of people."""
    known = dict.fromkeys(line["response_id"] for line in lines)
    of_all = labels.read_rows(folder.path / labels.FILE, rating.OPTIONS)
    label_rows = [row for row in of_all if row["id"] in known]
    judge, types = str(folder.info["settings"]["judge"]), max(1, len(lines) // max(1, len(responses)))
    notes = cut_off(sum(bool(response.truncated) for _, response in responses)) + weak_judges([judge])
    answers = None
    if of_all:
        people = rating.people_say(label_rows, list(known))
        of_people = ({"people": p, "people_open": why} for p, why in (people[line["response_id"]] for line in lines))
        lines = [{**line, **more} for line, more in zip(lines, of_people, strict=True)]
        answers = labels.joined(label_rows, Annotations(), rating.OPTIONS)
    else:
        notes.append(
            "Nobody has rated these responses yet: `truebench label out FOLDER` writes sheets without criteria, and "
            "`truebench label in FOLDER` reads them and compares."
        )
    if strangers := [row["id"] for row in of_all if row["id"] not in known]:
        notes.append(f"Labels of other responses, left out: {len(strangers)} (the first: {strangers[0]}).")
    frame = rating_frame(lines)
    shares = saturation(frame)
    tables = comparison_tables(frame, shares, answers, seed)
    return Outcome(
        {table.name: table for table in tables}, title="TRUEBench: types of criteria", tables=tables,
        charts=by_category(shares), items={RATINGS: lines, RESPONSES: response_lines(responses)}, known={SEED: seed},
        lead=f"The same responses by four types of criteria, judged by {judge}", notes=notes,
        facts={"Judge": judge, "Models": ", ".join(dict.fromkeys(response.model for _, response in responses))},
        incomplete=len({place // types for place, line in enumerate(lines) if line["value"] is None}),
    )  # fmt: skip


def rating_frame(lines: Sequence[Mapping[str, Any]]) -> DataFrame:
    """Return the lines of `ratings.jsonl`, with whether people pass the response as `gold`.

    That is "yes" or "no", and missing where it is open, for the reason in `people_open`.
    """
    import pandas as pd

    columns = ["id", "category", "model", "response_id", "type", "value", "reason", "people", "people_open"]
    frame = pd.DataFrame(lines, columns=columns, dtype=object)
    words = {True: "yes", False: "no", None: None}
    gold = pd.Series([words[line.get("people")] for line in lines], dtype=object)
    orders = {name: pd.Categorical(frame[name], list(dict.fromkeys(frame[name]))) for name in ("type", "model")}
    return frame.assign(gold=gold, **orders)


def comparison_tables(frame: DataFrame, shares: DataFrame, answers: Annotations | None, seed: int) -> list[Table]:
    """All tables of a comparison: agreement with people only where some have rated."""
    here = {
        "set": "here", "instances": frame["id"].nunique(), "models": frame["model"].nunique(),
        "responses": len(frame) // max(1, len(frame["type"].cat.categories)),
        "raters": len(answers.annotators) if answers else 0,
    }  # fmt: skip
    paper = [dict(zip(here, row.values(), strict=True)) for row in paper_rows("truebench", "truebench_section5_1")]
    set_columns = (Column("set", ""), *(Column(name, name, "count") for name in here if name != "set"))
    columns = (
        Column("type", "Type"), Column("model", "Model"), Column("category", "Category"),
        Column("score", "%", "score", parts=("value", "interval", "n", "unscored")),
    )  # fmt: skip
    tables = [
        _saturation(shares), Table.of_frame("saturation", shares, columns, keys=3, on_page=False),
        Table("set", set_columns, [here, *(row | {PUBLISHED: True} for row in paper)], "What was compared"), _open(frame),
    ]  # fmt: skip
    if answers:
        tables = [_agreement(frame, answers, seed), *_raters(answers, frame), *tables]
    return [table for table in tables if table.rows]


def _kappas(frame: DataFrame, seed: int) -> tuple[list[dict[str, Any]], list[str]]:
    """Cohen's kappa of each type against the majority of raters, and why a half has none.

    A rating passes from a threshold that is chosen on one half of the instances and measured on the other, in both
    directions: `kappa` is the mean of the two. A checklist has its own pass or fail: `kappa` is that of all responses,
    and the halves only show what they are by themselves. Clusters of intervals are the instances.
    """
    half = first_half(frame["id"][frame["gold"].notna()].tolist(), seed)
    lines, reasons = [], []
    for name, part in frame.groupby("type", observed=True):
        values = [plain(value) for value in part["value"]]
        clusters, gold = part["id"].tolist(), [plain(label) for label in part["gold"]]
        sides = ["first" if cluster in half else "second" for cluster in clusters]
        judged = part.assign(label=by_threshold(values, 1), cluster=clusters, half=sides)
        (counts,) = agreement(judged, measures=("kappa",)).to_dict("records")
        if name == CHECKLIST:
            halves = agreement(judged, ["half"], measures=("kappa",)).to_dict("records")
            kappa, cells = counts["kappa"], {row["half"]: row["kappa"] for row in halves}
        else:
            directions, cells = halved_kappa(values, gold, clusters, half, seed=seed), {}
            kappa = replace(joint_mean([d.kappa for d in directions]), n=counts["n"], unscored=counts["undecided"])
            for side, direction in zip(("first", "second"), directions, strict=True):
                cells[side] = replace(direction.kappa, unscored=0)
                cells |= {f"{side}_threshold": direction.threshold, f"{side}_chosen_at": direction.chosen_at}
                reasons += [f"{name}, {side} half: {direction.reason}"] if direction.reason else []
        lines.append({"type": name, "kappa": kappa, "people_undecided": counts["unlabelled"], **cells})
    return lines, reasons


def _agreement(frame: DataFrame, answers: Annotations, seed: int) -> Table:
    lines, reasons = _kappas(frame, seed)
    # More agreement than people have among themselves cannot be asked of a judge.
    ceiling = mean_of(*(kappa.value for kappa in labels.annotator_kappas(answers).values() if kappa.value is not None))
    lines.append({"type": "Two raters, mean of pairs: the ceiling", "kappa": Score(ceiling, 0)})
    lines = [row | {"band": verbal_band(row["kappa"].value)} for row in lines]
    lines += [
        {"type": row["Type"], "band": row["Found"], PUBLISHED: True}
        for row in paper_rows("truebench", "truebench_figure7")
    ]
    columns = [
        _TYPE, Column("kappa", "kappa", parts=("value", "interval", "n", "unscored"), drawn=True, **_KAPPA),
        Column("band", "in words"), Column("people_undecided", "open to people", "count", "Responses without a majority.", minor=3),
    ]  # fmt: skip
    for side, other in (("first", "second"), ("second", "first")):
        columns += [
            Column(side, f"{side} half", about=f"Kappa on the {side} half of the instances.", minor=1, **_KAPPA),
            Column(f"{side}_threshold", "passes from", "number", f"The rating that the {other} half chose.", unit="", minor=1),
            Column(f"{side}_chosen_at", "kappa there", "number", f"On the {other} half, where it was chosen.", unit="", digits=3, minor=2),
        ]  # fmt: skip
    note = (
        "Kappa of a rating is the mean of two halves of the instances, on each from the threshold that the other one chose; a "
        "checklist needs none. Intervals are by instance. A majority is steadier than one rater, so that a judge may lie above "
        "the ceiling. The paper draws Figure 7 and prints no number of it."
        + (f" No kappa: {'; '.join(reasons)}." if reasons else "")
    )
    return Table("agreement", columns, lines, "Cohen's kappa with the raters' majority (Figure 7)", note)


def _raters(answers: Annotations, frame: DataFrame) -> Iterator[Table]:
    """What raters say; they have numbers here, since these figures may be published."""
    numbers = {name: f"rater {number}" for number, name in enumerate(answers.annotators, 1)}
    pairs = [
        {"raters": " and ".join(map(numbers.__getitem__, pair)), "kappa": Score(kappa.value, kappa.n)}
        for pair, kappa in labels.annotator_kappas(answers).items() if kappa.n
    ]  # fmt: skip
    columns = (Column("raters", "Raters"), Column("kappa", "kappa", parts=("value", "n"), **_KAPPA))
    yield Table("raters", columns, pairs, "How far raters agree")
    once = frame[frame["type"].cat.codes == 0]
    counts = Counter(f"open: {reason}" for reason in once["people_open"] if reason).most_common()
    passed, failed = (int((once["gold"] == label).sum()) for label in ("yes", "no"))
    rows = [{"label": label, "responses": n} for label, n in (("pass", passed), ("fail", failed), *counts)]
    yield Table("majority", (Column("label", "Majority"), Column("responses", "responses", "count")), rows)


def saturation(frame: DataFrame) -> DataFrame:
    """A model's mean score over the highest possible one (0 to 1), by a checklist its pass rate, in all and by category."""
    import pandas as pd

    def share(part: DataFrame) -> dict[str, Score]:
        kind = next(iter(part["type"]), CHECKLIST)
        values = [None if plain(value) is None else value / METHODS[kind].most for value in part["value"]]
        passed = [None if value is None else value == 1 for value in values]
        return {"score": pass_rate(passed) if kind == CHECKLIST else mean_share(values)}

    everything = pd.concat([frame.assign(category=""), frame[frame["category"] != ""]])
    everything["category"] = pd.Categorical(everything["category"], list(dict.fromkeys(everything["category"])))
    return by_group(everything, ["type", "model", "category"], share)


def by_category(shares: DataFrame) -> list[Matrix]:
    """A picture of Figure 8 for each type."""
    named = shares[shares["category"] != ""]
    rows, categories = named.to_dict("records"), tuple(dict.fromkeys(named["category"]))
    cells = {(row["type"], row["model"], row["category"]): row["score"] for row in rows}
    return [
        Matrix(
            f"{METHODS[kind].title}, by category", "Model", categories,
            tuple((model, tuple(cells.get((kind, model, name)) for name in categories)) for model in dict.fromkeys(shares["model"])),
            "Percent of the highest possible score.",
        )
        for kind in dict.fromkeys(named["type"])
    ]  # fmt: skip


def _saturation(shares: DataFrame) -> Table:
    """How near the scores are to the end of the scale, and how far they tell models apart (appendix C.3, Figure 8).

    The mean is that of the models, and the spread the highest less the lowest: None where a model has no score, and the
    spread of one model alone.
    """
    lines, models = [], list(dict.fromkeys(shares["model"]))
    for name, part in shares[shares["category"] == ""].groupby("type", observed=True):
        values = [score.value for score in part["score"]]
        complete = [] if None in values else values
        lines.append({
            "type": name, "scale": METHODS[name].title, "mean": mean_of(*complete),
            "spread": max(complete) - min(complete) if len(complete) > 1 else None,
            **{f"model:{model}": score for model, score in zip(part["model"], part["score"], strict=True)},
        })  # fmt: skip
    columns = [
        _TYPE, Column("scale", "scale", minor=1), *(Column(f"model:{model}", model, "score") for model in models),
        Column("mean", "mean", "number", "How far a type saturates: the mean over models."),
        Column("spread", "spread", "number", "How far it tells models apart: the highest less the lowest."),
    ]  # fmt: skip
    note = (
        "A model's mean score in percent of the highest possible one; by a checklist its pass rate. The lowest rating is 10 % "
        "of 10, and 20 % of 5. The paper draws Figure 8 and prints no number of it: ratings by criteria crowd at the top."
    )
    return Table("types", columns, lines, "Saturation (Figure 8)", note)


def _open(frame: DataFrame) -> Table:
    lines = [
        {"type": kind, "responses": count, "reason": reason}
        for kind, part in frame[frame["value"].isna()].groupby("type", observed=True)
        for reason, count in Counter(part["reason"]).most_common()
    ]
    columns = (_TYPE, Column("responses", "responses", "count"), Column("reason", "why", "prose"))
    note = "Left out of kappa and means, never a fail. A FLASK score without one of its skills is open."
    return Table("open", columns, lines, "Left open by the judge", note, keys=2, printed=len(lines) <= 12)


def read_answered(folder: Path) -> list[Answered]:
    """Return the responses that `compare-criteria` left in its folder. Raises UserError."""
    reader = Reader()
    return [reader.answered(row, where) for where, row in jsonl.read(folder / RESPONSES)]


class CriteriaLabels(Labelling):
    """Each response of a comparison of criteria, pass or fail."""

    annotators = ("first", "second", "third")  # as many as in the paper
    answers = rating.OPTIONS
    keeps_others = True  # models may be added

    def __init__(self, place: str) -> None:
        super().__init__(place)
        Results.open(place).check_finished()

    def questions(self, options: LabelAskOptions) -> list[Question]:
        return rating.questions(read_answered(Path(self.place)))

    def take(self, new: Annotations, decisions: Mapping[str, str], options: LabelInOptions) -> Taken:
        """Write `labels.jsonl`, and the results of the study anew; `value` are its tables by name."""
        path = Path(self.place)
        responses, lines = read_answered(path), [line for _, line in jsonl.read(path / RATINGS)]
        settled = self.settle(new, decisions, path / labels.FILE, {line["response_id"] for line in lines})
        result = written_anew(
            self.place, labels.FILE, settled.rows,
            lambda folder: outcome(folder, responses, lines, folder.info.get(SEED, 0)),
        )  # fmt: skip
        return Taken(
            result.value, result.report, result.lead, result.notes,
            [path / name for name in (labels.FILE, RATINGS, RESPONSES, *WRITTEN) if (path / name).exists()],
        )  # fmt: skip
