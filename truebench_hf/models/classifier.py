"""Small judges of grounding, `hf-classifier:REPO_OR_PATH`: a sequence classifier over a document and a claim.

A document is read in overlapping chunks that fit the model's window, and a claim is as well supported as in its best
chunk. Which checkpoints can be used so, and how, is told in docs/grounding_classifiers.md.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import NonNegativeInt, PositiveInt

from truebench_hf.engine.batching import Batcher
from truebench_hf.engine.retry import RequestFailed
from truebench_hf.errors import UserError
from truebench_hf.models.fingerprint import identity, unchanged
from truebench_hf.models.loading import load_classifier
from truebench_hf.models.local import MACHINE, Dtype
from truebench_hf.models.protocol import ChatRequest, Completion, Decision, DecisionRequest, Identity
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


class ClassifierModel:
    """P(the document supports the claim) by a classifier in this process: `state` is the document, a question a claim.

    The weights are loaded on the first request. A claim that leaves no room for the document is declined.
    """

    takes_schema = False
    batch: int | None = 64

    def __init__(self, name: str, options: ClassifierOptions) -> None:
        self.spec = f"hf-classifier:{name}"
        self._name, self._options = name, options
        self._decisions = Batcher(self._decide, lambda request: len(request.state), 1, MACHINE)

    @functools.cached_property
    def identity(self) -> Identity:
        """Where the weights are a local folder, it is read."""
        parts = ("dtype", "supported_label", "window", "overlap", "joined")
        shaping = {part: getattr(self._options, part) for part in parts}
        return identity("transformers-classifier", self._name, self._options.revision, shaping)

    def _load(self) -> tuple[Any, Any]:
        content = unchanged(self.spec, self._name, self.identity)
        options = self._options
        return load_classifier(self._name, options.revision, options.dtype, options.device, content)

    async def complete(self, request: ChatRequest) -> Completion:
        """Raises UserError: a classifier writes no text."""
        raise UserError(
            f"{self.spec}: writes no text; it only judges whether documents support claims (truebench facts)"
        )

    async def decide(self, request: DecisionRequest) -> Decision:
        """P(supported) of every claim in the questions; see `ChatModel.decide`."""
        return await self._decisions.ask(request)

    async def close(self) -> None:
        """Nothing to give back: loaded weights stay for the next run in this process."""

    def _decide(self, requests: Sequence[DecisionRequest]) -> list[Decision | BaseException]:
        model, tokenizer = self._load()
        place = supported_class(self.spec, model.config, self._options.supported_label)
        window = self._options.window or own_window(self.spec, model, tokenizer)
        return [self._decided(model, tokenizer, place, window, request) for request in requests]

    def _decided(
        self, model: Any, tokenizer: Any, place: int | None, window: int, request: DecisionRequest
    ) -> Decision | BaseException:
        try:
            return self._decide_one(model, tokenizer, place, window, request)
        except RequestFailed as error:
            return error

    def _decide_one(
        self, model: Any, tokenizer: Any, place: int | None, window: int, request: DecisionRequest
    ) -> Decision:
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
            shares = probabilities(model, tokenizer, [chunk for _, chunk in some], place)
            for (number, _), share in zip(some, shares, strict=True):
                best[number] = max(share, best[number] or 0.0)
        fed = sum(len(chunk["input_ids"]) for _, chunk in inputs)
        return Decision(tuple(best), Usage(fed, 0, 0, 1))


def chunks(
    tokenizer: Any, document: str, claim: str, window: int, overlap: int, *, joined: bool = False
) -> Iterator[Mapping[str, list[int]]]:
    """The claim beside each chunk of the document, as token ids that fit `window`; nothing where the claim leaves no room.

    Neighbouring chunks share `overlap` tokens, or half of a chunk where that is less: no evidence that is as short
    falls between two of them.
    """
    said = tokenizer(claim, add_special_tokens=False)["input_ids"]
    room = window - len(said) - tokenizer.num_special_tokens_to_add(pair=True)
    if room < _LEAST_ROOM:
        return
    cut = {"truncation": "only_first", "return_overflowing_tokens": True, "stride": min(overlap, room // 2)}
    if joined:
        tail = [*said, tokenizer.eos_token_id if tokenizer.eos_token_id is not None else tokenizer.sep_token_id]
        found = tokenizer(document, max_length=window - len(tail), **cut)
        for ids in found["input_ids"]:  # behind the document stands a closing token already
            yield {"input_ids": [*ids, *tail], "attention_mask": [1] * (len(ids) + len(tail))}
        return
    found = tokenizer(document, claim, max_length=window, **cut)
    names = [name for name in tokenizer.model_input_names if name in found]
    for place in range(len(found["input_ids"])):
        yield {name: found[name][place] for name in names}


def probabilities(
    model: Any, tokenizer: Any, inputs: Sequence[Mapping[str, list[int]]], place: int | None
) -> list[float]:
    """P(supported) of each input: by softmax the class at `place`, or the sigmoid of a single output.

    Raises RequestFailed where the model gives no number.
    """
    import torch

    batch = tokenizer.pad({name: [one[name] for one in inputs] for name in inputs[0]}, return_tensors="pt")
    with torch.inference_mode():
        logits = model(**batch.to(model.device)).logits.float()
    shares = logits[:, 0].sigmoid() if place is None else logits.softmax(-1)[:, place]
    if shares.isnan().any():
        raise RequestFailed("the classifier gave no number; dtype=float32 may help")
    return [float(share) for share in shares]


def supported_class(spec: str, config: Any, given: str) -> int | None:
    """The place of the class that says "supported", None for a model with a single output.

    Raises UserError where neither `given` nor the names in the checkpoint tell.
    """
    names = {int(place): str(name) for place, name in config.id2label.items()}
    if len(names) == 1:
        if given and given.casefold() not in ("0", names[0].casefold()):
            raise UserError(f"{spec}: has a single output, {names[0]}; leave supported_label out")
        return None
    shown = ", ".join(f"{place} ({name})" for place, name in names.items())
    wanted = {given.casefold()} if given else _SUPPORTED
    found = [place for place, name in names.items() if name.casefold() in wanted or (given and given == str(place))]
    if len(found) == 1:
        return found[0]
    told = f"supported_label={given} is none of its classes" if given else "its classes do not tell which is support"
    raise UserError(f"{spec}: {told}: {shown}; name one, e.g. supported_label=1")


def own_window(spec: str, model: Any, tokenizer: Any) -> int:
    """The tokens that the model reads at once. Raises UserError where nothing tells."""
    positions = getattr(model.config, "max_position_embeddings", None)
    table = getattr(getattr(model.base_model, "embeddings", None), "position_embeddings", None)
    before = getattr(table, "padding_idx", None)  # RoBERTa's positions begin behind that of its padding
    limits = [tokenizer.model_max_length] if tokenizer.model_max_length < 10**9 else []
    limits += [positions - (0 if before is None else before + 1)] if positions else []
    if not limits:
        raise UserError(
            f"{spec}: does not say how many tokens it reads at once; give window=512, or what it was trained on"
        )
    return int(min(limits))
