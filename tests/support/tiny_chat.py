"""A chat model of no size, made on the spot: random weights, and a tokenizer whose tokens are bytes."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

_TEMPLATE = (
    "{% for m in messages %}<|{{ m['role'] }}|>{{ m['content'] }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
_SPECIAL = ["<|end|>", "<|system|>", "<|user|>", "<|assistant|>"]


def tiny_chat(dropout: float = 0.0, window: int = 8192, labels: tuple[str, ...] = ("Yes", "No")) -> tuple[Any, Any]:
    """(model, tokenizer): a Llama of one layer, the same each time. `labels` are words that are one token each."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    plain = Tokenizer(models.BPE({letter: number for number, letter in enumerate(letters)}, []))
    plain.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    plain.decoder = decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=plain, eos_token="<|end|>", pad_token="<|end|>", additional_special_tokens=_SPECIAL[1:]
    )
    tokenizer.add_tokens([*labels])  # what probabilities are read at
    tokenizer.chat_template = _TEMPLATE
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2,
        max_position_embeddings=window, initializer_range=0.5, attention_dropout=dropout,
        eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id, bos_token_id=None,
    )  # fmt: skip
    return LlamaForCausalLM(config), tokenizer


TESTS = str(Path(__file__).parents[1])


def import_trl() -> None:
    """Import it once, while `tests/` is off the path; afterwards Python knows it."""
    before = sys.path
    sys.path = [place for place in before if place != TESTS]
    try:
        importlib.import_module("trl.trainer.grpo_trainer")
    finally:
        sys.path = before
