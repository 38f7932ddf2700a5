"""RubricEval: how far can a judge be trusted, rubric by rubric, under each paradigm of judging?

Abstract: a judge decides rubrics whose answers are known; balanced accuracy says how well. Granularity (one call per
rubric, or per response) times reasoning on or off are compared, and typed decisions beside them. Paper: "RubricEval",
sections 4 and 5. Data: `rubric_mini` (labels certain by construction), a file of one's own labels, or of
rubric_eval's columns, see `data.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from truebench_hf.benchmarks.rubric_eval import data
from truebench_hf.benchmarks.rubric_eval.metaeval import perturbed
from truebench_hf.benchmarks.rubric_eval.metaeval.board import KIND, ranking
from truebench_hf.benchmarks.rubric_eval.metaeval.options import MetaevalOptions
from truebench_hf.benchmarks.rubric_eval.metaeval.perturbed import AGAIN, ATTACKED, NEUTRAL, OTHERS
from truebench_hf.benchmarks.rubric_eval.metaeval.scores import (
    FIRST,
    LINE,
    PARADIGMS,
    MetaEvaluation,
    Row,
    verdict_frame,
    verdict_row,
)
from truebench_hf.benchmarks.rubric_eval.metaeval.tables import LEAD, TITLE, result_tables
from truebench_hf.data.rubrics import Item
from truebench_hf.engine.retry import ServerUnavailable
from truebench_hf.errors import UserError
from truebench_hf.judging.judge import CriteriaJudge, JudgeSettings
from truebench_hf.judging.panel import Panel
from truebench_hf.models.protocol import NoDecisions
from truebench_hf.prompts import Prompts
from truebench_hf.study.items import Items
from truebench_hf.study.notes import weak_judges
from truebench_hf.study.options import numbered
from truebench_hf.study.outcome import Outcome
from truebench_hf.study.study import Study
from truebench_hf.types import Verdict

Key = tuple[str, str]  # a judge or panel, and a paradigm
RowsByKey = dict[Key, list[Row]]  # all verdicts on a response: the first ones, and what perturbs them
JUDGMENTS, REWORDED, ATTACKS = "judgments.jsonl", "reworded.jsonl", "attacks.jsonl"
_PERTURBED = ("id", "judge", "paradigm", "asked", "gold")
_ATTACK = ("instruction_id", "attack", "technique", "attack_language")


class Metaeval(Study[MetaevalOptions, Item, RowsByKey, MetaEvaluation]):
    """Every judge under every paradigm on every response, and a panel of them where one is named."""

    kind = KIND
    files = (JUDGMENTS, REWORDED, ATTACKS)

    def items(self) -> Items[Item]:
        usable = data.answered(self.options.data)
        selection = data.selection(usable, usable.left_out.reasons)
        chosen = selection.sampled(self.options.limit, self.options.seed)
        if not any(rubric.label for item in chosen for rubric in item.rubrics):
            raise UserError(f"--data {self.options.data}: no row has a label to measure judges by")
        return selection

    def judge_settings(self) -> list[JudgeSettings]:
        return [self.options.settings(paradigm) for paradigm in self.options.chosen_paradigms]

    def bars(self) -> dict[str, int]:
        names = numbered(self.options.judge)
        return {f"{n} {paradigm}": len(self.chosen) for n in names for paradigm in self.options.chosen_paradigms}

    def setup(self) -> None:
        options = self.options
        self.names, self.unmeasured = numbered(options.judge), dict[tuple[str, str], str]()
        self.judges: dict[Key, CriteriaJudge] = {}
        self.reworded: dict[Key, dict[str, CriteriaJudge]] = {}
        self.panels: dict[str, Panel] = {}
        for paradigm, settings in zip(options.chosen_paradigms, self.judge_settings(), strict=True):
            prompts = {wording: Prompts(perturbed.reworded(settings, wording)) for wording in OTHERS}
            for number, name in enumerate(self.names, 1):
                # A role of its own in the ledger, so that it tells what each paradigm cost.
                part = f"{name} {paradigm}"
                self.judges[name, paradigm] = self.judge(settings, number=number, part=part)
                if (
                    options.reworded
                ):  # the calls of other wordings, and of the first one anew, are counted by themselves
                    other, anew = (self.caller("judge", number, f"{part} {calls}") for calls in ("reworded", "again"))
                    again = CriteriaJudge(anew, settings, options.prompts)
                    self.reworded[name, paradigm] = {
                        **{wording: CriteriaJudge(other, settings, prompts[wording]) for wording in OTHERS},
                        **dict.fromkeys(AGAIN, again),
                    }
            if options.panel:
                members = [self.judges[name, paradigm] for name in self.names]
                self.panels[paradigm] = Panel(members, *options.rule_and_weights)

    async def work(self, item: Item) -> RowsByKey:
        """Verdicts on one response: judges side by side, their paradigms one after the other, then the panels."""
        rows, first = RowsByKey(), dict[Key, tuple[Verdict, ...]]()
        await asyncio.gather(*(self._judged(item, name, first, rows) for name in self.names))
        for paradigm, panel in self.panels.items():
            ballots = [first[name, paradigm] for name in self.names if (name, paradigm) in first]
            if len(ballots) == len(self.names):
                key = (self.options.panel_name, paradigm)
                rows[key] = self._rows(item, panel.settle(ballots), key)
        return rows

    async def _judged(self, item: Item, name: str, first: dict[Key, tuple[Verdict, ...]], rows: RowsByKey) -> None:
        for paradigm in self.options.chosen_paradigms:
            key = (name, paradigm)
            verdicts = await self._measured(item, key)
            if verdicts is not None:
                first[key] = verdicts
                others = self.reworded.get(key, {})
                draws = {how: draw for draw, how in enumerate(AGAIN, 1)}
                again = [self._verdicts(judge, item, paradigm, draws.get(how, 0)) for how, judge in others.items()]
                rows[key] = self._rows(item, verdicts, key)
                for how, answers in zip(others, await asyncio.gather(*again), strict=True):
                    rows[key] += self._rows(item, answers, key, asked=how)
                rows[key] += await self._attacked(item, key, verdicts)
            self.step(f"{name} {paradigm}")

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

    async def _attacked(self, item: Item, key: Key, first: Sequence[Verdict]) -> list[Row]:
        """Verdicts behind every injection, and behind the neutral text beside it, where the judge had said no."""
        options = self.options
        target = perturbed.aimed(item, first) if options.attacks else None
        if target is None:
            return []
        number, settings = self.names.index(key[0]) + 1, self.judges[key].settings
        # The judge as it is, its calls counted by themselves.
        judges = {
            how: self.judge(settings, number=number, part=f"{' '.join(key)} {how}") for how in (ATTACKED, NEUTRAL)
        }
        trials = [
            (how, attack, perturbed.appended(target, text(item.case)))
            for attack in perturbed.drawn(item, options.attacks_each, options.seed)
            for how, text in ((ATTACKED, attack.on), (NEUTRAL, attack.beside))
        ]
        answers = [self._verdicts(judges[how], response, key[1]) for how, _, response in trials]
        rows = []
        for (how, attack, _), verdicts in zip(trials, await asyncio.gather(*answers), strict=True):
            columns = {"attack": attack.id, "technique": attack.technique, "attack_language": attack.language}
            rows += self._rows(target, verdicts, key, asked=how, **columns)
        return rows

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
            rows.append(verdict_row(item, rubric, verdict, *key) | columns)
            if self.options.attacks and not columns:
                rows[-1]["attackable"] = perturbed.attackable(item, rubric)
        return rows

    def score(self, done: Sequence[RowsByKey]) -> Outcome[MetaEvaluation]:
        options, provenance = self.options, self._provenance()
        names, paradigms = [*self.names, *([options.panel_name] if options.panel else [])], list(PARADIGMS)
        measured = [key for key in done[0] if all(key in by_key for by_key in done)]
        measured.sort(key=lambda key: (names.index(key[0]), paradigms.index(key[1])))
        rows = [row for key in measured for by_key in done for row in by_key[key]]
        frame = verdict_frame(rows, names)
        spent = self.folder.ledger.usage()["total"]
        usage = {key: spent[" ".join(key)] for key in measured if " ".join(key) in spent}
        tables = result_tables(
            frame, self.names, rules=options.rules, published=options.with_published,
            temperature=options.judge_temperature,
        )  # fmt: skip
        notes = self._notes()
        by_name = {table.name: table for table in tables}
        result = MetaEvaluation(by_name, notes, provenance, frame[frame["asked"] == FIRST])
        facts = {
            "Responses": f"{provenance['responses']} of {provenance['instructions']} instructions",
            "Rows": f"{provenance['rows']}, labelled yes {provenance['labelled_yes']}, no {provenance['labelled_no']}",
            "Judges": ", ".join(self.names),
            "Votes": options.votes,
            "Judge temperature": str(options.judge_temperature),
            **({"Panel": options.panel_shown} if options.panel_shown else {}),
        }
        # Under what none could be measured there is nothing that a later command might drop.
        kept = [name for name in options.chosen_paradigms if any(name == paradigm for _, paradigm in measured)]
        return Outcome(
            result, title=TITLE, tables=tables, items=_files(rows, options), notes=notes, facts=facts, lead=LEAD,
            ranking=ranking(by_name, provenance, usage) if measured else None,
            results={"paradigms": kept, **({"reworded": options.wordings} if self.reworded else {})},
        )  # fmt: skip

    def _provenance(self) -> dict[str, Any]:
        labels = [rubric.label for item in self.chosen for rubric in item.rubrics]
        return {
            **self.provenance,
            "responses": len(self.chosen),
            "instructions": len({item.instruction_id for item in self.chosen}),
            "rows": len(labels),
            "labelled_yes": labels.count("yes"),
            "labelled_no": labels.count("no"),
        }

    def _notes(self) -> tuple[str, ...]:
        notes = []
        reasons = {key: why for key, why in self.unmeasured.items() if why}
        for (name, paradigm), why in reasons.items():
            notes.append(
                f"{name} was not measured under {paradigm}: {why}" if name in self.names
                else f"the panel has no row for {paradigm}: {why}"
            )  # fmt: skip
        absent = {p: [name for name in self.names if (name, p) in reasons] for p in self.panels}
        notes += [
            f"the panel has no row for {p}: not measured under it: {', '.join(n)}" for p, n in absent.items() if n
        ]
        notes += weak_judges(self.options.judge)
        if self.options.calibration:
            notes.append("Decisions are calibrated; on the very rows they were fitted on, their scores are flattering.")
        if unlabelled := sum(rubric.label is None for item in self.chosen for rubric in item.rubrics):
            notes.append(f"{unlabelled} rows have no label: judged, but left out of every agreement score.")
        return tuple(notes)


def _files(rows: Sequence[Row], options: MetaevalOptions) -> dict[str, Any]:
    """The verdicts as lines: the first ones, and in files of their own what perturbs them."""
    files: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {JUDGMENTS: (LINE, (FIRST,))}
    if options.reworded:
        files[REWORDED] = ((*_PERTURBED, "label", "reason", "probability"), (*OTHERS, *AGAIN))
    if options.attacks:
        files[ATTACKS] = ((*_PERTURBED, *_ATTACK, "label", "reason", "probability"), (ATTACKED, NEUTRAL))
    return {
        file: [{name: row[name] for name in names} for row in rows if row["asked"] in ways]
        for file, (names, ways) in files.items()
    }


def metaeval(options: MetaevalOptions) -> MetaEvaluation:
    """Measure judges on labelled rubrics; `truebench metaeval` as a Python call. Writes the study into `options.out`.

    Raises UserError on what the caller can fix.
    """
    return Metaeval(options).run().value
