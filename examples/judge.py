"""Whether an answer meets criteria, in three lines. Needs OPENAI_API_KEY, or another judge (hf:..., smollm2)."""

import truebench_hf

judgment = truebench_hf.judge(
    "Name a primary colour.", "Blue.", ["names a primary colour", "is one word"], "openai:gpt-4.1-mini"
)
print(judgment)
