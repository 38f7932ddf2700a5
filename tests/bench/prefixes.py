"""How many tokens of a run's prompts stand in a prefix that an earlier call had: what a server's prefix cache can spare.

`python -m tests.bench.prefixes` judges whole responses of rubric_mini at checklist and at rubric level;
`python -m tests.bench.prefixes FOLDER` reads the calls of a run. Tokens are the embedded model's. With the base URL of a
vLLM server in place of the folder its own prefix cache says how much of the prompts it was spared.
"""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path

import httpx2

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


def served(url: str, requests: Iterable[str]) -> tuple[int, int]:
    """Ask a vLLM server for one token of each answer; how many tokens its cache was asked for, and how many it had."""
    before = counted(url)
    with httpx2.Client(timeout=600) as client:
        model = client.get(f"{url}/models").json()["data"][0]["id"]
        for text in requests:
            messages = [{"role": role, "content": content} for role, content in json.loads(text)["ask"]["messages"]]
            body = {"model": model, "messages": messages, "max_tokens": 1}
            client.post(f"{url}/chat/completions", json=body).raise_for_status()
    queries, hits = (after - earlier for after, earlier in zip(counted(url), before, strict=True))
    return queries, hits


def counted(url: str) -> tuple[int, int]:
    """Tokens that the prefix cache was asked for, and those it had, since the server began."""
    metrics = httpx2.get(f"{url.removesuffix('/v1')}/metrics").text
    return tuple(  # type: ignore[return-value]
        int(sum(float(value) for value in re.findall(rf"^vllm:prefix_cache_{name}_total{{.*}} (\S+)$", metrics, re.M)))
        for name in ("queries", "hits")
    )


def main(folder: str = "") -> None:
    """Print a line per level, or per role of the run in a folder."""
    if folder.startswith("http"):
        for level in ("checklist", "rubric"):
            queries, hits = served(folder, asyncio.run(judged(level)))
            print(f"{level}: {queries:,} tokens of prompts, {hits / queries:.1%} from the server's prefix cache")
        return
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
