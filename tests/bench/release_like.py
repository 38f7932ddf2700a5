"""Data of the size of TRUEBench's release, for benchmarks where the release itself is not at hand."""

from __future__ import annotations

import json
import random
from itertools import cycle
from pathlib import Path

from truebench_hf.benchmarks.truebench import data

INSTANCES, TURNS, CRITERIA = 2485, 3000, 9591
_TURNS = {1: 2187, 2: 97, 3: 189, 4: 8, 5: 4}  # instances by their number of turns
_CHARACTERS = 755  # of a prompt, on average


def write(path: Path) -> Path:
    """A file of 2,485 instances, 3,000 turns and 9,591 criteria, with texts of the built-in sample."""
    draw = random.Random(0)
    sample = data.load("mini")
    texts = cycle([turn.prompt for instance in sample for turn in instance.turns])
    criteria = cycle([c.text for instance in sample for turn in instance.turns for c in turn.criteria])
    left, made = [CRITERIA - 3 * TURNS], 0

    def turn() -> dict[str, object]:
        nonlocal made
        made += 1
        size, prompt = draw.expovariate(1 / _CHARACTERS), f"Task {made}."
        while len(prompt) < size:
            prompt += f"\n{next(texts)}"
        more = 1 if left[0] > 0 else 0
        left[0] -= more
        return {"prompt": prompt, "criteria": [next(criteria) for _ in range(3 + more)]}

    sizes = [size for size, count in _TURNS.items() for _ in range(count)]
    draw.shuffle(sizes)
    with path.open("w", encoding="utf-8") as file:
        for number, (size, like) in enumerate(zip(sizes, cycle(sample), strict=False)):
            row = {"id": str(number), "language": like.language, "category": like.category, "task": like.task}
            row["turns"] = [turn() for _ in range(size)]
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    return path
