"""The Rubric Arbitration Framework (paper 003, section 3.3.2): who judges in each pass of the `funnel`, and its labels to people.

Base judges decide the whole checklist in one call, and then one rubric a call; meta-judges read their rationales.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, ClassVar

from truebench_hf.benchmarks.rubric_eval import data, funnel
from truebench_hf.benchmarks.rubric_eval.funnel import Answered, Trace, disputed, unanimous
from truebench_hf.data.judged import Case
from truebench_hf.data.rubrics import Item
from truebench_hf.engine.retry import RequestFailed
from truebench_hf.errors import UserError
from truebench_hf.judging.judge import CriteriaJudge, JudgeSettings
from truebench_hf.judging.rules.deciding import ruled
from truebench_hf.judging.signed_asking import PASS_FAIL
from truebench_hf.metrics.agreement import label_agreement
from truebench_hf.metrics.kappa import verbal_band
from truebench_hf.models.caller import Caller
from truebench_hf.models.protocol import ChatRequest, Sampling
from truebench_hf.models.spec import family
from truebench_hf.options import option, role
from truebench_hf.prompts import sections
from truebench_hf.report import labels
from truebench_hf.report.labels import Annotations, Question, material
from truebench_hf.report.table import PUBLISHED, Column, Table
from truebench_hf.study.items import Items, sample
from truebench_hf.study.labelling import Draw, LabelAskOptions, LabelInOptions, Labelling, Taken, open_notes
from truebench_hf.study.notes import weak_judges
from truebench_hf.study.options import LabellingOptions, numbered
from truebench_hf.study.outcome import Outcome, scores_json
from truebench_hf.study.study import Study
from truebench_hf.text.whole_files import write_whole
from truebench_hf.types import Label, Message, Score, Verdict

LABELS, SCORES = "human.jsonl", "human.json"
PAPER_SAMPLE = 160  # final labels that two annotators checked in section 3.4, with this accuracy and kappa
PAPER_AGREEMENT = (0.85, 0.702)
_WORDS: Mapping[Label | None, str] = {label: word for word, label in PASS_FAIL.items()}


class ArbitrateOptions(LabellingOptions):
    """What is labelled, by whom, and where the labels go."""

    TEXT_LEVEL: ClassVar[str] = "checklist"
    RULES: ClassVar[tuple[str, ...]] = ("off", "evidence")  # of what rules decide nothing would be left to arbitrate

    data: str = option(help="SOURCE:PATH (e.g. structflowbench:FILE), rubric_mini, or a JSONL in rubric_eval columns.")
    judge: tuple[str, ...] = role(help="Base judge: two or more (the paper has four); repeat the flag.")
    meta_judge: tuple[str, ...] = role(help="Meta-judge: two or more, who all have to agree; repeat the flag.")
    responder: tuple[str, ...] = role((), help="Model that answers what has no response; of several one each by lot.")
    seed: int = option(
        0, binds=True, help="Draws the sample, the responder of each instruction and the order of the rationales."
    )
    reference: str | None = option(
        None, help="Trusted labels (rubric_mini, or JSONL with id and label) to validate by."
    )

    def model_post_init(self, context: Any) -> None:
        super().model_post_init(context)
        for flag, names in (("--judge", self.judge), ("--meta-judge", self.meta_judge)):
            if len(names) < 2:
                raise UserError(f"{flag} {', '.join(names)}: name at least two, each with a {flag} of its own")

    def settings(self, spec: str, part: str) -> JudgeSettings:
        """How a judge decides in a pass: coarse, or any other for one rubric a call."""
        return self.judging(spec, "checklist" if part == "coarse" else "rubric")


Labelled = tuple[Answered, list[Trace]]  # a response, and each of its rubrics through the funnel


class Arbitration(Study[ArbitrateOptions, Item, Labelled, dict[str, Table]]):
    """Responses with their rubrics through all three stages; `value` are the tables by name."""

    kind = "arbitrate"
    needs = ("sklearn",)
    files = ("exits.jsonl", "labels")
    prompts = ("meta_judge",)
    unforeseen = (
        "What the judges disagree on is not known: the fine look, meta-judges and labels to compare with come on top."
    )
    unit = "responses"

    def items(self) -> Items[Item]:
        options, usable = self.options, data.read(self.options.data)
        self.trusted = funnel.read_trusted(options.reference) if options.reference else funnel.TrustedLabels()

        def content(item: Item) -> list[Any]:  # the rows that are written hold more of an item than judges see
            hints = [rubric.hint for rubric in item.rubrics]
            return [*data.content(item), item.source, item.model, item.answered, hints]

        return replace(data.selection(usable, usable.left_out.reasons), content=content)

    def judge_settings(self) -> list[JudgeSettings]:
        return [self.options.settings(*who) for who in product(self.options.judge, ("coarse", "fine"))]

    def check(self) -> None:
        self.chosen = prepare(self.chosen, numbered(self.options.responder), self.options.seed)

    def trial_values(self) -> Sequence[Mapping[str, Any]]:
        return [{"decision": self.options.decides(spec)} for spec in self.options.meta_judge]

    def setup(self) -> None:
        self.responders = {
            name: self.caller("responder", number, f"answer {name}")
            for number, name in enumerate(numbered(self.options.responder), 1)
        }
        self.coarse, self.fine = self._panel("coarse"), self._panel("fine")
        self.meta = self._panel("meta", "meta_judge")
        # Looks that only the comparison with trusted labels needs are paid for under a name of their own.
        self.extra, self.extra_meta = self._panel("validation"), self._panel("validation", "meta_judge")

    def _panel(self, part: str, role: str = "judge") -> tuple[CriteriaJudge, ...]:
        specs = getattr(self.options, role)
        return tuple(
            self.judge(self.options.settings(spec, part), role, number, f"{part} {name}")
            for number, (spec, name) in enumerate(zip(specs, numbered(specs), strict=True), 1)
        )

    async def work(self, item: Item) -> Labelled:
        """The rubrics of one response through all three stages."""
        answered = await answer(item, self.responders, self.options.sampling)
        item, places = answered.item, range(len(item.case.criteria))
        if answered.problem:
            return answered, [Trace(item, i, problem=answered.problem) for i in places]
        coarse = await columns(self.coarse, item, places)
        going = [i for i in places if unanimous(coarse[i]) is None]
        known = [i for i in places if i not in going and self.trusted.label(item, i) is not None]
        fine, extra = await asyncio.gather(
            columns(self.fine, item, going, coarse), columns(self.extra, item, known, coarse)
        )
        looks = fine | extra
        disputes = [(i, self.meta if i in fine else self.extra_meta) for i in looks if disputed(looks[i])]
        reviews = iter(await asyncio.gather(*(
            meta_verdict(judge, self.options.seed, item.rubric(i).id, item.only([i]), looks[i])
            for i, judges in disputes for judge in judges
        )))  # fmt: skip
        meta = {i: [next(reviews) for _ in judges] for i, judges in disputes}
        return answered, [Trace(item, i, coarse[i], looks.get(i, ()), meta.get(i, ())) for i in places]

    def score(self, done: Sequence[Labelled]) -> Outcome[dict[str, Table]]:
        options, answered = self.options, [response for response, _ in done]
        traces = [trace for _, of_response in done for trace in of_response]
        tables = funnel.funnel_tables(answered, traces, self.folder.ledger.usage()["total"])
        if self.trusted:
            tables += funnel.validation_tables(traces, self.trusted, numbered(options.judge))
        # Labels in a folder of their own, which other commands and `load_dataset` take as a data set of two splits.
        items: dict[str, Any] = {
            f"labels/{split}.jsonl": [trace.row() for trace in traces if trace.exit == split] for split in funnel.SPLITS
        }
        items["exits.jsonl"] = [trace.exit_row() for trace in traces]
        return Outcome(
            {table.name: table for table in tables if table.name}, title="RubricEval: rubric arbitration", tables=tables,
            items=items, notes=_notes(options, answered, traces),
        )  # fmt: skip


def arbitrate(options: ArbitrateOptions) -> dict[str, Table]:
    """Label the rubrics of `options.data` and write the splits into `options.out`. Returns the tables by name.

    Raises UserError on options, data or models that cannot be used.
    """
    return Arbitration(options).run().value


def prepare(items: Sequence[Item], responders: Sequence[str], seed: int) -> list[Item]:
    """Settle where each response comes from: the data, or a model drawn by lot (section 3.2).

    An item to be answered gets its responder's spec as `model`. The draw depends on the seed and the item alone, so
    that another limit draws no other model. Raises UserError where an item has no response and nobody to answer it.
    """
    bare = next((item for item in items if not item.answered), None)
    if bare and not responders:
        raise UserError(f"{bare.instruction_id} of {bare.source} has no response: name a --responder")
    return [
        item if item.answered else replace(item, model=random.Random(f"{seed} {item.id}").choice(responders))
        for item in items
    ]


async def answer(item: Item, callers: Mapping[str, Caller], sampling: Sampling) -> Answered:
    """The item with its response, asked for where it has none. An error text never becomes a response."""
    if item.answered:
        return Answered(item)
    try:
        completion = await callers[item.model].complete(ChatRequest(item.messages, sampling))
    except RequestFailed as error:
        return Answered(item, f"{item.model} gave no answer: {error}")
    if not completion.text.strip():
        why = "its thinking used up the token limit" if completion.truncated else "its text is empty"
        return Answered(item, f"{item.model} gave no answer: {why}")
    return Answered(item.responded(completion.text, item.model), truncated=completion.truncated)


async def columns(
    judges: Sequence[CriteriaJudge], item: Item, chosen: Sequence[int],
    coarse: Mapping[int, Sequence[Verdict]] | None = None,
) -> dict[int, tuple[Verdict, ...]]:  # fmt: skip
    """The verdicts of all judges of a pass on each rubric at the positions `chosen`.

    A judge that gives probabilities is not asked again about what it decided in the `coarse` pass: its answer to a
    question does not depend on what else is asked.
    """
    if not chosen or not judges:
        return {}
    case = item.only(chosen)

    async def column(place: int, judge: CriteriaJudge) -> Sequence[Verdict]:
        if coarse is not None and judge.settings.level == "decision":
            return [coarse[i][place] for i in chosen]
        return await judge.verdicts(case)

    by_judge = await asyncio.gather(*(column(place, judge) for place, judge in enumerate(judges)))
    return dict(zip(chosen, zip(*by_judge, strict=True), strict=True))


async def meta_verdict(judge: CriteriaJudge, seed: int, name: str, case: Case, base: Sequence[Verdict]) -> Verdict:
    """Decide the one criterion of `case` by what the base judges wrote about it.

    A meta-judge sees every decided base judge's verdict and rationale, without names and in an order of its own (set by
    the seed and `name`, the rubric's id), so that neither a judge's reputation nor its place can sway it. With rules on it
    is told what programs measured: what they decide no judge disputes.
    """
    order = random.Random(f"{seed} {name} {judge.caller.model.spec}")
    decided = [verdict for verdict in base if verdict.label in _WORDS]
    opinions = [
        {"verdict": _WORDS[verdict.label], "reason": verdict.reason or "(no reason given)"}
        for verdict in order.sample(decided, len(decided))
    ]
    case = ruled(case, judge.settings.rules).rest
    # The rationales stand between tags too, and must not be able to close them.
    values = {**sections(case, beside=[opinion["reason"] for opinion in opinions]), "opinions": opinions}
    if judge.settings.level == "decision":
        state = judge.prompts.render("meta_judge", **values, decision=True, structured=False)
        (verdict,) = await judge.by_probability(case.criteria, values["criteria"], state)
    else:
        (verdict,) = await judge.by_text("meta_judge", case.criteria, values | {"decision": False})
    return verdict


def _notes(options: ArbitrateOptions, answered: Sequence[Answered], traces: Sequence[Trace]) -> list[str]:
    """What is to be known about the labels."""
    lines = []
    votes = [(*trace.coarse, *trace.fine, *trace.meta) for trace in traces]
    if conflicting := sum(any(verdict.conflicting for verdict in verdicts) for verdicts in votes):
        lines.append(f"{conflicting} rubrics were given two labels in one answer of a judge, which was asked again")
    judges = {family(spec) for spec in (*options.judge, *options.meta_judge)}
    if own := sorted({response.item.model for response in answered if family(response.item.model) in judges}):
        lines.append(f"judged by a model of its own family: {', '.join(own)}")
    if untyped := sum(trace.exit in funnel.SPLITS and trace.rubric.kind is None for trace in traces):
        lines.append(
            f"{untyped} rows have no rubric type: `truebench study taxonomy --data {options.out}/labels` writes rows that do"
        )
    if deciding := [spec for spec in options.judge if options.decides(spec)]:
        lines.append(
            f"{len(deciding)} of {len(options.judge)} base judges give probabilities, which carry no rationale "
            "and do not depend on the other rubrics: their coarse verdicts stand in the fine pass, and `easy` "
            + ("stays empty" if len(deciding) == len(options.judge) else "can stay empty")
        )
    return [*lines, *weak_judges((*options.judge, *options.meta_judge))]


class ArbitrationLabels(Labelling):
    """The labels of an arbitration, to people who see neither them nor what judges said."""

    annotators = ("first", "second")

    def labels_file(self, options: LabelInOptions) -> Path:
        return Path(self.place) / LABELS

    def draw(self, options: LabelAskOptions) -> Draw:
        """`n` labelled rows, stratified by split and instruction category."""
        rows = _labelled(self.place)
        chosen = sample(
            rows, options.n or PAPER_SAMPLE, lambda row: str(row["id"]), lambda row: (_stratum(row),), options.seed
        )
        strata = Counter(map(_stratum, chosen))
        return Draw([question(row) for row in chosen], [f"{count:5} {name}" for name, count in strata.items()])

    def take(self, new: Annotations, decisions: Mapping[str, str], options: LabelInOptions) -> Taken:
        """Write `human.json`, how far people agree with the labels and with each other, and `human.jsonl`, their labels
        for `--reference`; `value` are the tables of `human.json`, by name.
        """
        rows = {str(row["id"]): row for row in _labelled(self.place)}
        file = self.labels_file(options)
        settled = self.settle(new, decisions, file, rows)
        tables = [compare(list(rows.values()), settled.labels), labels.agreement_table(settled.annotations, "labels")]
        until = ["Until an adjudicator settles what is open (--decisions), accuracy and kappa are upper estimates."]
        notes = [*open_notes(settled), *(until if settled.open else [])]
        labels.write_rows(file, (label | {"response": rows[label["id"]]["response"]} for label in settled.rows))
        scores = json.dumps(scores_json(tables, notes), ensure_ascii=False, indent=1)
        write_whole(file.with_name(SCORES), [f"{scores}\n"])
        files = [file, file.with_name(SCORES)]
        return Taken({table.name: table for table in tables}, tables, notes=notes, files=files)


def compare(rows: Sequence[Mapping[str, Any]], people: Mapping[str, str | None]) -> Table:
    """Return how far people agree with the labels of an arbitration: all rows, and those of each split and category.

    Rows that stay open are left out of `accuracy` and `kappa`: since they are the difficult ones, both are upper
    estimates as long as there are any. `open_wrong` counts them as wrong. The paper's annotators settled all their
    disagreements; its figure compares with ours once nothing is open.
    """
    compared: list[dict[str, Any]] = []
    for name in ("all", *sorted(set(map(_stratum, rows)))):
        group = [row for row in rows if str(row["id"]) in people and name in ("all", _stratum(row))]
        # Which of the two is held against the other is the same.
        agreement = label_agreement(
            [row["label"] for row in group], [people[str(row["id"])] for row in group],
            [row["instruction_id"] for row in group], measures=("accuracy", "accuracy_strict", "kappa"),
        )  # fmt: skip
        kappa = agreement["kappa"]
        compared.append({
            "rows": name, "settled": agreement["n"], "open": agreement["undecided"], "accuracy": agreement["accuracy"],
            "open_wrong": agreement["accuracy_strict"], "kappa": kappa,
            "band": verbal_band(kappa.value) or "",
        })  # fmt: skip
    accuracy, published = PAPER_AGREEMENT
    compared.append(
        {"rows": "section 3.4", "settled": PAPER_SAMPLE, "open": 0, "accuracy": Score(accuracy, 0), "open_wrong": Score(accuracy, 0),
         "kappa": Score(published, 0), "band": verbal_band(published), PUBLISHED: True}
    )  # fmt: skip
    columns = (
        Column("rows", "rows"), Column("settled", "settled", "count"), Column("open", "open", "count"),
        Column("accuracy", "accuracy", "score", "Of settled rows; people are right.", digits=1, parts=("value", "interval"), drawn=True),
        Column("open_wrong", "open=wrong", "score", "Accuracy with open rows as wrong.", digits=1),
        Column("kappa", "kappa", "score", "Cohen's kappa of settled rows.", "", digits=3), Column("band", "band"),
    )  # fmt: skip
    return Table("against_people", columns, compared, "Arbitrated labels against people")


def _labelled(folder: str) -> list[dict[str, Any]]:
    place = Path(folder) / "labels"
    if not place.is_dir():
        raise UserError(f"{folder}: holds no labels; give the folder of a finished `truebench study arbitrate`")
    if not any(file.stat().st_size for file in place.glob("*.jsonl")):
        raise UserError(f"{folder}: the judges left no rubric with a label, so there is nothing to hold people against")
    return list(data.load(str(place)))


def _stratum(row: Mapping[str, Any]) -> str:
    return f"{row['split']} {row['instruction_category']}"


def question(row: Mapping[str, Any]) -> Question:
    """A row as an annotator sees it: neither the label nor what judges said."""
    *before, last = (Message(message["role"], message["content"]) for message in row["messages"])
    beside = {"Context": row.get("context"), "Reference answer": row.get("reference")}
    text = f"Does the response meet this requirement in full (partly met is no)? {row['rubric'].strip()}"
    return Question(str(row["id"]), text, material(before, last.content, row["response"], **beside), blind=row)
