"""How far judges agree with people's preferences between two responses, by four protocols (paper 004, section 3.2.2)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from truebench_hf.benchmarks.tick import checklists, stick
from truebench_hf.benchmarks.tick.checklists import ChecklistItem, ChecklistOptions, ListedChecklist, checklist_tables
from truebench_hf.benchmarks.tick.pairs import Pair, load_pairs
from truebench_hf.benchmarks.tick.scoring import ALL, frame_of, group_columns, grouped_table, paper_rows
from truebench_hf.judging.judge import CriteriaJudge, JudgeSettings
from truebench_hf.judging.ratings import prefer, rate
from truebench_hf.metrics import preference as preferences
from truebench_hf.metrics.binary import ratio
from truebench_hf.metrics.pass_rate import checklist_share, outcome, pass_rate
from truebench_hf.models.asking import SchemaFallback
from truebench_hf.options import Binds, option, pairs, role
from truebench_hf.report.sections import OF_JUDGES, Conversation, Conversations, Exchange, fixed
from truebench_hf.report.sections import Outcome as Mark
from truebench_hf.report.table import PUBLISHED, Column, Table
from truebench_hf.study.items import Items
from truebench_hf.study.notes import rules_fact, weak_judges
from truebench_hf.study.options import JudgingOptions, StudyOptions, numbered
from truebench_hf.study.outcome import Outcome
from truebench_hf.study.ranking import Ranking
from truebench_hf.study.study import Study
from truebench_hf.text import anonymous
from truebench_hf.types import Criterion, Label, Usage, Verdict

if TYPE_CHECKING:
    from pandas import DataFrame

PROTOCOLS = (
    "preference",  # both responses side by side (appendix G.3), in both orders
    "direct",  # each response rated 1 to 5 by itself (appendix G.4)
    "check-then-score",  # each response rated 1 to 5, with the checklist in the prompt (appendix G.5)
    "tick",  # the pass rate of each response: every question of the checklist answered YES or NO (appendix G.2)
)
PAIRS = "pairs.jsonl"
Key = tuple[str, str]  # judge and protocol


# What each judge makes of a pair by each protocol, in the columns of `pairs.jsonl`: `prediction` is the label of response A
# (win, tie, loss), None where `reason` says why not. Asked to compare, it is said `as_given` and with the two `swapped`,
# both about A; of responses that are rated each by itself there are `score_a` and `score_b`.
Decided = dict[str, Any]
Decisions = dict[Key, Decided]


class PairwiseOptions(StudyOptions, JudgingOptions, ChecklistOptions):
    """Which pairs, which judges, and how these come to a preference."""

    data: str = option(
        help="checklists_mini, llmbar:FOLDER (a clone of LLMBar), or labelled pairs: a path (JSONL, JSON, CSV, XLSX, Parquet, a "
        "folder of them) or a Hub id; see below."
    )  # fmt: skip
    column: tuple[str, ...] = option((), panel="Data", help="OURS=THEIRS: another name of a column; may be repeated.")
    judge: tuple[str, ...] = role(
        help="Judge: a spec; may be repeated.",
        binds=Binds("judges", lambda o: numbered(o.judge), late=True, grows=True),
    )  # fmt: skip
    protocol: tuple[str, ...] = option(
        (), choices=PROTOCOLS, help=f"{', '.join(PROTOCOLS)}; may be repeated; all four if not given.",
        binds=Binds("protocols", lambda o: list(o.protocols), grows=True),
    )  # fmt: skip

    @property
    def protocols(self) -> tuple[str, ...]:
        """The protocols asked for, in the paper's order."""
        return tuple(name for name in PROTOCOLS if not self.protocol or name in self.protocol)


class Pairwise(Study[PairwiseOptions, Pair, Decisions, dict[str, Table]]):
    """Every judge by every protocol on every pair; `value` is the tables by name."""

    kind, unit = "pairwise", "pairs"
    files = (PAIRS, checklists.FILE)
    editable = checklists.EDITABLE
    prompts = ("preference", "rating", "generate_checklist")

    def items(self) -> Items[Pair]:
        """The labelled pairs; a sample keeps the shares of subsets and labels."""
        labelled, self.left_out_notes = load_pairs(self.options.data, pairs(self.options.column, "--column"))
        instances = {pair.instance.id: pair.instance for pair in labelled}
        self.known_lists = checklists.known_checklists(self.options, list(instances.values()))
        if instances.keys() == self.known_lists.keys():
            self.unasked = {"generator"}  # nothing is written, so that it may stay as another session had it
        self.names = numbered(self.options.judge)
        return Items(
            labelled, lambda pair: pair.id,
            lambda pair: asdict(pair) | {"recorded": {}},  # by its hash earlier results over the same pairs are known
            lambda pair: (pair.subset, pair.gold), lambda pair: pair.instance.id,
        )  # fmt: skip

    def judge_settings(self) -> list[JudgeSettings]:
        return [self.options.judging(spec, "rubric") for spec in self.options.judge if "tick" in self.options.protocols]

    def setup(self) -> None:
        self.listed: dict[str, ListedChecklist] = {}  # by instruction
        self.schemas: dict[Key, SchemaFallback] = {}  # each under a name of its own, so that it tells what it cost
        self.judges: dict[str, CriteriaJudge] = {}
        for number, (name, spec) in enumerate(zip(self.names, self.options.judge, strict=True), 1):
            for protocol in self.options.protocols:
                caller = self.caller("judge", number).in_role(f"{name} {protocol}")
                self.schemas[name, protocol] = SchemaFallback(caller, self.options.structured)
                if protocol == "tick":
                    judging = self.options.judging(spec, "rubric")
                    self.judges[name] = CriteriaJudge(caller, judging, self.options.prompts)

    async def work(self, pair: Pair) -> Decisions:
        """What each judge makes of a pair by each protocol."""
        decided = await asyncio.gather(*(self._decided(key, pair) for key in self.schemas))
        return dict(zip(self.schemas, decided, strict=True))

    async def _decided(self, key: Key, pair: Pair) -> Decided:
        """The preference between the two responses; of scores the higher one wins, and equal ones are a tie."""
        (name, protocol), case, prompts = key, pair.case, self.options.prompts
        if protocol == "preference":
            preference = await prefer(self.schemas[key], case, pair.response_b, prompts)
            orders = {"as_given": preference.as_given, "swapped": preference.swapped}
            return {"prediction": preference.label, **orders, "reason": preference.reason}
        if protocol != "direct":
            # One for all judges: known, or written by the generator or the first judge.
            item = ChecklistItem(pair.instance, self.known_lists.get(pair.instance.id))
            listed = self.listed[pair.instance.id] = await checklists.checklist_for(self, item)
            if not listed.criteria:
                return {"prediction": None, "reason": f"no checklist: {listed.problem}"}
            case = replace(case, criteria=listed.criteria, benchmark="tick")

        async def scored(response: str) -> tuple[float | None, str]:
            """The score of a response, or why it has none."""
            answered = replace(case, response=response)
            if protocol != "tick":
                rating = await rate(self.schemas[key], answered, prompts)
                return rating.value, "" if rating.value is not None else rating.reason
            verdicts = await self.judges[name].verdicts(answered)
            undecided = [(n, verdict) for n, verdict in enumerate(verdicts, 1) if verdict.label not in ("yes", "no")]
            why = "; ".join(f"question {n} is undecided ({verdict.reason})" for n, verdict in undecided)
            return checklist_share([outcome(verdict.label, verdict.criterion.weight) for verdict in verdicts]), why

        (a, why_a), (b, why_b) = await asyncio.gather(*map(scored, (pair.response_a, pair.response_b)))
        why = "; ".join(f"{side}: {reason}" for side, reason in (("A", why_a), ("B", why_b)) if reason)
        label = preferences.preference_from_scores(a, b)
        return {"prediction": label, "score_a": a, "score_b": b, "reason": why}

    def score(self, done: Sequence[Decisions]) -> Outcome[dict[str, Table]]:
        spent = self.folder.ledger.usage()["total"]
        decided: dict[Key, list[Decided]] = {
            (name, protocol): [decisions[name, protocol] for decisions in done]
            for name in self.names for protocol in self.options.protocols
        }  # fmt: skip
        rows = [_row(key, *answer) for key, of in decided.items() for answer in zip(self.chosen, of, strict=True)]
        usage = {key: spent.get(" ".join(key), Usage()) for key in decided}
        tables = pairwise_tables(rows, usage)
        instructions = dict.fromkeys(pair.instance.id for pair in self.chosen)
        lists = [self.listed[name] for name in instructions if name in self.listed]
        filed = checklists.filed(self.options, lists) if lists else []
        tables += checklist_tables(lists) if lists else []
        return Outcome(
            {table.name: table for table in tables}, title="TICK: preferences held against people's", tables=tables,
            lead="How often judges prefer the response that people prefer, by protocol.",
            items={PAIRS: rows} | ({checklists.FILE: filed} if filed else {}), notes=self._notes(),
            facts={"Pairs": len(self.chosen)}, ranking=_ranking(tables, self.provenance),
            conversations=Conversations("Pairs", tuple(map(_conversation, self.chosen, done))),
            results={"protocols": list(self.options.protocols)},
        )  # fmt: skip

    def _notes(self) -> list[str]:
        notes, lists = list(self.left_out_notes), self.listed.values()
        if not any(pair.gold == "tie" for pair in self.chosen):
            notes.append(
                "No pair of this data is labelled a tie: every predicted tie is wrong, and counts in WPLD as half wrong "
                "(distance 1 of 2)."
            )
        if len(self.names) > 1 and any(listed.source == "generator" for listed in lists):
            notes.append(f"All judges use the same checklists, written by {self.options.generator or self.names[0]}.")
        if without := [listed.problem for listed in lists if not listed.criteria]:
            notes.append(
                "Instructions without a checklist, so that check-then-score and tick leave their pairs undecided: "
                f"{len(without)} (the first: {without[0]})."
            )
        return notes + weak_judges(self.options.judge)


def _row(key: Key, pair: Pair, decided: Decided) -> dict[str, Any]:
    """A line of `pairs.jsonl`."""
    about = {"id": pair.id, "instruction": pair.instance.id, "subset": pair.subset, "judge": key[0], "protocol": key[1]}
    label = decided["prediction"]
    distance = None if label is None else preferences.label_distance(pair.gold, label)
    return {**about, "label": pair.gold, **decided, "distance": distance}


_PREFERRED = {"win": "A", "loss": "B", "tie": "neither", None: "undecided"}


def _conversation(pair: Pair, decisions: Decisions) -> Conversation:
    """The two responses beside each other, which one people prefer, and whether judges do so by each protocol."""
    gold, verdicts = _PREFERRED[pair.gold], []
    for (name, protocol), decided in decisions.items():
        label = decided["prediction"]
        parts = []
        parts += [
            f"score {side[-1].upper()} {fixed(decided[side])}" for side in ("score_a", "score_b") if side in decided
        ]
        if "as_given" in decided:
            parts.append(f"A first: {_PREFERRED[decided['as_given']]}, B first: {_PREFERRED[decided['swapped']]}")
        text = f"{anonymous.name(name)}, {protocol}: {_PREFERRED[label]}"
        state: Label | None = None if label is None else "yes" if label == pair.gold else "no"
        verdicts.append(Verdict(Criterion(text), state, "; ".join([*parts, *filter(None, [decided["reason"]])])))
    responses = [
        stick.answer_titled(f"Response {name}{' · preferred by people' if name == gold else ''}", text)
        for name, text in (("A", pair.response_a), ("B", pair.response_b))
    ]
    preferred = Exchange((), tuple(verdicts), title=f"Who prefers which (people: {gold})")
    right = {verdict.label for verdict in verdicts}
    outcome: Mark = "no" if "no" in right else "open" if None in right else "yes"
    drawn = stick.answers_beside(pair.instance, (*responses, preferred), outcome, subset=pair.subset)
    return replace(drawn, words=OF_JUDGES)


def _agreement(rows: DataFrame) -> dict[str, Any]:
    """How far the labels of some pairs are from people's, in steps of the scale win, tie, loss."""
    agreed = preferences.pairwise_agreement(list(rows["label"]), list(rows["prediction"]), list(rows["instruction"]))
    shares = {name: agreed[name].value for name in ("pld_1", "pld_2")}
    return {"accuracy": agreed["pld_0"], **shares, "wpld": agreed["wpld"]}


def _worth(rows: DataFrame, usage: Mapping[Key, Usage]) -> dict[str, Any]:
    """What the preferences of a judge under a protocol are worth, and what they cost."""
    gold, labels = list(rows["label"]), list(rows["prediction"])
    right = sum(truth == label for truth, label in zip(gold, labels, strict=True))
    spent = usage.get((rows["judge"].iloc[0], rows["protocol"].iloc[0])) if len(rows) else None
    return {
        **_agreement(rows), "ties": pass_rate([None if label is None else label == "tie" for label in labels]),
        "strict": ratio(right, len(rows)), "judgebench": preferences.judgebench_accuracy(gold, list(rows["orders"])),
        **{name: getattr(spent, name, None) for name in ("calls", "input_tokens", "output_tokens")},
    }  # fmt: skip


_KEYS = (Column("judge", "Judge"), Column("protocol", "Protocol"))
_AGREEMENT = (
    Column("accuracy", "accuracy %", "score", "Pairs with the same label, of the decided ones (PLD-0).", parts=ALL, drawn=True),
    Column("pld_1", "PLD-1 %", "number", "A tie for a win or loss, or the other way round.", minor=3),
    Column("pld_2", "PLD-2 %", "number", "The wrong response.", minor=3),
    Column("wpld", "WPLD", "score", "PLD-1 + 2 PLD-2, from 0 to 2; lower is better.", unit="", digits=3, lower_is_better=True),
)  # fmt: skip
_SCORES = (
    *_KEYS, *_AGREEMENT, Column("ties", "ties %", "score", "Decided pairs predicted to be one.", minor=2),
    Column("strict", "strict %", "number", "As accuracy, of all pairs, undecided ones wrong.", minor=2),
    Column("judgebench", "JudgeBench %", "number", "JudgeBench's own count, in which a win in one order and a tie or no answer in "
           "the other is right, a win and a loss is not; pairs labelled a tie are left out.", minor=2),
    Column("calls", "calls", "count", minor=1), Column("input_tokens", "tokens in", "count", minor=4),
    Column("output_tokens", "tokens out", "count", minor=4),
)  # fmt: skip
_BIAS = (
    *_KEYS, Column("n", "pairs in both orders", "count"),
    Column("consistent", "consistent %", "number", "The same label in both orders."),
    Column("first", "first in both %", "number", "The response that stood first was preferred, whichever it was.", minor=1),
    Column("second", "second in both %", "number", minor=1),
    Column("first_rate", "first-place rate %", "number", "Of all calls that prefer one response, those that prefer the first; 50 "
           "is free of bias."), Column("calls", "of calls", "count"),
)  # fmt: skip


def pairwise_tables(rows: Sequence[Mapping[str, Any]], usage: Mapping[Key, Usage]) -> list[Table]:
    """Return what judges are worth by protocol (Table 4), by subset, what the order of two responses does, and what is open.

    `rows` are the lines of `pairs.jsonl`, `usage` what each judge has cost.
    """
    names = ("judge", "protocol", "subset", "instruction", "label", "prediction", "reason", "as_given", "swapped")
    # What is said in each order; of who rates each response by itself the prediction.
    answers = [tuple(row[name] for name in ("as_given", "swapped") if name in row) for row in rows]
    values = [
        (*map(row.get, names), orders or (row["prediction"],), bool(orders))
        for row, orders in zip(rows, answers, strict=True)
    ]
    frame = frame_of((*names, "orders", "compared"), values, dict.fromkeys(names[:3]))
    keys = [column.name for column in _KEYS]
    note = (
        "A preference that changes with the order is a tie. Intervals take pairs of one instruction together. Paper rows: its "
        "table 4, on its own data; it mentions no second order."
    )
    printed = paper_rows(
        "4", protocol="LLM-as-Judge Eval.", accuracy="PLD-0", pld_1="PLD-1", pld_2="PLD-2", wpld="WPLD"
    )
    published = [{"judge": "GPT-4o", **row} for row in printed]
    worth, title = partial(_worth, usage=usage), "Agreement with people's preferences"
    tables = [grouped_table("scores", frame, keys, worth, _SCORES, published=published, title=title, note=note)]
    if any(frame["subset"].cat.categories):
        described = (*_KEYS, Column("subset", "Subset"), *_AGREEMENT)
        tables.append(grouped_table("subsets", frame, [*keys, "subset"], _agreement, described, title="By subset"))
    if len(compared := frame[frame["compared"].astype(bool)]):

        def positions(rows: DataFrame) -> dict[str, Any]:
            return asdict(preferences.position_bias(list(rows["as_given"]), list(rows["swapped"])))

        tables.append(grouped_table("position", compared, keys, positions, _BIAS, title="Position bias"))
    if len(undecided := frame[frame["prediction"].isna()]):
        why = undecided.assign(reason=[" ".join(reason.split())[:300] for reason in undecided["reason"]])
        columns = (*_KEYS, Column("reason", "reason", "prose"), Column("pairs", "pairs", "count"))
        title, by = "Why pairs were left undecided", [*keys, "reason"]
        counted = grouped_table("undecided", why, by, lambda rows: {"pairs": len(rows)}, columns, title=title)
        tables.append(replace(counted, printed=False))
    return tables


def _ranking(tables: Sequence[Table], provenance: Mapping[str, Any]) -> Ranking:
    """The rows of a study: judges are ranked together over the same pairs, however they were asked.

    Where rules have a say in verdicts they are ranked by themselves.
    """
    named = {table.name: table for table in tables}
    facts = {"Data": str(provenance["data"]), **rules_fact(provenance)}
    rows = {
        (row["judge"], row["protocol"]): {**row, "WPLD": _AGREEMENT[-1].texts(row["wpld"])[0]}
        for row in named["scores"].rows if not row.get(PUBLISHED)
    }  # fmt: skip
    columns = [*_KEYS, Column("accuracy", "Accuracy", "score"), Column("ties", "Ties", "score")]
    columns += group_columns(rows, named.get("subsets"), "subset", "accuracy", "Subsets")
    columns.append(Column("WPLD", "WPLD"))
    alike, table = [provenance["data_sha256"], provenance.get("rules", "off")], Table("", columns, list(rows.values()))
    unit = "Agreement with people in %"
    return Ranking(table, "accuracy", alike, title="Pairwise judges", unit=unit, facts=facts)
