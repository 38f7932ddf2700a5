"""Prefill tokens and time at rubric level with and without reuse of the shared prefix, for the embedded model.

`make bench`, or `python -m tests.bench`. The same for vLLM is printed by `tests/vllm/test_engine.py`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.bench.cases import decision_request, responses, rubric_requests
from truebench_hf.models.chat_template import encode_chat
from truebench_hf.models.decisions import yes_probabilities
from truebench_hf.models.generation import generate
from truebench_hf.models.local import LocalModel, LocalOptions


@contextmanager
def counted(model: Any) -> Iterator[list[int]]:
    """Count the tokens fed to a model while the block runs, in the only item of the list."""
    fed = [0]

    def note(_: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        ids = kwargs["input_ids"] if kwargs.get("input_ids") is not None else args[0]
        fed[0] += ids.numel()

    hook = model.register_forward_pre_hook(note, with_kwargs=True)
    try:
        yield fed
    finally:
        hook.remove()


def main() -> None:
    """Print one table: level, reuse, tokens fed, seconds on the clock and of processor time (which others do not add to)."""
    model, tokenizer = LocalModel("smollm2", LocalOptions())._load()
    cases = responses(4)
    requests = [request for case in cases for request in rubric_requests(case, 4)]
    prompts = [encode_chat(tokenizer, request.messages) for request in requests]
    decisions = [decision_request(case) for case in cases]

    def rubric(reuse: bool) -> None:
        generate(model, tokenizer, prompts, requests[0].sampling, reuse=reuse)

    def decision(reuse: bool) -> None:
        for request in decisions:
            yes_probabilities(model, tokenizer, request.state, request.questions, reuse=reuse)

    print(f"SmolLM2 with transformers: {len(prompts)} rubrics of {len(cases)} responses, padding included")
    print(f"{'level':<10}{'reuse':<7}{'tokens fed':>11}{'seconds':>9}{'CPU s':>9}")
    for name, run in (("rubric", rubric), ("decision", decision)):
        run(True)  # warms up
        for reuse in (False, True):
            with counted(model) as fed:
                clock, processor = time.perf_counter(), time.process_time()
                run(reuse)
                clock, processor = time.perf_counter() - clock, time.process_time() - processor
            print(f"{name:<10}{'on' if reuse else 'off':<7}{fed[0]:>11}{clock:>9.1f}{processor:>9.1f}")


if __name__ == "__main__":
    main()
