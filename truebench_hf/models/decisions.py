"""Yes/no probabilities from one model, computing only once what questions and states share."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from truebench_hf.engine.retry import RequestFailed
from truebench_hf.models.chat_template import window_of, yes_no_prompts
from truebench_hf.models.kv_cache import Running, attention_only
from truebench_hf.models.protocol import NoDecisions

_ROWS = 8  # questions read at once: each needs a copy of the state's cache, and logits
_COPIED = 8192  # tokens copied at most: questions on a long state are read one by one, without a copy


def yes_probabilities(
    model: Any, tokenizer: Any, state: str, questions: Sequence[str], *, running: Running | None = None,
    reuse: bool = True,
) -> tuple[list[float], int]:  # fmt: skip
    """P(yes) per question, and the tokens of state and questions together.

    Prompts, labels and temperatures are those of the transformers `decision` pipeline, one prompt per question. The
    pipeline feeds every prompt whole; here their common prefix is fed once and its key-value cache reused (`reuse`),
    which changes no probability beyond rounding. A `running` cache that saw other states spares what they begin with
    alike. Raises RequestFailed when a prompt exceeds the window, NoDecisions where the labels are no single tokens.
    """
    import torch

    try:
        prompts = yes_no_prompts(tokenizer, model.name_or_path, state, questions)
    except ValueError as error:
        raise NoDecisions(f"no decision level: {error}; use checklist or rubric level") from error
    rows = [prompt.tokens for prompt in prompts]
    window = window_of(model)
    if (longest := max(map(len, rows))) > window:
        raise RequestFailed(f"the prompt has {longest} tokens, the window {window}")
    shared = _common_prefix(rows) if reuse else 0
    with torch.inference_mode():
        if reuse and (running := running or Running.of(model)):
            found = _led(running, rows, shared)
        else:
            found = _one_by_one(model, rows, shared)
    pairs = zip(prompts, found, strict=True)
    shares = [(logits[[one.yes, one.no]].float() / one.temperature).softmax(-1) for one, logits in pairs]
    return [float(share[0]) for share in shares], shared + sum(len(row) - shared for row in rows)


def _common_prefix(rows: list[list[int]]) -> int:
    same = sum(1 for _ in takewhile(lambda column: len(set(column)) == 1, zip(*rows, strict=False)))
    return min(same, min(map(len, rows)) - 1)  # each row keeps at least one token to be read at


def _led(running: Running, rows: list[list[int]], shared: int) -> list[Any]:
    """Logits after the last token of each row; all share their first tokens."""
    at_once = min(_ROWS, len(rows), _COPIED // max(shared, 1))
    if at_once < 2:
        return [running.lead(row, read=True) for row in rows]
    running.lead(rows[0][:shared])
    found = dict[int, Any]()
    by_length = sorted(range(len(rows)), key=lambda i: len(rows[i]))  # little is padded then
    for at in range(0, len(rows), at_once):
        some = by_length[at : at + at_once]
        found |= dict(zip(some, running.endings([rows[i][shared:] for i in some]), strict=True))
    return [found[i] for i in range(len(rows))]


def _one_by_one(model: Any, rows: list[list[int]], shared: int) -> list[Any]:
    """The same for a model whose cache cannot be cut back: each row gets a copy of what is shared, or is read whole."""
    import torch

    def tensor(tokens: list[int]) -> Any:
        return torch.tensor([tokens], device=model.device)

    shared = shared if attention_only(model) else 0
    past = model(tensor(rows[0][:shared]), use_cache=True, logits_to_keep=1).past_key_values if shared else None
    found = []
    for row in rows:
        held = copy.deepcopy(past)
        out = model(tensor(row[shared:]), past_key_values=held, use_cache=held is not None, logits_to_keep=1)
        found.append(out.logits[0, -1])
    return found
