"""`truebench study pairwise`: judges held against people's preferences, by four protocols (paper 004, section 3.2.2, Table 4)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from truebench_hf.benchmarks.tick import source
from truebench_hf.benchmarks.tick.options import ChecklistOptions
from truebench_hf.benchmarks.tick.pairwise import data, recorded
from truebench_hf.benchmarks.tick.pairwise.board import board
from truebench_hf.benchmarks.tick.pairwise.labels import Decided
from truebench_hf.benchmarks.tick.pairwise.protocols import PROTOCOLS, Asked
from truebench_hf.benchmarks.tick.pairwise.rows import Pair
from truebench_hf.benchmarks.tick.pairwise.scores import LineScores, score
from truebench_hf.benchmarks.tick.pairwise.sections import LEAD, TITLE, sections
from truebench_hf.errors import UserError, unknown
from truebench_hf.judging.judge import JudgeSettings
from truebench_hf.judging.sample_prompts import check_prompts
from truebench_hf.metrics.preference import label_distance
from truebench_hf.options import Binds, option, pairs, role
from truebench_hf.study.items import Items
from truebench_hf.study.notes import weak_judges
from truebench_hf.study.options import JudgingOptions, StudyOptions, numbered
from truebench_hf.study.outcome import Outcome
from truebench_hf.study.study import Study
from truebench_hf.types import Usage

Key = tuple[str, str]  # judge and protocol
Found = dict[Key, Decided]


@dataclass(frozen=True, kw_only=True)
class PairwiseOptions(StudyOptions, JudgingOptions, ChecklistOptions):
    """Which pairs, which judges, and how these come to a preference."""

    data: str = option(
        help="checklists_mini, llmbar:FOLDER (a clone of LLMBar), or labelled pairs: a path (JSONL, JSON, CSV, XLSX, Parquet, a "
        "folder of them) or a Hub id; see below."
    )  # fmt: skip
    column: tuple[str, ...] = option(
        (), panel="Data", help="OURS=THEIRS, e.g. response_a=first: another name of a column; may be repeated."
    )
    judge: tuple[str, ...] = role(
        (), help="Judge: a spec; may be repeated.",
        binds=Binds("judges", lambda o: list(map(str, numbered(o.judge))), late=True, grows=True),
    )  # fmt: skip
    protocol: tuple[str, ...] = option(
        (), help=f"{', '.join(PROTOCOLS)}; may be repeated; all four if not given.",
        binds=Binds("protocols", lambda o: list(o.protocols), grows=True),
    )  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in self.protocol:
            if name not in PROTOCOLS:
                raise unknown("protocol", name, tuple(PROTOCOLS))
        if not self.judge and (self.protocol or self.generator or self.checklists):
            raise UserError("name a --judge; only preferences that the data holds can be scored without one")

    @property
    def protocols(self) -> tuple[str, ...]:
        """The protocols asked for, in the paper's order; none without a judge."""
        return tuple(name for name in PROTOCOLS if self.judge and (not self.protocol or name in self.protocol))


class Pairwise(Study[PairwiseOptions, Pair, Found, tuple[LineScores, ...]]):
    """Every judge by every protocol on every pair; `value` is a line of scores for each, recorded ones behind."""

    kind, unit = "pairwise", "pairs"
    files = ("scores.json", "pairs.jsonl", source.FILE)
    editable = source.EDITABLE
    prompts = ("preference", "rating", "generate_checklist")

    def items(self) -> Items[Pair]:
        """The labelled pairs; a sample keeps the shares of subsets and labels."""
        self.found = data.load(self.options.data, pairs(self.options.column, "--column"))
        every = self.found.every
        instances = {pair.instance.id: pair.instance for pair in every}
        self.known_lists = source.known_checklists(self.options, instances.values())
        if instances.keys() == self.known_lists.keys():
            self.unasked = {"generator"}  # nothing is written, so that it may stay as another session had it
        if not self.options.judge and not any(pair.recorded for pair in every):
            raise UserError("name at least one --judge: the data holds no preferences of judges")
        return Items(
            every, lambda pair: pair.id, None, lambda pair: (pair.subset, pair.gold),
            lambda pair: pair.instance.id,
        )  # fmt: skip

    def judge_settings(self) -> list[JudgeSettings]:
        return [self._settings_of(spec) for spec in self.options.judge if "tick" in self.options.protocols]

    def _settings_of(self, spec: str) -> JudgeSettings:
        return self.options.judging(spec, "rubric")

    def check(self) -> None:
        check_prompts(self.prompts, self.options.prompts, self.options.structured)
        self.names = [str(name) for name in numbered(self.options.judge)]  # of a model in memory too
        self.recorded: dict[Key, dict[str, Decided]] = {}
        for pair in self.all.every:
            for name, decided in pair.recorded.items():
                self.recorded.setdefault((name, recorded.PROTOCOL), {})[pair.id] = decided
        for name, protocol in self.recorded:
            if name in self.names and protocol in self.options.protocols:
                raise UserError(f"the data holds what {name} said by {protocol}, which is asked here too; leave it out")

    def bars(self) -> dict[str, int]:
        asked = [f"{name} {protocol}" for name in self.names for protocol in self.options.protocols]
        return dict.fromkeys(asked, len(self.chosen)) if asked else super().bars()

    def setup(self) -> None:
        self.listed: dict[str, source.Listed] = {}  # by instruction
        self.asked = {}
        for number, (name, spec) in enumerate(zip(self.names, self.options.judge, strict=True), 1):
            callers = {p: self.caller("judge", number).in_role(f"{name} {p}") for p in self.options.protocols}
            self.asked[name] = Asked(callers, self._settings_of(spec), self.options.prompts, self._checklist)

    async def _checklist(self, pair: Pair) -> source.Listed:
        """The checklist of a pair's instruction, for all judges: known, or written by the generator or the first judge."""
        known = self.known_lists.get(pair.instance.id)
        found = await source.checklist(self, source.Item(pair.instance, known))
        self.listed[pair.instance.id] = found
        return found

    async def work(self, pair: Pair) -> Found:
        """What each judge makes of a pair: judges side by side, their protocols one after the other."""
        found: Found = {}

        async def by(name: str) -> None:
            for protocol in self.options.protocols:
                found[name, protocol] = await self.asked[name].decide(protocol, pair)
                self.step(f"{name} {protocol}")

        await asyncio.gather(*map(by, self.names))
        return found

    def score(self, done: Sequence[Found]) -> Outcome[tuple[LineScores, ...]]:
        spent = self.folder.ledger.usage()["total"]
        lines: dict[Key, list[tuple[Pair, Decided]]] = {
            (name, protocol): [(pair, found[name, protocol]) for pair, found in zip(self.chosen, done, strict=True)]
            for name in self.names for protocol in self.options.protocols
        }  # fmt: skip
        absent = Decided(None, "not recorded")
        lines |= {key: [(pair, of.get(pair.id, absent)) for pair in self.chosen] for key, of in self.recorded.items()}
        scores = tuple(
            score(*key, rows, spent.get(" ".join(key), Usage()) if key not in self.recorded else None)
            for key, rows in lines.items()
        )
        rows = [_row(key, pair, decided) for key, of in lines.items() for pair, decided in of]
        made = self.provenance
        content = {"lines": [line.as_json() for line in scores], "checklists": self._lists(), **made}
        facts = {"Pairs": len(self.chosen)} if self.options.protocols else {}
        ids = dict.fromkeys(pair.instance.id for pair in self.chosen)
        lists = [source.to_row(self.listed[one]) for one in ids if one in self.listed]
        lists = source.with_others(self.options, lists) if lists else []
        return Outcome(
            scores, {"scores.json": content, "pairs.jsonl": rows} | ({source.FILE: lists} if lists else {}), TITLE,
            sections(scores, self.chosen, spent.get("generator")), lead=LEAD, notes=self._notes(rows), facts=facts,
            board=board(scores, made),
            results={"protocols": list(self.options.protocols)},
        )  # fmt: skip

    def _lists(self) -> dict[str, Any]:
        """What the checklists were: how many, how many questions, and what of them was dropped."""
        found = self.listed.values()
        return {
            "n": len(found), "given": sum(one.source != "generator" for one in found),
            "empty": sum(not one.criteria for one in found), "questions": sum(len(one.criteria) for one in found),
            "duplicates": sum(one.duplicates for one in found), "no_questions": sum(one.others for one in found),
        }  # fmt: skip

    def _notes(self, rows: Sequence[dict[str, Any]]) -> list[str]:
        notes = list(self.found.notes)
        if not any(pair.gold == "tie" for pair in self.chosen):
            notes.append(
                "No pair of this data is labelled a tie: every predicted tie is wrong, and counts in WPLD as half "
                "wrong (distance 1 of 2)."
            )
        if len(self.names) > 1 and any(one.source == "generator" for one in self.listed.values()):
            writer = self.options.generator or self.names[0]
            notes.append(f"All judges use the same checklists, written by {writer}.")
        if without := [one for one in self.listed.values() if not one.criteria]:
            notes.append(
                f"Instructions without a checklist, so that check-then-score and tick leave their pairs undecided: "
                f"{len(without)} (the first: {without[0].problem})."
            )
        notes += weak_judges(self.options.judge)
        return notes


def _row(key: Key, pair: Pair, decided: Decided) -> dict[str, Any]:
    """A line of `pairs.jsonl`."""
    said: dict[str, Any] = {"as_given": decided.as_given, "swapped": decided.swapped}
    orders = dict(list(said.items())[: decided.asked])
    scores = {} if decided.scores is None else {"score_a": decided.scores[0], "score_b": decided.scores[1]}
    distance = None if decided.label is None else label_distance(pair.gold, decided.label)
    row = {"id": pair.id, "subset": pair.subset, "judge": key[0], "protocol": key[1], "label": pair.gold}
    return row | {"prediction": decided.label, "distance": distance, **orders, **scores, "reason": decided.reason}


def pairwise(options: PairwiseOptions) -> tuple[LineScores, ...]:
    """Hold judges against labelled pairs; `truebench study pairwise` as a Python call. Raises UserError."""
    return Pairwise(options).run().value
