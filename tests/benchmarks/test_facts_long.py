"""Twenty documents of 30,000 tokens against a server, and the embedded model on the sample: time, memory, no silent cut."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support.openai_server import OpenAIServer
from tests.support.runs import ROOT, write_jsonl

ANSWER = "The last line of the document says that the gate closes at nine."
TOKENS, DOCUMENTS, JUDGES = 30_000, 20, 3
SUPPORTED = {
    "sentence": ANSWER, "rationale": "Its last line.", "excerpts": ["The gate closes at nine."], "label": "supported"
}  # fmt: skip


def document(number: int) -> str:
    """So many words that tokenizers make about 30,000 tokens of them, and a last line that only a whole prompt holds."""
    chance = random.Random(number)
    words = ("gate", "garden", "visitor", "ticket", "season", "keeper", "orchard", "notice", "path", "river")
    lines = [f"Paragraph {i}: " + " ".join(chance.choices(words, k=96)) + "." for i in range(TOKENS // 100)]
    return "\n".join([f"Notice {number}", *lines, "The gate closes at nine."])


# A process of its own that starts the command: what a child of the tests has at most begins with what they have.
_STARTER = (
    "import resource, subprocess, sys; code = subprocess.call(sys.argv[1:]); "
    "print('PEAK', resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss); sys.exit(code)"
)


def measured(*arguments: str, **env: str) -> tuple[int, str, float, float]:
    """(exit code, what was printed, seconds, peak MiB) of a command in a process of its own."""
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", _STARTER, sys.executable, "-m", "truebench_hf.cli.main", *arguments],
        cwd=ROOT, env={**os.environ, "COLUMNS": "200", **env}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        check=False,
    )  # fmt: skip
    told, _, peak = done.stdout.rpartition("PEAK ")
    return done.returncode, told, time.monotonic() - began, int(peak) / 1024


@pytest.mark.slow
def test_twenty_documents_of_30000_tokens(tmp_path: Path) -> None:
    rows = [
        {"id": number, "system": "Use the notice alone.", "request": f"When does gate {number} close?",
         "document": document(number), "baseline": "At nine."}
        for number in range(DOCUMENTS)
    ]  # fmt: skip
    data = write_jsonl(tmp_path / "long.jsonl", rows)
    with OpenAIServer(record=200) as server:
        server.add_scripts([
            {"contains": "<test_response_", "message": {"content": '{"id": "{id}", "rating": "no issues"}'}},
            {"contains": "<response_", "message": {"content": json.dumps({"id": "{id}", "sentences": [SUPPORTED]})}},
            {"message": {"content": ANSWER}},
        ])  # fmt: skip
        judges = [part for number in range(JUDGES) for part in ("--judge", f"openai:judge-{number}")]
        given = ["facts", "run", "--data", data, "--model", "openai:model", *judges, "--out", str(tmp_path / "run")]
        given += ["--model-base-url", server.url, "--judge-base-url", server.url, "--eligibility", "full"]
        code, told, seconds, peak = measured(*given, OPENAI_API_KEY="k")
        bodies: list[Any] = server.stats()["bodies"]
    assert code == 0, told
    print(f"\n{DOCUMENTS} documents of {TOKENS} tokens, {JUDGES} judges: {seconds:.1f} s, {peak:.0f} MiB at most")
    assert len(bodies) == DOCUMENTS * (1 + 2 * JUDGES)
    texts = ["\n".join(message["content"] for message in body["messages"]) for body in bodies]
    assert all("Paragraph 0:" in text and "The gate closes at nine." in text for text in texts), "nothing is cut"
    asked = [text for text in texts if "<document_" in text]
    openings = {text[: text.index("</document_")] for text in asked}
    assert len(openings) == DOCUMENTS, (
        "all prompts on a document begin alike, so that servers reuse what they have read"
    )
    scores = json.loads((tmp_path / "run" / "scores.json").read_text())
    assert {row["name"]: row["score"]["value"] for row in scores["scores"]}["Final"] == 1.0
    verdict = json.loads((tmp_path / "run" / "verdicts.jsonl").read_text().splitlines()[0])
    (excerpt,) = verdict["grounding"]["openai:judge-0"]["units"][0]["excerpts"]
    assert (excerpt["found"], excerpt["place"], excerpt["start"] > 100_000) == (True, "document", True)
    assert seconds < 120
    assert peak < 600
