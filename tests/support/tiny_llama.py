"""A Llama of two layers with random weights and SmolLM2's tokenizer: for tests of plumbing, where no answer has sense."""

from __future__ import annotations

import functools
import shutil
import tempfile
from pathlib import Path

from truebench_hf.models import loading


def save(folder: Path) -> str:
    """Write the checkpoint, and return its folder as text. What it says is the same every time."""
    return str(shutil.copytree(_checkpoint().name, folder, dirs_exist_ok=True))


@functools.cache
def _checkpoint() -> tempfile.TemporaryDirectory[str]:
    """Make the checkpoint once for this process: the tokenizer takes seconds."""
    import torch
    from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

    place, gguf = loading.locate()
    tokenizer = AutoTokenizer.from_pretrained(place, **({"gguf_file": gguf} if gguf else {}))
    folder = tempfile.TemporaryDirectory()
    tokenizer.save_pretrained(folder.name)
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=8192, bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id,
        # Larger than usual, so that what a token is depends on all before it and no choice is close.
        initializer_range=0.5,
    )  # fmt: skip
    LlamaForCausalLM(config).save_pretrained(folder.name)
    return folder
