"""What sources there are, where each is published, and what its rubrics hold. Imports nothing heavy."""

from __future__ import annotations

LABELS, POINTS, FAULTS = "people's labels", "points", "points, negative ones for faults"

# name: (where it is published, what stands beside the text of a criterion)
LISTED: dict[str, tuple[str, str]] = {
    "advancedif": ("facebook/AdvancedIF", ""),
    "biggen": ("prometheus-eval/BiGGen-Bench", "the highest of five levels"),
    "cfbench": ("cfbench_data.json of CFBench", "types, a right answer"),
    "complexbench": ("data_final.json of thu-coai/ComplexBench", "types, conditions"),
    "complexbench_en": ("the same, in English", "types, conditions"),
    "healthbench": ("openai/healthbench, or the JSONL files of openai/simple-evals", FAULTS),
    "healthbench_meta": ("oss_meta_eval.jsonl of openai/simple-evals", LABELS),
    "infobench": ("kqsong/InFoBench", "types"),
    "llmbar": ("a folder of princeton-nlp/LLMBar", "which of two outputs is preferred"),
    "multichallenge": ("benchmark_questions.jsonl of MultiChallenge", "whether yes or no passes"),
    "profbench": ("nvidia/ProfBench", f"{LABELS}, {POINTS}, types"),
    "rar": ("ScaleAI/RaR-Medicine, ScaleAI/RaR-Science", FAULTS),
    "rar_without_pitfalls": ("the same, faults left out", POINTS),
    "rubric_eval": ("rows in the columns of rubric_mini", LABELS),
    "rubrichub": ("a file of sojuL/RubricHub_v1", FAULTS),
    "structflowbench": ("StructFlowBench.json of MLGroupJLU/StructFlowBench", "types"),
    "sysbench": ("system_benchmark_eval_datas.json of SysBench", "types"),
    "wildbench": ("allenai/WildBench", ""),
}
