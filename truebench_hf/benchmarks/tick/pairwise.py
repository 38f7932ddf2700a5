"""How far judges agree with people's preferences between two responses, by four protocols (paper 004, section 3.2.2)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from truebench_hf.benchmarks.tick import checklists
from truebench_hf.benchmarks.tick.checklists import ChecklistOptions, Item, Listed
from truebench_hf.benchmarks.tick.pairs import RECORDED, Decided, Pair, load_pairs
from truebench_hf.benchmarks.tick.pairwise_results import (
    LEAD,
    TITLE,
    LineScores,
    line_scores,
    pairwise_board,
    pairwise_sections,
)
from truebench_hf.data.case import Case
from truebench_hf.errors import UserError, unknown
from truebench_hf.judging.judge import Judge, JudgeSettings
from truebench_hf.judging.ratings import prefer, rate
from truebench_hf.judging.sample_prompts import check_prompts
from truebench_hf.metrics.pass_rate import checklist_share, outcome
from truebench_hf.metrics.preference import label_distance, preference_from_scores
from truebench_hf.models.asking import SchemaFallback
from truebench_hf.models.caller import Caller
from truebench_hf.options import Binds, option, pairs, role
from truebench_hf.prompts import Prompts
from truebench_hf.study.items import Items
from truebench_hf.study.notes import weak_judges
from truebench_hf.study.options import JudgingOptions, StudyOptions, numbered
from truebench_hf.study.outcome import Outcome
from truebench_hf.study.study import Study
from truebench_hf.types import Usage

Scored = tuple[float | None, str]  # a response's score, or why it has none


class Asked:
    """One judge under some protocols: `decide(protocol, pair)`.

    `callers` has a name in the ledger per protocol, so that each tells what it cost; `listed` gives the checklist of a
    pair's instruction; `settings` are those of TICK, whose sampling all protocols share.
    """

    def __init__(
        self, callers: Mapping[str, Caller], settings: JudgeSettings, prompts: Prompts,
        listed: Callable[[Pair], Awaitable[Listed]],
    ) -> None:  # fmt: skip
        self._sampling, self._prompts, self._listed = settings.sampling, prompts, listed
        self._schemas = {name: SchemaFallback(caller, settings.structured) for name, caller in callers.items()}
        self._judges = {name: Judge(caller, settings, prompts) for name, caller in callers.items() if name == "tick"}

    async def decide(self, protocol: str, pair: Pair) -> Decided:
        """The preference between the two responses. Raises what the judge's calls raise, but for failed requests."""
        return await PROTOCOLS[protocol](self, pair)

    async def preference(self, pair: Pair) -> Decided:
        """Both responses side by side (appendix G.3), in both orders."""
        preference = await prefer(
            self._schemas["preference"], pair.case, pair.response_b, self._prompts, sampling=self._sampling
        )
        return Decided(preference.label, preference.reason, preference.as_given, preference.swapped, 2)

    async def direct(self, pair: Pair) -> Decided:
        """Each response rated 1 to 5 by itself (appendix G.4)."""
        return await self._by_score(pair.case, pair.response_b, lambda case: self._rated("direct", case))

    async def check_then_score(self, pair: Pair) -> Decided:
        """Each response rated 1 to 5, with the checklist in the prompt (appendix G.5)."""
        return await self._with_checklist(pair, lambda case: self._rated("check-then-score", case))

    async def tick(self, pair: Pair) -> Decided:
        """The pass rate of each response: every question of the checklist answered YES or NO (appendix G.2)."""
        return await self._with_checklist(pair, self._pass_rate)

    async def _with_checklist(self, pair: Pair, score: Callable[[Case], Awaitable[Scored]]) -> Decided:
        listed = await self._listed(pair)
        if not listed.criteria:
            return Decided(None, f"no checklist: {listed.problem}")
        case = replace(pair.case, criteria=listed.criteria, benchmark="tick")
        return await self._by_score(case, pair.response_b, score)

    async def _by_score(self, case: Case, other: str, score: Callable[[Case], Awaitable[Scored]]) -> Decided:
        """The response with the higher score is preferred; with equal scores it is a tie."""
        (a, why_a), (b, why_b) = await asyncio.gather(score(case), score(replace(case, response=other)))
        why = "; ".join(f"{name}: {reason}" for name, reason in (("A", why_a), ("B", why_b)) if reason)
        return Decided(preference_from_scores(a, b), why, scores=(a, b))

    async def _rated(self, protocol: str, case: Case) -> Scored:
        rating = await rate(self._schemas[protocol], case, self._prompts, sampling=self._sampling)
        return (None, rating.reason) if rating.value is None else (rating.value, "")

    async def _pass_rate(self, case: Case) -> Scored:
        verdicts = await self._judges["tick"].verdicts(case)
        open_ones = [(n, verdict) for n, verdict in enumerate(verdicts, 1) if verdict.label not in ("yes", "no")]
        if open_ones:
            return None, "; ".join(f"question {n} is undecided ({verdict.reason})" for n, verdict in open_ones)
        return checklist_share([outcome(v.label, v.criterion.weight) for v in verdicts]), ""


PROTOCOLS: Mapping[str, Callable[[Asked, Pair], Awaitable[Decided]]] = {
    "preference": Asked.preference,
    "direct": Asked.direct,
    "check-then-score": Asked.check_then_score,
    "tick": Asked.tick,
}


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
    files = ("scores.json", "pairs.jsonl", checklists.FILE)
    editable = checklists.EDITABLE
    prompts = ("preference", "rating", "generate_checklist")

    def items(self) -> Items[Pair]:
        """The labelled pairs; a sample keeps the shares of subsets and labels."""
        self.found = load_pairs(self.options.data, pairs(self.options.column, "--column"))
        labelled = self.found.every
        instances = {pair.instance.id: pair.instance for pair in labelled}
        self.known_lists = checklists.known_checklists(self.options, instances.values())
        if instances.keys() == self.known_lists.keys():
            self.unasked = {"generator"}  # nothing is written, so that it may stay as another session had it
        if not self.options.judge and not any(pair.recorded for pair in labelled):
            raise UserError("name at least one --judge: the data holds no preferences of judges")
        return Items(
            labelled, lambda pair: pair.id, None, lambda pair: (pair.subset, pair.gold),
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
                self.recorded.setdefault((name, RECORDED), {})[pair.id] = decided
        for name, protocol in self.recorded:
            if name in self.names and protocol in self.options.protocols:
                raise UserError(f"the data holds what {name} said by {protocol}, which is asked here too; leave it out")

    def bars(self) -> dict[str, int]:
        bar_names = [f"{name} {protocol}" for name in self.names for protocol in self.options.protocols]
        return dict.fromkeys(bar_names, len(self.chosen)) if bar_names else super().bars()

    def setup(self) -> None:
        self.listed: dict[str, Listed] = {}  # by instruction
        self.asked = {}
        for number, (name, spec) in enumerate(zip(self.names, self.options.judge, strict=True), 1):
            callers = {p: self.caller("judge", number).in_role(f"{name} {p}") for p in self.options.protocols}
            self.asked[name] = Asked(callers, self._settings_of(spec), self.options.prompts, self._checklist)

    async def _checklist(self, pair: Pair) -> Listed:
        """The checklist of a pair's instruction, for all judges: known, or written by the generator or the first judge."""
        known = self.known_lists.get(pair.instance.id)
        checklist = await checklists.checklist_for(self, Item(pair.instance, known))
        self.listed[pair.instance.id] = checklist
        return checklist

    async def work(self, pair: Pair) -> Found:
        """What each judge makes of a pair: judges side by side, their protocols one after the other."""
        decisions: Found = {}

        async def by(name: str) -> None:
            for protocol in self.options.protocols:
                decisions[name, protocol] = await self.asked[name].decide(protocol, pair)
                self.step(f"{name} {protocol}")

        await asyncio.gather(*map(by, self.names))
        return decisions

    def score(self, done: Sequence[Found]) -> Outcome[tuple[LineScores, ...]]:
        spent = self.folder.ledger.usage()["total"]
        lines: dict[Key, list[tuple[Pair, Decided]]] = {
            (name, protocol): [(pair, decisions[name, protocol]) for pair, decisions in zip(self.chosen, done, strict=True)]
            for name in self.names for protocol in self.options.protocols
        }  # fmt: skip
        absent = Decided(None, "not recorded")
        lines |= {key: [(pair, of.get(pair.id, absent)) for pair in self.chosen] for key, of in self.recorded.items()}
        scores = tuple(
            line_scores(*key, rows, spent.get(" ".join(key), Usage()) if key not in self.recorded else None)
            for key, rows in lines.items()
        )
        rows = [_row(key, pair, decided) for key, of in lines.items() for pair, decided in of]
        provenance = self.provenance
        content = {"lines": [line.as_json() for line in scores], "checklists": self._lists(), **provenance}
        facts = {"Pairs": len(self.chosen)} if self.options.protocols else {}
        ids = dict.fromkeys(pair.instance.id for pair in self.chosen)
        lists = [checklists.to_row(self.listed[identity]) for identity in ids if identity in self.listed]
        lists = checklists.with_others(self.options, lists) if lists else []
        return Outcome(
            scores, {"scores.json": content, "pairs.jsonl": rows} | ({checklists.FILE: lists} if lists else {}), TITLE,
            pairwise_sections(scores, self.chosen, spent.get("generator")), lead=LEAD, notes=self._notes(rows), facts=facts,
            board=pairwise_board(scores, provenance),
            results={"protocols": list(self.options.protocols)},
        )  # fmt: skip

    def _lists(self) -> dict[str, Any]:
        """What the checklists were: how many, how many questions, and what of them was dropped."""
        checklists = self.listed.values()
        return {
            "n": len(checklists), "given": sum(checklist.source != "generator" for checklist in checklists),
            "empty": sum(not checklist.criteria for checklist in checklists), "questions": sum(len(checklist.criteria) for checklist in checklists),
            "duplicates": sum(checklist.duplicates for checklist in checklists), "no_questions": sum(checklist.others for checklist in checklists),
        }  # fmt: skip

    def _notes(self, rows: Sequence[dict[str, Any]]) -> list[str]:
        notes = list(self.found.notes)
        if not any(pair.gold == "tie" for pair in self.chosen):
            notes.append(
                "No pair of this data is labelled a tie: every predicted tie is wrong, and counts in WPLD as half "
                "wrong (distance 1 of 2)."
            )
        if len(self.names) > 1 and any(checklist.source == "generator" for checklist in self.listed.values()):
            writer = self.options.generator or self.names[0]
            notes.append(f"All judges use the same checklists, written by {writer}.")
        if without := [checklist for checklist in self.listed.values() if not checklist.criteria]:
            notes.append(
                f"Instructions without a checklist, so that check-then-score and tick leave their pairs undecided: "
                f"{len(without)} (the first: {without[0].problem})."
            )
        notes += weak_judges(self.options.judge)
        return notes


def _row(key: Key, pair: Pair, decided: Decided) -> dict[str, Any]:
    """A line of `pairs.jsonl`."""
    decisions: dict[str, Any] = {"as_given": decided.as_given, "swapped": decided.swapped}
    orders = dict(list(decisions.items())[: decided.asked])
    scores = {} if decided.scores is None else {"score_a": decided.scores[0], "score_b": decided.scores[1]}
    distance = None if decided.label is None else label_distance(pair.gold, decided.label)
    row = {"id": pair.id, "subset": pair.subset, "judge": key[0], "protocol": key[1], "label": pair.gold}
    return row | {"prediction": decided.label, "distance": distance, **orders, **scores, "reason": decided.reason}


def pairwise(options: PairwiseOptions) -> tuple[LineScores, ...]:
    """Hold judges against labelled pairs; `truebench study pairwise` as a Python call. Raises UserError."""
    return Pairwise(options).run().value
