"""`truebench study validate`: whether the criteria of a benchmark, or its instructions, can be used as they are.

Abstract: a model looks at every instance with its criteria, before any response is judged, for errors, for demands that
go too far and for conditions that no criterion covers, and proposes changes (paper 000, section 3.4). With `--ablation`
it is itself measured, on rows whose defects are known, under every set of aspects (section 5.2 and Table 3).
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truebench_hf.benchmarks.truebench import worklist
from truebench_hf.benchmarks.truebench.data import InstanceOptions
from truebench_hf.benchmarks.truebench.validator import (
    ASPECTS,
    MEANING,
    PROMPT_KINDS,
    RELEASE,
    Edit,
    Edited,
    Finding,
    Kind,
    Validated,
    edited_rows,
    kinds,
    read_edits,
    validate_instance,
)
from truebench_hf.benchmarks.truebench.worklist import ACCEPT, KEEP, State, finding_row
from truebench_hf.data.row_files import unusable
from truebench_hf.errors import UserError
from truebench_hf.metrics.agreement import agreement, by_group
from truebench_hf.metrics.pass_rate import pass_rate
from truebench_hf.models.asking import SchemaFallback
from truebench_hf.options import option, role
from truebench_hf.report import labels
from truebench_hf.report.labels import Annotations, Question
from truebench_hf.report.sections import Conversation, Conversations, Exchange
from truebench_hf.report.sections import Outcome as Mark
from truebench_hf.report.table import PUBLISHED, Column, Table, paper_rows
from truebench_hf.study.items import Items
from truebench_hf.study.labelling import LabelAskOptions, LabelInOptions, Labelling, Taken, open_notes
from truebench_hf.study.notes import weak_judges
from truebench_hf.study.options import PromptOptions
from truebench_hf.study.outcome import Outcome
from truebench_hf.study.study import Study
from truebench_hf.text.terminal import shortened
from truebench_hf.types import Criterion, Label, Message, Score, Verdict

if TYPE_CHECKING:
    from pandas import DataFrame

KIND = "criteria-validation"
# All subsets of the aspects, in the order of Table 3.
SUBSETS = tuple(subset for count in range(len(ASPECTS) + 1) for subset in combinations(ASPECTS, count))
EDITS: tuple[Kind, ...] = tuple(ASPECTS.values())
ALWAYS, _NONE, _FULL = "always FAIL", "none", ", ".join(ASPECTS)
_PAPER_BEST = 0.610
_PRINTED = 5  # undecided instances that the terminal lists
_OPENING = 120  # characters of a prompt


class ValidateCriteriaOptions(InstanceOptions, PromptOptions):
    """What is validated, by whom, and what for."""

    validator: str = role(help="Who validates: a model spec.")
    stage: str = option(
        "criteria", binds=True, panel="Method", choices=("criteria", "prompt"),
        help="criteria, or prompt: the instructions themselves (productivity domain, fit to their task, clarity).",
    )  # fmt: skip
    ablation: str | None = option(
        None, binds=True, panel="Method",
        help=f"Measure the validator on known defects, under all 8 sets of aspects (Table 3): {RELEASE} for the edits of 300 of its "
        "rows that come with this package, or a JSONL file of edits to --data.",
    )  # fmt: skip

    def model_post_init(self, context: Any) -> None:
        super().model_post_init(context)
        if self.ablation and self.stage == "prompt":
            raise UserError("--ablation is about criteria; leave out --stage prompt")


class ValidateCriteria(Study[ValidateCriteriaOptions, Edited, Validated, dict[str, Table]]):
    """Every instance, or every row with a known defect, validated once; `value` are the tables by name."""

    kind, unit = KIND, "instances"
    files = ("validations.jsonl", worklist.FILE)

    def __init__(self, options: ValidateCriteriaOptions) -> None:
        super().__init__(options)
        self.prompts = (f"validate_{options.stage}",)

    def items(self) -> Items[Edited]:
        """The instances of the languages and categories asked for; for the ablation those that have an edit."""
        options = self.options
        chosen = options.chosen(judged=options.stage == "criteria")
        rows = [Edited(instance, Edit(id=instance.id, edit="unedited")) for instance in chosen]
        if options.ablation:
            rows = edited_rows(chosen, read_edits(options.ablation))
            if not rows:
                raise UserError(f"--data {options.data}: has none of the rows of --ablation {options.ablation}")
        return Items(
            rows, lambda row: row.instance.id, lambda row: [row.instance, row.edit.model_dump()],
            lambda row: (*([row.edit.edit] if options.ablation else []), row.instance.language, row.instance.category),
            size=lambda row: len(row.instance.turns), left_out=unusable(chosen),
        )  # fmt: skip

    def setup(self) -> None:
        self.schemas = SchemaFallback(self.caller("validator"))

    async def work(self, row: Edited) -> Validated:
        options = self.options
        subsets = SUBSETS if options.ablation else ((),) if options.stage == "prompt" else (tuple(ASPECTS),)
        validations = await asyncio.gather(*(
            validate_instance(self.schemas, row.instance, options.prompts, aspects, stage=options.stage) for aspects in subsets
        ))  # fmt: skip
        return Validated(row.instance, row.edit, dict(zip(subsets, validations, strict=True)))

    def score(self, done: Sequence[Validated]) -> Outcome[dict[str, Table]]:
        options = self.options
        work = [
            finding_row(State.of(row.instance), finding, only_accept=True)
            for row in done
            for finding in row.validation.findings
        ]
        looked = PROMPT_KINDS if options.stage == "prompt" else kinds(tuple(ASPECTS))
        tables = validation_tables(done, looked)
        tables += [worklist.table(work, "findings", "Findings")] if work else []
        if options.ablation:
            tables = [*ablation_tables(ablation_frame(done), options.ablation == RELEASE), *tables]
        asks = f"`truebench label out {options.out}` (or `label open`) asks people which changes are to be made."
        return Outcome(
            {table.name: table for table in tables if table.name},
            title=f"TRUEBench: {'criteria' if options.stage == 'criteria' else 'instructions'} validated",
            lead=f"by {options.validator}", tables=tables,
            items={
                "validations.jsonl": lines(done, bool(options.ablation)),
                worklist.FILE: [row.model_dump() for row in work],
            },
            notes=[*weak_judges([options.validator]), *([asks] if work else [])],
            facts={"Validator": options.validator, "Stage": options.stage},
            conversations=Conversations("Diagnoses", tuple(map(diagnosis, done))),
            incomplete=sum(validation.label is None for row in done for validation in row.by_aspects.values()),
        )  # fmt: skip


class ValidationLabels(Labelling):
    """Each change that the validator proposes: whether it is to be made."""

    answers = (ACCEPT, KEEP)
    keeps_others = True  # of an earlier validation

    def questions(self, options: LabelAskOptions) -> list[Question]:
        return worklist.questions(worklist.read(Path(self.place)))

    def take(self, new: Annotations, decisions: Mapping[str, str], options: LabelInOptions) -> Taken:
        """Write `labels.jsonl`; `value` is the share of changes that people accept, by kind of defect."""
        rows, file = worklist.read(Path(self.place)), Path(self.place) / labels.FILE
        settled = self.settle(new, decisions, file, {row.id for row in rows})
        labels.write_rows(file, settled.rows)
        accepted: dict[Kind, list[bool | None]] = {}
        for row in rows:
            label = settled.labels.get(row.id)
            accepted.setdefault(row.kind, []).append(None if label is None else label == ACCEPT)  # type: ignore[arg-type]
        shares = {kind: pass_rate(values) for kind, values in accepted.items()}
        columns = (
            Column("kind", "Defect"), Column("accepted", "%", "score", parts=("value", "interval", "n", "unscored")),
        )  # fmt: skip
        cells = [{"kind": f"{kind}, {MEANING[kind]}", "accepted": share} for kind, share in shares.items()]
        sections = [
            labels.agreement_table(settled.annotations, "changes"), Table("accepted", columns, cells, "Changes that people accept"),
        ]  # fmt: skip
        return Taken(shares, sections, notes=open_notes(settled), files=[file])


def validation_tables(done: Sequence[Validated], looked: Sequence[Kind]) -> list[Table]:
    """The tables of validated instances; `looked` are the kinds of defects that were looked for."""
    meanings = {
        "FAIL": "needs change", "PASS": "can stay as it is", "undecided": "nothing could be read; neither PASS nor FAIL",
    }  # fmt: skip
    counts = Counter[tuple[str, str]]((row.instance.category, row.validation.label or "undecided") for row in done)
    categories = list(dict.fromkeys(category for category, _ in counts))
    lines: list[dict[str, Any]] = [
        {"what": label, "instances": sum(counts[category, label] for category in categories), "meaning": meaning}
        for label, meaning in meanings.items()
    ]
    for kind in looked:
        per_instance = [sum(finding.kind == kind for finding in row.validation.findings) for row in done]
        numbers = {"instances": sum(map(bool, per_instance)), "findings": sum(per_instance)}
        lines.append({"what": kind, "meaning": MEANING[kind], **numbers})
    by_category = [
        {"category": category or "(none)"} | {label: counts[category, label] for label in meanings}
        for category in categories if any(categories)
    ]  # fmt: skip
    unread = [{"id": row.instance.id, "problem": row.validation.problem} for row in done if not row.validation.label]
    columns = (
        Column("what", ""), Column("instances", "instances", "count"), Column("findings", "findings", "count"),
        Column("meaning", "which means"),
    )  # fmt: skip
    note = "A validator's word, not a proof: people decide what is changed."
    note += " A composite criterion by itself makes no FAIL." if "composite" in looked else ""
    tables = [
        Table("instances", columns, lines, "Instances", note),
        Table("categories", (Column("category", ""), *(Column(name, name, "count") for name in meanings)), by_category,
              "By category"),
        Table("undecided", (Column("id", "id"), Column("problem", "why", "prose")), unread, f"Undecided: {len(unread)}",
              printed=len(unread) <= _PRINTED),
    ]  # fmt: skip
    return [table for table in tables if table.rows]


_FAULTLESS = {
    "domain": "The instruction is of the productivity domain", "task": "The instruction matches its task",
    "clarity": "The instruction is clear",
}  # fmt: skip


def diagnosis(row: Validated) -> Conversation:
    """An instance with what the validator says of each of its criteria (or, of instructions, by kind of defect)."""
    instance, validation = row.instance, row.validation
    of_instruction = set(PROMPT_KINDS) <= set(validation.looked)

    def verdict(text: str, findings: Sequence[Finding]) -> Verdict:
        reasons = (
            f"{MEANING[f.kind].capitalize()} ({f.kind}): {f.reason} → {' / '.join(f.proposal) or f.change}" for f in findings
        )  # fmt: skip
        label: Label | None = "no" if findings else "yes" if validation.label else None
        return Verdict(Criterion(text), label, "\n".join(reasons) or validation.problem)

    turns = []
    for number, turn in enumerate(instance.turns, 1):
        findings = [finding for finding in validation.findings if finding.turn == number]
        named = [(text, [f for f in findings if f.kind == kind]) for kind, text in _FAULTLESS.items()]
        if not of_instruction:
            texts = enumerate((criterion.text for criterion in turn.criteria), 1)
            named = [(text, [f for f in findings if f.criterion == place]) for place, text in texts]
            missing = [finding for finding in findings if finding.criterion is None]
            named += [("No criterion is missing", missing)] if missing else []
        turns.append(Exchange((Message("user", turn.prompt),), tuple(verdict(*pair) for pair in named)))
    turns[-1] = replace(turns[-1], reasoning=validation.analysis)
    outcome: Mark = "open" if not validation.label else "yes" if validation.label == "PASS" else "no"
    kind = " / ".join(filter(None, (instance.category, instance.task)))
    return Conversation(
        " · ".join(filter(None, (instance.id, kind))), tuple(turns), outcome, validation.problem, language=instance.language,
        context=instance.context or "", opening=shortened(instance.turns[0].prompt, _OPENING),
        words=("Fine", "Defect", "Unread"),
    )  # fmt: skip


def lines(done: Sequence[Validated], known: bool) -> Iterator[dict[str, Any]]:
    """The lines of `validations.jsonl`: one per instance and set of aspects. `known`: the edits are told, too."""
    for row in done:
        instance = row.instance
        facts: dict[str, Any] = {name: getattr(instance, name) for name in ("id", "language", "category", "task")}
        edit = {"edit": row.edit.model_dump(exclude_defaults=True, exclude={"id"})} if known else {}
        for aspects, validation in row.by_aspects.items():
            yield facts | {"aspects": list(aspects)} | edit | {
                "label": validation.label, "found": {kind: validation.found(kind) for kind in validation.looked},
                "findings": [asdict(finding) | {"change": finding.change} for finding in validation.findings],
                "analysis": validation.analysis, "problem": validation.problem or None,
            }  # fmt: skip


def ablation_frame(done: Sequence[Validated]) -> DataFrame:
    """Return a row per set of aspects and instance, and one for saying FAIL to everything.

    `gold` and `label` are "yes" for FAIL, a missing label is undecided; rows that are not edited count as faultless.
    `named` is whether a defect of the kind of the `edit` is found, `placed` whether also at the criterion that was edited
    (of E3 in its turn); None where nobody looked for it, or nothing could be read.
    """
    import pandas as pd

    names, words = {some: ", ".join(some) or _NONE for some in SUBSETS}, {"FAIL": "yes", "PASS": "no", None: None}
    rows: list[tuple[Any, ...]] = []
    for row in done:
        kind, where = row.edit.edit, (row.edit.turn, None if row.edit.edit == "E3" else row.edit.criterion)
        gold = "no" if kind == "unedited" else "yes"
        rows.append((ALWAYS, kind, gold, "yes", None, None))
        for aspects, validation in row.by_aspects.items():
            named = None if kind == "unedited" else validation.found(kind)
            placed = any((f.turn, f.criterion) == where for f in validation.findings if f.kind == kind)
            hit = (named, None if named is None else placed)
            rows.append((names[aspects], kind, gold, words[validation.label], *hit))
    columns = ["aspects", "edit", "gold", "label", "named", "placed"]
    frame = pd.DataFrame(rows, columns=columns, dtype=object)
    orders = {"aspects": [*names.values(), ALWAYS], "edit": [*EDITS, "unedited"]}
    return frame.assign(**{name: pd.Categorical(frame[name], order) for name, order in orders.items()})


def subset_scores(frame: DataFrame) -> list[dict[str, Any]]:
    """Return what a validator reaches that was told about some aspects: over the rows it decided, undecided ones beside.

    `f1_strict` counts an undecided row as wrong, so that nobody gains by saying nothing.
    """
    measures = ("f1_yes", "f1_yes_strict", "precision", "tpr", "balanced_accuracy")
    rows = agreement(frame, ["aspects"], measures=measures).to_dict("records")
    return [
        row | {"f1": replace(row["f1_yes"], n=row["n"], unscored=row["undecided"]), "recall": row["tpr"],
               "f1_strict": replace(row["f1_yes_strict"], n=row["n"] + row["undecided"], unscored=0)}
        for row in rows
    ]  # fmt: skip


def edit_rates(frame: DataFrame) -> list[dict[str, Any]]:
    """Return by aspects and edit how many rows are FAIL, for whatever defect, and in how many the edit is found."""

    def rates(part: DataFrame) -> dict[str, Any]:
        flagged = pass_rate([None if label is None else label == "yes" for label in part["label"]])
        hits = {name: pass_rate(list(part[name])) if part[name].notna().any() else None for name in ("named", "placed")}
        return {"rows": len(part), "flagged": flagged, **hits}

    return by_group(frame[frame["aspects"] != ALWAYS], ["aspects", "edit"], rates).to_dict("records")  # type: ignore[no-any-return]


_NUMBER: Any = {"kind": "score", "unit": "", "digits": 3}
_SHARES = (
    Column("f1", "F1", about="Over decided rows; FAIL is the positive class.", parts=("value", "interval", "n", "unscored"), drawn=True, **_NUMBER),
    Column("f1_strict", "undecided as wrong", about="F1 with undecided rows as wrong.", minor=1, **_NUMBER),
    Column("precision", "precision", minor=2, **_NUMBER),
    Column("recall", "recall", minor=2, **_NUMBER),
    Column("balanced_accuracy", "balanced accuracy", minor=3, **_NUMBER),
)  # fmt: skip
_HITS = (
    Column("edit", "edit"), Column("rows", "rows", "count"),
    Column("flagged", "FAIL, %", "score", "The share that is FAIL, for whatever defect.", parts=("value", "interval")),
    Column("named", "the defect named, %", "score", "The share in which a defect of the kind is found.",
           parts=("value", "interval")),
    Column("placed", "and at its place, %", "score", "The share in which it is found where the edit is; for E3 in the turn "
           "that lost a criterion.", parts=("value", "interval")),
)  # fmt: skip


def ablation_tables(frame: DataFrame, release: bool) -> list[Table]:
    """Table 3 with the paper's rows beside, what saying FAIL to everything gives, and what becomes of each edit."""
    scores, edits = subset_scores(frame), edit_rates(frame)
    base = next(row["f1"] for row in scores if row["aspects"] == ALWAYS)
    tie = _PAPER_BEST / (2 - _PAPER_BEST)  # the share of FAIL at which always saying FAIL has this F1
    about_paper = (
        "The paper's truth is what its annotators changed, ours what an edit broke, so that its rows are no yardstick for "
        f"ours. Saying FAIL to everything has an F1 of {base.value:.3f} here. The paper does not tell how many of its "
        f"rows are FAIL: from a share of {tie:.2f} on its best F1, {_PAPER_BEST:.3f}, is no better than saying FAIL to everything."
    )
    paper = [
        {"aspects": ", ".join(name for name in ASPECTS if row[name.capitalize()]) or _NONE, "f1": Score(row["F1 score"], 0),
         PUBLISHED: True}
        for row in paper_rows("truebench", "truebench_table3")
    ]  # fmt: skip
    title = "Aspects in the validator's prompt (like the paper's Table 3)"
    full = [
        row | {"edit": f"{row['edit']}, {MEANING[row['edit']]}" if row["edit"] in EDITS else row["edit"]}
        for row in edits
        if row["aspects"] == _FULL
    ]
    note = (
        "With all three aspects. Unedited is not faultless. E1 and E3 need criteria that demand what the instruction states: "
        "summaries and translations have most of them, and fewer are left among the unedited."
    )
    if release:  # what reading 30 rows of each kind showed, see `holds` in ablation.jsonl
        note += (
            " Of 30 unedited rows that somebody read 7 have defects: a validator that finds every edit and these would have a "
            "precision of about 0.81 and an F1 of about 0.90."
        )
    aspects = Column("aspects", "aspects")
    return [
        Table("aspects", (aspects, *_SHARES), [*scores, *paper], title, about_paper),
        Table("", _HITS, full, "Known defects that are found", note),
        Table("edits", (aspects, *_HITS), edits, "Known defects by aspects", keys=2, printed=False),
    ]  # fmt: skip
