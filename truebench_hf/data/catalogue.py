"""The data sets there are: what each is, under which terms, and which command reads it."""

from __future__ import annotations

from dataclasses import dataclass

from truebench_hf.errors import unknown


@dataclass(frozen=True, slots=True)
class Entry:
    """One data set. `source` says where its rows come from (None: built in). `publishable` is what its licence allows;
    `benchmark` sets get an eval.yaml: those whose scores `truebench publish results` writes onto models' pages.
    `splits` and `languages` are those to expect before it is built, `command` is the one that works on its rows. `paper`
    is its key in citations.txt, `homepage` the page of the data or of that paper ("" where there is none)."""

    name: str
    title: str
    summary: str
    licence: str
    paper: str
    homepage: str
    source: str | None = None
    publishable: bool = True
    benchmark: bool = False
    splits: tuple[str, ...] = ("test",)
    languages: tuple[str, ...] = ("en",)
    task: str = "text-generation"
    tags: tuple[str, ...] = ("instruction-following",)
    command: str = ""

    @property
    def repository(self) -> str:
        """Where the set is on the Hub, as long as nobody has pushed it."""
        return f"ORGANISATION/{self.name}"


_ENTRIES = (
    Entry(
        "truebench",
        "TRUEBench",
        "Productivity requests in 12 languages, one or more turns, each turn with its criteria",
        "apache-2.0",
        "truebench",
        "https://github.com/SamsungLabs/TRUEBench",
        source="an official JSONL; by default v0.6.1, downloaded and checked",
        command="run",
        benchmark=True,
        tags=("instruction-following", "multilingual", "multi-turn", "checklist"),
    ),
    Entry(
        "truebench_mini",
        "TRUEBench mini",
        "36 instances of TRUEBench's kind in 12 languages, written for this project",
        "apache-2.0",
        "truebench",
        "https://github.com/SamsungLabs/TRUEBench",
        command="run",
        tags=("instruction-following", "multilingual", "multi-turn", "checklist"),
    ),
    Entry(
        "rubric_eval",
        "RubricEval",
        "Labelled rubric judgments that measure a judge, split into easy and hard",
        "other",
        "rubriceval",
        "https://arxiv.org/abs/2603.25133",
        source="your JSONL or Parquet, or what `truebench study arbitrate` made",
        publishable=False,
        splits=("easy", "hard"),
        languages=("en", "zh"),
        task="text-classification",
        command="metaeval",
        tags=("instruction-following", "meta-evaluation", "llm-as-a-judge", "rubrics"),
    ),
    Entry(
        "rubric_mini",
        "RubricEval mini",
        "Rubric judgments in contrast pairs whose labels are certain by construction, easy and hard",
        "apache-2.0",
        "rubriceval",
        "https://arxiv.org/abs/2603.25133",
        splits=("easy", "hard"),
        task="text-classification",
        command="metaeval",
        tags=("instruction-following", "meta-evaluation", "llm-as-a-judge", "rubrics"),
    ),
    Entry(
        "facts_grounding",
        "FACTS Grounding",
        "Requests that must be answered from one document alone",
        "cc-by-4.0",
        "facts_grounding",
        "https://huggingface.co/datasets/google/FACTS-grounding-public",
        source="examples.csv of google/FACTS-grounding-public; a private file as split blind",
        splits=("open",),
        command="facts run",
        tags=("grounding", "factuality", "long-context"),
    ),
    Entry(
        "facts_mini",
        "FACTS Grounding mini",
        "12 documents with a grounded, an ungrounded and an evasive answer each",
        "apache-2.0",
        "facts_grounding",
        "https://huggingface.co/datasets/google/FACTS-grounding-public",
        command="facts run",
        tags=("grounding", "factuality"),
    ),
    Entry(
        "flexbench",
        "FlexBench samples",
        "Instructions, their dimensions with precondition groups, and judged conversations",
        "apache-2.0",
        "flexbench",
        "",
        source="built in; or your folder of instructions.jsonl, dimensions.jsonl and conversations.jsonl",
        tags=("instruction-following", "multi-turn", "procedures"),
    ),
    Entry(
        "checklists",
        "Checklists",
        "Instructions with checklists by several authors, and what people and judges said of responses",
        "other",
        "tick",
        "https://arxiv.org/abs/2410.03608",
        source="your JSONL or Parquet in the columns of checklists_mini",
        publishable=False,
        command="study checklist validate",
        tags=("instruction-following", "checklist", "preferences"),
    ),
    Entry(
        "checklists_mini",
        "Checklists mini",
        "28 instructions with two responses and their checklists, answered, sorted, preferred and scored",
        "apache-2.0",
        "tick",
        "https://arxiv.org/abs/2410.03608",
        command="study checklist validate",
        tags=("instruction-following", "checklist", "preferences"),
    ),
    Entry(
        "training",
        "Training views",
        "Prompts with criteria for GRPO, labelled rubrics, and preference pairs, of any data that is judged here",
        "other",
        "rubriceval",
        "https://arxiv.org/abs/2603.25133",
        source="labelled rows, rows with prompt and criteria, or SOURCE:PATH",
        publishable=False,
        splits=("train",),
        command="run",
        tags=("instruction-following", "rubrics", "grpo", "preferences"),
    ),
)
CATALOGUE: dict[str, Entry] = {entry.name: entry for entry in _ENTRIES}


def entry(name: str) -> Entry:
    """The entry of that name, in any case; `mini` is `truebench_mini`. Raises UserError with the nearest names."""
    folded = name.casefold().replace("-", "_")
    folded = "truebench_mini" if folded == "mini" else folded
    if folded not in CATALOGUE:
        raise unknown("data set", name, CATALOGUE)
    return CATALOGUE[folded]
