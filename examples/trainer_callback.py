"""Pass rates in the trainer's logs: at every evaluation the model in training answers, and a judge decides.

python trainer_callback.py [MODEL]     needs truebench-hf[local], and OPENAI_API_KEY for the judge
"""

import sys

from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer, TrainerCallback, TrainingArguments

import truebench_hf
from truebench_hf.metrics.comparison import paired_difference

MODEL = sys.argv[1] if sys.argv[1:] else "HuggingFaceTB/SmolLM2-135M-Instruct"


class PassRate(TrainerCallback):
    """Runs the model as it is on a sample of TRUEBench, and compares it with the checkpoint before."""

    def __init__(self, tokenizer, judge, **options):
        self.tokenizer, self.judge, self.options, self.before = tokenizer, judge, options, None

    def on_evaluate(self, args, state, control, model, metrics, **kwargs):
        now = truebench_hf.model((model, self.tokenizer), name=f"step {state.global_step}")
        report = truebench_hf.run(model=now, judge=self.judge, **self.options)
        passed = [item.passed for item in report.judged]
        logged = {"eval_pass_rate": report.scores["overall"].value}
        if self.before is not None:
            logged["eval_pass_rate_gain"] = paired_difference(passed, self.before).value
        self.before = passed
        metrics.update(logged)  # so that metric_for_best_model may be eval_pass_rate
        self.trainer.log(logged)


tokenizer = AutoTokenizer.from_pretrained(MODEL)
model = AutoModelForCausalLM.from_pretrained(MODEL)
texts = ["Blue is a colour.", "Rain falls in Spain.", "Please answer in one word.", "Paris lies on the Seine."]
data = Dataset.from_list([tokenizer(text) | {"labels": tokenizer(text)["input_ids"]} for text in texts])

rate = PassRate(tokenizer, "openai:gpt-4.1-mini", data="mini", limit=12, max_tokens=64)
arguments = TrainingArguments(
    "checkpoints", max_steps=4, eval_strategy="steps", eval_steps=2, per_device_train_batch_size=1,
    per_device_eval_batch_size=1, report_to="none",
)  # fmt: skip
rate.trainer = Trainer(model, arguments, train_dataset=data, eval_dataset=data, callbacks=[rate])
rate.trainer.train()
print([line for line in rate.trainer.state.log_history if "eval_pass_rate" in line])
