"""Classifiers of grounding: how documents are cut up, which class counts, and what a claim is worth in its best chunk."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support import tiny_classifier
from truebench_hf.engine.retry import RequestFailed
from truebench_hf.errors import UserError
from truebench_hf.models.classifier import ClassifierModel, ClassifierOptions, chunks, own_window
from truebench_hf.models.loading import _KEPT
from truebench_hf.models.protocol import Decision, DecisionRequest
from truebench_hf.models.spec import open_model

TOKENIZER = tiny_classifier.tokenizer()
FILLER = " ".join(f"w{number % 50}" for number in range(400))


def decide(spec: str, document: str, *claims: str, **arguments: str) -> Decision:
    return asyncio.run(open_model(spec, arguments).decide(DecisionRequest(document, claims)))


def best(spec: str, documents: Sequence[str], **arguments: str) -> list[float]:
    """P(supported) of one claim by each document, asked all at once."""

    async def ask() -> list[Decision]:
        model = open_model(spec, arguments)
        return await asyncio.gather(*(model.decide(DecisionRequest(document, ("w1",))) for document in documents))

    return [decision.probabilities[0] or 0.0 for decision in asyncio.run(ask())]


def with_words(place: int, words: str) -> str:
    filler = FILLER.split()
    return " ".join([*filler[:place], words, *filler[place:]])


@pytest.fixture(scope="module")
def exact(tmp_path_factory: pytest.TempPathFactory) -> str:
    names = {0: "unsupported", 1: "supported"}
    return f"hf-classifier:{tiny_classifier.save(tmp_path_factory.mktemp('exact'), names=names, exact=True)}"


@pytest.fixture(scope="module")
def blind(tmp_path_factory: pytest.TempPathFactory) -> str:
    return tiny_classifier.save(tmp_path_factory.mktemp("blind"), labels=3)


@pytest.mark.parametrize(("document", "claim"), [("half \ud83d", "w1"), ("w1", "half \ud83d")])
def test_half_a_character_fails_its_request(exact: str, document: str, claim: str) -> None:
    with pytest.raises(RequestFailed, match="a character that no tokenizer takes"):
        decide(exact, document, claim)


@given(words=st.integers(0, 300), claim=st.integers(0, 60), overlap=st.integers(0, 40), joined=st.booleans())
@settings(max_examples=150, deadline=None)
def test_chunks_fit_cover_the_document_and_overlap(words: int, claim: int, overlap: int, joined: bool) -> None:
    document = [f"w{number % 50}" for number in range(words)]
    texts = " ".join(document), " ".join(["open"] * claim)
    found = list(chunks(TOKENIZER, *texts, tiny_classifier.WINDOW, overlap, joined=joined))
    room = tiny_classifier.WINDOW - claim - 3
    if room < 16:
        assert found == []
        return
    ids = TOKENIZER(" ".join(document), add_special_tokens=False)["input_ids"]
    pieces = []
    for chunk in found:
        assert len(chunk["input_ids"]) <= tiny_classifier.WINDOW
        text = TOKENIZER.decode(chunk["input_ids"])
        assert text.endswith(" ".join(["open"] * claim) + " [SEP]" if claim else "[SEP]")
        pieces.append(chunk["input_ids"][1 : chunk["input_ids"].index(3, 1)])  # up to the first [SEP]
    # Every run of so many tokens as chunks share, and one more, stands whole in one of them.
    long = min(overlap, room // 2) + 1
    held = {tuple(piece[i : i + long]) for piece in pieces for i in range(max(1, len(piece) - long + 1))}
    assert all(tuple(ids[i : i + long]) in held for i in range(max(1, len(ids) - long + 1)))


def test_a_claim_across_a_chunk_boundary_is_found(exact: str) -> None:
    """The evidence is two words in a row; wherever they stand in a long document, one chunk holds both."""
    places = (0, 20, *range(40, 48), 80, 130, 399)
    assert min(best(exact, [with_words(place, "gate open") for place in places])) > 0.9


def test_claims_are_answered_in_their_order_whatever_their_length(exact: str) -> None:
    model = open_model(exact, {"batch_size": "2"})
    asked = ("w1", "gate open w2", " ".join(["w3"] * 60), "w4")  # the third leaves no room: it is declined
    found = asyncio.run(model.decide(DecisionRequest(FILLER, asked)))
    assert [None if share is None else share > 0.5 for share in found.probabilities] == [False, True, None, False]
    assert found.usage.input_tokens > 4 * 400


def test_batches_change_nothing(blind: str) -> None:
    spec, claims = f"hf-classifier:{blind}", ("w1 w2", "gate", "w3 w4 w5 w6")
    alone = [decide(spec, FILLER, claim, supported_label="1", batch_size="1").probabilities[0] for claim in claims]
    together = decide(spec, FILLER, *claims, supported_label="1").probabilities
    assert together == pytest.approx(alone, abs=1e-5)
    assert len({round(share or 0, 4) for share in together}) == 3  # random, but no constant


def test_joined_is_one_text_with_one_sign_between(exact: str) -> None:
    document = " ".join([*FILLER.split()[:43], "gate open", *FILLER.split()])
    assert decide(exact, document, "w1", joined="true").probabilities[0] == pytest.approx(0.99, abs=0.01)
    pair, joined = (next(iter(chunks(TOKENIZER, "w1", "w2", 48, 8, joined=way)))["input_ids"] for way in (False, True))
    assert pair == joined  # BERT's pair has one sign between, too


def test_a_single_output_is_a_sigmoid(tmp_path: Path) -> None:
    folder = tiny_classifier.save(tmp_path, labels=1)
    assert 0 < (decide(f"hf-classifier:{folder}", "w1 w2", "w3").probabilities[0] or 0) < 1


@pytest.mark.parametrize(
    ("names", "given", "place"),
    [
        ({0: "unsupported", 1: "supported"}, "", 1),
        ({0: "ENTAILMENT", 1: "NEUTRAL", 2: "CONTRADICTION"}, "", 0),
        ({0: "LABEL_0", 1: "LABEL_1"}, "1", 1),
        ({0: "LABEL_0", 1: "LABEL_1"}, "label_0", 0),
        ({0: "hallucinated", 1: "consistent"}, "hallucinated", 0),  # a fool's choice, but his
        ({0: "LABEL_0", 1: "LABEL_1"}, "", "do not tell which is support: 0 (LABEL_0), 1 (LABEL_1)"),
        ({0: "supported", 1: "entailed", 2: "other"}, "", "do not tell which is support"),
        ({0: "no", 1: "yes"}, "maybe", "supported_label=maybe is none of its classes: 0 (no), 1 (yes)"),
        ({0: "no", 1: "yes"}, "2", "supported_label=2 is none of its classes"),
    ],
)
def test_the_class_that_counts_is_never_guessed(names: dict[int, str], given: str, place: int | str) -> None:
    from transformers import BertConfig

    from truebench_hf.models.classifier import supported_class

    config = BertConfig(id2label=names)
    if isinstance(place, int):
        assert supported_class("hf-classifier:x", config, given) == place
        return
    with pytest.raises(UserError, match=r"name one, e\.g\. supported_label=1") as caught:
        supported_class("hf-classifier:x", config, given)
    assert place in str(caught.value)


def without_head(folder: Path) -> None:
    """transformers would make up random weights, and every verdict with them."""
    from transformers import BertConfig, BertModel

    shape = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 8}
    tiny_classifier.tokenizer().save_pretrained(folder)
    BertModel(BertConfig(vocab_size=56, **shape)).save_pretrained(folder)


@pytest.mark.parametrize(
    ("prepare", "arguments", "said"),
    [
        (without_head, {}, r"has no weights for classifier.*trained for sequence classification"),
        (lambda folder: (folder / "config.json").write_text("{}"), {}, r"hf-classifier:.*cannot be loaded"),
        (tiny_classifier.save, {"device": "nowhere"}, r"put on the device nowhere: .*; name another, e\.g\. device=cpu"),
        (lambda folder: tiny_classifier.save(folder, labels=1), {"supported_label": "supported"},
         "has a single output, LABEL_0; leave supported_label out"),
        (tiny_classifier.save, {"window": "-1"}, "window"),
        (tiny_classifier.save, {"dtype": "half"}, "half: Input should be 'auto', 'float32', 'bfloat16' or 'float16'"),
        (tiny_classifier.save, {"threshold": "1"}, "unknown option"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_says_so(
    tmp_path: Path, prepare: Callable[[Path], object], arguments: dict[str, str], said: str
) -> None:
    prepare(tmp_path)
    with pytest.raises(UserError, match=said):
        decide(f"hf-classifier:{tmp_path}", "w1", "w2", **arguments)


@pytest.mark.parametrize(
    ("positions", "padding", "longest", "window"),
    [(512, None, 10**30, 512), (514, 1, 10**30, 512), (512, None, 256, 256), (None, None, 10**30, None)],
    ids=["the model's", "RoBERTa's first two positions are not for text", "the tokenizer's", "nothing tells"],
)
def test_the_window_is_the_models_own_unless_given(
    positions: int | None, padding: int | None, longest: int, window: int | None
) -> None:
    embeddings = SimpleNamespace(position_embeddings=SimpleNamespace(padding_idx=padding))
    config, base = SimpleNamespace(max_position_embeddings=positions), SimpleNamespace(embeddings=embeddings)
    model, tokenizer = SimpleNamespace(config=config, base_model=base), SimpleNamespace(model_max_length=longest)
    with nullcontext() if window else pytest.raises(UserError, match="give window=512"):
        assert own_window("s", model, tokenizer) == window


@pytest.mark.parametrize("kind", ["Roberta", "DebertaV2", "ModernBert", "DistilBert", "Electra"])
def test_every_common_architecture_reads_its_whole_window(tmp_path: Path, kind: str) -> None:
    """Positions count from another place in some, and not all know token types: a full window must not overflow."""
    import torch
    import transformers

    torch.manual_seed(0)
    config = getattr(transformers, f"{kind}Config")(
        vocab_size=56, hidden_size=8, dim=8, embedding_size=8, num_hidden_layers=1, n_layers=1, num_attention_heads=1,
        n_heads=1, intermediate_size=8, hidden_dim=8, max_position_embeddings=50, num_labels=2, pad_token_id=0,
        id2label={0: "no", 1: "supported"},
    )  # fmt: skip
    getattr(transformers, f"{kind}ForSequenceClassification")(config).save_pretrained(tmp_path)
    maker = tiny_classifier.tokenizer()
    maker.model_max_length = 10**30
    maker.save_pretrained(tmp_path)
    spec = f"hf-classifier:{tmp_path}"
    for arguments in ({}, {"joined": "true"}):
        share = decide(spec, FILLER, "w1 w2", **arguments).probabilities[0]
        assert share is not None
        assert 0 < share < 1
    model, tokenizer = ClassifierModel(str(tmp_path), ClassifierOptions())._load()
    assert own_window("s", model, tokenizer) == (49 if kind == "Roberta" else 50)  # its padding has position 0


def test_no_number_is_a_failed_request(tmp_path: Path) -> None:
    import torch

    spec = f"hf-classifier:{tiny_classifier.save(tmp_path, names={0: 'no', 1: 'supported'})}"
    model, _ = ClassifierModel(str(tmp_path), ClassifierOptions())._load()
    with torch.no_grad():
        model.classifier.bias[0] = float("nan")
    with pytest.raises(RequestFailed, match="dtype=float32"):
        decide(spec, "w1", "w2")


def test_weights_that_were_written_anew_are_loaded_anew_in_place_of_the_old(tmp_path: Path) -> None:
    def loaded() -> Any:
        return ClassifierModel(str(tmp_path), ClassifierOptions())._load()[0]

    tiny_classifier.save(tmp_path)
    first = loaded()
    tiny_classifier.save(tmp_path)  # the same weights, written a second time
    assert loaded() is first
    tiny_classifier.save(tmp_path, exact=True)
    assert loaded() is not first
    assert len([asked for asked in _KEPT if str(tmp_path) in asked]) == 1


def test_evidence_that_no_chunk_holds_whole_is_not_put_together(exact: str) -> None:
    apart = " ".join(["gate", *FILLER.split(), "open"])
    assert all(share is not None and share < 0.1 for share in decide(exact, apart, "w1", "w2 w3").probabilities)
    assert decide(exact, "gate w1 open", "w1").probabilities[0] == pytest.approx(0.99, abs=0.01)


def test_what_shapes_its_answers_is_in_its_identity() -> None:
    first, other = (open_model("hf-classifier:a/b", {"supported_label": label}).identity for label in ("0", "1"))
    assert first != other
