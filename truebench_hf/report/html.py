"""A run as one self-contained HTML page: no script from elsewhere, no network, readable on a phone."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined

from truebench_hf.report.bias import bias_rows
from truebench_hf.report.tables import HEADLINES, interval, value
from truebench_hf.types import Report, Score

_HARDEST = 20


def render(title: str, report: Report, rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """The page in parts. `rows` are lines of `judgments.jsonl`; every text in them is escaped."""
    kept = list(rows)
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(_beside("report.html.jinja"))
    headline = {HEADLINES[n]: s for n, s in report.scores.items() if n in HEADLINES and isinstance(s, Score)}
    stream = template.stream(
        title=title,
        css=_beside("page.css"),
        facts=_facts(report),
        headline=headline,
        groups={n.removeprefix("by_").capitalize(): g for n, g in report.scores.items() if isinstance(g, Mapping)},
        grid=_grid(kept),
        hardest=_hardest(kept),
        bias=bias_rows(report.bias_corrected) if report.bias_corrected else [],
        notes=report.notes,
        unscored=report.unscored,
        official=report.provenance.get("protocol") == "official",
        rows=kept,
        value=value,
        interval=interval,
    )
    stream.enable_buffering(200)
    yield from stream


def _beside(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def _facts(report: Report) -> dict[str, str]:
    made = report.provenance
    judging = made.get("judging", {})
    facts = {
        "Model": made.get("model"),
        "Judge": made.get("judge"),
        "Judge level": judging.get("level"),
        "Cascade judge": made.get("cascade_judge"),
        "Reasoning": "on" if judging.get("reasoning") else "off",
        "Protocol": made.get("protocol"),
        "Data": f"{made.get('data')} (SHA-256 {str(made.get('data_sha256', ''))[:12]})",
        "Versions": ", ".join(f"{name} {version}" for name, version in made.get("versions", {}).items()),
    }
    for role, used in report.usage.get("total", {}).items():
        tokens = f"{used['calls']:,} calls, {used['input_tokens']:,} tokens in, {used['output_tokens']:,} out"
        facts[f"Usage of the {role}"] = tokens
    return {name: str(fact) for name, fact in facts.items() if fact}


def _grid(rows: Iterable[Mapping[str, Any]]) -> tuple[list[str], list[tuple[str, list[Score | None]]]]:
    """Category x language: (languages, [(category, a score per language, None where there is no instance)])."""
    cells: dict[tuple[str, str], list[bool | None]] = defaultdict(list)
    for row in rows:
        cells[row["category"], row["language"]].append(row["passed"])
    categories, languages = list(dict.fromkeys(c for c, _ in cells)), list(dict.fromkeys(x for _, x in cells))
    return languages, [(c, [_share(cells.get((c, x), [])) for x in languages]) for c in categories]


def _share(passed: list[bool | None]) -> Score | None:
    scored = [p for p in passed if p is not None]
    value = 100 * sum(scored) / len(scored) if scored else None
    return Score(value, len(scored), len(passed) - len(scored)) if passed else None


def _hardest(rows: Iterable[Mapping[str, Any]]) -> list[tuple[str, int, int]]:
    """(criterion, times failed, times decided) of the criteria failed most often, then by the larger share."""
    failed: Counter[str] = Counter()
    decided: Counter[str] = Counter()
    for row in rows:
        for verdict in (verdict for turn in row["verdicts"] for verdict in turn):
            decided[verdict["criterion"]] += verdict["label"] in ("yes", "no")
            failed[verdict["criterion"]] += verdict["label"] == "no"
    ranked = sorted(failed, key=lambda text: (-failed[text], -failed[text] / max(1, decided[text]), text))
    return [(text, failed[text], decided[text]) for text in ranked[:_HARDEST] if failed[text]]
