"""Sequence classifiers small enough to make in a test: BERTs over a vocabulary of words, with real weights and files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

WORDS = [f"w{number}" for number in range(50)]
WINDOW = 48


def tokenizer(**more: Any) -> Any:
    """A fast tokenizer that knows some words, with BERT's signs around texts and pairs of them."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    signs = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    vocabulary = {word: number for number, word in enumerate([*signs, "gate", "open", *WORDS])}
    inner = Tokenizer(models.WordLevel(vocabulary, "[UNK]"))
    inner.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    inner.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    names = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    return PreTrainedTokenizerFast(tokenizer_object=inner, model_max_length=WINDOW, **names, **more)


def save(folder: Path, labels: int = 2, names: dict[int, str] | None = None, *, exact: bool = False) -> str:
    """Write a checkpoint, and return its folder as text: random, or (`exact`) one that finds a claim supported where
    "gate" and "open" stand in the same input, and by nothing else."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification

    torch.manual_seed(0)
    made = tokenizer()
    config = BertConfig(
        vocab_size=len(made), hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8,
        max_position_embeddings=WINDOW, num_labels=labels, initializer_range=1.0, pad_token_id=0,
        id2label=names or {number: f"LABEL_{number}" for number in range(labels)},
    )  # fmt: skip
    model = BertForSequenceClassification(config)
    if exact:
        _find_both(model, made)
    made.save_pretrained(folder)
    model.save_pretrained(folder)
    return str(folder)


def _find_both(model: Any, made: Any) -> None:
    """Set the weights so that the last class wins where both words are there: each is counted in a place of its own."""
    import torch

    with torch.no_grad():
        for weights in model.parameters():
            weights.zero_()
        bert = model.bert
        for norm in (bert.embeddings.LayerNorm, bert.encoder.layer[0].attention.output.LayerNorm):
            norm.weight.fill_(1)
        bert.encoder.layer[0].output.LayerNorm.weight.fill_(1)
        table = bert.embeddings.word_embeddings.weight
        table[:, 2] = 1  # what every other word is
        for place, word in enumerate(("gate", "open")):
            table[made.convert_tokens_to_ids(word)] = torch.eye(8)[place]
        attention = bert.encoder.layer[0].attention  # no query, no key: the mean of all inputs
        attention.self.value.weight.copy_(torch.eye(8))
        attention.output.dense.weight.copy_(torch.eye(8))
        # Without the word its place holds what all empty places do, of which the eighth is one.
        for place in (0, 1):
            bert.pooler.dense.weight[place, place] = 1000.0
            bert.pooler.dense.weight[place, 7] = -1000.0
            bert.pooler.dense.bias[place] = -1.0
            model.classifier.weight[-1, place] = 5.0
        model.classifier.bias[-1] = -5.0
