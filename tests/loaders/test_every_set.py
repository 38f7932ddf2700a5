"""Every set of `truebench data list`, built, loads by plain `load_dataset` and is read as a source again: from its folder
and from a Hub by its id, at once and streamed."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from huggingface_hub import DatasetCard

import truebench_hf
from tests.support.hub_client import HubClient
from tests.support.hub_stub import HubStub
from tests.support.runs import row, write_jsonl
from tests.support.tables import named
from tests.test_readme import found
from truebench_hf.benchmarks.rubric_eval.data import mini_rows
from truebench_hf.data.catalogue import CATALOGUE, MINI, entry
from truebench_hf.hashing import canonical, digest
from truebench_hf.hub.layout import PARTS
from truebench_hf.loaders.card import addressed, eval_yaml, render
from truebench_hf.loaders.export import Built, export
from truebench_hf.loaders.prepare import corpus

CHECKLISTS = MINI.with_name("checklists_mini.jsonl")
FACT = dict.fromkeys(("system_instruction", "user_request", "context_document", "full_prompt"), "Say a, or b.")
# A set that is made of others', or of itself, and the set whose folder it is made of.
SOURCES = [
    ("truebench", "truebench"), ("truebench", "truebench_mini"), ("rubric_eval", "rubric_eval"),
    ("rubric_eval", "rubric_mini"), ("facts_grounding", "facts_grounding"), ("facts_grounding", "facts_mini"),
    ("flexbench", "flexbench"), ("checklists", "checklists"), ("checklists", "checklists_mini"),
    ("training", "training"), ("training", "truebench_mini"), ("training", "truebench"), ("training", "rubric_mini"),
    ("training", "rubric_eval"),
]  # fmt: skip
SELDOM = ("rubric_mini", "truebench_mini", "checklists_mini", "facts_mini", "rubric_eval")  # sources of the slow lane
Rows = list[dict[str, Any]]


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A small file for each set that is made of the user's own."""
    folder = tmp_path_factory.mktemp("sources")
    rubrics = [row | {"split": split} for split in ("easy", "hard") for row in mini_rows(split=split)[:60]]
    (folder / "rubrics.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rubrics), encoding="utf-8")
    with (folder / "facts.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, [*FACT])
        table.writeheader()
        table.writerows([FACT, FACT | {"user_request": "Say b."}])
    rubric_file = str(folder / "rubrics.jsonl")
    return {
        "truebench": str(MINI), "rubric_eval": rubric_file, "facts_grounding": str(folder / "facts.csv"),
        "checklists": str(CHECKLISTS), "training": rubric_file,
    }  # fmt: skip


@pytest.fixture(scope="module")
def every(tmp_path_factory: pytest.TempPathFactory, sources: dict[str, str]) -> Callable[[str], Built]:
    """Return a set by its name, built from what is built in or from its small file."""
    return cache(lambda name: export(name, tmp_path_factory.mktemp(name) / "out", source=sources.get(name)))


def of_builder(built: Built, source: str | None) -> list[tuple[str, str, Rows]]:
    """The first configuration and the last one, each with its last split and the rows of it as the builder itself
    gives them."""
    names = [*built.facts.rows]
    places = [(config, [*built.facts.rows[config]][-1]) for config in dict.fromkeys((names[0], names[-1]))]
    return [(*place, truebench_hf.load(built.name, *place, source=source).to_list()) for place in places]


@pytest.mark.parametrize("name", [pytest.param(n, marks=[pytest.mark.slow] * (n == "rubric_mini")) for n in CATALOGUE])
def test_a_built_folder_loads_as_a_data_set(
    name: str, every: Callable[[str], Built], sources: dict[str, str], tmp_path: Path
) -> None:
    from datasets import load_dataset

    folder = str(every(name).folder)
    (config, split, rows), *_ = tables = of_builder(every(name), sources.get(name))
    assert load_dataset(folder, split=split, cache_dir=str(tmp_path)).to_list() == rows, "the default configuration"
    for config, split, rows in tables:
        assert load_dataset(folder, config, split=split, cache_dir=str(tmp_path)).to_list() == rows
    assert list(load_dataset(folder, config, split=split, streaming=True)) == rows


CASES = [
    pytest.param(
        name, source, id=f"{name} of {source}", marks=[pytest.mark.slow] * (source in SELDOM and name != source)
    )
    for name, source in SOURCES
]


@pytest.mark.parametrize(("name", "source"), CASES)
def test_a_built_folder_is_a_source(
    name: str, source: str, every: Callable[[str], Built], sources: dict[str, str], tmp_path: Path
) -> None:
    again = export(name, tmp_path / "again", source=str(every(source).folder), strict=True)
    assert contents(again) == expected(name, source, every, sources, tmp_path)


def test_a_blind_split_is_a_source(sources: dict[str, str], tmp_path: Path) -> None:
    first = export("facts_grounding", tmp_path / "first", source=sources["facts_grounding"], split="blind")
    again = export("facts_grounding", tmp_path / "again", source=str(first.folder), split="blind", strict=True)
    assert contents(again) == contents(first)


def contents(built: Built) -> dict[str, Rows]:
    """The rows of a built set, labels by their names, by configuration and split."""
    from datasets import Dataset

    return {
        f"{config}/{split}": named(Dataset.from_parquet(str(built.folder / "data" / config / f"{split}.parquet")))
        for config, splits in built.facts.rows.items()
        for split in splits
    }


def expected(
    name: str, source: str, every: Callable[[str], Built], sources: dict[str, str], folder: Path
) -> dict[str, Rows]:
    """What comes of a set made of another one's folder: the same as of the file that that one was made of.

    Except for pairs out of rubric_eval, which has no column that says which rows are one.
    """
    if (name, source) == ("training", "training"):  # its default configuration, as of every set
        return {"prompts/train": contents(every("training"))["prompts/train"]}
    if name == source:
        return contents(every(name))
    if name == "training":
        rows = contents(export("training", folder / "expected", source=sources.get(source, source)))
        return {place: held for place, held in rows.items() if (place, source) != ("pairs/train", "rubric_eval")}
    columns, rows = [*corpus(name).FEATURES], contents(every(source))
    if name == "facts_grounding":  # whose split is that of no source
        rows = {"all/open": rows["all/test"]}
    empty = {"rationales": [], "annotations": []}
    return {
        place: [{column: row.get(column, empty.get(column)) for column in columns} for row in held]
        for place, held in rows.items()
    }


CODE = """
import json
import sys

from datasets import load_dataset

import truebench_hf
from truebench_hf.hashing import canonical, digest

repository, configs, sets = sys.argv[1], json.loads(sys.argv[2]), json.loads(sys.argv[3])
found = {"default": digest(canonical(load_dataset(repository, split=configs[0][1]).to_list()))}
for config, split in configs:
    found[f"{config}/{split}"] = [
        digest(canonical(list(load_dataset(repository, config, split=split, streaming=streaming))))
        for streaming in (False, True)
    ]
for name in sets:
    tables = truebench_hf.load(name, source=repository, strict=True)
    found[name] = {split: len(table) for split, table in tables.items()}
print(json.dumps(found))
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", CATALOGUE)
def test_a_set_on_the_hub_loads_by_its_id_and_is_a_source(
    name: str, every: Callable[[str], Built], sources: dict[str, str], tmp_path: Path
) -> None:
    built, made_of_it = every(name), [of for of, source in SOURCES if source == name]
    tables = of_builder(built, sources.get(name))
    with HubStub() as hub:
        client = HubClient(hub, tmp_path)
        pushed = client.truebench("data", "push", built.folder, "--repo-id", f"org/{name}", "--i-have-the-rights")
        assert pushed.returncode == 0, pushed.stderr
        places = json.dumps([[config, split] for config, split, _ in tables])
        done = client.process("-c", CODE, f"org/{name}", places, json.dumps(made_of_it))
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found.pop("default") == digest(canonical(tables[0][2]))
    for config, split, rows in tables:
        assert found.pop(f"{config}/{split}") == [digest(canonical(rows))] * 2
    assert found == {
        of: {split: len(table) for split, table in truebench_hf.load(of, source=built.folder, strict=True).items()}
        for of in made_of_it
    }


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
    # What inspect's loader wants, it gets: tests/integrations/test_inspect_task.py drives it.
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
