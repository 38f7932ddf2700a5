"""rubric_mini, split hard: what programs can count, balance of the edits, and cheap learners that must stay at chance."""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from tests.benchmarks.test_rubric_mini_labels import language
from truebench_hf.benchmarks.rubric_eval.data import COLUMNS, templates
from truebench_hf.benchmarks.rubric_eval.data import mini_rows as rows
from truebench_hf.data.rubrics import INSTRUCTION_CATEGORIES

Row = dict[str, Any]
ROWS = rows(split="hard")
OPEN = [row for row in ROWS if not row["measurable"]]
SLOTS = [(template, slot) for template in templates("hard") for slot in template.slots]
CEILING = 0.60  # issue of the set: cheap learners stay at or below it on what no program decides
TRAPS = {
    "chain of steps", "condition fails", "condition holds", "earlier turn", "exception", "keyword in another role",
    "meaning without the word", "near count", "near format", "near miss", "negated keyword", "order of ideas",
    "revised rule", "swapped facts", "system against user", "wrong section",
}  # fmt: skip


# Size and shape


def test_size_categories_languages_and_traps() -> None:
    assert len(ROWS) >= 600
    instructions = Counter(template.category for template in templates("hard"))
    assert set(instructions) == set(INSTRUCTION_CATEGORIES)
    assert min(instructions.values()) >= 25
    assert len({row["language"] for row in ROWS}) == 12
    assert {row["trap"] for row in ROWS} == TRAPS
    assert all(tuple(row) == COLUMNS for row in ROWS)
    assert len({row["id"] for row in [*ROWS, *rows()]}) == len(ROWS) + len(rows())
    assert not [row["id"] for row in ROWS if re.search(r"\[\[|\]\]|\|\|", json.dumps(row))]


def test_rubrics_stand_in_english_and_in_the_language_of_the_response() -> None:
    foreign = [row for row in ROWS if row["language"] != "EN"][::3]
    own = [row for row in foreign if language(row["rubric"]) == row["language"]]
    assert 0.3 < len(own) / len(foreign) < 0.7
    assert {row["language"] for row in own} == {row["language"] for row in foreign}


# What a program can count

_ABBREVIATED = re.compile(r"\b(Dr|Ms|Mr|Sra|approx|z|B|np|tj|godz|т|е|руб|3(?=\. Mai))\.")


def sentences(text: str) -> int:
    """Ends of sentences; points of abbreviations and decimals end none."""
    return len(re.findall(r"[.!?](?=\s|$)|[。！？]", _ABBREVIATED.sub(r"\1", text)))


def is_json(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


def line(text: str, number: str) -> str:
    return text.splitlines()[int(number) - 1]


MEASURES: dict[str, Callable[[str, str], bool]] = {
    r"words = (\d+)": lambda text, n: len(text.split()) == int(n),
    r"sentences = (\d+)": lambda text, n: sentences(text) == int(n),
    r"items = (\d+)": lambda text, n: len(re.findall("^- ", text, re.M)) == int(n),
    r"numbered = (\d+)": lambda text, n: len(re.findall(r"^\d\. ", text, re.M)) == int(n),
    r"longest line <= (\d+)": lambda text, n: max(map(len, text.splitlines())) <= int(n),
    r"columns = (\d+)": lambda text, n: all(x.count(",") == int(n) - 1 for x in text.splitlines()),
    r"digits = (\d+)": lambda text, n: sum(map(str.isdigit, text)) == int(n),
    r"sorted (\d+)": lambda text, n: text.splitlines()[: int(n)] == sorted(text.splitlines()[: int(n)]),
    r"lacks (.+)": lambda text, what: what not in text,
    r"language 2 = (\w+)": lambda text, code: language(line(text, "2")) == code,
    r"(json)": lambda text, _: is_json(text),
    r"(lower)": lambda text, _: text == text.lower(),
}


def measured(measure: str, text: str) -> bool:
    (found,) = [(check, hit[1]) for form, check in MEASURES.items() if (hit := re.fullmatch(form, measure))]
    return found[0](text, found[1])


def test_what_can_be_counted_is_labelled_as_counted() -> None:
    by_rubric = {(template.id, slot.rubric): slot.measure for template, slot in SLOTS if slot.measure}
    wrong = [
        row["id"]
        for row in ROWS
        if row["measurable"]
        and measured(by_rubric[row["instruction_id"], row["rubric"]], row["response"]) != (row["label"] == "yes")
    ]
    assert len(by_rubric) >= 30
    assert not wrong


def test_no_response_counts_words_in_two_ways() -> None:
    """A hyphen, an apostrophe or a lone mark would be counted differently by different people."""
    counted = [row for row in ROWS if row["rubric_type"] == "quantity_limit"]
    rubrics = {(t.id, s.rubric) for t, s in SLOTS if s.measure.startswith("words")}
    for row in counted:
        if (row["instruction_id"], row["rubric"]) in rubrics:
            assert len(row["response"].split()) == len(re.findall(r"\w+", row["response"])), row["id"]


# The edits


def differences(wanted: list[Row]) -> list[int]:
    """Characters by which the meeting half of each pair is longer than the breaking one."""
    pairs: dict[str, dict[str, int]] = defaultdict(dict)
    for row in wanted:
        pairs[row["pair_id"]][row["label"]] = len(row["response"])
    return [pair["yes"] - pair["no"] for pair in pairs.values() if len(pair) == 2]


@pytest.mark.parametrize("wanted", [ROWS, OPEN], ids=["all", "not measurable"])
def test_both_labels_are_of_one_length_on_average(wanted: list[Row]) -> None:
    found = np.array(differences(wanted))
    assert len(found) >= 300
    assert abs(found.mean()) < 0.5
    assert abs((found > 0).mean() - (found < 0).mean()) < 0.1
    assert np.abs(found).mean() < 3


def test_every_rubric_is_met_in_half_of_its_responses_and_at_every_place() -> None:
    labels: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    places: dict[int, Counter[str]] = defaultdict(Counter)
    for row in ROWS:
        labels[row["instruction_id"], row["rubric"]][row["label"]] += 1
        places[row["rubric_index"]][row["label"]] += 1
    assert all(count["yes"] == count["no"] for count in [*labels.values(), *places.values()])


def test_no_single_word_stands_for_a_label() -> None:
    """Of the words that edits of several rubrics bring in, none is on one side in three of four."""
    sides: dict[str, Counter[bool]] = defaultdict(Counter)
    for _, slot in SLOTS:
        words = {met: Counter(re.findall(r"\w+", " ".join(slot.passages(met)).casefold())) for met in (True, False)}
        for met in (True, False):
            for word in words[met] - words[not met]:
                sides[word][met] += 1
    often = {word: found for word, found in sides.items() if found.total() >= 6}
    assert not {word: found for word, found in often.items() if max(found.values()) / found.total() > 0.75}


# Cheap learners


def accuracy(wanted: list[Row], model: Any, features: Any) -> float:
    """Balanced accuracy, cross-validated by instruction."""
    from sklearn.model_selection import GroupKFold, cross_val_predict

    labels = [row["label"] for row in wanted]
    groups = [row["instruction_id"] for row in wanted]
    found = cross_val_predict(model, features, labels, groups=groups, cv=GroupKFold(5))
    return balanced(labels, found)


def balanced(labels: Sequence[str], found: Sequence[str | None]) -> float:
    from sklearn.metrics import balanced_accuracy_score

    return float(balanced_accuracy_score(labels, found))


@pytest.mark.slow
@pytest.mark.parametrize("analyzer", ["word", "char_wb"])
@pytest.mark.parametrize("parts", [("response",), ("rubric", "response")], ids=["response", "rubric and response"])
def test_tf_idf_stays_at_chance(analyzer: str, parts: tuple[str, ...]) -> None:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    vectors = TfidfVectorizer(
        analyzer=analyzer, ngram_range=(1, 2) if analyzer == "word" else (2, 4), min_df=2, max_features=20_000
    )
    texts = [" \n ".join(row[part] for part in parts) for row in OPEN]
    assert accuracy(OPEN, make_pipeline(vectors, LogisticRegression(max_iter=1000)), texts) <= CEILING


def lengths(wanted: list[Row]) -> np.ndarray[Any, Any]:
    """Characters and words of a response, and how it stands among its siblings."""
    siblings: dict[str, dict[str, str]] = defaultdict(dict)
    for row in wanted:
        siblings[row["instruction_id"]][row["response_id"]] = row["response"]
    found = []
    for row in wanted:
        others = [len(text) for text in siblings[row["instruction_id"]].values()]
        here, words = len(row["response"]), len(row["response"].split())
        found.append([here, words, here - np.mean(others), here / np.mean(others), sum(n < here for n in others)])
    return np.array(found)


def test_length_stays_at_chance_also_beside_its_siblings() -> None:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = make_pipeline(StandardScaler(), LogisticRegression())
    for columns in ([0], [1], [2], [3], [4], [0, 1, 2, 3, 4]):
        assert accuracy(OPEN, model, lengths(OPEN)[:, columns]) <= CEILING
    for sign in (1, -1):  # and without learning: longer, or shorter, than its siblings on average
        longer = ["yes" if sign * row[2] > 0 else "no" for row in lengths(OPEN)]
        assert balanced([row["label"] for row in OPEN], longer) <= CEILING


_NOT = re.compile(
    r"\b(no|not|nothing|nobody|never|without|nicht|kein\w*|pas|non|no|não|nie|не|không)\b|ない|ません|不|没|않|없|아니"
)


def regex_judge(row: Row, siblings: list[str]) -> str | None:
    """Quoted words, numbers and names of the rubric looked up in the response, turned round by a negation in the
    rubric; None where it has nothing to look up, or where all siblings look the same to it."""
    wanted = re.findall(r'["“«『「]([^"”»』」]+)["”»』」]|\b(\d+(?:[.,]\d+)?|[A-Z]\w+)\b', row["rubric"][1:])
    terms = {(quoted or bare).casefold() for quoted, bare in wanted}
    terms |= set(re.findall(r"\w{4,}", row["rubric"].casefold()))

    def shown(text: str) -> int:
        return sum(term in text.casefold() for term in terms)

    if not (found := [shown(text) for text in siblings]) or len(set(found)) == 1:
        return None
    met = shown(row["response"]) > np.mean(found)
    return "yes" if met != bool(_NOT.search(row["rubric"])) else "no"


def counting_words(row: Row, siblings: list[str]) -> str | None:
    """Fewer negations than the siblings have means met."""
    here = [len(_NOT.findall(text.casefold())) for text in (row["response"], *siblings)]
    return None if len(set(here)) == 1 else "yes" if here[0] < np.mean(here[1:]) else "no"


def echo_of_the_request(row: Row, siblings: list[str]) -> str | None:
    """More words of the conversation than in the siblings mean met."""
    said = set(re.findall(r"\w+", " ".join(message["content"] for message in row["messages"]).casefold()))
    here = [len(said & set(re.findall(r"\w+", text.casefold()))) for text in (row["response"], *siblings)]
    return None if len(set(here)) == 1 else "yes" if here[0] > np.mean(here[1:]) else "no"


def said_by(judge: Callable[[Row, list[str]], str | None], wanted: list[Row]) -> list[tuple[str, str | None]]:
    """(label, verdict) of each row."""
    texts: dict[str, dict[str, str]] = defaultdict(dict)
    for row in wanted:
        texts[row["instruction_id"]][row["response_id"]] = row["response"]
    return [(row["label"], judge(row, list(texts[row["instruction_id"]].values()))) for row in wanted]


def test_the_regex_judge_is_no_straw_man() -> None:
    decided = [(label, said) for label, said in said_by(regex_judge, rows()) if said]
    assert len(decided) > 800
    assert balanced(*zip(*decided, strict=True)) > 0.9


@pytest.mark.parametrize("judge", [regex_judge, counting_words, echo_of_the_request])
def test_a_regex_judge_stays_at_chance(judge: Callable[[Row, list[str]], str | None]) -> None:
    found = said_by(judge, OPEN)
    decided = [(label, said) for label, said in found if said]
    assert len(decided) >= 24, "a judge that decides nothing is no test"
    assert balanced(*zip(*decided, strict=True)) <= CEILING
    guessed = [said or ("yes", "no")[i % 2] for i, (_, said) in enumerate(found)]
    assert balanced([label for label, _ in found], guessed) <= CEILING


def test_neighbouring_rubrics_are_labelled_apart_as_often_as_alike() -> None:
    by_response: dict[str, list[str]] = defaultdict(list)
    for row in ROWS:
        by_response[row["response_id"]].append(row["label"])
    steps = [a != b for found in by_response.values() for a, b in itertools.pairwise(found)]
    assert 0.4 < sum(steps) / len(steps) < 0.6
