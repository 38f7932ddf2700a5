"""`taxonomy`: rubrics sorted rightly, wrongly and not at all, rows written back, and data that knows its types."""

from __future__ import annotations

from tests.golden.case import Case
from tests.golden.cases.inputs import labelled_rows, rows, said, scripts

# Rubric: (its type by the data, what the model answers).
RUBRICS = {
    "Has three lines.": ("quantity_limit", "quantity_limit"),
    "Has a table.": ("format_structure", "quantity_limit"),
    "Is polite.": (None, "style_tone"),
    "Speaks as a nurse.": (None, "persona"),  # no type at all
}


def _write() -> None:
    found = []
    for number, (rubric, (kind, _)) in enumerate(RUBRICS.items()):
        found += labelled_rows(f"t{number}", {rubric: "yes"}, [("user", "Write a note.")], rubric_type=kind,
                               source_label="mood", split="hard" if kind else "easy")  # fmt: skip
    rows("data", found)
    rules = [{"contains": f"\n{rubric}\n", "reply": said(answer)} for rubric, (_, answer) in RUBRICS.items()]
    scripts({"model": rules}, {"reply": said("persona")})


CASES = (
    Case(
        "taxonomy", _write,
        (
            "study taxonomy --data data.jsonl --model scripted:model.json --no-tsne --out out",
            "study taxonomy --data rubric_mini --limit 8 --no-tsne --out known",
        ),
    ),
)  # fmt: skip
