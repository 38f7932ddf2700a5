"""How many tokens of a run's prompts stand in a prefix that an earlier call had: what a server's prefix cache can spare.

`python -m tests.bench.prefixes` judges whole responses of rubric_mini at checklist and at rubric level;
`python -m tests.bench.prefixes FOLDER` reads the calls of a run. Tokens are the embedded model's.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path

from tests.bench.cases import responses
from truebench_hf.engine.ledger import Calls
from truebench_hf.judging.judge import CriteriaJudge, JudgeSettings
from truebench_hf.models.caller import Caller
from truebench_hf.models.chat_template import encode_chat
from truebench_hf.models.loading import locate
from truebench_hf.models.scripted import ScriptedModel, verdicts
from truebench_hf.prompts import Prompts
from truebench_hf.types import Message

RESPONSES = 40


def shared(prompts: Sequence[Sequence[int]]) -> int:
    """Return how many tokens of prompts stand in a prefix that another one has, too, each such prefix counted once less."""
    ordered = sorted(map(tuple, prompts))
    return sum(
        next((i for i, (a, b) in enumerate(zip(*pair, strict=False)) if a != b), len(pair[0]))
        for pair in pairwise(ordered)
    )


def tell(name: str, requests: Iterable[str]) -> None:
    """Print the share of shared tokens of chat requests, as ledgers keep them."""
    from transformers import AutoTokenizer

    folder, gguf = locate()
    tokenizer = AutoTokenizer.from_pretrained(folder, **({"gguf_file": gguf} if gguf else {}))
    asked = [json.loads(text).get("ask") for text in requests]
    prompts = [encode_chat(tokenizer, [Message(*one) for one in ask["messages"]]) for ask in asked if ask]
    if total := sum(map(len, prompts)):
        print(
            f"{name}: {len(prompts)} calls, {total:,} tokens of prompts, {shared(prompts) / total:.1%} in common prefixes"
        )


async def judged(level: str) -> list[str]:
    """Return the requests by which whole responses are judged."""
    ledger = Calls(Path(":memory:"))
    model = ScriptedModel("judge", lambda request: verdicts(request.messages[-1].content, {}))
    judge = CriteriaJudge(Caller(model, ledger, "judge", 1), JudgeSettings(level=level), Prompts())
    for case in responses(RESPONSES):
        await judge.verdicts(case)
    return [text for (text,) in ledger._ask("SELECT request FROM calls")]


def main(folder: str = "") -> None:
    """Print a line per level, or per role of the run in a folder."""
    if not folder:
        for level in ("checklist", "rubric"):
            tell(level, asyncio.run(judged(level)))
        return
    roles = defaultdict(list)
    with sqlite3.connect(Path(folder) / "ledger.sqlite") as db:
        for role, request in db.execute("SELECT role, request FROM calls"):
            roles[role].append(request)
    for role, requests in roles.items():
        tell(role, requests)


if __name__ == "__main__":
    main(*sys.argv[1:])
