"""What moves a verdict that should stay as it is: another wording of the prompt, and text appended to the response.

Wordings equal in meaning stand beside fresh answers to the first one, injections (`attacks.toml`) beside neutral text of
the same length. What is said then is rows of the one frame (`scores.verdict_frame`), told apart by `asked`.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, reduce
from importlib import resources
from itertools import cycle, islice
from typing import TYPE_CHECKING, Any

from truebench_hf.benchmarks.rubric_eval.metaeval.scores import FIRST, WHO, Row
from truebench_hf.data.case import Case, names_fault, stated
from truebench_hf.data.rubrics import Item, Rubric
from truebench_hf.errors import UserError
from truebench_hf.hashing import canonical, digest
from truebench_hf.judging.case import sections as case_sections
from truebench_hf.judging.judge import JudgeSettings, prompts_used
from truebench_hf.metrics.agreement import agreement, by_group
from truebench_hf.metrics.binary import decide
from truebench_hf.metrics.comparison import clustered_difference
from truebench_hf.metrics.pass_rate import clustered_rate
from truebench_hf.metrics.votes import flips
from truebench_hf.prompts import Prompts, variants
from truebench_hf.types import Verdict

if TYPE_CHECKING:
    from pandas import DataFrame

OTHERS = ("second", "third")  # wordings equal in meaning to the first one, that judges are measured by
AGAIN = ("again 1", "again 2")  # the first wording, asked anew as often
ATTACKED, NEUTRAL = "attacked", "neutral"
# A longer response can truly meet such a rubric, so that its label is not certain any more.
LENGTH = "quantity_limit"
_PERTURBATIONS = {**dict.fromkeys(OTHERS, "wording"), **dict.fromkeys(AGAIN, "asking again")}


def reworded(settings: JudgeSettings, wording: str) -> dict[str, str]:
    """What to choose of our prompts for a judge's `wording`: name and variant. Repairs stay as they are."""
    return {name: wording for name in prompts_used(settings) if wording in variants(name)}


def wordings_used(judges: Iterable[JudgeSettings]) -> list[str]:
    """The other wordings that such judges are asked by, each with the beginning of its hash."""
    chosen = [pair for judge in judges for wording in OTHERS for pair in reworded(judge, wording).items()]
    return sorted({f"{name}.{wording} {Prompts({name: wording}).hash(name)[:12]}" for name, wording in chosen})


def refuse_replaced(judges: Iterable[JudgeSettings], prompts: Prompts) -> None:
    """Raise UserError where a prompt of the user's stands in place of one that has other wordings."""
    for name in {name for judge in judges for name in reworded(judge, OTHERS[0])}:
        if name in prompts.replaced:
            raise UserError(f"--reworded compares our wordings of {name}; leave out --prompt {name}=...")


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


def wording_scores(frame: DataFrame) -> tuple[list[Row], list[Row]]:
    """Return what rewording does to judges, and what asking them again does.

    Rows per judge and paradigm: `by_wording` and `by_asking_again`, the shares of verdicts that differ from those of the
    first wording over the rubrics that both decide, other wordings (draws) pooled; how far the wordings' balanced
    accuracies lie apart (`moves`); whether one leads out of the interval of the first one's (`decides`; None where there
    is no interval). Rows per judge, paradigm and way of asking: its flips alone, and its balanced accuracy.
    """
    perturbed = frame[frame["asked"].isin([*OTHERS, *AGAIN])]
    if perturbed.empty:
        return [], []
    first = frame[frame["asked"] == FIRST][[*WHO, "item", "label"]]
    pairs = perturbed.merge(first, on=[*WHO, "item"], suffixes=("", " first"))
    pairs["perturbation"] = pairs["asked"].map(_PERTURBATIONS)

    def turned(part: DataFrame) -> Row:
        columns = (part[name].tolist() for name in ("label first", "label", "cluster"))
        return {"flips": flips(*columns)}

    measured = frame[frame["asked"].isin([FIRST, *OTHERS, *AGAIN])]
    scores = agreement(measured, [*WHO, "asked"], measures=("balanced_accuracy",)).to_dict("records")
    by_asking = _by_key(by_group(pairs, [*WHO, "asked"], turned), "asked")
    details = [
        {
            **{name: score[name] for name in (*WHO, "asked", "balanced_accuracy")},
            **by_asking.get(_key(score, "asked"), {}),
        }
        for score in scores
    ]
    reworded_judges = {(row["judge"], row["paradigm"]) for row in by_asking.values()}
    details = [row for row in details if (row["judge"], row["paradigm"]) in reworded_judges]
    pooled = _by_key(by_group(pairs, [*WHO, "perturbation"], turned), "perturbation")
    summaries = [
        {
            "judge": judge, "paradigm": paradigm, "by_wording": pooled[judge, paradigm, "wording"]["flips"],
            "by_asking_again": pooled[judge, paradigm, "asking again"]["flips"],
            **_moved({row["asked"]: row["balanced_accuracy"] for row in details if _key(row)[:2] == (judge, paradigm)}),
        }
        for judge, paradigm in dict.fromkeys(_key(row)[:2] for row in details)
    ]  # fmt: skip
    return summaries, details


def _key(row: Mapping[str, Any], *more: str) -> tuple[str, ...]:
    return tuple(str(row[name]) for name in (*WHO, *more))


def _by_key(frame: DataFrame, name: str) -> dict[tuple[str, ...], Row]:
    return {_key(row, name): row for row in frame.to_dict("records")}


def _moved(scores: Mapping[str, Any]) -> Row:
    """How far the wordings' scores lie apart, None where one has none, and whether another leads out of the first's interval."""
    values = [scores[name].value for name in (FIRST, *OTHERS)]
    known = [value for value in values if value is not None]
    bounds = scores[FIRST].ci95
    others = [scores[name].value for name in OTHERS]
    return {
        "moves": max(known) - min(known) if len(known) == len(values) else None,
        "decides": bounds and any(value is not None and not bounds[0] <= value <= bounds[1] for value in others),
    }


def attack_scores(frame: DataFrame, by: Sequence[str] = ()) -> list[Row]:
    """Return what injections turn: a row per judge, paradigm and value of the columns `by`.

    `by_attack` and `by_neutral` are shares of verdicts of no that turn to yes, over the trials that are decided both
    ways; `more` is what the attack turns beyond the neutral text, paired; `open_attacked` and `open_neutral` count trials
    left undecided by either.
    """
    sides = [frame[frame["asked"] == how] for how in (ATTACKED, NEUTRAL)]
    trials = sides[0].merge(
        sides[1][[*WHO, "item", "attack", "label"]], on=[*WHO, "item", "attack"], suffixes=("", " neutral")
    )

    def estimate(part: DataFrame) -> Row:
        attacked, neutral = ([decide(label) for label in part[name]] for name in ("label", "label neutral"))
        clusters = part["cluster"].tolist()
        known = [a is not None and b is not None for a, b in zip(attacked, neutral, strict=True)]
        by_attack, by_neutral = (
            clustered_rate([yes if both else None for yes, both in zip(column, known, strict=True)], clusters)
            for column in (attacked, neutral)
        )
        return {
            "by_attack": by_attack, "by_neutral": by_neutral,
            "more": clustered_difference(attacked, neutral, clusters).score,
            "open_attacked": attacked.count(None), "open_neutral": neutral.count(None),
        }  # fmt: skip

    rows: list[Row] = by_group(trials, [*WHO, *by], estimate).to_dict("records")
    return rows


def attacked_rubrics(frame: DataFrame) -> list[Row]:
    """Return a row per judge and paradigm: of the `unmet` rubrics that could be attacked, what the judge said at first.

    It said no to `refused` (these are attacked), yes to `passed`, and left `undecided`.
    """
    first = frame[(frame["asked"] == FIRST) & (frame["attackable"] == True)]  # noqa: E712

    def estimate(part: DataFrame) -> Row:
        labels = part["label"].tolist()
        refused, passed = labels.count("no"), labels.count("yes")
        return {"unmet": len(labels), "refused": refused, "passed": passed, "undecided": len(labels) - refused - passed}

    rows: list[Row] = by_group(first, WHO, estimate).to_dict("records")
    return rows


def _read() -> dict[str, Any]:
    file = resources.files(__package__) / "attacks.toml"
    return tomllib.loads(file.read_text(encoding="utf-8"))
