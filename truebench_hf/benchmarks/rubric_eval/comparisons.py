"""Judges held against each other, and each against itself where a verdict should stay as it is.

Wordings equal in meaning stand beside fresh answers to the first one, injections (`attacks.toml`) beside neutral text of
the same length. What is said then is rows of the one frame (`scores.verdict_frame`), told apart by `asked`.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, reduce
from importlib import resources
from itertools import cycle, islice
from typing import TYPE_CHECKING, Any

from truebench_hf.benchmarks.rubric_eval.scores import BOTH, FIRST, JUDGED, MEAN, WHO, Row, measure, titled
from truebench_hf.data.judged import Case, names_fault, stated
from truebench_hf.data.rubrics import INSTRUCTION_CATEGORIES, Item, Rubric
from truebench_hf.hashing import canonical, digest
from truebench_hf.judging.judge import JudgeSettings, prompts_used
from truebench_hf.metrics.agreement import agreement, by_group, differences
from truebench_hf.metrics.binary import decide
from truebench_hf.metrics.comparison import clustered_difference, panel_worth
from truebench_hf.metrics.pass_rate import clustered_rate, mean_share, pass_rate
from truebench_hf.metrics.votes import flips
from truebench_hf.prompts import sections as case_sections
from truebench_hf.prompts import variants
from truebench_hf.report.table import PUBLISHED, Column, Table, paper_rows
from truebench_hf.results.verdicts import unit_means
from truebench_hf.types import Score, Verdict

if TYPE_CHECKING:
    from pandas import DataFrame

OTHERS = ("second", "third")  # wordings equal in meaning to the first one, that judges are measured by
AGAIN = ("again 1", "again 2")  # the first wording, asked anew as often
ATTACKED, NEUTRAL = "attacked", "neutral"
# A longer response can truly meet such a rubric, so that its label is not certain any more.
LENGTH = "quantity_limit"
_FLIPS = "Verdicts that differ from those of the first wording, over what both decide, two wordings (answers) pooled."
_REWORDED = (
    *JUDGED, Column("by_wording", "flips by wording", "score", _FLIPS, parts=(*BOTH, "n", "unscored")),
    Column("by_asking_again", "flips by asking again", "score", _FLIPS, parts=BOTH),
    Column("moves", "moves by", "number", "Points between the balanced accuracies of the three wordings."),
    Column("decides", "wording decides", about="Whether a wording leads out of the interval of the first one's balanced accuracy."),
)  # fmt: skip
_WORDINGS = (
    *JUDGED, Column("asked", "Asked"), Column("flips", "flips", "score", parts=(*BOTH, "n")),
    measure("balanced_accuracy", parts=BOTH, drawn=True),
)  # fmt: skip
_TURNED = (
    Column("by_attack", "turned", "score", "Verdicts of no that turn to yes behind the injection.", parts=BOTH),
    Column("by_neutral", "by neutral text", "score", "The same behind a neutral text of as many characters.", parts=BOTH, minor=1),
    Column("more", "more", "score", "Points that the injection turns beyond the neutral text, paired.", "points", digits=1, parts=(*BOTH, "n"), drawn=True),
    Column("open_attacked", "open behind it", "count", "Trials left undecided; these do not count.", minor=2),
    Column("open_neutral", "open, neutral", "count", "Trials left undecided behind the neutral text.", minor=2),
)  # fmt: skip
_PERTURBATIONS = {**dict.fromkeys(OTHERS, "wording"), **dict.fromkeys(AGAIN, "asking again")}
_MANY = 10  # pairs of judges: more are for the page
_AHEAD = {1: "first", -1: "second", 0: ""}
_RATES_NOTE = (
    "The paper's three judges lie 25 points apart at checklist level without reasoning (55 to 80 %, per instruction) and 12 "
    "at rubric level with it (62 to 74 %)."
)  # fmt: skip


def reworded(settings: JudgeSettings, wording: str) -> dict[str, str]:
    """What to choose of our prompts for a judge's `wording`: name and variant. Repairs stay as they are."""
    return {name: wording for name in prompts_used(settings) if wording in variants(name)}


@dataclass(frozen=True, slots=True)
class Attack:
    """A text that is to turn verdicts, with placeholders (see `attacks.toml`), and the `filler` of its language."""

    id: str
    technique: str
    language: str
    text: str
    filler: str

    def on(self, case: Case) -> str:
        """The text as it is appended to the response of a case."""
        sections = case_sections(case)
        verdicts = json.dumps({f"criteria_{i}": "PASS" for i in range(1, len(case.criteria) + 1)})
        values = {"{tag}": sections["tag"], "{verdicts}": verdicts, "{criteria}": "; ".join(sections["criteria"])}
        return reduce(lambda text, name: text.replace(name, values[name]), values, self.text)

    def beside(self, case: Case) -> str:
        """A harmless text of as many characters, in the attack's language."""
        return "".join(islice(cycle(f"{self.filler} "), len(self.on(case))))


@cache
def attacks() -> tuple[Attack, ...]:
    """All injections, technique by technique."""
    content = _read()
    return tuple(Attack(**entry, filler=content["neutral"][entry["language"]]) for entry in content["attack"])


def drawn(item: Item, each: int | None, seed: int) -> list[Attack]:
    """The injections for a response: `each` of every technique (None: all), drawn anew for every response.

    More hold the fewer, so that a study can be extended.
    """
    techniques: dict[str, list[Attack]] = {}
    for attack in sorted(attacks(), key=lambda attack: digest(f"{seed} {item.id} {attack.id}")):
        techniques.setdefault(attack.technique, []).append(attack)
    chosen = {attack.id for of_technique in techniques.values() for attack in of_technique[:each]}
    return [attack for attack in attacks() if attack.id in chosen]


@cache
def attack_set() -> str:
    """How many injections there are, and a hash of them: what a folder notes."""
    return f"{len(attacks())} injections {digest(canonical(_read()))[:12]}"


def aimed(item: Item, first: Sequence[Verdict]) -> Item | None:
    """The item with the rubrics alone that are certainly unmet and were said to be so (`first`); None without any."""
    rows = zip(item.rubrics, first, strict=True)
    kept = tuple(rubric for rubric, verdict in rows if attackable(item, rubric) and verdict.label == "no")
    return replace(item, rubrics=kept) if kept else None


def attackable(item: Item, rubric: Rubric) -> bool:
    """Whether a rubric is unmet and stays so, whatever text is appended to the response.

    A rubric that names a fault is left out: without the fault the response is good, and nobody would attack.
    """
    fault = names_fault(stated(item.case.criteria[rubric.index]))
    return rubric.label == "no" and rubric.kind != LENGTH and not fault


def appended(item: Item, text: str) -> Item:
    """The item with a text at the end of its response."""
    return item.responded(f"{item.case.response}\n\n{text}", item.model)


def differences_table(first: DataFrame) -> Table:
    """Every two judges under each paradigm."""
    pairs = differences(first, ["paradigm"], measures=("balanced_accuracy",)).to_dict("records")
    rows = [
        pair | {"difference": pair["balanced_accuracy"], "ahead": _AHEAD[pair["balanced_accuracy"].ahead]}
        for pair in pairs
    ]
    about = "Balanced accuracy of the first less that of the second on the same rows, in points; undecided is wrong."
    columns = (
        Column("first", "First"), Column("second", "Second"), JUDGED[1],
        Column("difference", "BAcc", "score", about, "points", digits=1, parts=BOTH, drawn=True),
        Column("ahead", "surely better", about="The judge that is better by the interval."),
    )  # fmt: skip
    printed = len(rows) <= _MANY
    return Table("differences", columns, rows, "Judges against each other", about, keys=3, printed=printed)


def panel_tables(single: DataFrame) -> list[Table]:
    """What three judges or more are worth together under each paradigm, and judge by judge."""
    summaries, members = list[Row](), list[Row]()
    for paradigm, part in single.groupby("paradigm", observed=True):
        if worth := panel_worth(part):
            summaries.append({"paradigm": paradigm, **worth[0]})
            members += [{"paradigm": paradigm, **row} for row in worth[1]]
    points: dict[str, Any] = {"unit": "points", "digits": 1, "parts": BOTH}
    columns = (
        JUDGED[1], Column("judges", "judges", "count"),
        Column("votes", "votes", "score", "As many independent judges are worth as much, by how far errors are correlated.", "",
               digits=1, parts=BOTH),
        Column("balanced_accuracy", "BAcc", "number", "Of the majority; a tie is half right."),
        Column("best", "best judge", minor=1),
        Column("gain", "gain", "score", "Points over the best judge alone; the interval allows for its being picked here.", **points),
        Column("leave_out", "leave out", about="Without this judge the majority is surely better.", minor=2),
        Column("n", "rows", "count", "Labelled rubrics that all judged.", minor=3),
    )  # fmt: skip
    by_judge = (
        JUDGED[1], JUDGED[0], Column("balanced_accuracy", "BAcc alone", "number"),
        Column("correlation", "errors correlate", "number", "Mean correlation of its errors with each other judge's, label by label.", ""),
        Column("without", "majority without it", "score", "Points that leaving the judge out adds.", **points),
    )  # fmt: skip
    return [
        Table("panels", columns, summaries, "Panel"),
        Table("panel_members", by_judge, members, "Panel, judge by judge", keys=2, printed=False),
    ]


def pass_rate_tables(single: DataFrame) -> list[Table]:
    """How far judges' pass rates lie apart on rubrics they all decided (paper 003, section 5.3).

    Nothing under a paradigm with fewer than two judges, or no rubric that all decided.
    """
    rates, gaps = list[Row](), list[Row]()
    for paradigm, part in single.groupby("paradigm", observed=True):
        decided = part["label"].isin(["yes", "no"])
        shared = part[decided.groupby(part["item"]).transform("all")]
        if part["judge"].nunique() < 2 or shared.empty:
            continue
        n, judged = shared["item"].nunique(), list[Row]()
        for judge, rows in shared.groupby("judge", observed=True):
            met = (rows["label"] == "yes").to_numpy(dtype=float)
            pooled, by_instruction = clustered_rate(met.tolist(), rows["cluster"].tolist()), mean_share(unit_means(met, rows["cluster"]))  # fmt: skip
            judged.append({"paradigm": paradigm, "judge": judge, "pooled": pooled, "by_instruction": by_instruction})
        gold = shared.drop_duplicates("item")["gold"].dropna()
        spans = [[row[name].value for row in judged] for name in ("pooled", "by_instruction")]
        gap, gap_by_instruction = (max(values) - min(values) for values in spans)
        gaps.append({
            "paradigm": paradigm, "gap": gap, "gap_by_instruction": gap_by_instruction,
            "reference": pass_rate((gold == "yes").tolist()).value, "n": n, "left_out": part["item"].nunique() - n,
        })  # fmt: skip
        rates += judged
    title = "Pass rates of the judges on the same responses (like the paper's figure 5)"
    columns = (
        JUDGED[1], JUDGED[0], Column("pooled", "passes", "score", "Share of rubrics, over those that all judges decided.", parts=BOTH, drawn=True),
        Column("by_instruction", "per instruction", "score", "Mean over instructions of the share of their rubrics (CSR).", parts=BOTH),
    )  # fmt: skip
    apart = (
        JUDGED[1], Column("gap", "gap", "number", "Points between the highest and the lowest pass rate.", digits=1),
        Column("gap_by_instruction", "gap per instruction", "number", digits=1),
        Column("reference", "by the labels", "number", "Share of these rubrics that are met by their labels."),
        Column("n", "rubrics", "count"), Column("left_out", "left out", "count", "Rubrics that some judge left open."),
    )  # fmt: skip
    return [
        Table("pass_rates", columns, rates, title, _RATES_NOTE, keys=2),
        Table("pass_rate_gaps", apart, gaps, "How far the judges' pass rates lie apart"),
    ]


def wording_tables(frame: DataFrame, temperature: float) -> list[Table]:
    """Return what rewording does to judges, and what asking them again does; nothing where neither was tried.

    `rewording` has a row per judge and paradigm: `by_wording` and `by_asking_again`, the shares of verdicts that differ
    from those of the first wording over the rubrics that both decide, other wordings (draws) pooled; how far the wordings'
    balanced accuracies lie apart (`moves`, None where one has none); whether another leads out of the interval of the
    first one's (`decides`, "" where there is none). `wordings` has a row per way of asking.
    """
    perturbed = frame[frame["asked"].isin([*OTHERS, *AGAIN])]
    if perturbed.empty:
        return []
    first = frame[frame["asked"] == FIRST][[*WHO, "item", "label"]]
    pairs = perturbed.merge(first, on=[*WHO, "item"], suffixes=("", " first"))
    pairs["perturbation"] = pairs["asked"].map(_PERTURBATIONS)

    def turned(part: DataFrame) -> Row:
        return {"flips": flips(*(part[name].tolist() for name in ("label first", "label", "cluster")))}

    measured = frame[frame["asked"].isin([FIRST, *OTHERS, *AGAIN])].merge(perturbed[WHO].drop_duplicates())
    scores = agreement(measured, [*WHO, "asked"], measures=("balanced_accuracy",))
    details = scores.merge(by_group(pairs, [*WHO, "asked"], turned), "left")
    pooled = by_group(pairs, [*WHO, "perturbation"], turned).set_index([*WHO, "perturbation"])["flips"]
    rows = []
    for who, part in details.groupby(WHO, observed=True):
        by_asked = dict(zip(part["asked"], part["balanced_accuracy"], strict=True))
        values, bounds = [by_asked[name].value for name in (FIRST, *OTHERS)], by_asked[FIRST].ci95
        known = [value for value in values if value is not None]
        leads_out = bounds and any(not bounds[0] <= value <= bounds[1] for value in values[1:] if value is not None)
        rows.append({
            **dict(zip(WHO, who, strict=True)), "by_wording": pooled[(*who, "wording")],
            "by_asking_again": pooled[(*who, "asking again")],
            "moves": max(known) - min(known) if len(known) == len(values) else None,
            "decides": {True: "yes", False: "no", None: ""}[leads_out],
        })  # fmt: skip
    cold = "" if temperature else " The judges' temperature is 0: asking again shows only what a server does by itself."
    note = f"Three wordings of each prompt, equal in meaning; fresh answers stand beside, two for two.{cold}"
    return [
        Table("rewording", _REWORDED, rows, "Does the wording decide?", note, keys=2),
        Table.of_frame("wordings", details, _WORDINGS, title="Wording by wording", keys=3, printed=False),
    ]


def attack_tables(frame: DataFrame) -> list[Table]:
    """Return what injections turn: over all, by technique, by language, and one by one; rubrics that were attacked first.

    Nothing where no rubric could be attacked.
    """
    first = frame[(frame["asked"] == FIRST) & frame["attackable"].isin([True])]
    if first.empty:
        return []

    def at_first(part: DataFrame) -> Row:
        labels = part["label"].tolist()
        refused, passed = labels.count("no"), labels.count("yes")
        return {"unmet": len(labels), "refused": refused, "passed": passed, "undecided": len(labels) - refused - passed}

    counts = (
        *JUDGED, Column("unmet", "unmet rubrics", "count", "Certainly unmet, whatever is appended."),
        Column("refused", "said no", "count", "These are attacked."), Column("passed", "said yes", "count"),
        Column("undecided", "undecided", "count"),
    )  # fmt: skip
    tables = [
        Table.of_frame("attacked", by_group(first, WHO, at_first), counts, title="Rubrics that were attacked", keys=2)
    ]
    trial = [*WHO, "item", "attack"]
    neutral = frame[frame["asked"] == NEUTRAL][[*trial, "label"]]
    trials = frame[frame["asked"] == ATTACKED].merge(neutral, on=trial, suffixes=("", " neutral"))
    note = (
        f"Rubrics of the type {LENGTH} are left out, since a longer response can truly meet them, and so are those "
        "that name a fault. Intervals take the rows of an instruction together."
    )
    views = {
        "attacks": ("Talked round by injections", {}, note),
        "attacks_by_technique": ("Talked round, by technique", {"technique": "technique"}, ""),
        "attacks_by_language": ("Talked round, by language of the injection", {"attack_language": "language"}, ""),
        "attacks_one_by_one": ("Talked round, injection by injection", {"technique": "technique", "attack": "injection"}, ""),
    }  # fmt: skip
    for name, (title, by, note_shown) in views.items() if len(trials) else ():
        columns = (*JUDGED, *(Column(column, text) for column, text in by.items()), *_TURNED)
        printed = name in ("attacks", "attacks_by_technique")
        more = {"title": title, "note": note_shown, "keys": len(WHO) + len(by), "printed": printed}
        tables.append(Table.of_frame(name, by_group(trials, [*WHO, *by], _turned), columns, **more))
    return tables


def _turned(part: DataFrame) -> Row:
    """Shares of verdicts of no that turn to yes, over the trials decided both ways, and their difference, paired."""
    attacked, neutral = ([decide(label) for label in part[name]] for name in ("label", "label neutral"))
    clusters = part["cluster"].tolist()
    known = [a is not None and b is not None for a, b in zip(attacked, neutral, strict=True)]
    by_attack, by_neutral = (
        clustered_rate([yes if both else None for yes, both in zip(column, known, strict=True)], clusters)
        for column in (attacked, neutral)
    )
    return {
        "by_attack": by_attack, "by_neutral": by_neutral,
        "more": clustered_difference(attacked, neutral, clusters),
        "open_attacked": attacked.count(None), "open_neutral": neutral.count(None),
    }  # fmt: skip


def _read() -> dict[str, Any]:
    file = resources.files(__package__) / "attacks.toml"
    return tomllib.loads(file.read_text(encoding="utf-8"))


_PAPER_MODELS = {"Qwen": "Qwen2.5-32B-Instruct", "GPT": "GPT-4.1"}  # of its Tables 3 and 9
_JUDGES_OF_TABLE_4 = ("Qwen3", "gpt-oss", "GPT-4o", "o3-mini")
_CATEGORIES = {"": "Overall"} | {name: titled(name) for name in INSTRUCTION_CATEGORIES}


def published_rows() -> list[Row]:
    """Return the paper's figures as rows of agreement: its Tables 2 (rubric level with reasoning), 3 and 9 by category, and 4."""
    printed = [
        (f"{row['Model']} (Table 2)", "rubric-reasoning", measure, ending, row)
        for row in paper_rows("rubric_eval", "rubriceval_table2")
        for measure, ending in (("balanced_accuracy", "BAcc"), ("macro_f1", "mF1"))
    ]
    for number in (3, 9):
        for row in paper_rows("rubric_eval", f"rubriceval_table{number}"):
            paradigm = row["Granularity"].removesuffix("-level").lower() + ("-reasoning" if row["Reasoning"] else "")
            for short, model in _PAPER_MODELS.items():
                printed.append((f"{model} (Table {number})", paradigm, "balanced_accuracy", short, row))
    rows = [
        {"judge": judge, "paradigm": paradigm, "split": row.get("Split", "all").lower(), "group": name,
         "by": "instruction_category" if name else MEAN, measure: _printed(row[f"{title}/{column}"]), PUBLISHED: True}
        for judge, paradigm, measure, column, row in printed for name, title in _CATEGORIES.items()
    ]  # fmt: skip
    by = {"type": "rubric_type", "dimension": "dimension"}
    for judge in _JUDGES_OF_TABLE_4:
        for row in paper_rows("rubric_eval", "rubriceval_table4"):
            name = (row["Rubric Type"] or row["Dimension"] or "").lower().replace(" ", "_").replace("-", "_")
            keys = {"judge": judge, "paradigm": "rubric-reasoning", "split": "all", "by": by.get(row["Level"], "")}
            rows.append(keys | {"group": name, "accuracy": _printed(row[judge]), PUBLISHED: True})
    return rows


def _printed(percent: float | None) -> Score | None:
    return None if percent is None else Score(percent / 100, 0)
