"""What caches of keys and values spare changes no answer: any architecture, prompts in hostile order, odd settings."""

from __future__ import annotations

import random
from typing import Any

import pytest

from truebench_hf.models import generation
from truebench_hf.models.chat_template import YesNoPrompt, window_of
from truebench_hf.models.generation import SharedPrefix, generate, room, yes_probabilities
from truebench_hf.models.protocol import Sampling

pytestmark = pytest.mark.slow  # a local model writes

SHAPE = {
    "vocab_size": 64, "hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 8, "max_position_embeddings": 2048, "pad_token_id": 0, "bos_token_id": 1,
    "eos_token_id": 2, "initializer_range": 0.5, "attn_implementation": "eager",
}  # fmt: skip
KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "plain keys and values": ("llama", {}),
    "experts": ("mixtral", {"num_local_experts": 4, "sliding_window": None}),
    "a sliding window": ("mistral", {"sliding_window": 64}),
    "a window in every second layer": ("gemma2", {"sliding_window": 64, "query_pre_attn_scalar": 8}),
    "positions by slope": ("bloom", {"n_layer": 2, "n_head": 4}),
    "told to keep no cache": ("mpt", {"d_model": 32, "n_layers": 2, "n_heads": 4, "max_seq_len": 2048}),
    "states alone": ("mamba", {"state_size": 8}),
    "states and keys": ("jamba", {"attn_layer_period": 2, "attn_layer_offset": 1, "use_mamba_kernels": False}),
    "convolutions": ("lfm2", {"layer_types": ["conv", "full_attention"]}),
}
DRAW = random.Random(1)


def words(count: int) -> list[int]:
    return [DRAW.randrange(3, 64) for _ in range(count)]


ONE, OTHER = words(130), words(160)
BATCHES = {
    "one beginning, very different ends": [ONE + words(3), ONE + words(40), ONE + words(1)],
    "equal, and beginnings of one another": [ONE, [*ONE, 5], ONE[:-1], ONE],
    "two long beginnings in turns": [OTHER + words(3), ONE + words(3), OTHER + words(9), ONE + words(2)],
    "one token beside a hundred": [OTHER, ONE[:100], [*OTHER[:-1], 7], [9], ONE],
}


class Numbers:
    """A tokenizer whose texts are the numbers of their tokens."""

    pad_token_id, eos_token_id = 0, 2

    def decode(self, tokens: list[int], **_: Any) -> str:
        return " ".join(map(str, tokens))


def made(kind: str, **more: Any) -> Any:
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    torch.manual_seed(0)
    named, shape = KINDS[kind]
    return AutoModelForCausalLM.from_config(AutoConfig.for_model(named, **SHAPE | shape | more)).eval()


def alone(model: Any, prompt: list[int]) -> str:
    """What transformers itself writes behind a prompt."""
    import torch

    ids = torch.tensor([prompt])
    how: dict[str, Any] = {"do_sample": False, "num_beams": 1, "use_cache": False, "max_new_tokens": 8}
    tokens = model.generate(ids, attention_mask=torch.ones_like(ids), eos_token_id=2, pad_token_id=0, **how)
    made = tokens[0, len(prompt) :].tolist()
    return Numbers().decode(made[: made.index(2)] if 2 in made else made)


QUICK = ("plain keys and values", "a sliding window", "states and keys")  # one of each sort of cache


@pytest.fixture(params=[kind if kind in QUICK else pytest.param(kind, marks=pytest.mark.slow) for kind in KINDS])
def model(request: pytest.FixtureRequest) -> Any:
    return made(request.param)


def test_answers_are_those_of_every_prompt_alone(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    # Rounds of three tokens: rows leave the batch as they end, and the others go on from the cache.
    monkeypatch.setattr("truebench_hf.models.generation._ROUND", 3)
    prefix = SharedPrefix(model)
    for name, prompts in BATCHES.items():
        answers = [answer.text for answer in generate(model, Numbers(), prompts, Sampling(max_tokens=8), prefix)]
        assert answers == [alone(model, prompt) for prompt in prompts], name


def test_an_answer_that_only_counts_repeats_itself() -> None:
    model, numbers = made("plain keys and values"), Numbers()
    model.generation_config.eos_token_id = numbers.eos_token_id = 10**6  # no such token: nothing ends early
    prompts, limit = [words(5), words(9)], Sampling(max_tokens=400)  # all that the model writes are numbers
    counted = generate(model, numbers, prompts, limit, usual=[20, 300])
    assert [answer.usage.output_tokens for answer in counted] == [256, 384], "no usual answer is cut off"
    assert [answer.usage.output_tokens for answer in generate(model, numbers, prompts, limit)] == [400, 400]


def test_a_batch_may_hold_three_quarters_of_the_weights() -> None:
    """46,080 bytes a token (2 x 30 layers x 3 heads x 64 numbers of 4 bytes), and 538 MB of weights."""
    import torch
    from transformers import AutoModelForCausalLM, LlamaConfig, MambaConfig

    shape = {"hidden_size": 576, "intermediate_size": 1536, "num_hidden_layers": 30, "num_attention_heads": 9}
    config = LlamaConfig(vocab_size=49152, num_key_value_heads=3, tie_word_embeddings=True, **shape)
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    assert model.num_parameters() == 134_515_008
    assert room(model) == 134_515_008 * 3 // 46_080 == 8_757  # 6 GB would be 16 rows of 8,192 tokens
    assert room(made("plain keys and values")) == 3 * 2**27 // (2 * 2 * 2 * 8 * 4), "however small the weights are"
    states = AutoModelForCausalLM.from_config(MambaConfig(vocab_size=64, hidden_size=32, num_hidden_layers=1))
    assert room(states) > 10**12, "they do not grow"


def test_no_batch_holds_more_than_it_has_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two rows of 500 tokens fit for one round of three; then one waits, is read again, and says the same."""
    model, at_once = made("plain keys and values"), list[tuple[int, int]]()
    model.generation_config.eos_token_id = 10**6  # no such token: nothing ends early
    monkeypatch.setattr(Numbers, "eos_token_id", 10**6)
    prompts = [words(500), words(500), words(480), words(470)]
    expected = generate(model, Numbers(), prompts, Sampling(max_tokens=8))
    assert [one.usage.output_tokens for one in expected] == [8] * 4
    monkeypatch.setattr("truebench_hf.models.generation._ROUND", 3)
    monkeypatch.setattr("truebench_hf.models.generation.room", lambda model: 1010)

    def note(_: Any, given: tuple[Any, ...], how: dict[str, Any]) -> None:
        rows, new = how["input_ids"].shape
        at_once.append((rows, how["past_key_values"].get_seq_length() + new))

    with model.register_forward_pre_hook(note, with_kwargs=True):
        assert generate(model, Numbers(), prompts, Sampling(max_tokens=8)) == expected
    assert {rows for rows, _ in at_once} == {1, 2}
    assert max(rows * length for rows, length in at_once) <= 1010


def test_a_row_that_cannot_leave_gets_no_more_than_its_window() -> None:
    model = made("states and keys", max_position_embeddings=40)
    model.generation_config.eos_token_id = 10**6  # no such token: nothing ends early
    written = generate(model, Numbers(), [ONE[:10], ONE[:35]], Sampling(max_tokens=20))
    assert [one.usage.output_tokens for one in written] == [20, 5]


@pytest.mark.parametrize("count", [2, pytest.param(9, marks=pytest.mark.slow)])
def test_decisions_are_those_of_every_question_alone(model: Any, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    prefix = SharedPrefix(model)
    for state in (ONE, ONE[:90] + words(9), [], OTHER, ONE):
        rows = [state + words(DRAW.randrange(1, 30)) for _ in range(count)]
        prompts = [YesNoPrompt(row, 5, 6) for row in rows]
        monkeypatch.setattr(generation, "yes_no_prompts", lambda *_, prompts=prompts: prompts)
        shares, tokens = yes_probabilities(model, Numbers(), "", [""] * count, prefix)
        with torch.inference_mode():
            whole = [model(torch.tensor([row]), use_cache=False).logits[0, -1, [5, 6]].softmax(-1)[0] for row in rows]
        # At most 1e-5 apart here; a state that is not gone on from gives others by tenths.
        assert shares == pytest.approx([float(share) for share in whole], abs=1e-3)
        assert tokens <= sum(map(len, rows))


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("cache_implementation", "static", "set by who compiles the model"),
        ("use_cache", False, "left behind by training with gradient checkpoints"),
        ("num_beams", 2, "several rows for each prompt"),
    ],
)
def test_settings_of_the_model_itself_change_nothing(name: str, value: object, reason: str) -> None:
    model = made("plain keys and values")
    prompts = BATCHES["two long beginnings in turns"]
    plain = generate(model, Numbers(), prompts, Sampling(max_tokens=8))
    setattr(model.generation_config, name, value)
    assert generate(model, Numbers(), prompts, Sampling(max_tokens=8)) == plain, reason


def test_the_window_of_a_model() -> None:
    from types import SimpleNamespace

    from transformers import Gemma3Config, LlamaConfig, MambaConfig

    def window(config: Any) -> int:
        return window_of(SimpleNamespace(config=config))

    assert window(LlamaConfig(max_position_embeddings=80)) == 80
    assert window(Gemma3Config(text_config={"max_position_embeddings": 90})) == 90  # it sees, too
    assert window(MambaConfig()) > 10**9  # none


def test_a_pass_that_fails_leaves_no_half_filled_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise MemoryError

    model = made("plain keys and values")
    prefix, layer = SharedPrefix(model), model.model.layers[-1]
    expected = generate(model, Numbers(), [ONE, OTHER], Sampling(max_tokens=3))
    generate(model, Numbers(), [ONE[:200], ONE[:220]], Sampling(max_tokens=1), prefix)
    with monkeypatch.context() as patched:
        patched.setattr(layer, "forward", fail)
        with pytest.raises(MemoryError):
            generate(model, Numbers(), [ONE, ONE], Sampling(max_tokens=1), prefix)
    assert generate(model, Numbers(), [ONE, OTHER], Sampling(max_tokens=3), prefix) == expected
