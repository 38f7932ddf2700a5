"""A smaller judge learns the verdicts of a finished run: LoRA with trl and peft, merged into plain weights.

truebench study export runs/judged --to sft --out sft
python train_judge.py sft/sft.jsonl [BASE] [OUT]     needs truebench-hf[train]

It wants thousands of verdicts, and a base of a billion parameters or more on a GPU. See whether the terms of the judge
allow training on what it writes. How often both are right: truebench metaeval --data rubric_mini --judge hf:OUT.
"""

import sys

import torch
from datasets import load_dataset
from peft import LoraConfig
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import SFTConfig, SFTTrainer

FILE, BASE, OUT, *_ = [
    *sys.argv[1:],
    *["sft/sft.jsonl", "HuggingFaceTB/SmolLM2-135M-Instruct", "judge"][len(sys.argv) - 1 :],
]

# The loss is of the answer alone: of the reason, and of the signed verdict that closes it.
rows = load_dataset("json", data_files=FILE, split="train")
rows = rows.map(lambda row: {"prompt": row["messages"][:-1], "completion": row["messages"][-1:]})

# What is measured on are instances that nothing is learned of.
ids = sorted(set(rows["id"]))
held_out = set(ids[:: max(2, len(ids) // 100)]) if len(ids) > 1 else set()
learned = rows.filter(lambda row: row["id"] not in held_out).select_columns(["prompt", "completion"])
measured = rows.filter(lambda row: row["id"] in held_out).select_columns(["prompt", "completion"])

arguments = SFTConfig(
    f"{OUT}/checkpoints", num_train_epochs=2, learning_rate=2e-4, per_device_train_batch_size=1,
    gradient_accumulation_steps=8, per_device_eval_batch_size=1, max_length=4096, logging_steps=1, save_strategy="no",
    report_to="none", use_cpu=not torch.cuda.is_available(), bf16=torch.cuda.is_available(), seed=0,
)  # fmt: skip
tokenizer = AutoTokenizer.from_pretrained(BASE)
model = AutoModelForCausalLM.from_pretrained(BASE)
lora = LoraConfig(r=16, lora_alpha=32, target_modules="all-linear", task_type="CAUSAL_LM")
trainer = SFTTrainer(
    model, arguments, train_dataset=learned, eval_dataset=measured if held_out else None, processing_class=tokenizer,
    peft_config=lora,
)  # fmt: skip
before = trainer.evaluate()["eval_loss"] if held_out else None
trainer.train()
after = trainer.evaluate()["eval_loss"] if held_out else None
print(f"{len(learned)} verdicts learned, {len(measured)} held out; loss of those before {before}, after {after}")

trainer.model.merge_and_unload().save_pretrained(OUT)
tokenizer.save_pretrained(OUT)
print(f"the judge: --judge hf:{OUT} --judge-level rubric")
