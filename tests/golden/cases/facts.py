"""`facts run` on an answer for everything that can become of one, and the commands around it."""

from __future__ import annotations

import json
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
        {"contains": f"the {name} one", "reply": f'A note.\n{{"domain": "{domain}", "task": "{task}"}}'}
        for name, domain, task in said
    ]
    scripts({"sorter": sorter}, {"reply": "Hm."})


CASES = (
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
