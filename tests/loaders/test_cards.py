"""The cards in dataset_cards/ are those that `build` writes today, and the Hub can read them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from huggingface_hub import DatasetCard

from tests.support.runs import row, write_jsonl
from tests.test_readme import found
from truebench_hf.data.catalogue import CATALOGUE, entry
from truebench_hf.hub.layout import PARTS
from truebench_hf.loaders.card import addressed, eval_yaml, render
from truebench_hf.loaders.export import Built, export
from truebench_hf.loaders.prepare import corpus

CARDS = Path(__file__).parents[2] / "dataset_cards"
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
def test_the_card_is_not_stale(name: str, built: Callable[[str], Built]) -> None:
    committed = (CARDS / f"{name}.md").read_text(encoding="utf-8")
    if name in BUILT:
        fresh = (built(name).folder / "README.md").read_text(encoding="utf-8")
    else:
        fresh = render(entry(name), None, tuple(config.name for config in corpus(name).BUILDER_CONFIGS))
    assert fresh == committed, "run: python -m truebench_hf.loaders.export dataset_cards"


def test_there_is_one_card_per_set() -> None:
    assert {path.stem for path in CARDS.glob("*.md")} == set(CATALOGUE)


@EACH
def test_the_yaml_is_a_card_of_the_hub(name: str) -> None:
    card = DatasetCard.load(CARDS / f"{name}.md")
    assert card.data.pretty_name == entry(name).title
    assert card.data.license == entry(name).licence
    assert card.data.task_categories in (["text-generation"], ["text-classification"])
    assert all(re.fullmatch("[a-z]{2}", code) for code in card.data.language)
    assert [config["config_name"] for config in card.data.configs if config.get("default")] == [
        corpus(name).PREPARED[0]
    ]
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
    first = corpus(name).PREPARED[0]
    assert f"| `{first}` | {' | '.join(f'{rows:,}' for rows in ROWS[name])} |" in text
    for table in text.split("\n**Rows by ")[1:]:
        lines = re.findall(r"^\|.*?((?: \| [\d,]+)+) \|$", table, re.MULTILINE)
        for split, rows in enumerate(ROWS[name], 1):
            counts = [int(line.split(" | ")[split].replace(",", "")) for line in lines]
            assert sum(counts[:-1]) == counts[-1] == rows
    size = "n<1K" if sum(ROWS[name]) < 1000 else "1K<n<10K"
    assert f"size_categories:\n- {size}\n" in text


def test_eval_yaml_names_a_task_for_every_configuration() -> None:
    content = yaml.safe_load(eval_yaml(entry("truebench"), {"all": {"test": 2}, "de": {"test": 1}}))
    assert content["evaluation_framework"] == "truebench-hf"
    assert set(content) == {"name", "description", "evaluation_framework", "tasks"}
    # What inspect's loader wants, it gets: tests/integrations/test_inspect_hub.py drives it.
    how = {"field_spec", "solvers", "scorers"}
    tasks = [{key: value for key, value in task.items() if key not in how} for task in content["tasks"]]
    assert tasks == [{"id": "all", "config": "all", "split": "test"}, {"id": "de", "config": "de", "split": "test"}]
    assert all(how < set(task) for task in content["tasks"])


@pytest.mark.parametrize("name", BUILT)
def test_only_a_release_whose_scores_are_published_has_an_eval_yaml(name: str, built: Callable[[str], Built]) -> None:
    written = built(name).folder / "eval.yaml"
    assert written.is_file() == entry(name).benchmark == (name == "truebench")
    if name == "truebench":
        # What publishing writes: see tests/hub/test_publish.
        assert {task["id"] for task in yaml.safe_load(written.read_text())["tasks"]} == set(PARTS["v0.6.1"])


def test_a_part_of_a_release_has_no_eval_yaml(tmp_path: Path) -> None:
    few = write_jsonl(tmp_path / "few.jsonl", [row(1, [("Say A.", ["is A"])])])
    assert not (export("truebench", tmp_path / "out", source=few).folder / "eval.yaml").exists()


@EACH
def test_commands_on_the_card_are_there_and_become_the_repositorys(name: str) -> None:
    card = (CARDS / f"{name}.md").read_text(encoding="utf-8")
    shown = addressed(card, entry(name), "Some.Org/My_set-v1.0")
    (line,) = re.findall(r"^truebench (.*)$", shown, re.MULTILINE) or [""]
    assert bool(line) == (name != "flexbench")
    if line:
        one, arguments = found(line.split())
        one.make_context("truebench", list(arguments)).close()  # refuses unknown flags, and misses required ones
        assert arguments[arguments.index("--data") + 1] == "Some.Org/My_set-v1.0"
    assert 'load_dataset("Some.Org/My_set-v1.0", "' in shown
    assert "ORGANISATION" not in shown
    assert addressed(shown, entry(name), "a/b", "Some.Org/My_set-v1.0") == addressed(card, entry(name), "a/b")


def test_another_repository_of_nearly_that_name_stays() -> None:
    text = "See org/set, org/set-more, my/org/set, org/set.v2 and https://hub/org/set; data org/set."
    told = "See a/b, org/set-more, my/org/set, org/set.v2 and https://hub/org/set; data a/b."
    assert addressed(text, entry("truebench"), "a/b", "org/set") == told


def test_licences_are_those_the_sources_state() -> None:
    text = (CARDS / "truebench.md").read_text(encoding="utf-8")
    assert "license: apache-2.0\n" in text
    assert "CC-BY-NC-SA 4.0" in text.partition("## Licence")[2]
    assert {name for name, its in CATALOGUE.items() if not its.publishable} == {"rubric_eval", "checklists", "training"}
