"""A validator that knows the edits: what a perfect one would answer to the prompts of an ablation."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from truebench_hf.benchmarks.truebench.validator import Edited, instance_values, numbered

LISTS = {"errors": "E1", "excessive": "E2", "missing": "E3", "composite": ""}


class Oracle:
    """Knows each row of a constructed set by the tags of its prompt, which its instructions settle."""

    def __init__(self, rows: Sequence[Edited]) -> None:
        self._rows = {instance_values(row.instance)["tag"]: row for row in rows}
        assert len(self._rows) == len(rows), "two rows look alike"

    def answer(self, prompt: str) -> str:
        """The one defect of the row, if the prompt asks for its kind; without any aspect what it knows; else PASS."""
        tag = re.search(r"<instruction_(\w+) turn=", prompt)
        assert tag
        row = self._rows[tag[1]]
        found: dict[str, Any] = {name: [] for name in LISTS if f'- "{name}": ' in prompt}
        mine = next((name for name in found if LISTS[name] == row.edit.edit), None)
        if mine == "missing":
            found[mine] = [
                {"turn": row.edit.turn, "why": "It lost one.", "add": "What the removed criterion demanded."}
            ]
        elif mine:
            number = list(numbered(row.instance.turns)).index((row.edit.turn, row.edit.criterion)) + 1
            found[mine] = [{"criterion": number, "why": "It was edited.", "instead": []}]
        fail = mine or (len(found) == 1 and row.edit.edit != "unedited")
        return f"I know.\n```json\n{json.dumps(found | {'verdict': 'FAIL' if fail else 'PASS'})}\n```"
