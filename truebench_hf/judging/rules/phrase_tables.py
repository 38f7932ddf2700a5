"""The phrase tables of `phrases/*.yaml`, expanded and compiled at first use: [x] may be left out, (x|y) is x or y."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).parent / "phrases"
UNSPACED = ("ko", "ja", "zh")
_SLOT = re.compile(r"\{\w+\}")
_GROUP = re.compile(r"\[([^\[\]]*)\]|\(([^()]*)\)")


@cache
def language_codes() -> dict[str, tuple[str, ...]]:
    """Return the codes of the languages that lingua tells apart, by their English names in lower case."""
    return {
        name: tuple(codes.split())
        for codes, names in load_table("en")["languages"].items()
        for name in names.split("|")
    }


def expand(phrase: str) -> Iterator[str]:
    """Yield every text that a phrase of a table stands for."""
    match = _GROUP.search(phrase)
    if match is None:
        yield re.sub(r" (?=[?,:])", "", " ".join(phrase.split()))  # where what stood before it is left out
        return
    choices = ["", *match[1].split("|")] if match[1] is not None else match[2].split("|")
    for choice in choices:
        yield from expand(phrase[: match.start()] + choice + phrase[match.end() :])


@cache
def rules_by_kind() -> dict[str, Any]:
    return dict(load_table("rules"))


def load_table(name: str) -> Any:
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return yaml.load((_FOLDER / f"{name}.yaml").read_text(encoding="utf-8"), Loader=loader)


@cache
def table_of(code: str) -> dict[str, Any]:
    """Return the steps that rewrite a text: (slot, pattern of its words, what each word stands for)."""
    table = load_table(code)
    edges = ("", "") if code in UNSPACED else (r"(?<![\w{])", r"(?![\w}])")
    steps = []
    languages = {word: codes.split() for codes, words in table["languages"].items() for word in expand(f"({words})")}
    numbers = {word: value for value, words in table["numbers"].items() if words for word in expand(f"({words})")}
    for slot, held in (
        ("{drop}", dict.fromkeys(every_text(table.get("drop", [])))), ("{language}", languages),
        ("{part}", named_words(table["parts"])), ("{answer}", dict.fromkeys(every_text(table["answer"]))),
        ("{unit}", named_words(table["units"])), ("{sign}", named_words(table.get("signs", {}))), ("{n}", numbers),
        ("{work}", dict.fromkeys(every_text(table["works"]))), ("{made}", dict.fromkeys(every_text(table["made"]))),
        ("{must}", dict.fromkeys(every_text(table["must"]))), ("{have}", dict.fromkeys(every_text(table["have"]))),
    ):  # fmt: skip
        if code in UNSPACED:
            held = {word.replace(" ", ""): value for word, value in held.items()}
        body = "|".join(map(re.escape, sorted(held, key=len, reverse=True)))
        pattern = f"{edges[0]}(?:{body}){edges[1]}" if body else r"(?!)"
        if slot == "{n}":  # where no blanks set them apart, words are numbers only before a unit
            pattern = (
                rf"\d+|(?:{body})(?={{unit}}|번|회|次|度|回)"
                if code in UNSPACED
                else rf"{edges[0]}(?:{body}|\d+){edges[1]}"
            )
        steps.append((slot if slot != "{drop}" else "", re.compile(pattern), held))
    return {"steps": steps, "joints": list(every_text(table["joints"])), "either": table["either"]}


@cache
def cores() -> dict[frozenset[str], tuple[str, ...]]:
    """Return what a set of tokens may state: the kinds in the order in which they are tried."""
    cores = dict[frozenset[str], tuple[str, ...]]()
    for kind, texts in load_table("cores").items():
        for text in every_text(texts):
            tokens = frozenset(text.split())
            cores[tokens] = (*cores.get(tokens, ()), kind)
    return cores


@cache
def tokens_of(code: str) -> tuple[re.Pattern[str], dict[str, str]]:
    """Return the pattern of all tokens of a language, and the name of each; "" is what only fills."""
    slots = [
        "text",
        "count",
        "language",
        "part",
        "answer",
        "unit",
        "sign",
        "n",
        "work",
        "made",
        "must",
        "have",
        "times",
    ]
    names = {f"{{{slot}}}": f"{{{slot}}}" for slot in slots}
    for name, words in load_table(code)["tokens"].items():
        for word in expand(f"({words.casefold()})"):
            word = word.replace(" ", "") if code in UNSPACED else word
            rewritten = word
            for slot, pattern, _ in table_of(code)["steps"]:
                rewritten = pattern.sub(slot, rewritten)
            for text in (word, rewritten):
                if text.strip() and "{n}" not in text and not _SLOT.fullmatch(text):
                    names.setdefault(text.strip(), "" if name == "filler" else f"{{{name}}}")
    edges = ("", "") if code in UNSPACED else (r"(?<!\w)", r"(?!\w)")
    body = "|".join(
        (edges[0] if word[0].isalnum() else "") + re.escape(word) + (edges[1] if word[-1].isalnum() else "")
        for word in sorted(names, key=len, reverse=True)
    )
    return re.compile(body), names


def every_text(phrases: list[str]) -> Iterator[str]:
    return (text for phrase in phrases for text in expand(phrase))


def named_words(table: Mapping[str, str]) -> dict[str, str]:
    return {word: name for name, words in table.items() for word in expand(f"({words})")}


@cache
def amounts_of(code: str) -> tuple[re.Pattern[str], dict[str, str]]:
    table = load_table(code)["amounts"]
    bounds = {text.strip(): kind for kind, phrases in table.items() for text in every_text(phrases)}
    if code in UNSPACED:
        bounds = {text.replace(" ", ""): kind for text, kind in bounds.items()}
    words = sorted(bounds, key=len, reverse=True)
    edge = "" if code in UNSPACED else r"(?<!\w)"
    return re.compile(f"{edge}(?:{'|'.join(map(re.escape, words))})"), bounds


@cache
def splits_of(code: str) -> re.Pattern[str]:
    ends = r"(?<=[^\d\s])[.;。；]\s*"
    words = "|".join(map(re.escape, load_table(code)["splits"]))
    return re.compile(f"{ends}|{words}" if words else ends)


@cache
def phrases_of(code: str) -> dict[str, str]:
    """Return what each phrase of a language states."""
    table = load_table(code)["phrases"]
    texts = dict[str, str]()
    for kind, phrases in table.items():
        for phrase in phrases:
            phrase = phrase.replace(" ", "") if code in UNSPACED else phrase
            for slot, pattern, _ in table_of(code)["steps"]:
                phrase = pattern.sub(slot, phrase) if slot else phrase
            for text in expand(phrase):
                for whole in {text, text.replace("{answer}", "{work}")}:
                    texts.setdefault(whole.strip(), kind)
    return texts
