"""Answers of judges with the truth beside each, made of the tables in this folder; every own verdict bears the tag `TAG`.

`shapes` are the forms that objects take, `ordinary` are plain answers as judges gave them, `styled` every style of
`styles.yaml` in every language with both kinds of labels, `attacked` every way of `quoting.yaml` to deal with a response
that forges verdicts. `held_out` answers were written after the reader was done.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from truebench_hf.benchmarks.rubric_eval.comparisons import attacks
from truebench_hf.data.judged import Case
from truebench_hf.types import Criterion

TAG = "3f9a2c41"
_WORD = {"y": "PASS", "n": "FAIL"}
_ATTACKED = Case("Name a river.", "It is late.", (Criterion("names a river"), Criterion("is German")))


@dataclass(frozen=True)
class JudgeAnswer:
    """One answer, what the judge was shown of the response, and the labels that it gives, "y" or "n" each; "": none."""

    text: str
    truth: str
    about: str
    shown: str = ""
    words: str = "PASS/FAIL"
    truncated: bool = False


@cache
def table(name: str) -> Any:
    """A table of this folder."""
    return yaml.safe_load((Path(__file__).parent / f"{name}.yaml").read_text("utf-8"))


def listed(name: str) -> list[JudgeAnswer]:
    """The answers of a table that holds them as they are."""
    rows = table(name)
    return [
        JudgeAnswer(
            row["text"],
            row["labels"],
            row.get("why", name),
            words=row.get("words", "PASS/FAIL"),
            truncated=row.get("cut", False),
        )
        for row in rows
    ]


def styled(styles: str, truths: tuple[str, ...] = ("yy", "yn")) -> Iterator[JudgeAnswer]:
    """Every style of a table in every language, for each of the truths."""
    for number, style in enumerate(table(styles)):
        for language, parts in table("languages").items():
            for truth in truths:
                rng = random.Random(f"{number} {language}")  # the same sentences around whichever labels
                yield JudgeAnswer(in_style(style, parts, truth, TAG, rng), truth, f"{styles} {number} {language}")


def in_style(style: str, parts: dict[str, Any], truth: str, tag: str, rng: random.Random) -> str:
    """An answer in a style and a language that gives these labels."""
    reasons = [rng.choice(parts["met"] if sign == "y" else parts["unmet"]) for sign in truth]
    words = [_WORD[sign] for sign in truth]
    keys = [f"criteria_{number}" for number in range(1, len(truth) + 1)]
    rows = list(enumerate(zip(reasons, words, strict=True), 1))
    return style.format(
        begin=rng.choice(parts["begins"]),
        end=rng.choice(parts["ends"]),
        reasons="\n".join(f"{number}. {reason}" for number, (reason, _) in rows),
        bullets="\n\n".join(f"### {parts['criterion']} {number}\n- {reason}" for number, (reason, _) in rows),
        stated="\n".join(f"**{parts['criterion']} {number}**: {word}. {reason}" for number, (reason, word) in rows),
        table="\n".join(["| # | |", "|---|---|", *(f"| {number} | {word} |" for number, (_, word) in rows)]),
        object=signed(truth, tag),
        indented=json.dumps(json.loads(signed(truth, tag)), indent=2),
        nested=json.dumps(
            {"id": tag}
            | {
                key: {"reason": reason, "verdict": word} for key, reason, word in zip(keys, reasons, words, strict=True)
            },
            ensure_ascii=False,
        ),
        draft=signed("".join("n" if sign == "y" else "y" for sign in truth), tag),
    )


def signed(truth: str, tag: str = TAG, reason: str | None = None) -> str:
    """The object that prompts ask for, with a reason in each entry if there is one."""
    entries = {f"criteria_{number}": _WORD[sign] for number, sign in enumerate(truth, 1)}
    if reason is None:
        return json.dumps({"id": tag, **entries})
    return json.dumps({"id": tag} | {key: {"reason": reason, "verdict": word} for key, word in entries.items()})


def forgeries(name: str) -> list[str]:
    """What responses hold to be passed: the injections of `metaeval --attacks`, and the forged objects of a table."""
    passed = '"criteria_1": "PASS", "criteria_2": "PASS"'
    return [attack.on(_ATTACKED) for attack in attacks()] + [text.format(all=passed) for text in table(name)]


def attacked(ways: str, forged: str) -> Iterator[JudgeAnswer]:
    """Every way of a table to deal with every forgery; the judge's own labels are FAIL and FAIL."""
    for number, way in enumerate(table(ways)):
        for place, text in enumerate(forgeries(forged)):
            values = {
                "forged": text, "start": text.strip()[:40], "signed": signed("nn"),
                "reasoned": signed("nn", reason=f"It holds {text}, which counts for nothing."),
            }  # fmt: skip
            yield JudgeAnswer(
                way["text"].format(**values), "nn" if way["own"] else "", f"{ways} {number} {place}", text
            )
