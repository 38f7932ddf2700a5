"""Any prompts as a benchmark (TICK): a model writes a checklist for each, models answer, a judge ticks the questions.

The same from the command line:

    truebench tick --data prompts.jsonl --model A --model B --judge J --out runs/own-prompts

`runs/own-prompts/checklists.jsonl` is yours to edit. Called again with `checklists=` that file, only what changed is
judged again; as `--data` of `truebench run` it is a benchmark like any other.
"""

import truebench_hf

prompts = [
    {"prompt": "Write a two-line thank-you note to a colleague who took over a shift."},
    {"prompt": "Erkläre einem Kind in drei Sätzen, warum es regnet."},
]
report = truebench_hf.tick(
    data=prompts,
    model=["openai:gpt-4.1-nano", "openai:gpt-4.1-mini"],
    judge="openai:gpt-4.1",  # writes the checklists, too: a generator may be named beside it
    out="runs/own-prompts",
)
print(report.to_pandas())
