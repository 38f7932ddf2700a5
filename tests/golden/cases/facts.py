"""`facts run` on an answer for everything that can become of one, and the commands around it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.golden.case import Case
from tests.golden.cases.inputs import rows, scripts

# Id: (document, answer or None where the model has none, label of the answer by sentences, and as a whole).
TABLE: dict[str, tuple[str, str | None, str, str]] = {
    "grounded": ("The gate closes at nine.", "It closes at nine.", "supported", "accurate"),
    "contradicted": ("The gate is green.", "The gate is red.", "contradictory", "inaccurate"),
    "evasive": ("The path is long.", "There is much to say.", "no_rad", "accurate"),
    "disputed": ("Tickets cost five.", "They cost about five.", "unsupported", "accurate"),
    "garbled": ("Dogs are welcome.", "Dogs may come.", "", ""),
    "failed": ("The kiosk sells tea.", None, "", ""),
}


def _write() -> None:
    rows("data", [
        {"id": name, "request": f"What of the {name} one?", "document": document, "system": "Use the note alone.",
         "domain": "garden" if number % 2 else "town", "split": "open" if number < 4 else "blind",
         "baseline": f"The note says so of the {name} one."}
        for number, (name, (document, *_)) in enumerate(TABLE.items())
    ])  # fmt: skip
    told: dict[str, dict[str, Any]] = {
        name: {"reply": answer} if answer else {"error": "the prompt has 9000 tokens, the window 8192"}
        for name, (_, answer, *_) in TABLE.items()
    }
    model = [{"contains": f"the {name} one"} | reply for name, reply in told.items()]
    scripts({"model": model, "one": _judge(True), "two": _judge(False)}, {"reply": "Hm."})


def _judge(severe: bool) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    evasive = TABLE["evasive"][1]
    if severe:
        found.append({"contains": ["<test_response_", "disputed one"], "reply": 'Off.\n{"rating": "major issues"}'})
    found.append({"contains": ["<test_response_", f">\n{evasive}\n<"], "reply": 'Empty.\n{"rating": "major issues"}'})
    found.append({"contains": "<test_response_", "reply": 'Fine.\n{"rating": "minor issues"}'})
    for document, answer, label, verdict in TABLE.values():
        if answer and label:
            said = {"sentence": answer, "rationale": "As the note has it.", "excerpts": [document], "label": label}
            shown = f">\n{answer}\n</response_"
            # One judge is asked by sentences, the other as a whole.
            reply = json.dumps({"sentences": [said]}) if severe else f'Compared.\n{{"verdict": "{verdict}"}}'
            found.append({"contains": shown, "reply": reply})
    return found


def _write_labelled() -> None:
    """Every answer there is, with what people say of it, and a model that sorts two prompts of six."""
    _write()
    rows("labelled", [
        {"id": name, "request": f"What of the {name} one?", "document": document, "system": "Use the note alone.",
         "response": answer, "accurate": "no" if verdict == "inaccurate" else "yes", "eligible": name != "evasive",
         "baseline": f"The note says so of the {name} one.", "sentences": [{"text": answer, "grounded": label != "contradictory"}]}
        for name, (document, answer, label, verdict) in TABLE.items() if answer
    ])  # fmt: skip
    said = [("grounded", "other", "question answering"), ("evasive", "technology", "summary")]
    sorter = [
        {
            "contains": f"the {name} one",
            "reply": f'A note.\n{{"domain": "{domain}", "task": "{task}", "demand": "nothing"}}',
        }
        for name, domain, task in said
    ]
    scripts({"sorter": sorter}, {"reply": "Hm."})


# Models on 24 documents: to which they answer beside the point, so that the answers are ineligible however grounded they
# are, and to which wrongly. Judges are of two of their families.
RANKED: dict[str, tuple[set[int], set[int]]] = {
    "gpt-4o": ({0}, {6, 16}),
    "claude-3": ({0, 1, 2, 20}, {17}),
    "gemini-2": ({3, 4, 8, 9, 14, 21}, {1, 7, 19}),
    "llama-3": (set(range(24)), set()),
    "none": (set(), set()),
}


def _write_ranked() -> None:
    rows("data", [
        {"id": f"d{n}", "request": f"What of gate {n}?", "document": f"Gate {n} is green.", "system": "Use the note alone.",
         "baseline": f"The note says so of gate {n}.", "split": "open" if n < 14 else "blind", "domain": "garden"}
        for n in range(24)
    ])  # fmt: skip
    for name, (evasive, wrong) in RANKED.items():
        said = {n: f"{name}: gate {n} is {'red' if n in wrong else 'green'}." for n in range(24)}
        said |= {n: f"{name}: of gate {n} there is much to say." for n in evasive}
        scripts({name: [{"contains": f"gate {n}?", "reply": answer} for n, answer in said.items()]})
    rating: list[dict[str, Any]] = [
        {"contains": ["<test_response_", "much to say"], "reply": 'Empty.\n{"rating": "major issues"}'},
        {"contains": "<test_response_", "reply": 'Fine.\n{"rating": "minor issues"}'},
    ]
    accurate, inaccurate = (f'Compared.\n{{"verdict": "{verdict}"}}' for verdict in ("accurate", "inaccurate"))
    grounding: list[dict[str, Any]] = [
        {"contains": "is red.", "reply": inaccurate},
        {"contains": "verdict", "reply": accurate},
    ]
    # Each judge is severe with the other's family.
    severe: dict[str, list[dict[str, Any]]] = {
        judge: [{"contains": f">\n{model}: {words}", "reply": inaccurate} for words in ("gate 3 is green", "of gate 2")]
        for judge, model in (("gpt-judge", "claude-3"), ("claude-judge", "gpt-4o"))
    }
    scripts({judge: [*rating, *rules, *grounding] for judge, rules in severe.items()})


def _keep_scores() -> None:
    """What is said of single answers is held by the other cases."""
    for name in ("ledger.sqlite", "judgments.jsonl", "verdicts.jsonl", "report.html"):
        for file in Path("runs").rglob(name):
            file.unlink()


_RANKED = "facts run --data data.jsonl --model scripted:{0}.json --judge scripted:gpt-judge.json --judge scripted:claude-judge.json"
CASES = (
    Case(
        "facts-rank", _write_ranked,
        (*(f"{_RANKED.format(name)} --template response --out runs/{name} --allow-unscored" for name in RANKED),
         f"facts rank {' '.join(f'runs/{name}' for name in RANKED)} --out ranked",
         # On fewer than ten documents all are right or ineligible, which an exact test tells apart.
         *(f"{_RANKED.format(name)} --limit 8 --template response --out runs/{name}-few" for name in ("llama-3", "none")),
         "facts rank runs/llama-3-few runs/none-few --out few",
         _keep_scores),
    ),
    Case(
        "facts-more", _write_labelled,
        ("facts select-template --labelled labelled.jsonl --judge scripted:one.json --judge scripted:two.json "
         "--template response --template json --out selected",
         "facts classify --data data.jsonl --model scripted:sorter.json --out sorted",
         "facts run --data sorted/classified.jsonl --model scripted:model.json --judge scripted:one.json --judge "
         "scripted:two.json --template selected/templates.json --out out --allow-unscored",
         "facts rank out --out ranked"),
    ),
    Case(
        "facts", _write,
        ("facts run --data data.jsonl --model scripted:model.json --judge scripted:one.json --judge scripted:two.json "
         "--template 2.response --out out --fail-under 90",),
    ),
)  # fmt: skip
