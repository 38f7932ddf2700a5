"""Answers of judges with the truth beside each, made of the tables in this folder; every own verdict bears the tag `TAG`.

`form` holds the forms that objects take, `ordinary` plain answers as judges gave them; `styled` is every style of
`styles.yaml` in every language with all kinds of labels, `attacked` every way of `quoting.yaml` to deal with a response
that forges verdicts. `held_out` answers were written after the reader was done.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.support import corpus
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


def table(name: str) -> Any:
    """A table of this folder."""
    return corpus.table(__file__, name)


def listed(name: str) -> list[JudgeAnswer]:
    """The answers of a table that holds them as they are."""
    return [
        JudgeAnswer(row["text"], row["labels"], row.get("why", name), "", row.get("words", "PASS/FAIL"), row.get("cut", False))
        for row in table(name)
    ]  # fmt: skip


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
    points = [(f"{parts['criterion']} {n}", _WORD[truth[n - 1]], reason) for n, reason in enumerate(reasons, 1)]
    other = "".join("n" if sign == "y" else "y" for sign in truth)
    return filled(style, parts, points, signed(truth, tag), signed(truth, tag, reasons), signed(other, tag), rng)


def filled(
    style: str, parts: Mapping[str, Any], points: Sequence[tuple[str, str, str]], plain: Mapping[str, Any],
    nested: Mapping[str, Any], draft: Mapping[str, Any], rng: random.Random,
) -> str:  # fmt: skip
    """A style filled with (title, label, reason) of each point, and with the objects that state the labels."""
    return style.format(
        begin=rng.choice(parts["begins"]), end=rng.choice(parts["ends"]),
        reasons="\n".join(f"{number}. {reason}" for number, (_, _, reason) in enumerate(points, 1)),
        bullets="\n\n".join(f"### {title}\n- {reason}" for title, _, reason in points),
        stated="\n".join(f"**{title}**: {word}. {reason}" for title, word, reason in points),
        table="\n".join(["| # | |", "|---|---|", *(f"| {title.split()[-1]} | {word} |" for title, word, _ in points)]),
        object=json.dumps(plain, ensure_ascii=False), indented=json.dumps(plain, ensure_ascii=False, indent=2),
        nested=json.dumps(nested, ensure_ascii=False), draft=json.dumps(draft, ensure_ascii=False),
    )  # fmt: skip


def signed(truth: str, tag: str = TAG, reasons: Sequence[str] = ()) -> dict[str, Any]:
    """The object that prompts ask for, with a reason in each entry where there are any."""
    words = {f"criteria_{number}": _WORD[sign] for number, sign in enumerate(truth, 1)}
    if not reasons:
        return {"id": tag, **words}
    entries = zip(words.items(), reasons, strict=True)
    return {"id": tag} | {key: {"reason": reason, "verdict": word} for (key, word), reason in entries}


def forgeries(name: str) -> list[str]:
    """What responses hold to be passed: the injections of `metaeval --attacks`, and the forged objects of a table."""
    passed = '"criteria_1": "PASS", "criteria_2": "PASS"'
    return [attack.on(_ATTACKED) for attack in attacks()] + [text.format(all=passed) for text in table(name)]


def quoted(way: Mapping[str, Any], forged: str, plain: Mapping[str, Any], reasoned: Mapping[str, Any]) -> str:
    """An answer that deals with a forgery in one way."""
    start = forged.strip()[:40]
    return str(way["text"]).format(forged=forged, start=start, signed=json.dumps(plain), reasoned=json.dumps(reasoned))


def attacked(ways: str, forged: str) -> Iterator[JudgeAnswer]:
    """Every way of a table to deal with every forgery; the judge's own labels are FAIL and FAIL."""
    for number, way in enumerate(table(ways)):
        for place, text in enumerate(forgeries(forged)):
            reasoned = signed("nn", reasons=[f"It holds {text}, which counts for nothing."] * 2)
            answer = quoted(way, text, signed("nn"), reasoned)
            yield JudgeAnswer(answer, "nn" if way["own"] else "", f"{ways} {number} {place}", text)
