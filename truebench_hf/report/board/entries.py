"""One line of the leaderboard, from a published table or from the scores of a run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from truebench_hf.engine.ledger import canonical, digest
from truebench_hf.metrics.intervals import wilson
from truebench_hf.report.board import reference, shown
from truebench_hf.types import Score

Source = Literal["paper", "measured"]
CATEGORIES = tuple(reference.table("truebench_table5_category")["columns"][2:])
LANGUAGES = tuple(reference.table("truebench_table6_language")["columns"][2:])
_SIZE = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)\s?([bm])(?![a-z0-9])", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Entry:
    """A model's scores with where they come from. `setting` is equal for entries that may be ranked together."""

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
    rank: int | None = None
    tied: bool = False


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
    """The entry of a TRUEBench run from the content of its `run.json` and `scores.json`. Raises KeyError, TypeError."""
    settings = info["settings"]
    model, judge = shown.name(settings["model"]), shown.name(settings["judge"])
    level = settings.get("judging", {}).get("level", "")
    setting = digest(canonical([settings.get("data_sha256"), settings["judge"], level, settings.get("protocol")]))
    parts = {name: _score(part) for by in ("by_category", "by_language") for name, part in scores[by].items()}
    size, weights, licence = model_facts(settings["model"])
    overall = scores["official"] if settings.get("protocol") == "official" else scores["overall"]
    return Entry(
        f"{slug(model)}-{digest(canonical(settings))[:8]}", model, "measured",
        f"{judge} ({level})" if level else judge, shown.data(str(settings.get("data") or "not a known release")), setting,
        _score(overall), parts, size, weights, licence, folder=folder,
    )  # fmt: skip


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
    interval = plain.get("ci95")
    return Score(plain["value"], int(plain["n"]), int(plain.get("unscored", 0)), tuple(interval) if interval else None)
