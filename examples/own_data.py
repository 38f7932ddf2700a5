"""Data of one's own: a row is a prompt, or turns, and criteria. Lists, files (JSONL, CSV, Parquet) and Hub ids alike."""

import truebench_hf

rows = [
    {"prompt": "Name a primary colour.", "criteria": ["names a primary colour", "is one word"]},
    {"turns": [
        {"prompt": "Write a haiku about rain.", "criteria": ["has three lines"]},
        {"prompt": "Now in French.", "criteria": ["is in French", "is a haiku about rain"]},
    ]},
]  # fmt: skip
report = truebench_hf.run(data=rows, model="openai:gpt-4.1-nano", judge="openai:gpt-4.1-mini")
print(report.to_pandas())
