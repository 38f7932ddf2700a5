"""From messages and yes/no questions to token prompts, alike for every engine that runs in this process."""

from __future__ import annotations

import functools
import inspect
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from truebench_hf.engine.retry import RequestFailed
from truebench_hf.models.protocol import Completion
from truebench_hf.types import Message, Usage

_OPENED = re.compile(r"<think(?:ing)?>\s*\Z", re.IGNORECASE)
_END = 32  # tokens, enough for the tag where it is not a single one


def byte_count(*texts: str) -> int:
    """The bytes of texts, which predict tokens across scripts better than characters do.

    Raises RequestFailed on half a character (a lone surrogate), which no tokenizer takes.
    """
    try:
        return sum(len(text.encode()) for text in texts)
    except UnicodeEncodeError as error:
        raise RequestFailed(f"the prompt holds a character that no tokenizer takes: {error.reason}") from error


def encode_chat(
    tokenizer: Any, messages: Sequence[Message], options: Mapping[str, Any] | None = None, *, answered: bool = False
) -> list[int]:
    """The tokens of a conversation up to where the answer begins, or of one that is `answered`, to its end.

    `options` go to the chat template.

    Control tokens written out in a message are encoded as the text they are, so that a judged response cannot end its
    message and speak for the judge. transformers before 5.20 cannot do that, and reads them as control tokens.
    """
    byte_count(*(message.content for message in messages))
    chat = [{"role": message.role, "content": message.content} for message in messages]
    how = dict(options or {})
    if "sanitize_control_tokens" in inspect.signature(tokenizer.apply_chat_template).parameters:
        how.setdefault("sanitize_control_tokens", True)
    encoded = tokenizer.apply_chat_template(chat, add_generation_prompt=not answered, return_dict=True, **how)
    return list(encoded["input_ids"])


def tokens_left(prompt: Sequence[int], window: int) -> int:
    """Tokens that a window leaves for an answer. Raises RequestFailed where it leaves none."""
    if len(prompt) >= window:
        raise too_long(prompt, window)
    return window - len(prompt)


def too_long(prompt: Sequence[int], window: int) -> RequestFailed:
    """The error for a prompt that leaves no room for an answer."""
    return RequestFailed(f"the prompt has {len(prompt)} tokens, the window {window}")


def window_of(model: Any) -> int:
    """Tokens that a transformers model holds at once. No limit where its configuration names none (Mamba, Bloom)."""
    # Of a model that also sees, the configuration of its language part.
    return getattr(model.config.get_text_config(), "max_position_embeddings", None) or sys.maxsize


def begins_thinking(tokenizer: Any, prompt: Sequence[int]) -> bool:
    """Whether the tokens of a prompt end in an opening thinking tag, as the templates of R1 distills and QwQ do."""
    return _OPENED.search(tokenizer.decode(prompt[-_END:])) is not None


def completed(tokenizer: Any, prompt: Sequence[int], text: str, tokens: int, cut: bool) -> Completion:
    """The completion that a decoded answer of `made` tokens is, its thinking apart; `cut`: by the token limit."""
    answer, reasoning, unclosed = split_thinking(text.strip(), begins_thinking(tokenizer, prompt))
    thought = len(tokenizer.encode(reasoning, add_special_tokens=False)) if reasoning else 0
    return Completion(answer, reasoning, Usage(len(prompt), tokens, thought, 1), cut or unclosed)


@dataclass(frozen=True, slots=True)
class YesNoPrompt:
    """A prompt to be read after its last token: logits of `yes` and `no`, divided by `temperature`."""

    tokens: list[int]
    yes: int
    no: int
    temperature: float = 1.0


def yes_no_prompts(tokenizer: Any, name: str, state: str, questions: Sequence[str]) -> list[YesNoPrompt]:
    """One prompt per question on `state`: what they share comes first, the question last.

    Prompts, labels and temperatures are those of the transformers `decision` pipeline for the model `name`. Before
    transformers 5.20 there is none: then a layout of our own, in the same order, read at the words Yes and No.
    Raises ValueError where those are no single tokens.
    """
    byte_count(state, *questions)
    try:
        from transformers.decision import DecisionConfig
    except ImportError:
        words = {word: tokenizer.encode(word, add_special_tokens=False) for word in ("Yes", "No")}
        if longer := [word for word, tokens in words.items() if len(tokens) != 1]:
            raise ValueError(f"the word {longer[0]} is not a single token for this model") from None
        yes, no = (int(tokens[0]) for tokens in words.values())
        texts = [f"{state}\n\n{question}\nReply with one word, Yes or No." for question in questions]
        return [YesNoPrompt(encode_chat(tokenizer, (Message("user", text),)), yes, no) for text in texts]
    from transformers.decision import label_token_ids

    config = _decision_config(DecisionConfig, tokenizer, name)
    predicates = {f"q{i}": {"type": "noul", "instructions": question} for i, question in enumerate(questions)}
    prompts = []
    heat = float(config.temperature.get("noul", 1.0))
    for inputs, group in config.prepare_inputs({"state": state, "questions": predicates}, tokenizer):
        tokens = inputs["input_ids"][0].tolist()
        # A template of the model's own may ask all in one prompt, and says where each is read: no token sees later ones.
        for question, mark in zip(group, inputs["marks"].tolist(), strict=True):
            labels = dict(zip(question.options, label_token_ids(tokenizer, tuple(question.labels)), strict=True))
            prompts.append(YesNoPrompt(tokens[:mark], labels["true"], labels["false"], heat))
    return prompts


@functools.lru_cache(maxsize=8)
def _decision_config(kind: Any, tokenizer: Any, name: str) -> Any:
    # Once per tokenizer that was loaded: for a name on the Hub its server is asked. Who loads anew reads it anew.
    return kind.from_pretrained(name)


# Closed blocks anywhere; some chat templates put the opening tag into the prompt, so the answer may start inside.
_CLOSED = re.compile(r"<think(?:ing)?>(.*?)</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
# Such a closing tag ends a line, begins one, or clings to the last word; in quotes or between blanks it is talked about.
_HEADLESS = re.compile(
    r"""\A(.*?)(?: (?: ^[^\S\n]* | (?<=[^\s"'`(\[]) ) </think(?:ing)?> | </think(?:ing)?> (?=[^\S\n]*\n) )""",
    re.DOTALL | re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)
_UNCLOSED = re.compile(r"\A\s*<think(?:ing)?>(.*)\Z", re.DOTALL | re.IGNORECASE)
JOINER = "\u2060"  # WORD JOINER: takes no room, and no tokenizer's normalizer drops it
_TOKENS = re.compile(
    r"<(?=\|[^|<>\n]{1,60}\|>"  # ChatML, Qwen, Llama 3 and 4, Phi, GLM, Granite, Kimi, Cohere, gpt-oss
    r"|｜[^｜<>\n]{1,60}｜>"  # DeepSeek, Hunyuan: full-width bars
    r"|/?(?:start_of_turn|end_of_turn|start_of_image|end_of_image)>"  # Gemma
    r"|/?s>|(?:bos|eos|pad|unk|mask|sep|cls)>"  # Llama 2, Mistral, and the names of old
    r"|\|[\w\"]{1,30}>|\w{1,30}\|>"  # Gemma 4
    r"|(?:seed:[be]os|gMASK|sop|eop|end_of_utterance)>|/?(?:role|tool_call|tool_response|think)>"  # Seed, GLM, SmolVLM, Ling
    r"|</?SYS>>"  # Llama 2
    r"|(?:SPECIAL|extra_id|reserved|unused)_?\d+>)"  # Nemotron, T5
    r"|\[(?=/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|ARGS|CALL_ID|IMG|THINK|MODEL_SETTINGS|gMASK)\]"
    r"|\|[^|\[\]\n]{1,40}\|\]"  # EXAONE
    r"|e~\[)|\](?=~b\]|~!b\[)"  # MiniMax
)


def split_thinking(text: str, opened: bool = False) -> tuple[str, str, bool]:
    """Split `text` into (answer, thinking, unclosed). `opened`: the prompt is known to end in an opening tag.

    Thinking is only what stands before the answer: a `<think>` block that opens the text, or a head that ends in
    `</think>`. Tags quoted later in an answer stay. Unclosed thinking leaves an empty answer and True. Half a character
    at the end, as a token limit leaves it, is dropped.
    """
    thoughts: list[str] = []
    rest = text = text.rstrip("\ufffd")
    while (match := _CLOSED.match(rest.lstrip())) is not None:
        thoughts.append(match.group(1).strip())
        rest = rest.lstrip()[match.end() :]
    if (match := _UNCLOSED.match(rest)) is not None:
        return "", "\n".join([*thoughts, match.group(1).strip()]).strip(), True
    match = None if thoughts else _HEADLESS.match(rest)
    if match is not None and (opened or "<think" not in match.group(1).lower()):
        thoughts.append(match.group(1).strip())
        rest = rest[match.end() :]
    elif opened and not thoughts:
        return split_thinking(f"<think>{text}")
    return (rest.strip() if thoughts else text), "\n".join(thoughts).strip(), False


def broken_up(text: str) -> str:
    """The text with a word joiner inside each control token: to a reader the same, to a tokenizer text."""
    return _TOKENS.sub(lambda match: match[0] + JOINER, text)
