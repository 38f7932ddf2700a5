"""The cards in dataset_cards/ are those that `build` writes today, and the Hub can read them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from huggingface_hub import DatasetCard

from truebench_hf.loaders.card import eval_yaml, render
from truebench_hf.loaders.catalogue import CATALOGUE, corpus, entry
from truebench_hf.loaders.export import export

CARDS = Path(__file__).parents[2] / "dataset_cards"
REAL = Path(__file__).parents[3] / "shared" / "data" / "truebench" / "TRUEBench-v0.6.1.jsonl"
BUILT = [n for n, e in CATALOGUE.items() if e.source is None or n in ("truebench", "flexbench")]
EACH = pytest.mark.parametrize("name", list(CATALOGUE))
# Rows of every built-in set, split by split, counted apart from the code under test.
ROWS = {
    "truebench": (2485,),
    "truebench_mini": (36,),
    "rubric_mini": (1670, 1120),
    "facts_mini": (12,),
    "flexbench": (9,),
    "checklists_mini": (28,),
}


@EACH
def test_the_card_is_not_stale(name: str, tmp_path: Path) -> None:
    if name == "truebench" and not REAL.is_file():
        pytest.skip("the real file ../shared/data/truebench is not here")
    committed = (CARDS / f"{name}.md").read_text(encoding="utf-8")
    if name in BUILT:
        source = str(REAL) if name == "truebench" else None
        export(name, tmp_path / "out", source=source)
        fresh = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    else:
        fresh = render(entry(name), None, tuple(config.name for config in corpus(name).builder.BUILDER_CONFIGS))
    assert fresh == committed, "run: python -m truebench_hf.loaders.card dataset_cards"


def test_there_is_one_card_per_set() -> None:
    assert {path.stem for path in CARDS.glob("*.md")} == set(CATALOGUE)


@EACH
def test_the_yaml_is_a_card_of_the_hub(name: str) -> None:
    card = DatasetCard.load(CARDS / f"{name}.md")
    assert card.data.pretty_name == entry(name).title
    assert card.data.license == entry(name).licence
    assert card.data.task_categories in (["text-generation"], ["text-classification"])
    assert all(re.fullmatch("[a-z]{2}", code) for code in card.data.language)
    assert [config["config_name"] for config in card.data.configs if config.get("default")] == [corpus(name).configs[0]]
    for title in (
        "Load it",
        "What a row means",
        "How it was made",
        "Known limits",
        "Intended use",
        "Licence",
        "Citation",
    ):
        assert f"\n## {title}\n\n" in card.text
        assert not card.text.split(f"\n## {title}\n\n")[1].startswith("#"), f"{title} is empty"


@pytest.mark.parametrize("name", BUILT)
def test_counts_on_the_card_add_up(name: str) -> None:
    text = (CARDS / f"{name}.md").read_text(encoding="utf-8")
    first = corpus(name).configs[0]
    assert f"| `{first}` | {' | '.join(f'{rows:,}' for rows in ROWS[name])} |" in text
    for table in text.split("\n**Rows by ")[1:]:
        lines = re.findall(r"^\|.*?((?: \| [\d,]+)+) \|$", table, re.MULTILINE)
        for split, rows in enumerate(ROWS[name], 1):
            counts = [int(line.split(" | ")[split].replace(",", "")) for line in lines]
            assert sum(counts[:-1]) == counts[-1] == rows
    size = "n<1K" if sum(ROWS[name]) < 1000 else "1K<n<10K"
    assert f"size_categories:\n- {size}\n" in text


def test_licences_are_those_the_sources_state() -> None:
    text = (CARDS / "truebench.md").read_text(encoding="utf-8")
    assert "license: apache-2.0\n" in text
    assert "CC-BY-NC-SA 4.0" in text.partition("## Licence")[2]
    assert {name for name, its in CATALOGUE.items() if not its.publishable} == {"rubric_eval", "checklists"}


def test_eval_yaml_names_a_task_for_every_configuration_and_split() -> None:
    rows = {"all": {"easy": 1, "hard": 1}, "system": {"easy": 1, "hard": 1}}
    content = yaml.safe_load(eval_yaml(entry("rubric_eval"), rows))
    assert content["evaluation_framework"] == "truebench-hf"
    assert set(content) == {"name", "description", "evaluation_framework", "tasks"}
    assert content["tasks"][1] == {"id": "all_hard", "config": "all", "split": "hard"}
    assert len({task["id"] for task in content["tasks"]}) == 4
    single = yaml.safe_load(eval_yaml(entry("truebench"), {"all": {"test": 1}, "de": {"test": 1}}))
    assert [task["id"] for task in single["tasks"]] == ["all", "de"]


def test_benchmarks_have_an_eval_yaml_and_others_none(tmp_path: Path) -> None:
    for name in ("facts_mini", "checklists_mini"):
        export(name, tmp_path / name)
        assert (tmp_path / name / "eval.yaml").is_file() == entry(name).benchmark
    assert [name for name, its in CATALOGUE.items() if not its.benchmark] == ["checklists", "checklists_mini"]
