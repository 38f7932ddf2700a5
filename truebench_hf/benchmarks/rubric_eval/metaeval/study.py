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
from truebench_hf.benchmarks.rubric_eval.metaeval.perturbed import (
    AGAIN,
    ATTACKED,
    NEUTRAL,
    OTHERS,
    Attack,
    aimed,
    appended,
    attackable,
    drawn,
)
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
from truebench_hf.data.rubrics import Item, Rubric
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
from truebench_hf.types import Usage, Verdict

# By (judge or panel, paradigm), and of rewording (judge, paradigm, wording or draw): a verdict per row of a response.
# Of attacks (judge, paradigm, "attacked" or "neutral", id): a verdict per row that is `aimed` at.
Key = tuple[str, ...]
VerdictsByKey = dict[Key, tuple[Verdict, ...]]
JUDGMENTS, REWORDED, ATTACKS = "judgments.jsonl", "reworded.jsonl", "attacks.jsonl"
_PERTURBED = ("id", "judge", "paradigm", "asked", "gold")
_PLACES = {paradigm: place for place, paradigm in enumerate(PARADIGMS)}


class Metaeval(Study[MetaevalOptions, Item, VerdictsByKey, MetaEvaluation]):
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
        self.attacks = {attack.id: attack for attack in perturbed.attacks()}
        self.reworded: dict[Key, dict[str, CriteriaJudge]] = {}
        self.panels: dict[str, Panel] = {}
        for paradigm, settings in zip(options.chosen_paradigms, self.judge_settings(), strict=True):
            for number, name in enumerate(self.names, 1):
                # A role of its own in the ledger, so that it tells what each paradigm cost.
                self.judges[name, paradigm] = self.judge(settings, number=number, part=f"{name} {paradigm}")
                if options.reworded:
                    self.reworded[name, paradigm] = self._reworded(settings, number, f"{name} {paradigm}")
            if options.panel:
                members = [self.judges[name, paradigm] for name in self.names]
                self.panels[paradigm] = Panel(members, *options.rule_and_weights)

    def _reworded(self, settings: JudgeSettings, number: int, part: str) -> dict[str, CriteriaJudge]:
        """A judge by every wording, and the first one anew; the calls of either are counted by themselves."""
        prompts = {name: Prompts(perturbed.reworded(settings, name)) for name in OTHERS}
        prompts |= dict.fromkeys(AGAIN, self.options.prompts)
        what = dict.fromkeys(OTHERS, "reworded") | dict.fromkeys(AGAIN, "again")
        return {
            name: CriteriaJudge(self.caller("judge", number, f"{part} {what[name]}"), settings, wording)
            for name, wording in prompts.items()
        }

    async def work(self, item: Item) -> VerdictsByKey:
        """Verdicts on one response: judges side by side, their paradigms one after the other, then the panels."""
        by_key: VerdictsByKey = {}
        await asyncio.gather(*(self._judged(item, name, by_key) for name in self.names))
        for paradigm, panel in self.panels.items():
            ballots = [by_key[name, paradigm] for name in self.names if (name, paradigm) in by_key]
            if len(ballots) == len(self.names):
                by_key[self.options.panel_name, paradigm] = panel.settle(ballots)
        return by_key

    async def _judged(self, item: Item, name: str, by_key: VerdictsByKey) -> None:
        for paradigm in self.options.chosen_paradigms:
            key = (name, paradigm)
            await self._measured(key, by_key, self._verdicts(self.judges[key], item, paradigm))
            if key in by_key:
                others = self.reworded.get(key, {})
                draws = {name: draw for draw, name in enumerate(AGAIN, 1)}
                again = [self._verdicts(one, item, paradigm, draws.get(how, 0)) for how, one in others.items()]
                answers = await asyncio.gather(*again)
                by_key |= {(*key, how): verdicts for how, verdicts in zip(others, answers, strict=True)}
                by_key |= await self._attacked(item, key, by_key[key]) if self.options.attacks else {}
            self.step(f"{name} {paradigm}")

    async def _attacked(self, item: Item, key: tuple[str, str], first: tuple[Verdict, ...]) -> VerdictsByKey:
        """Verdicts behind every injection, and behind the neutral text beside it, where the judge had said no."""
        if (target := aimed(item, first)) is None:
            return {}
        hostile = {
            (*key, how, attack.id): appended(target, text(item.case))
            for attack in self._injections(item)
            for how, text in ((ATTACKED, attack.on), (NEUTRAL, attack.beside))
        }
        judges = {how: self._judge_of(key, how) for how in (ATTACKED, NEUTRAL)}
        verdicts = [self._verdicts(judges[names[2]], response, key[1]) for names, response in hostile.items()]
        return dict(zip(hostile, await asyncio.gather(*verdicts), strict=True))

    def _injections(self, item: Item) -> list[Attack]:
        return drawn(item, self.options.attacks_each, self.options.seed)

    def _judge_of(self, key: tuple[str, str], how: str) -> CriteriaJudge:
        """A judge as it is, its calls counted by themselves."""
        number = self.names.index(key[0]) + 1
        return self.judge(self.judges[key].settings, number=number, part=f"{' '.join(key)} {how}")

    async def _verdicts(self, judge: CriteriaJudge, item: Item, paradigm: str, draw: int = 0) -> tuple[Verdict, ...]:
        """A verdict per row. At checklist level judges see the whole checklist, elsewhere only what has rows."""
        if PARADIGMS[paradigm][0] != "checklist":
            return await judge.verdicts(item.labelled, draw)
        verdicts = await judge.verdicts(item.case, draw)
        return tuple(verdicts[rubric.index] for rubric in item.rubrics)

    async def _measured(self, key: tuple[str, str], by_key: VerdictsByKey, verdicts: Any) -> None:
        """Note the verdicts. Not every server takes typed decisions; that must not cost the other paradigms."""
        if key in self.unmeasured:
            verdicts.close()
            return
        try:
            by_key[key] = await verdicts
        except UserError as error:
            optional = PARADIGMS[key[1]][0] == "decision" and len(self.options.chosen_paradigms) > 1
            if not optional or isinstance(error, ServerUnavailable):  # a server that is lost costs everything
                raise
            # Who named no paradigm has not asked for decisions.
            unasked = isinstance(error, NoDecisions) and self.options.paradigms.strip() == "all"
            self.unmeasured[key] = "" if unasked else str(error)

    def score(self, done: Sequence[VerdictsByKey]) -> Outcome[MetaEvaluation]:
        options, provenance = self.options, self._provenance()
        names = [*self.names, *([options.panel_name] if options.panel else [])]
        measured = [key for key in done[0] if len(key) == 2 and all(key in by_key for by_key in done)]
        rows = self._rows(done, measured, names)
        frame = verdict_frame(rows, names)
        spent = self.folder.ledger.usage()["total"]
        usage: dict[Key, Usage] = {key: spent[" ".join(key)] for key in measured if " ".join(key) in spent}
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
        paradigms = [p for p in options.chosen_paradigms if any(p == paradigm for _, paradigm in measured)]
        return Outcome(
            result, title=TITLE, tables=tables, items=_files(rows, options), notes=notes, facts=facts, lead=LEAD,
            ranking=ranking(by_name, provenance, usage) if measured else None,
            results={"paradigms": paradigms, **({"reworded": options.wordings} if self.reworded else {})},
        )  # fmt: skip

    def _rows(self, done: Sequence[VerdictsByKey], measured: Sequence[Key], judges: Sequence[str]) -> list[Row]:
        """Every verdict as a row, of the judges in their order; under attack those on the rubrics that were aimed at."""
        rows = []
        for item, by_key in zip(self.chosen, done, strict=True):
            for (judge, paradigm, *asked), verdicts in by_key.items():
                if (judge, paradigm) not in measured:
                    continue
                target = aimed(item, by_key[judge, paradigm]) if len(asked) > 1 else item
                assert target is not None, "only what can be aimed at is attacked"
                for rubric, verdict in zip(target.rubrics, verdicts, strict=True):
                    rows.append(
                        verdict_row(target, rubric, verdict, judge, paradigm) | self._asked(item, rubric, asked)
                    )
        return sorted(rows, key=lambda row: (judges.index(row["judge"]), _PLACES[row["paradigm"]]))

    def _asked(self, item: Item, rubric: Rubric, asked: Sequence[str]) -> Row:
        """What tells a verdict from the others on the same rubric."""
        if len(asked) > 1:
            attack = self.attacks[asked[1]]
            return {
                "asked": asked[0], "attack": attack.id, "technique": attack.technique, "attack_language": attack.language
            }  # fmt: skip
        if asked:
            return {"asked": asked[0]}
        return {"asked": FIRST} | ({"attackable": attackable(item, rubric)} if self.options.attacks else {})

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

    def lines(names: Sequence[str], asked: Sequence[str]) -> list[Row]:
        return [{name: row[name] for name in names} for row in rows if row["asked"] in asked]

    files: dict[str, Any] = {JUDGMENTS: lines(LINE, (FIRST,))}
    if options.reworded:
        files[REWORDED] = lines((*_PERTURBED, "label", "reason", "probability"), (*OTHERS, *AGAIN))
    if options.attacks:
        attack = ("instruction_id", "attack", "technique", "attack_language")
        files[ATTACKS] = lines((*_PERTURBED, *attack, "label", "reason", "probability"), (ATTACKED, NEUTRAL))
    return files


def metaeval(options: MetaevalOptions) -> MetaEvaluation:
    """Measure judges on labelled rubrics; `truebench metaeval` as a Python call. Writes the study into `options.out`.

    Raises UserError on what the caller can fix.
    """
    return Metaeval(options).run().value
