"""`contrast`: an attempt for every status."""

from __future__ import annotations

from typing import Any

from tests.golden.case import Case
from tests.golden.cases.inputs import labelled_rows, rows, said, scripts
from truebench_hf.benchmarks.rubric_eval import data
from truebench_hf.prompts import sections

# Status: (given label of "mentions alfa", response, what the writer makes of it). The judge sees a word by the blanks
# around it, and cannot be read on alfa where `garble` stands, nor on bravo where `blur` stands.
TABLE: dict[str, tuple[str, str, str]] = {
    "kept, broken": ("yes", "one alfa bravo .", "one bravo ."),
    "kept, met": ("no", "two bravo .", "two alfa bravo ."),
    "original_undecided": ("yes", "three garble alfa bravo .", ""),
    "original_not_confirmed": ("no", "four alfa bravo .", ""),
    "writer_failed": ("yes", "five alfa bravo .", ""),
    "unchanged": ("yes", "six alfa bravo .", "six alfa bravo . "),
    "too_large": ("yes", "seven alfa bravo .", "something,else,entirely"),
    "rewritten_undecided": ("yes", "eight alfa bravo .", "eight garble bravo ."),
    "not_flipped": ("yes", "nine alfa bravo .", "nine real alfa bravo ."),
    "others_undecided": ("yes", "ten alfa bravo .", "ten blur bravo ."),
    "others_changed": ("yes", "eleven alfa bravo .", "eleven ."),
}
MORE = {"checklist": ["mentions alfa", "mentions bravo"], "rubric_type": "content_inclusion", "label_source": "human"}


def _rows() -> list[dict[str, Any]]:
    found = [
        labelled_rows(name, {"mentions alfa": label}, [("user", "Say something.")], response=response, **MORE)[0]
        for name, (label, response, _) in TABLE.items()
    ]
    unlabelled = labelled_rows("no label", {"mentions alfa": None}, [("user", "Say it.")], response="alfa", **MORE)
    return found + unlabelled


def _write() -> None:
    rows("data", _rows())
    judge = []
    for word, noise in (("alfa", "garble"), ("bravo", "blur")):
        asked = f"\n1. mentions {word}\n"
        judge += [
            {"contains": [asked, f"{noise} "], "reply": "hard to say"},
            {"contains": [asked, f" {word} "], "reply": said("PASS", before=f"I see {word}.")},
            {"contains": [asked], "reply": said("FAIL", before=f"No {word} here.")},
        ]
    writer: list[dict[str, Any]] = []
    for item in data.items(_rows()[:-1]):
        tag, made = sections(item.case)["tag"], TABLE[item.id.removesuffix("-r0")][2]
        answer = (
            {"reply": f"Sure.\n<rewritten_{tag}>\n{made}\n</rewritten_{tag}>"} if made else {"error": "out of paper"}
        )
        writer.append({"contains": f"\n{item.case.response}\n</"} | answer)
    scripts({"judge": judge, "writer": writer}, {"reply": "?"})


CASES = (
    Case(
        "contrast", _write,
        (
            "study contrast --data data.jsonl --writer scripted:writer.json --judge scripted:judge.json --max-edit 0.7 --out out",
            "study contrast --data data.jsonl --writer scripted:writer.json --judge scripted:judge.json --max-edit 0.7 --limit 3 "
            "--out few",
        ),
    ),
)  # fmt: skip
