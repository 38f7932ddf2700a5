"""One line of the leaderboard, from a published table or from the scores of a run."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from truebench_hf.engine.ledger import canonical, digest
from truebench_hf.metrics.intervals import wilson
from truebench_hf.space.board import identity, reference, shown, way
from truebench_hf.types import Score

Source = Literal["paper", "measured", "submitted"]
CATEGORIES = tuple(reference.table("truebench_table5_category")["columns"][2:])
LANGUAGES = tuple(reference.table("truebench_table6_language")["columns"][2:])
_MOST = 10**9  # of instances: far beyond any data, and within what JSON readers take
_SIZE = re.compile(r"(?<![\w.])(\d{1,5}(?:\.\d+)?)\s?([bm])(?![a-z0-9])", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Entry:
    """A model's scores with where they come from. `setting` is equal for entries that may be ranked together.

    `content` is equal for copies of one run. `misprints` names the columns whose figure the paper misprints. A rank is a
    span, from `rank` to `last`: the places that cannot be told from its own.
    """

    key: str  # stands in links
    model: str
    source: Source
    judge: str
    data: str
    setting: str
    overall: Score
    parts: Mapping[str, Score]  # category and language -> score
    size_b: float | None = None
    open: bool | None = None
    licence: str | None = None
    misprints: frozenset[str] = frozenset()
    folder: Path | None = field(default=None, repr=False)
    content: str = field(default="", repr=False)
    rank: int | None = None
    last: int | None = None


def published() -> tuple[Entry, ...]:
    """The models of TRUEBench Tables 5 and 6, with Wilson intervals for the paper's numbers of instances (Table 4)."""
    by_category, by_language = (reference.table(f"truebench_table{n}") for n in ("5_category", "6_language"))
    counts = _counts()
    wrong = {(model, column) for table in (by_category, by_language) for model, column in table["misprints"]}
    languages = {row["Model"]: row for row in by_language["rows"]}
    entries = []
    for row in by_category["rows"]:
        model = row["Model"]
        parts = {name: _printed(row[name], counts[name]) for name in CATEGORIES}
        parts |= {name: _printed(languages[model][name], counts[name]) for name in LANGUAGES}
        known = reference.facts().get(model, {})
        entries.append(
            Entry(
                f"paper-{slug(model)}", model, "paper", "as in the paper", "TRUEBench paper, 1,329 instances", "paper",
                _printed(row["Overall"], counts["Total"]), parts, known.get("size_b"), known.get("open"),
                known.get("licence"), frozenset(column for name, column in wrong if name == model),
            )
        )  # fmt: skip
    return tuple(entries)


def measured(folder: Path, info: Mapping[str, Any], scores: Mapping[str, Any]) -> Entry:
    """The entry of a TRUEBench run from the content of its `run.json` and `scores.json`. Raises KeyError, TypeError.

    Runs are ranked together when data, judge and all that shaped its verdicts (`way.shaping`) are the same. A submission,
    marked so in `run.json`, does not tell the last: it is never ranked together with measured runs, only with
    submissions over the same data that name the same judge.
    """
    settings, overall = info["settings"], scores["overall"]
    if settings.get("items", held := overall["n"] + overall["unscored"]) != held:
        raise TypeError("the scores are of fewer or more instances than the run: it is not finished")
    model, judge = shown.name(settings["model"]), shown.name(settings["judge"])
    protocol, words = settings.get("protocol"), way.words(settings)
    source: Source = "submitted" if info.get("submitted") else "measured"
    how = "submitted" if source == "submitted" else way.shaping(settings)
    setting = digest(canonical([settings.get("data_sha256"), judge, how]))
    content = identity.content(folder, model, judge, scores)
    parts = {name: _score(part) for by in ("by_category", "by_language") for name, part in scores[by].items()}
    size, weights, licence = model_facts(settings["model"])
    return Entry(
        f"{slug(model)}-{digest(content + setting)[:8]}", model, source, f"{judge} ({words})" if words else judge,
        shown.data(str(settings.get("data") or "not a known release")) + _part(settings), setting,
        _score(scores["official" if protocol == "official" else "overall"]), parts, size, weights, licence,
        folder=folder, content=content,
    )  # fmt: skip


def _part(settings: Mapping[str, Any]) -> str:
    """Which part of the data a run was over, to be read behind its name; nothing for the whole."""
    chosen = [str(name) for key in ("language", "category") for name in settings.get(key) or ()]
    drawn = [f"sample of {settings['limit']}"] if settings.get("limit") else []
    return "".join(f", {part}" for part in (*chosen, *drawn))


def once(found: Iterable[Entry]) -> list[Entry]:
    """Every run once, the first copy of each; a submission of a run that was also measured is left out."""
    entries = list(found)
    ours = {entry.content for entry in entries if entry.source == "measured"}
    unique: dict[str, Entry] = {}
    for entry in entries:
        if entry.source == "measured" or entry.content not in ours:
            unique.setdefault(entry.key, entry)
    return list(unique.values())


def model_facts(spec: str) -> tuple[float | None, bool | None, str | None]:
    """(size in billions, open weights, licence) of a model spec as far as its name and the published facts tell."""
    if spec == "smollm2":
        return 0.135, True, "Apache-2.0"
    kind, _, rest = spec.partition(":")
    bare = rest.rstrip("/").rpartition("/")[2]
    for model, known in reference.facts().items():
        if model.casefold() == bare.casefold():
            return known["size_b"], known["open"], known["licence"]
    found = _SIZE.search(bare.replace("-", " ").replace("_", " "))
    size = None if found is None else float(found[1]) / (1000 if found[2].lower() == "m" else 1)
    on_hub = kind in ("hf", "vllm") and re.fullmatch(r"[\w-][\w.-]*/[\w.-]+", rest) is not None
    return size, True if on_hub else None, None


def slug(text: str) -> str:
    """A name for links: lower-case letters, digits and hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "model"


def _counts() -> dict[str, int]:
    rows = reference.table("truebench_table4_counts")["rows"]
    counts = {row["Category"]: row["Total Count"] for row in rows}
    return counts | {name: rows[-1][name] for name in LANGUAGES}


def _printed(value: float, n: int) -> Score:
    interval = wilson(round(value * n / 100), n)
    return Score(value, n, 0, None if interval is None else (100 * interval[0], 100 * interval[1]))


def _score(plain: Mapping[str, Any]) -> Score:
    """A score as a run folder has it. Raises TypeError on what cannot be ranked and drawn, whoever wrote it."""
    value, interval = plain["value"], plain.get("ci95")
    counts = plain["n"], plain.get("unscored", 0)
    if any(type(count) is not int or not 0 <= count <= _MOST for count in counts):
        raise TypeError(f"n and unscored must be counts, not {counts}")
    if interval is not None and (not isinstance(interval, list) or len(interval) != 2):
        raise TypeError(f"ci95 must be two numbers, not {interval}")
    for number in [*([] if value is None else [value]), *(interval or ())]:
        if type(number) not in (int, float) or not math.isfinite(number):
            raise TypeError(f"{number!r} is not a number")
    return Score(value, *counts, None if interval is None else (interval[0], interval[1]))
