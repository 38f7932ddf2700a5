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

from truebench_hf.benchmarks.truebench.options import InstanceOptions
from truebench_hf.benchmarks.truebench.validation.ablation import (
    RELEASE,
    SUBSETS,
    Edited,
    Validated,
    ablation,
    ablation_sections,
    as_json,
    board,
    edited_rows,
    read_edits,
)
from truebench_hf.benchmarks.truebench.validation.validator import (
    ASPECTS,
    MEANING,
    PROMPT_KINDS,
    SAMPLING,
    Finding,
    Kind,
    Validation,
    kinds,
    validate_instance,
    validate_prompt,
)
from truebench_hf.data import jsonl
from truebench_hf.data.usable import unusable
from truebench_hf.errors import UserError, unknown
from truebench_hf.hashing import canonical, digest
from truebench_hf.judging.sample_prompts import check_prompts
from truebench_hf.metrics.pass_rate import pass_rate
from truebench_hf.models.asking import SchemaFallback
from truebench_hf.models.protocol import Sampling
from truebench_hf.options import at_least_one, option, role
from truebench_hf.report import labels
from truebench_hf.report.labels import Annotations
from truebench_hf.report.sections import Cells, Conversation, Conversations, Exchange, Grid, Section
from truebench_hf.report.sheets import Question
from truebench_hf.report.table import Column, Table
from truebench_hf.study.items import Items
from truebench_hf.study.labelling import LabelAskOptions, LabelInOptions, Labelling, Taken, open_notes
from truebench_hf.study.notes import weak_judges
from truebench_hf.study.options import PromptOptions
from truebench_hf.study.outcome import Outcome
from truebench_hf.study.study import Study
from truebench_hf.types import Criterion, Message, Verdict

STAGES = ("criteria", "prompt")
KIND, WORK_LIST = "criteria-validation", "worklist.jsonl"


@dataclass(frozen=True, kw_only=True)
class ValidateCriteriaOptions(InstanceOptions, PromptOptions):
    """What is validated, by whom, and what for."""

    validator: str = role(help="Who validates: a model spec.")
    stage: str = option(
        "criteria", binds=True, panel="Method",
        help="criteria, or prompt: the instructions themselves (productivity domain, fit to their task, clarity).",
    )  # fmt: skip
    ablation: str | None = option(
        None, binds=True, panel="Method",
        help=f"Measure the validator on known defects, under all 8 sets of aspects (Table 3): {RELEASE} for the edits of 300 of its "
        "rows that come with this package, or a JSONL file of edits to --data.",
    )  # fmt: skip
    max_tokens: int = option(SAMPLING.max_tokens, binds=True, panel="Method", help="Token limit of one answer.")

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least_one(self, "max_tokens")
        if self.stage not in STAGES:
            raise unknown("stage", self.stage, STAGES)
        if self.ablation and self.stage == "prompt":
            raise UserError("--ablation is about criteria; leave out --stage prompt")

    @property
    def subsets(self) -> tuple[tuple[str, ...], ...]:
        """The sets of aspects that the validator is asked under; of instructions there is one, without any."""
        return SUBSETS if self.ablation else ((),) if self.stage == "prompt" else (tuple(ASPECTS),)

    @property
    def looked(self) -> tuple[Kind, ...]:
        """The kinds of defects in the report."""
        return PROMPT_KINDS if self.stage == "prompt" else kinds(tuple(ASPECTS))


class ValidateCriteria(Study[ValidateCriteriaOptions, Edited, Validated, dict[str, Any]]):
    """Every instance, or every row with a known defect, validated once; `value` is the content of `validation.json`."""

    kind, unit = KIND, "instances"
    files = ("validation.json", "validations.jsonl", WORK_LIST)

    def __init__(self, options: ValidateCriteriaOptions) -> None:
        super().__init__(options)
        self.prompts = (f"validate_{options.stage}",)

    def items(self) -> Items[Edited]:
        """The instances of the languages and categories asked for; for the ablation those that have an edit."""
        options = self.options
        chosen = options.chosen(judged=options.stage == "criteria")
        rows = [Edited(instance, "unedited") for instance in chosen]
        if options.ablation:
            rows = edited_rows(chosen, read_edits(options.ablation))
            if not rows:
                raise UserError(f"--data {options.data}: has none of the rows of --ablation {options.ablation}")
        return Items(
            rows, lambda row: row.instance.id, None,
            lambda row: (*([row.edit] if options.ablation else []), row.instance.language, row.instance.category),
            size=lambda row: len(row.instance.turns), left_out=unusable(chosen),
        )  # fmt: skip

    def check(self) -> None:
        check_prompts(self.prompts, self.options.prompts)

    def setup(self) -> None:
        self.schemas = SchemaFallback(self.caller("validator"))

    async def work(self, row: Edited) -> Validated:
        found = await asyncio.gather(*(self._validated(row, aspects) for aspects in self.options.subsets))
        return Validated(row, dict(zip(self.options.subsets, found, strict=True)))

    async def _validated(self, row: Edited, aspects: tuple[str, ...]) -> Validation:
        options, sampling = self.options, Sampling(max_tokens=self.options.max_tokens)
        if options.stage == "prompt":
            return await validate_prompt(self.schemas, row.instance, options.prompts, sampling=sampling)
        return await validate_instance(self.schemas, row.instance, options.prompts, aspects, sampling=sampling)

    def score(self, done: Sequence[Validated]) -> Outcome[dict[str, Any]]:
        options, rows = self.options, [one.edited for one in done]
        shown, looked = sections(done, options.looked), options.looked
        result: dict[str, Any] = {
            "instances": len(done),
            "labels": {label: sum(one.found.label == label for one in done) for label in ("FAIL", "PASS")},
            "undecided": {one.edited.instance.id: one.found.problem for one in done if one.found.label is None},
            "instances_with": {kind: sum(bool(one.found.of(kind)) for one in done) for kind in looked},
            "findings": {kind: sum(len(one.found.of(kind)) for one in done) for kind in looked},
        }
        place = None
        if options.ablation:
            found = ablation(done)
            result |= {"ablation": as_json(found, rows)}
            shown = [*ablation_sections(found, rows), *shown]
            place = board(found[-1], self.provenance)
        open_ = sum(one.label is None for row in done for one in row.by_aspects.values())
        files = {
            "validation.json": result,
            "validations.jsonl": lines(done, bool(options.ablation)),
            WORK_LIST: [listed(one, finding) for one in done for finding in one.found.findings],
        }
        notes = weak_judges([options.validator])
        if sum(result["findings"].values()):
            notes.append(
                f"`truebench label out {options.out}` (or `label open`) asks people which changes are to be made."
            )
        return Outcome(
            result, files, f"TRUEBench: {'criteria' if options.stage == 'criteria' else 'instructions'} validated", shown,
            lead=f"by {options.validator}", notes=notes, board=place, incomplete=open_,
            facts={"Validator": options.validator, "Stage": options.stage},
        )  # fmt: skip


def validate(options: ValidateCriteriaOptions) -> dict[str, Any]:
    """Validate criteria or instructions; `truebench study validate` in Python. Returns validation.json. Raises UserError."""
    return ValidateCriteria(options).run().value


_SHOWN = 300  # findings in the table of the report; the work list has all


def sections(done: Sequence[Validated], looked: Sequence[Kind]) -> list[Section]:
    """The report of validated instances; `looked` are the kinds of defects that were looked for."""
    shown: list[Section] = [_counts(done, looked)]
    categories = dict.fromkeys(one.edited.instance.category for one in done)
    if any(categories):
        counts = Counter((one.edited.instance.category, one.found.label) for one in done)
        by: list[Cells] = [
            (name or "(none)", *(counts[name, label] for label in ("FAIL", "PASS", None))) for name in categories
        ]
        shown.append(Grid("By category", ("", "FAIL", "PASS", "undecided"), tuple(by)))
    if listed := [(one, finding) for one in done for finding in one.found.findings]:
        shown.append(_findings(listed))
    if undecided := [one for one in done if one.found.label is None]:
        rows = tuple((one.edited.instance.id, one.found.problem[:200]) for one in undecided[:5])
        note = f"And {len(undecided) - 5} more, in validations.jsonl." if len(undecided) > 5 else ""
        shown.append(Grid(f"Undecided: {len(undecided)}", ("id", "why"), rows, note=note, prose=(1,)))
    return [*shown, Conversations("Instances and their criteria", tuple(map(_conversation, done)))]


def _counts(done: Sequence[Validated], looked: Sequence[Kind]) -> Grid:
    labels = Counter(one.found.label for one in done)
    rows: list[tuple[str, str | int, str | int]] = [
        ("FAIL", labels["FAIL"], "needs change"), ("PASS", labels["PASS"], "can stay as it is"),
        ("undecided", labels[None], "nothing could be read; neither PASS nor FAIL"),
    ]  # fmt: skip
    for kind in looked:
        found = [len(one.found.of(kind)) for one in done]
        rows.append((kind, sum(map(bool, found)), f"{MEANING[kind]}: {sum(found)} in all"))
    note = "A validator's word, not a proof: people decide what is changed."
    if "composite" in looked:
        note += " A composite criterion by itself makes no FAIL."
    return Grid("Instances", ("", "instances", ""), tuple(rows), note=note)


def _findings(listed: Sequence[tuple[Validated, Finding]]) -> Grid:
    rows: list[Cells] = []
    for one, finding in listed[:_SHOWN]:
        where = f"turn {finding.turn}" + ("" if finding.criterion is None else f", criterion {finding.criterion}")
        proposal = f"({finding.change}) " + " / ".join(finding.proposal)[:500]
        text = now(one, finding)[:500]
        rows.append((one.edited.instance.id, where, finding.kind, finding.reason, text, proposal))
    note = f"The first {_SHOWN} of {len(listed)}; worklist.jsonl has all." if len(listed) > _SHOWN else ""
    header = ("id", "where", "defect", "why", "now", "proposal")
    return Grid("Findings", header, tuple(rows), note=note, printed=False, prose=(3, 4, 5))


def _conversation(one: Validated) -> Conversation:
    """An instance with what was found at each criterion, and what is missing."""
    instance, found = one.edited.instance, one.found
    outcomes: dict[str | None, Any] = {"PASS": "yes", "FAIL": "no", None: "open"}
    exchanges = []
    for number, turn in enumerate(instance.turns, 1):
        here = [finding for finding in found.findings if finding.turn == number]
        verdicts = [_verdict(c, place, here, found) for place, c in enumerate(turn.criteria, 1)]
        verdicts += [Verdict(Criterion(f"({_title(one)})"), "no", _said(one)) for one in here if one.criterion is None]
        exchanges.append(Exchange((Message("user", turn.prompt),), tuple(verdicts)))
    name = " · ".join(filter(None, (instance.id, instance.language, instance.category, instance.task)))
    return Conversation(
        name, tuple(exchanges), outcomes[found.label], found.problem, language=instance.language,
        context=instance.context or "",
    )  # fmt: skip


def _verdict(criterion: Criterion, place: int, here: Sequence[Finding], found: Validation) -> Verdict | Criterion:
    """A criterion with the defects found in it: open where a composite is all; bare where nobody could tell."""
    if found.label is None or not {"E1", "E2"} & set(found.looked):
        return criterion
    own = [finding for finding in here if finding.criterion == place]
    label = "no" if any(finding.kind != "composite" for finding in own) else "unknown" if own else "yes"
    return Verdict(criterion, label, " ".join(f"{_title(finding)}: {_said(finding)}" for finding in own))  # type: ignore[arg-type]


def _title(finding: Finding) -> str:
    return f"{finding.kind}, {MEANING[finding.kind]}"


def _said(finding: Finding) -> str:
    proposal = f": {' / '.join(finding.proposal)}" if finding.proposal else ""
    return f"{finding.reason} ({finding.change}{proposal})"


def lines(done: Sequence[Validated], known: bool) -> Iterator[dict[str, Any]]:
    """The lines of `validations.jsonl`: one per instance and set of aspects. `known`: the edits are told, too."""
    for one in done:
        instance, edited = one.edited.instance, asdict(one.edited)
        del edited["instance"]
        named = {name: getattr(instance, name) for name in ("id", "language", "category", "task")}
        for aspects, found in one.by_aspects.items():
            told: dict[str, Any] = {"label": found.label, "found": {kind: found.found(kind) for kind in found.looked}}
            findings = [asdict(f) | {"change": f.change, "proposal": list(f.proposal)} for f in found.findings]
            told |= {"findings": findings, "analysis": found.analysis, "problem": found.problem or None}
            yield named | {"aspects": list(aspects)} | ({"edit": edited} if known else {}) | told


def now(one: Validated, finding: Finding) -> str:
    """The text that a finding is about: a criterion, an instruction, or none, where one is missing."""
    turn = one.edited.instance.turns[finding.turn - 1]
    if finding.criterion is not None:
        return turn.criteria[finding.criterion - 1].text
    return "" if finding.kind == "E3" else turn.prompt


def listed(one: Validated, finding: Finding) -> dict[str, Any]:
    """Return the line of `worklist.jsonl` for a finding: the instance as it is, and the change that is proposed."""
    instance = one.edited.instance
    about = {name: getattr(instance, name) for name in ("language", "category", "task")}
    turns = [{"prompt": turn.prompt, "criteria": [c.text for c in turn.criteria]} for turn in instance.turns]
    place = {"turn": finding.turn, "criterion": finding.criterion}
    # With what it is about: an answer to another finding, or to another text, is none to this one.
    name = f"f{digest(canonical([instance.id, turns, asdict(finding)]))[:15]}"
    return {
        "id": name, "instance": instance.id, **about, **place, "kind": finding.kind, "meaning": MEANING[finding.kind],
        "reason": finding.reason, "change": finding.change, "now": now(one, finding), "proposal": list(finding.proposal),
        "turns": turns,
    }  # fmt: skip


class ValidationLabels(Labelling):
    """Each change that the validator proposes: whether it is to be made."""

    answers = ("accept", "keep")
    keeps_others = True  # of an earlier validation

    def _rows(self) -> list[dict[str, Any]]:
        file = Path(self.place) / WORK_LIST
        if not file.is_file():
            raise UserError(f"{self.place}: is not finished; repeat the command of the study first")
        return [row for _, row in jsonl.read(file)]

    def questions(self, options: LabelAskOptions) -> list[Question]:
        return list(map(_question, self._rows()))

    def take(self, new: Annotations, decisions: Mapping[str, str], options: LabelInOptions) -> Taken:
        """Write `labels.jsonl`; `value` is the share of changes that people accept, by kind of defect."""
        rows, file = self._rows(), Path(self.place) / labels.FILE
        settled = self.settle(new, decisions, file, {row["id"] for row in rows})
        labels.write_rows(file, settled.rows)
        accepted = {
            kind: pass_rate([
                None if (label := settled.labels.get(row["id"])) is None else label == "accept"
                for row in rows if row["kind"] == kind
            ])
            for kind in dict.fromkeys(row["kind"] for row in rows)
        }  # fmt: skip
        columns = (
            Column("kind", "Defect"),
            Column("accepted", "%", "score", parts=("value", "interval", "n", "unscored")),
        )
        table = Table(
            "accepted", columns, [{"kind": f"{kind}, {MEANING[kind]}", "accepted": share} for kind, share in accepted.items()],
            "Changes that people accept",
        )  # fmt: skip
        among = labels.agreement(settled.annotations)
        sections: list[Section] = [labels.agreement_section(among, "changes"), table]
        return Taken(accepted, among, sections, notes=open_notes(settled), files=[file])


def _question(row: Mapping[str, Any]) -> Question:
    """A proposed change as people see it: beside the instance, and without its name."""
    several = len(row["turns"]) > 1
    read: dict[str, str] = {}
    for number, turn in enumerate(row["turns"], 1):
        of = f" of turn {number}" if several else ""
        criteria = "\n".join(f"{place}. {text}" for place, text in enumerate(turn["criteria"], 1))
        read |= {f"Instruction{of}": turn["prompt"]} | ({f"Criteria{of}": criteria} if criteria else {})
    place = f"turn {row['turn']}" + ("" if row["criterion"] is None else f", criterion {row['criterion']}")
    read |= {"Defect": f"{row['meaning']} ({place}): {row['reason']}"} | ({"Now": row["now"]} if row["now"] else {})
    read |= {f"Proposed change: {row['change']}": "\n".join(row["proposal"]) or "(nothing in its place)"}
    text = "Is this change to be made? accept, or keep all as it is."
    return Question(row["id"], text, read, ValidationLabels.answers, blind=row)
