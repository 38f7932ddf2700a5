"""The work list as a page: what was asked, answered and judged, and fields to fill in, which it downloads as the CSV."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from truebench_hf.benchmarks.truebench.refinement.worklist import COLUMNS, FILLED, Row, cells
from truebench_hf.hashing import canonical, digest
from truebench_hf.text.terminal import on_page


def page(listed: Sequence[Row], round: int) -> str:
    """A self-contained page that works offline, keeps what is filled in in the browser, and downloads the work list."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["on_page"] = on_page
    template = environment.from_string(Path(__file__).with_name("worklist.html.jinja").read_text(encoding="utf-8"))
    shown = [cells(row, round) for row in listed]
    key = f"truebench-worklist-{digest(canonical([row['row'] for row in shown]))[:16]}-{round}"
    data = json.dumps(shown).replace("<", "\\u003c")  # no text closes the script
    return template.render(
        rows=list(zip(listed, shown, strict=True)), round=round, key=key, columns=COLUMNS, filled=FILLED, data=data
    )
