"""What stands in texts beside what they say: a model's thinking, and the control tokens of chat templates.

What this process tokenizes is encoded as text (see `chat_template.py`). A server gets a text, and most read
`<|im_end|>` in a message as the end of the message, so that a judged response could speak for the judge. So control
tokens are broken up there; OpenAI's own service needs none of this, and what is stored stays the original.
"""

from __future__ import annotations

import re

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
