"""RubricEval: how far can a judge be trusted, rubric by rubric, under each paradigm of judging?

Abstract: a judge decides rubrics whose answers are known; balanced accuracy says how well. Granularity (one call per
rubric, or per response) times reasoning on or off are compared, and typed decisions beside them. Paper: "RubricEval",
sections 4 and 5. Data: `rubric_mini` (labels certain by construction), a file of one's own labels, or of
rubric_eval's columns, see `data.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from truebench_hf.benchmarks.rubric_eval import comparisons, data, scores
from truebench_hf.benchmarks.rubric_eval.comparisons import AGAIN, ATTACKED, NEUTRAL, OTHERS
from truebench_hf.benchmarks.rubric_eval.scores import FIRST, LINE, PARADIGMS, MetaEvaluation, Row
from truebench_hf.data.rubrics import Item
from truebench_hf.engine.retry import ServerUnavailable
from truebench_hf.errors import UserError, unknown
from truebench_hf.judging.judge import CriteriaJudge, JudgeSettings, combine
from truebench_hf.judging.signed_asking import JUDGE_SAMPLING
from truebench_hf.models.protocol import NoDecisions
from truebench_hf.options import Binds, option, role
from truebench_hf.prompts import Prompts
from truebench_hf.report.table import PUBLISHED, Table
from truebench_hf.study.items import Items
from truebench_hf.study.notes import weak_judges
from truebench_hf.study.options import PanelOptions, ReplyOptions, RuleOptions, StudyOptions, numbered
from truebench_hf.study.outcome import Outcome
from truebench_hf.study.study import Study
from truebench_hf.types import Verdict

if TYPE_CHECKING:
    from pandas import DataFrame

JUDGMENTS, REWORDED, ATTACKS = "judgments.jsonl", "reworded.jsonl", "attacks.jsonl"
_PERTURBED = ("id", "judge", "paradigm", "asked", "gold")
_ANSWERED = ("label", "reason", "probability")
_ATTACK = ("instruction_id", "attack", "technique", "attack_language")
_PANEL = Binds("panel", lambda o: o.panel_shown, grows=True, again="the same judges in their order, and --panel")
_FITTED = Binds("decision", lambda o: o.decision, late=True)


class MetaevalOptions(StudyOptions, ReplyOptions, RuleOptions, PanelOptions):
    """Which judges are measured on which labelled data, and how they judge."""

    data: str = option(
        help="Labelled rows: a file of prompt, response, criterion and label (1 or 0, yes or no; category, language and "
        "cluster may be there), rubric_mini or a file in its columns, a folder of splits, a Hub id, or SOURCE:PATH of a "
        "labelled set (profbench, healthbench_meta)."
    )
    judge: tuple[str, ...] = role(
        help="Judge: smollm2, hf:, vllm:, openai: or scripted: spec; may be repeated.",
        binds=Binds("judges", lambda o: numbered(o.judge), late=True, grows=True),
    )
    paradigms: str = option(
        "all", help=f"all, or some of {', '.join(PARADIGMS)}, separated by commas.",
        binds=Binds("paradigms", lambda o: list(o.chosen_paradigms), grows=True),
    )  # fmt: skip
    threshold: float | None = option(
        None, binds=_FITTED,
        help="Decision paradigm: P(yes) from which a rubric is met; that of --calibration, otherwise 0.5."
    )  # fmt: skip
    calibration: str | None = option(
        None, binds=_FITTED, help="calibration.json of the one judge, from `truebench study calibrate`."
    )
    votes: int = option(
        1, ge=1, binds=Binds(late=True), help="Votes per rubric (majority); more than one needs a judge temperature."
    )
    judge_temperature: float = option(0.0, ge=0, binds=Binds(late=True), help="Sampling temperature of the judges.")
    reworded: bool = option(
        False, binds=Binds("reworded", lambda o: o.wordings, grows=True),
        help="Ask by two more wordings of every prompt and twice again by the first: what moves a verdict? Five times the calls."
    )  # fmt: skip
    attacks: bool = option(
        False, binds=Binds("attacks", lambda o: [comparisons.attack_set()] if o.attacks else [], grows=True),
        help="Append injections to responses and judge unmet rubrics again, beside neutral text: what turns a no? More "
        "than a hundred times the calls: take a --limit, or --attacks-each."
    )  # fmt: skip
    attacks_each: int | None = option(
        None, ge=1, help="Only N injections of every technique for a response, drawn by --seed; a larger N takes the same and more."
    )  # fmt: skip
    panel: str | None = option(
        None, binds=_PANEL, help="A line for several judges together, too: majority, unanimous, or weighted:2,1,1."
    )
    with_published: bool = option(False, help="Show the figures that the paper prints beside the measured ones.")

    def model_post_init(self, context: Any) -> None:
        super().model_post_init(context)
        if not self.judge:
            raise UserError("name at least one --judge")
        if self.calibration and len(self.judge) > 1:
            raise UserError("--calibration belongs to one judge; measure it alone, in a folder of its own")
        self.check_panel(len(self.judge))
        for name, _ in self._rewordings:
            if name in self.prompts.replaced:
                raise UserError(f"--reworded compares our wordings of {name}; leave out --prompt {name}=...")
        if self.attacks_each is not None and not self.attacks:
            raise UserError(f"--attacks-each {self.attacks_each}: is about --attacks; add it")
        if (self.calibration or self.threshold is not None) and "decision" not in self.chosen_paradigms:
            raise UserError("--calibration and --threshold are about the decision paradigm; add it to --paradigms")

    @property
    def chosen_paradigms(self) -> tuple[str, ...]:
        """The paradigms asked for, in the order of `PARADIGMS`."""
        names = [name.strip() for name in self.paradigms.split(",") if name.strip()]
        if names == ["all"]:
            return tuple(PARADIGMS)
        for name in names:
            if name not in PARADIGMS:
                raise unknown("paradigm", name, ("all", *PARADIGMS))
        if not names:
            raise UserError("--paradigms names none; write all, or some separated by commas")
        return tuple(name for name in PARADIGMS if name in names)

    @property
    def decision(self) -> dict[str, Any]:
        """How the decision paradigm decides, as a folder notes it; {} where it is not asked for."""
        if "decision" not in self.chosen_paradigms:
            return {}
        settings = self.settings("decision")
        fitted = asdict(settings.calibrator) if settings.calibrator else None
        return {"threshold": settings.threshold, "calibrator": fitted}

    @property
    def _rewordings(self) -> set[tuple[str, str]]:
        """The prompts that judges are asked by in other wordings, each with the name of one; none without `reworded`."""
        judges = map(self.settings, self.chosen_paradigms if self.reworded else ())
        return {pair for judge in judges for name in OTHERS for pair in comparisons.reworded(judge, name).items()}

    @property
    def wordings(self) -> list[str]:
        """The other wordings that judges are asked by, each with the beginning of its hash."""
        return sorted(f"{name}.{other} {Prompts({name: other}).hash(name)[:12]}" for name, other in self._rewordings)

    @property
    def panel_name(self) -> str:
        """The name the panel has in tables: its rule, and the weights of its judges if it has any."""
        return f"panel ({self.panel_rule})"

    @property
    def panel_shown(self) -> str | None:
        """Everything about the panel in one line; None without one."""
        return f"{self.panel_name} of {', '.join(numbered(self.judge))}" if self.panel else None

    def settings(self, paradigm: str) -> JudgeSettings:
        """How a judge decides under a paradigm."""
        level, reasoning = PARADIGMS[paradigm]
        settings = JudgeSettings(
            level=level,
            reasoning=reasoning,
            structured=self.structured,
            votes=1 if level == "decision" else self.votes,  # a probability does not change from vote to vote
            rules=self.rules,
            sampling=replace(JUDGE_SAMPLING, temperature=self.judge_temperature),
        )
        return settings.at_threshold(self.threshold, self.calibration, self.judge[0], self.prompts)


Key = tuple[str, str]  # a judge or panel, and a paradigm
# Who judges what under which paradigm in which draw, and its columns.
Trial = tuple[CriteriaJudge, Item, str, int, dict[str, str]]
RowsByKey = dict[Key, list[Row]]  # all verdicts on a response: the first ones, and what perturbs them


class Metaeval(Study[MetaevalOptions, Item, RowsByKey, MetaEvaluation]):
    """Every judge under every paradigm on every response, and a panel of them where one is named."""

    kind = scores.KIND
    files = (JUDGMENTS, REWORDED, ATTACKS)

    def items(self) -> Items[Item]:
        usable = data.answered(self.options.data)
        return data.selection(usable, usable.left_out.reasons)

    def check(self) -> None:
        if not any(rubric.label for item in self.chosen for rubric in item.rubrics):
            raise UserError(f"--data {self.options.data}: no row has a label to measure judges by")

    def judge_settings(self) -> list[JudgeSettings]:
        return [self.options.settings(paradigm) for paradigm in self.options.chosen_paradigms]

    def bars(self) -> dict[str, int]:
        names = numbered(self.options.judge)
        return {f"{n} {paradigm}": len(self.chosen) for n in names for paradigm in self.options.chosen_paradigms}

    def setup(self) -> None:
        options, self.names = self.options, numbered(self.options.judge)
        self.unmeasured = dict[Key, str]()
        self.judges: dict[Key, CriteriaJudge] = {}
        self.perturbed: dict[Key, dict[str, CriteriaJudge]] = {}
        for paradigm, settings in zip(options.chosen_paradigms, self.judge_settings(), strict=True):
            for number, name in enumerate(self.names, 1):
                # A role of its own in the ledger, so that it tells what each paradigm cost, and each perturbation.
                key, part = (name, paradigm), f"{name} {paradigm}"
                self.judges[key] = self.judge(settings, number=number, part=part)
                others = self.perturbed[key] = {}
                if options.reworded:
                    caller = self.caller("judge", number, f"{part} reworded")
                    prompts = {wording: Prompts(comparisons.reworded(settings, wording)) for wording in OTHERS}
                    others |= {wording: CriteriaJudge(caller, settings, prompts[wording]) for wording in OTHERS}
                    others |= dict.fromkeys(AGAIN, self.judge(settings, number=number, part=f"{part} again"))
                if options.attacks:
                    kinds = (ATTACKED, NEUTRAL)
                    others |= {how: self.judge(settings, number=number, part=f"{part} {how}") for how in kinds}

    async def work(self, item: Item) -> RowsByKey:
        """Verdicts on one response: judges side by side, their paradigms one after the other, then the panels."""
        rows, first = RowsByKey(), dict[Key, tuple[Verdict, ...]]()
        await asyncio.gather(*(self._judged(item, name, first, rows) for name in self.names))
        for paradigm in self.options.chosen_paradigms if self.options.panel else ():
            ballots = [first[name, paradigm] for name in self.names if (name, paradigm) in first]
            if len(ballots) == len(self.names):
                key = (self.options.panel_name, paradigm)
                settled = [combine(votes, *self.options.rule_and_weights) for votes in zip(*ballots, strict=True)]
                rows[key] = self._rows(item, settled, key)
        return rows

    async def _judged(self, item: Item, name: str, first: dict[Key, tuple[Verdict, ...]], rows: RowsByKey) -> None:
        for paradigm in self.options.chosen_paradigms:
            key = (name, paradigm)
            verdicts = await self._measured(item, key)
            if verdicts is not None:
                first[key], rows[key] = verdicts, self._rows(item, verdicts, key)
                trials = list(self._perturbations(item, key, verdicts))
                answers = await asyncio.gather(*(self._verdicts(*trial[:4]) for trial in trials))
                for (_, target, *_, columns), perturbed in zip(trials, answers, strict=True):
                    rows[key] += self._rows(target, perturbed, key, **columns)
            self.step(" ".join(key))

    def _perturbations(self, item: Item, key: Key, first: Sequence[Verdict]) -> Iterator[Trial]:
        """What is asked behind the first verdicts: other wordings, the first one anew, and attacks on what it said no to."""
        judges, options = self.perturbed[key], self.options
        if options.reworded:
            for draw, how in [*((0, wording) for wording in OTHERS), *enumerate(AGAIN, 1)]:
                yield judges[how], item, key[1], draw, {"asked": how}
        target = comparisons.aimed(item, first) if options.attacks else None
        if target is None:
            return
        for attack in comparisons.drawn(item, options.attacks_each, options.seed):
            columns = {"attack": attack.id, "technique": attack.technique, "attack_language": attack.language}
            for how, text in ((ATTACKED, attack.on), (NEUTRAL, attack.beside)):
                hostile = comparisons.appended(target, text(item.case))
                yield judges[how], hostile, key[1], 0, {"asked": how, **columns}

    async def _measured(self, item: Item, key: Key) -> tuple[Verdict, ...] | None:
        """The first verdicts. Not every server takes typed decisions; that must not cost the other paradigms."""
        if key in self.unmeasured:
            return None
        try:
            return await self._verdicts(self.judges[key], item, key[1])
        except UserError as error:
            optional = PARADIGMS[key[1]][0] == "decision" and len(self.options.chosen_paradigms) > 1
            if not optional or isinstance(error, ServerUnavailable):  # a server that is lost costs everything
                raise
            # Who named no paradigm has not asked for decisions.
            unasked = isinstance(error, NoDecisions) and self.options.paradigms.strip() == "all"
            self.unmeasured[key] = "" if unasked else str(error)
            return None

    async def _verdicts(self, judge: CriteriaJudge, item: Item, paradigm: str, draw: int = 0) -> tuple[Verdict, ...]:
        """A verdict per row. At checklist level judges see the whole checklist, elsewhere only what has rows."""
        if PARADIGMS[paradigm][0] != "checklist":
            return await judge.verdicts(item.labelled, draw)
        verdicts = await judge.verdicts(item.case, draw)
        return tuple(verdicts[rubric.index] for rubric in item.rubrics)

    def _rows(self, item: Item, verdicts: Sequence[Verdict], key: Key, **columns: str) -> list[Row]:
        """A row per rubric of the item; `columns` tell a perturbed verdict from the first one on the same rubric."""
        rows = []
        for rubric, verdict in zip(item.rubrics, verdicts, strict=True):
            rows.append(scores.verdict_row(item, rubric, verdict, *key) | columns)
            if self.options.attacks and not columns:
                rows[-1]["attackable"] = comparisons.attackable(item, rubric)
        return rows

    def score(self, done: Sequence[RowsByKey]) -> Outcome[MetaEvaluation]:
        options, provenance = self.options, self.provenance
        names, paradigms = [*self.names, *([options.panel_name] if options.panel else [])], list(PARADIGMS)
        measured = [key for key in done[0] if all(key in by_key for by_key in done)]
        measured.sort(key=lambda key: (names.index(key[0]), paradigms.index(key[1])))
        rows = [row for key in measured for by_key in done for row in by_key[key]]
        frame = scores.verdict_frame(rows, names)
        spent = self.folder.ledger.usage()["total"]
        usage = {key: spent[" ".join(key)] for key in measured if " ".join(key) in spent}
        tables, notes = result_tables(frame, options), self._notes()
        by_name = {table.name: table for table in tables}
        labels = [rubric.label for item in self.chosen for rubric in item.rubrics]
        facts = {
            "Responses": f"{len(self.chosen)} of {len({item.instruction_id for item in self.chosen})} instructions",
            "Rows": f"{len(labels)}, labelled yes {labels.count('yes')}, no {labels.count('no')}",
            "Judges": ", ".join(self.names),
            "Votes": options.votes,
            "Judge temperature": str(options.judge_temperature),
            **({"Panel": options.panel_shown} if options.panel_shown else {}),
        }
        # Under what none could be measured there is nothing that a later command might drop.
        kept = [name for name in options.chosen_paradigms if any(name == paradigm for _, paradigm in measured)]
        files: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {JUDGMENTS: ((FIRST,), LINE)}
        if options.reworded:
            files[REWORDED] = ((*OTHERS, *AGAIN), (*_PERTURBED, *_ANSWERED))
        if options.attacks:
            files[ATTACKS] = ((ATTACKED, NEUTRAL), (*_PERTURBED, *_ATTACK, *_ANSWERED))
        return Outcome(
            MetaEvaluation(by_name, notes, provenance, frame[frame["asked"] == FIRST]),
            title="RubricEval: judges measured", lead="How far judges agree with reference labels, rubric by rubric.",
            tables=tables, notes=notes, facts=facts,
            items={
                file: [{name: row[name] for name in columns} for row in rows if row["asked"] in ways]
                for file, (ways, columns) in files.items()
            },
            ranking=scores.ranking(by_name, provenance, usage) if measured else None,
            results={"paradigms": kept, **({"reworded": options.wordings} if options.reworded else {})},
        )  # fmt: skip

    def _notes(self) -> tuple[str, ...]:
        notes, reasons = list[str](), {key: why for key, why in self.unmeasured.items() if why}
        notes += [f"{name} was not measured under {paradigm}: {why}" for (name, paradigm), why in reasons.items()]
        for paradigm in self.options.chosen_paradigms if self.options.panel else ():
            if absent := [name for name in self.names if (name, paradigm) in reasons]:
                notes.append(f"the panel has no row for {paradigm}: not measured under it: {', '.join(absent)}")
        notes += weak_judges(self.options.judge)
        if self.options.calibration:
            notes.append("Decisions are calibrated; on the very rows they were fitted on, their scores are flattering.")
        if unlabelled := sum(rubric.label is None for item in self.chosen for rubric in item.rubrics):
            notes.append(f"{unlabelled} rows have no label: judged, but left out of every agreement score.")
        return tuple(notes)


def result_tables(frame: DataFrame, options: MetaevalOptions) -> list[Table]:
    """Return every table of a meta-evaluation that has rows, those for a screen first; `frame` is a `verdict_frame`."""
    first = frame[frame["asked"] == FIRST]
    single = first[first["judge"].isin(numbered(options.judge))]
    agreed = scores.agreements(first, options.rules)
    tables = [
        scores.judges_table(first, agreed, options.rules),
        comparisons.differences_table(first),
        *comparisons.panel_tables(single),
        *comparisons.pass_rate_tables(single),
        *comparisons.wording_tables(frame, options.judge_temperature),
        *comparisons.attack_tables(frame),
        *scores.group_tables(first, agreed, comparisons.published_rows() if options.with_published else ()),
    ]
    return [table for table in tables if any(not row.get(PUBLISHED) for row in table.rows)]


def metaeval(options: MetaevalOptions) -> MetaEvaluation:
    """Measure judges on labelled rubrics; `truebench metaeval` as a Python call. Writes the study into `options.out`.

    Raises UserError on what the caller can fix.
    """
    return Metaeval(options).run().value
