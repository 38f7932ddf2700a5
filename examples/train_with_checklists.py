"""GRPO with checklists as the reward: a judge decides YES or NO on each criterion of each completion.

python train_with_checklists.py [MODEL]     needs truebench-hf[local] and trl, and OPENAI_API_KEY for the judges
"""

import sys

import torch
from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer

import truebench_hf

MODEL = sys.argv[1] if sys.argv[1:] else "HuggingFaceTB/SmolLM2-135M-Instruct"

rows = [
    {"prompt": [{"role": "user", "content": "Write a haiku about rain."}],
     "criteria": ["Does it have three lines?", "Is it about rain?", "Does it mention no umbrella?"]},
    {"prompt": [{"role": "user", "content": "Name two primary colours."}],
     "criteria": ["Does it name exactly two colours?", "Are all of them primary colours?"]},
    {"prompt": [{"role": "user", "content": "Thank Kim for the flowers."}], "criteria": []},  # to be written
]  # fmt: skip

# The cache makes training that goes on pay for nothing twice.
shared = {"generator": "openai:gpt-4.1-mini", "cache": "runs/rewards"}
reward = truebench_hf.checklist_reward("openai:gpt-4.1-mini", shape="fraction", **shared)
# A judge that the model is not trained on (its weight is 0) shows reward hacking: its mean falls behind the other's.
held_out = truebench_hf.checklist_reward("openai:gpt-4.1", name="held_out", **shared)
arguments = GRPOConfig(
    "checkpoints", max_steps=3, num_generations=4, per_device_train_batch_size=8, max_completion_length=64,
    logging_steps=1, save_strategy="no", report_to="none", use_cpu=not torch.cuda.is_available(),
    bf16=torch.cuda.is_available(), reward_weights=[1.0, 0.0],
)  # fmt: skip
trainer = GRPOTrainer(MODEL, [reward, held_out], arguments, train_dataset=Dataset.from_list(rows))
trainer.train()
for line in trainer.state.log_history:
    print({name: value for name, value in line.items() if name == "step" or "checklist" in name or "held_out" in name})
