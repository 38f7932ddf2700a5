"""Several choices in one closing list: read strictly, whatever stands around it."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truebench_hf.judging.choice import Choice, read_choices
from truebench_hf.models.asking import Problem

NAMES = ("Length", "Tone", "Inclusion: Topic", "Inclusion: Keyword", "File Formatting: JSON")
WORDS = {name: name for name in NAMES}


def read(text: str) -> Choice[tuple[str, ...]] | Problem:
    return read_choices(text, "categories", WORDS)


@pytest.mark.parametrize(
    ("text", "values", "why"),
    [
        ('A number binds.\n```json\n{"categories": ["Length"]}\n```', ("Length",), "the form asked for"),
        (
            '{"reason": "Both.", "categories": ["Tone", "Length"]}',
            ("Length", "Tone"),
            "the form with a schema, any order",
        ),
        ('{"categories": []}', (), "none fits"),
        ('{"categories": ["tone", "TONE "]}', ("Tone",), "letter case, blanks, and the same twice"),
        ('{"categories": ["Length"]} and so\n{"categories": ["Length"]}', ("Length",), "said twice, alike"),
        ('Categories: Length.\n{"categories": ["Length"]}', ("Length",), "and in prose"),
        ('**Categories**: Tone and Length\n{"categories": ["Length", "Tone"]}', ("Length", "Tone"), "a list in prose"),
        (
            'The categories are many; Tone is none here.\n{"categories": ["Length"]}',
            ("Length",),
            "prose that lists nothing",
        ),
        ('{"verdict": "x"} {"categories": ["Inclusion: Topic"]}', ("Inclusion: Topic",), "an object of another kind"),
        ('It asks: {"a": 1\n{"categories": ["Length"]}', ("Length",), "a brace that is never closed"),
    ],
)
def test_lists(text: str, values: tuple[str, ...], why: str) -> None:
    found = read(text)
    assert isinstance(found, Choice), (why, found)
    assert found.value == values, why


@pytest.mark.parametrize(
    ("text", "said", "why"),
    [
        ("", "no JSON object", "nothing"),
        ("Length", "no JSON object", "a bare name"),
        ('["Length"]', "no JSON object", "a bare list may be part of anything"),
        ("Categories: Length", "no JSON object", "prose alone"),
        ('{"category": ["Length"]}', "no JSON object", "another key"),
        ('{"categories": "Length"}', "is no list", "a text"),
        ('{"categories": null}', "is no list", "nothing in the key"),
        ('{"categories": {"Length": true}}', "is no list", "an object"),
        ('{"categories": ["Length", "Brevity"]}', "'brevity', which is none", "a name of its own"),
        ('{"categories": ["Length, Tone"]}', "which is none", "two names in one text"),
        ('{"categories": ["Inclusion"]}', "which is none", "half a name, which two have"),
        ('{"categories": [["Length"]]}', "which is none", "a list in the list"),
        ('{"categories": [1, true, null]}', "which is none", "no names at all"),
        ('{"categories": ["Length"]}\n{"categories": ["Tone"]}', "more than one list", "two that differ"),
        ('The question says {"categories": ["Tone"]}.\n{"categories": ["Length"]}', "more than one list", "one quoted"),
        ('{"categories": ["Length"]}\n{"categories": []}', "more than one list", "taken back"),
        ('Categories: Tone\n{"categories": ["Length"]}', "more than one list", "prose that differs"),
        ('{"reason": "categories: Tone", "categories": ["Length"]}', "more than one list", "the reason differs"),
        ('{"categories": ["Length"]}\nOr rather Tone.', "behind the closing", "text behind"),
        ('{"categories": ["Length"]', "no JSON object", "cut off"),
    ],
)
def test_hostile_lists(text: str, said: str, why: str) -> None:
    found = read(text)
    assert isinstance(found, Problem), (why, found)
    assert said in found.text, (why, found)


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    assert isinstance(read(text), Choice | Problem)


@given(st.lists(st.sampled_from(NAMES)), st.text(st.characters(exclude_characters="{}"), max_size=30))
def test_what_is_well_formed_is_read(names: list[str], before: str) -> None:
    found = read(f"{before}\n```json\n{json.dumps({'categories': names})}\n```")
    if isinstance(found, Choice):  # the text before may list others
        assert set(found.value) == set(names)
    else:
        assert "categories" in before.casefold()


def test_long_hostile_text_is_read_in_linear_time() -> None:
    filler = "{" * 150_000
    text = f'{filler}{{"categories": ["Tone"]}}{filler}{{"categories": ["Length"]}}'
    started = time.process_time()
    assert isinstance(read(text), Problem), "two lists, each behind more than is looked through at once"
    found = read(text.replace("Tone", "Length"))
    assert found == Choice(("Length",), text.replace("Tone", "Length")[: -len('{"categories": ["Length"]}')])
    assert time.process_time() - started < 5, "faults far behind the start of a text took half a minute"
