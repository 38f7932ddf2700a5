"""`truebench study validate`: whether the criteria of a benchmark, or its instructions, can be used as they are.

Abstract: a model looks at every instance with its criteria, before any response is judged, for errors, for demands that
go too far and for conditions that no criterion covers, and proposes changes (paper 000, section 3.4). With `--ablation`
it is itself measured, on rows whose defects are known (section 5.2).
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from truebench_hf.benchmarks.truebench import ablation, worklist
from truebench_hf.benchmarks.truebench.ablation import RELEASE, SUBSETS, Edit, Edited, Validated
from truebench_hf.benchmarks.truebench.data import InstanceOptions
from truebench_hf.benchmarks.truebench.validator import (
    ASPECTS,
    MEANING,
    PROMPT_KINDS,
    SAMPLING,
    Finding,
    Kind,
    kinds,
    validate_instance,
)
from truebench_hf.benchmarks.truebench.worklist import ACCEPT, KEEP, State, finding_row
from truebench_hf.data.row_files import unusable
from truebench_hf.errors import UserError
from truebench_hf.metrics.pass_rate import pass_rate
from truebench_hf.models.asking import SchemaFallback
from truebench_hf.models.protocol import Sampling
from truebench_hf.options import option, role
from truebench_hf.report import labels
from truebench_hf.report.labels import Annotations, Question
from truebench_hf.report.sections import Conversation, Conversations, Exchange
from truebench_hf.report.table import Column, Table
from truebench_hf.study.items import Items
from truebench_hf.study.labelling import LabelAskOptions, LabelInOptions, Labelling, Taken, open_notes
from truebench_hf.study.notes import weak_judges
from truebench_hf.study.options import PromptOptions
from truebench_hf.study.outcome import Outcome
from truebench_hf.study.study import Study
from truebench_hf.types import Criterion, Message, Verdict

KIND = "criteria-validation"
_PRINTED = 5  # undecided instances that the terminal lists


@dataclass(frozen=True, kw_only=True)
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
    max_tokens: int = option(
        SAMPLING.max_tokens, binds=True, panel="Method", help="Token limit of one answer.", least=1
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.ablation and self.stage == "prompt":
            raise UserError("--ablation is about criteria; leave out --stage prompt")

    @property
    def looked(self) -> tuple[Kind, ...]:
        """The kinds of defects in the report."""
        return PROMPT_KINDS if self.stage == "prompt" else kinds(tuple(ASPECTS))


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
            rows = ablation.edited_rows(chosen, ablation.read_edits(options.ablation))
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
        options, sampling = self.options, Sampling(max_tokens=self.options.max_tokens)
        subsets = SUBSETS if options.ablation else ((),) if options.stage == "prompt" else (tuple(ASPECTS),)
        validations = await asyncio.gather(*(
            validate_instance(self.schemas, row.instance, options.prompts, aspects, stage=options.stage, sampling=sampling)
            for aspects in subsets
        ))  # fmt: skip
        return Validated(row.instance, row.edit, dict(zip(subsets, validations, strict=True)))

    def score(self, done: Sequence[Validated]) -> Outcome[dict[str, Table]]:
        options = self.options
        work = [
            finding_row(State.of(row.instance), finding, only_accept=True)
            for row in done
            for finding in row.validation.findings
        ]
        tables, place = validation_tables(done, options.looked), None
        if options.ablation:
            frame = ablation.ablation_frame(done)
            tables = [*ablation.ablation_tables(frame, options.ablation == RELEASE), *tables]
            place = ablation.ranking(frame, self.provenance)
        asks = f"`truebench label out {options.out}` (or `label open`) asks people which changes are to be made."
        return Outcome(
            {table.name: table for table in tables if table.name},
            title=f"TRUEBench: {'criteria' if options.stage == 'criteria' else 'instructions'} validated",
            lead=f"by {options.validator}", tables=tables,
            conversations=Conversations("Instances and their criteria", tuple(map(_conversation, done))),
            items={
                "validations.jsonl": lines(done, bool(options.ablation)),
                worklist.FILE: [row.model_dump() for row in work],
            },
            notes=[*weak_judges([options.validator]), *([asks] if work else [])],
            facts={"Validator": options.validator, "Stage": options.stage}, ranking=place,
            incomplete=sum(validation.label is None for row in done for validation in row.by_aspects.values()),
        )  # fmt: skip


def validation_tables(done: Sequence[Validated], looked: Sequence[Kind]) -> list[Table]:
    """The tables of validated instances; `looked` are the kinds of defects that were looked for."""
    labels_of = ("FAIL", "PASS", "undecided")
    counts = Counter[tuple[str, str]]((row.instance.category, row.validation.label or "undecided") for row in done)
    categories = [
        {"category": name or "(none)"} | {label: counts[name, label] for label in labels_of}
        for name in dict.fromkeys(name for name, _ in counts)
        if any(name for name, _ in counts)
    ]
    columns = (Column("category", ""), *(Column(name, name, "count") for name in labels_of))
    unread = [{"id": row.instance.id, "problem": row.validation.problem} for row in done if not row.validation.label]
    tables = [
        _counts(done, looked), Table("categories", columns, categories, "By category"),
        Table("undecided", (Column("id", "id"), Column("problem", "why", "prose")), unread, f"Undecided: {len(unread)}",
              printed=len(unread) <= _PRINTED),
    ]  # fmt: skip
    return [table for table in tables if table.rows]


def _counts(done: Sequence[Validated], looked: Sequence[Kind]) -> Table:
    by_label = Counter(row.validation.label for row in done)
    rows: list[dict[str, Any]] = [
        {"what": "FAIL", "instances": by_label["FAIL"], "meaning": "needs change"},
        {"what": "PASS", "instances": by_label["PASS"], "meaning": "can stay as it is"},
        {"what": "undecided", "instances": by_label[None], "meaning": "nothing could be read; neither PASS nor FAIL"},
    ]
    for kind in looked:
        per_instance = [sum(finding.kind == kind for finding in row.validation.findings) for row in done]
        counts = {"instances": sum(map(bool, per_instance)), "findings": sum(per_instance)}
        rows.append({"what": kind, "meaning": MEANING[kind], **counts})
    columns = (
        Column("what", ""), Column("instances", "instances", "count"), Column("findings", "findings", "count"),
        Column("meaning", "which means"),
    )  # fmt: skip
    note = "A validator's word, not a proof: people decide what is changed."
    if "composite" in looked:
        note += " A composite criterion by itself makes no FAIL."
    return Table("instances", columns, rows, "Instances", note)


def _conversation(row: Validated) -> Conversation:
    """An instance with what was found at each criterion, and what is missing."""
    instance, validation = row.instance, row.validation
    exchanges = []
    for number, turn in enumerate(instance.turns, 1):
        here = [finding for finding in validation.findings if finding.turn == number]
        verdicts: list[Verdict | Criterion] = []
        for place, criterion in enumerate(turn.criteria, 1):
            own = [finding for finding in here if finding.criterion == place]
            reason = " ".join(f"{_title(finding)}: {_reason(finding)}" for finding in own)
            defect = any(finding.kind != "composite" for finding in own)
            clean = (
                criterion if validation.found("E1") is None else Verdict(criterion, "yes")
            )  # bare where nobody looked
            verdicts.append(Verdict(criterion, "no" if defect else "unknown", reason) if own else clean)
        absent = [finding for finding in here if finding.criterion is None]
        verdicts += [Verdict(Criterion(f"({_title(finding)})"), "no", _reason(finding)) for finding in absent]
        exchanges.append(Exchange((Message("user", turn.prompt),), tuple(verdicts)))
    name = " · ".join(filter(None, (instance.id, instance.language, instance.category, instance.task)))
    outcomes: dict[str | None, Any] = {"PASS": "yes", "FAIL": "no", None: "open"}
    return Conversation(
        name, tuple(exchanges), outcomes[validation.label], validation.problem, language=instance.language,
        context=instance.context or "",
    )  # fmt: skip


def _title(finding: Finding) -> str:
    return f"{finding.kind}, {MEANING[finding.kind]}"


def _reason(finding: Finding) -> str:
    proposal = f": {' / '.join(finding.proposal)}" if finding.proposal else ""
    return f"{finding.reason} ({finding.change}{proposal})"


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
        accepted: dict[str, list[bool | None]] = {}
        for row in rows:
            label = settled.labels.get(row.id)
            accepted.setdefault(row.kind, []).append(None if label is None else label == ACCEPT)
        shares = {kind: pass_rate(values) for kind, values in accepted.items()}
        columns = (
            Column("kind", "Defect"), Column("accepted", "%", "score", parts=("value", "interval", "n", "unscored")),
        )  # fmt: skip
        cells = [{"kind": f"{kind}, {MEANING[kind]}", "accepted": share} for kind, share in shares.items()]  # type: ignore[index]
        table = Table("accepted", columns, cells, "Changes that people accept")
        sections = [labels.agreement_table(settled.annotations, "changes"), table]
        return Taken(shares, sections, notes=open_notes(settled), files=[file])
