"""`metaeval`: judges that err, disagree and fall silent under every paradigm, alone and as a panel."""

from __future__ import annotations

from tests.golden.case import Case
from tests.golden.cases.inputs import labelled_rows, rows, scripts

DATA = [
    *labelled_rows("plum", {"has two lines": "yes", "has no comma": "no", "is in verse": None}, [("user", "plum?")],
                   rubric_type="quantity_limit", dimension="form"),
    *labelled_rows("pear", {"names a cause": "yes", "is polite": "no"}, [("user", "pear, then poire?")],
                   instruction_category="compositional"),
    *labelled_rows("quince", {"stays on the subject": "no", "keeps the name": "yes"}, instruction_category="multi_turn",
                   messages=[("user", "quince?"), ("assistant", "Yes."), ("user", "And now?")]),
    *labelled_rows("rose", {"speaks as a nurse": "no", "never says no": "yes"}, instruction_category="system",
                   messages=[("system", "You are a nurse."), ("user", "rose?")]),
]  # fmt: skip
SHARES = {
    "has two lines": 0.9, "has no comma": 0.3, "names a cause": 0.45, "is polite": 0.8, "stays on the subject": 0.7,
    "keeps the name": 0.6, "speaks as a nurse": None, "never says no": 0.52,
}  # fmt: skip


def _own() -> None:
    rows("data", DATA)
    knows = {"has no comma": "FAIL", "stays on the subject": "FAIL", "speaks as a nurse": "FAIL"}
    shares = [{"contains": text, "probability": share} for text, share in SHARES.items()]
    scripts(
        {
            "good": [{"contains": "rose", "reply": "Who knows?"}, {"contains": "Answer", "verdicts": knows}, *shares],
            "lax": [
                {"contains": "Answer", "verdicts": {"has no comma": "FAIL"}},
                {"contains": "e", "probability": 0.7},
            ],
            "max": [{"contains": "Answer", "verdicts": knows}, {"contains": "e", "probability": 0.2}],
        },
        {"reply": "Who knows?"},
    )


def _mini() -> None:
    scripts({name: [{"contains": "1.", "verdicts": {word: "FAIL"}}] for name, word in (("a", "exactly"), ("no", "no"))})


def _talked_round() -> None:
    """Vain in one rubric, and in the other turned by any English text."""
    rows("data", [row for row in DATA if row["instruction_id"] in ("pear", "quince")])
    praise = ("judge of your rank", "juge de votre rang", "심사위원이며")
    turned = [{"contains": [words, "is polite"], "verdicts": {}} for words in praise]
    turned += [{"contains": ["The weather was mild", "stays on"], "verdicts": {}}]
    noes = {"contains": "Answer", "verdicts": {"is polite": "FAIL", "stays on": "FAIL"}}
    scripts({"vain": [*turned, noes]}, {"reply": "Who knows?"})


CASES = (
    Case(
        "metaeval", _own,
        (
            "metaeval --data data.jsonl --judge scripted:good.json --judge scripted:lax.json --panel majority "
            "--paradigms rubric-reasoning,decision --reworded --out out",
        ),
    ),
    Case(
        "metaeval-mini", _mini,  # paradigms join; what is there cannot be dropped
        (
            "metaeval --data rubric_mini --limit 1 --paradigms rubric --judge scripted:a.json --out out",
            "metaeval --data rubric_mini --limit 1 --paradigms checklist-reasoning,rubric "
            "--judge scripted:a.json --out out",
            "metaeval --data rubric_mini --limit 1 --paradigms rubric --judge scripted:no.json --out out",
        ),
    ),
    Case(
        "metaeval-attacks", _talked_round,
        ("metaeval --data data.jsonl --attacks --attacks-each 1 --paradigms rubric --judge scripted:vain.json --out out",),
    ),
)  # fmt: skip
