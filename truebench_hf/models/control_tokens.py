"""Control tokens of chat templates that stand written out in a text, broken up for servers that would obey them.

What this process tokenizes is encoded as text (see `chat_template.py`). A server gets a text, and most read
`<|im_end|>` in a message as the end of the message, so that a judged response could speak for the judge.
OpenAI's own service needs none of this. What is stored stays the original.
"""

from __future__ import annotations

import re

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


def broken_up(text: str) -> str:
    """The text with a word joiner inside each control token: to a reader the same, to a tokenizer text."""
    return _TOKENS.sub(lambda match: match[0] + JOINER, text)
