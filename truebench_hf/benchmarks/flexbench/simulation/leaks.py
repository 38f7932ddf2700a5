"""Does what a simulator is told give away what its conversations are judged by? Runs of words in common are looked for."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from truebench_hf.benchmarks.flexbench.procedure import Dimension

WORDS, CHARACTERS = 8, 16  # the shortest run that is a leak; characters where no blanks are written
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]")
_ITEM = re.compile(r"\[[^\[\]]*\]|[\"\u201c\u201e\u00ab\u300c][^\"\u201d\u00bb\u300d]*[\"\u201d\u00bb\u300d]")
_INNER_NAME = re.compile(r"(?<=[\w,;)] )(?:[A-Z\u00c0-\u00de][\w-]+)(?: [A-Z\u00c0-\u00de][\w-]+)*")


def leaks(prompt: str, dimensions: Iterable[Dimension]) -> list[tuple[str, str]]:
    """(dimension, the run of words) of dimensions that a prompt shares such a run with, outside names and scripts.

    A question shorter than the run leaks when it stands there whole.
    """
    told = _grams(_plain(prompt))
    found = []
    for one in dimensions:
        for text in (one.question, one.condition):
            if run := _shared(text.replace(one.script, "\0") if one.script else text, told):
                found.append((one.id, run))
                break
    return found


def _shared(text: str, told: tuple[str, str]) -> str:
    """The first run of a text that the prompt (in words, and without blanks) holds; "" where there is none."""
    for part in re.split(r"\0+", _INNER_NAME.sub("\0", _ITEM.sub("\0", text))):
        whole = _plain(part)
        if _UNSPACED.search(whole):
            signs = whole.replace(" ", "")
            runs = [signs[i : i + CHARACTERS] for i in range(max(1, len(signs) - CHARACTERS + 1))]
            short, shortest, held = len(signs) < CHARACTERS, CHARACTERS // 2, told[1]
            runs = runs if not short or (len(signs) >= shortest and part == text) else []
        else:
            words = whole.split()
            runs = [f" {' '.join(words[i : i + WORDS])} " for i in range(max(1, len(words) - WORDS + 1))]
            held = told[0]
            runs = runs if len(words) >= WORDS or (len(words) >= WORDS // 2 and part == text) else []
        if run := next((run for run in runs if run in held), ""):
            return run.strip()
    return ""


def _grams(plain: str) -> tuple[str, str]:
    return f" {plain} ", plain.replace(" ", "")


def _plain(text: str) -> str:
    """Words in lower case with one blank between; signs aside."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(re.sub(r"[^\w\s]", " ", folded).split())
