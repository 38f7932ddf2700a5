"""A scripted panel that disagrees by design, for the tests of arbitration.

It stands in rule files, so that models are opened, called and recorded as in any run. Rubrics are named after what the
panel is to do with them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from truebench_hf.benchmarks.rubric_eval.arbitration import ArbitrateOptions

COARSE, FINE, META = "You check how well", "You check one requirement", "Several reviewers"
JUDGES = ("ann", "bob", "cat", "dan")

# Per rubric: what each base judge says in the coarse and in the fine pass (P pass, F fail, ? an answer that cannot be
# read), what the two meta-judges say, and the exit with its label, worked out by hand.
TABLE: dict[str, tuple[str, str, str, str, str | None]] = {
    "all pass alike": ("PPPP", "PPFF", "FF", "coarse_unanimous", "yes"),  # later stages only where validated
    "all fail alike": ("FFFF", "", "", "coarse_unanimous", "no"),
    "settled on a second look": ("PPPF", "PPPP", "", "easy", "yes"),
    "settled against the majority": ("PPPF", "FFFF", "", "easy", "no"),
    "three against one": ("PPFF", "PPPF", "FF", "hard", "no"),  # arguments count, not heads
    "two against two": ("PFPF", "PFPF", "PP", "hard", "yes"),
    "silence is no agreement": ("PPPF", "PPP?", "PP", "hard", "yes"),
    "metas apart": ("PFPF", "PFPF", "PF", "meta_disagree", None),
    "a meta is silent": ("PFPF", "PFPF", "P?", "undecided", None),
    "nearly all are silent": ("PFPF", "P???", "", "undecided", None),  # one rationale is no dispute to settle
    "all silent at first": ("????", "FFFF", "", "easy", "no"),
}


def panel_rules(side: int, stage: int) -> list[dict[str, Any]]:
    """One judge's answers in the pass `stage` of TABLE; a rubric it is never asked about there gets no rule."""
    words = {"P": "PASS", "F": "FAIL", "?": "MAYBE"}
    said = {rubric: words[columns[:3][stage][side]] for rubric, columns in TABLE.items() if columns[:3][stage]}
    if stage == 0:
        return [{"contains": COARSE, "verdicts": said}, {"contains": "cannot be used", "verdicts": said}]
    opening = FINE if stage == 1 else META
    return [
        {
            "contains": [opening, f"\n1. {rubric}\n"],
            "reply": f'1. {opening[:7]} {side} on it\n```json\n{{"criteria_1": "{word}"}}\n```',
        }
        for rubric, word in said.items()
    ]


def panel_specs(folder: Path) -> dict[str, str]:
    """Write the rule files; (name: spec) of base judges, meta-judges and a responder."""
    scripts: dict[str, Any] = {name: {"rules": panel_rules(i, 1) + panel_rules(i, 0)} for i, name in enumerate(JUDGES)}
    scripts |= {name: {"rules": panel_rules(i, 2)} for i, name in enumerate(("mia", "max"))}
    scripts["writer"] = {"rules": [{"contains": "broken", "error": "the server burned down"}]}
    for content in scripts.values():
        content["default"] = {"reply": "no such answer"}
    found = {}
    for name, content in scripts.items():
        (folder / f"{name}.json").write_text(json.dumps(content))
        found[name] = f"scripted:{folder / name}.json"
    return found


def table_rows(response: str = "Here it is.") -> list[dict[str, Any]]:
    shared = {
        "instruction_id": "i1", "response_id": "r1", "response_model": "m", "instruction_category": "constrained",
        "source_benchmark": "hand-made", "language": "EN", "messages": [{"role": "user", "content": "Do it."}],
        "response": response, "checklist": list(TABLE),
    }  # fmt: skip
    return [
        shared | {"id": f"r1-c{i}", "rubric_index": i, "rubric": text, "label": None} for i, text in enumerate(TABLE)
    ]


def write_rows(path: Path, rows: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def table_options(folder: Path, **more: Any) -> ArbitrateOptions:
    panel = panel_specs(folder)
    given = {
        "data": str(folder / "data.jsonl"),
        "judge": tuple(panel[name] for name in JUDGES),
        "meta_judge": (panel["mia"], panel["max"]),
        "out": str(folder / "out"),
    }
    if not (folder / "data.jsonl").exists():
        write_rows(folder / "data.jsonl", table_rows())
    return ArbitrateOptions(**(given | more))


def read_rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]
