"""`judge` on answers that somebody has already, in the forms of other tools: plain rows, lm-eval, lighteval, official."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.golden.case import Case
from tests.golden.cases.inputs import rows, scripts
from tests.support.runs import row

PROMPTS = {"river": "Name a river.", "hill": "Name a hill.", "lake": "Name a lake.", "sea": "Name a sea."}
ROWS = [
    *(row(name, [(prompt, [f"names a {name}", "is short"])], language="DE" if name == "hill" else "EN")
      for name, prompt in PROMPTS.items()),
    row("talk", [("First?", ["answers first"]), ("Second?", ["answers second"])], category="Multi-Turn"),
]  # fmt: skip
JUDGE: list[Mapping[str, Any]] = [
    {"contains": "Snowdon, as everybody", "verdicts": {"is short": "FAIL"}},
    {"contains": "<criteria", "verdicts": {}},
]


def _lm_eval(number: int, name: str, answer: str) -> dict[str, Any]:
    asked = f"<|user|>\n{PROMPTS[name]}<|assistant|>"
    return {
        "doc_id": number, "doc": {"key": name, "prompt": PROMPTS[name]}, "target": "",
        "arguments": {"gen_args_0": {"arg_0": asked, "arg_1": {"until": []}}}, "resps": [[answer]],
        "filtered_resps": [answer[:4]], "filter": "none",
    }  # fmt: skip


def _lighteval(number: int, name: str, answer: str) -> dict[str, Any]:
    response = {"text": [f"<think>Hm.</think>{answer}"], "text_post_processed": [answer], "reasonings": ["Hm."]}
    doc = {"id": str(number), "query": PROMPTS[name], "choices": [""], "gold_index": 0, "specific": {"note": "none"}}
    return {"__doc__": doc, "__model_response__": response, "__metric__": {"exact_match": 1.0}}


def _write() -> None:
    import pyarrow as pa  # type: ignore[import-untyped]
    import pyarrow.parquet as pq  # type: ignore[import-untyped]

    rows("data", ROWS)
    scripts({"judge": JUDGE})
    answers = {"river": "The Rhine.", "hill": "Snowdon, as everybody knows.", "lake": "Ness."}
    rows("samples_task_2026", [_lm_eval(number, *pair) for number, pair in enumerate(answers.items())])
    details = [_lighteval(number, *pair) for number, pair in enumerate(answers.items())]
    pq.write_table(pa.Table.from_pylist(details), "details.parquet")
    rows("plain", [
        {"id": "river", "output": "The Rhine.", "model": "mine"}, {"id": "river", "output": "The Elbe.", "model": "mine"},
        {"prompt": PROMPTS["hill"], "response": "Snowdon, as everybody knows.", "model": "mine"},
        {"id": "lake", "response": None, "model": "mine"}, {"id": "stray", "answer": "Nothing.", "model": "mine"},
        {"id": "talk", "response": ["One.", "Two."], "reasoning": ["hm", ""], "model": "mine"},
        {"id": "sea", "model": "mine", "messages": [
            {"role": "user", "content": PROMPTS["sea"]}, {"role": "assistant", "content": "The North Sea."}]},
    ])  # fmt: skip
    Path("table.csv").write_text('id,answer\nriver,The Rhine.\nhill,\ntalk,"[""One."", ""Two.""]"\n', encoding="utf-8")
    official = [given | {"response": ["The Rhine."], "think": [""]} for given in ROWS[:1]]
    rows("Mine-7B_TRUEBench-v0.6.1", official)
    Path("list.json").write_text(json.dumps([{"id": "river", "completion": "The Rhine."}]), encoding="utf-8")
    rows("likelihoods", [{"doc": {"key": "river"}, "resps": [[[-1.5, False]]]}])
    rows("two", [{"id": "river", "output": "A.", "model": m} for m in ("a", "b")])


_JUDGE = "judge --data data.jsonl --judge scripted:judge.json --allow-unscored"
CASES = (
    Case(
        "answers", _write,
        (
            f"{_JUDGE} --responses samples_task_2026.jsonl --model-name lm --out lm_eval",
            f"{_JUDGE} --responses details.parquet --model-name light --out lighteval",
            f"{_JUDGE} --responses plain.jsonl --out plain",
            f"{_JUDGE} --responses table.csv --model-name table --out table",
            f"{_JUDGE} --responses Mine-7B_TRUEBench-v0.6.1.jsonl --out official",
            f"{_JUDGE} --responses list.json --out refused",
            f"{_JUDGE} --responses likelihoods.jsonl --model-name lm --out refused",
            f"{_JUDGE} --responses two.jsonl --out refused",
        ),
    ),
)  # fmt: skip
