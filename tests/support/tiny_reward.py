"""A reward model of no size, made on the spot: random weights, one logit, the tokenizer of `tiny_chat`."""

from __future__ import annotations

from pathlib import Path

from tests.support.tiny_chat import tiny_chat


def save(folder: Path, *, padded: bool = True, labels: int = 1, head: bool = True) -> str:
    """Write the checkpoint and return its folder as text. Not `padded`: its configuration knows no padding token."""
    import torch
    from transformers import LlamaForSequenceClassification

    chat, tokenizer = tiny_chat(window=256)
    tokenizer.save_pretrained(folder)
    if not head:
        chat.config.num_labels = labels
        chat.save_pretrained(folder)
        return str(folder)
    torch.manual_seed(0)
    config = chat.config
    config.num_labels, config.pad_token_id = labels, tokenizer.pad_token_id if padded else None
    LlamaForSequenceClassification(config).save_pretrained(folder)
    return str(folder)
