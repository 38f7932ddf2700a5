"""Known defects: what instructions state, what edits make of it, and that every edit is what it claims to be."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from truebench_hf.benchmarks.truebench.validation.demands import DEMANDS
from truebench_hf.benchmarks.truebench.validation.edits import SIZES, Edited, constructed, source
from truebench_hf.benchmarks.truebench.validation.stated import LANGUAGES, Stated, covered, named, stated
from truebench_hf.types import Criterion, Instance, Turn


@pytest.mark.parametrize(
    ("criterion", "prompt", "found", "why"),
    [
        ("It has three lines.", "Write 3 lines.", ["number 3"], "a word and a digit"),
        ("It has 3 lines.", "Schreib drei Zeilen.", ["number 3"], "a digit and a word of another language"),
        ("At most 100 characters.", "100字以内で。", ["number 100"], "no blank before what is counted"),
        ("It has 5 sentences.", "５文で要約して。", ["number 5"], "wide digits"),
        ("It has two sentences.", "두 문장으로 써줘.", ["number 2"], "Korean"),
        ("It has 3 lines.", "Write 13 lines.", [], "part of another number"),
        ("It has 3 lines.", "Write 3.5 lines.", [], "part of a decimal"),
        ("It has 3 lines.", "3 people ask for some nice new lines.", [], "far from what is counted"),
        ("It has 3 lines.", "Write 3 sentences.", [], "of something else"),
        ("It has one line.", "Write 1 line.", [], "1 is said of everything"),
        ("Chapter 3.2 has 4:30 and 50% of words.", "3.2 4:30 50% words", [], "no counts"),
        ("It must be written in Korean.", "Sum up in Korean.", ["language Korean"], "named"),
        ("It must be written in Korean.", "한국어로 요약해줘.", ["language Korean"], "in its own word"),
        ("It must be written in Korean.", "Zusammenfassung auf Koreanisch.", ["language Korean"], "in another one's"),
        ("It must be written in Korean.", "Sum up.", [], "not named"),
        ("It must be in Korean or English.", "In Korean.", [], "a choice"),
        ("The heading must not be in Korean.", "In Korean.", [], "of what must not be, another is as true"),
        ('It has the key "gods".', '{"gods": [...]}', ["keyword gods"], "quoted on both sides"),
        ("It has the key “gods.”", "Take «gods» as the key.", ["keyword gods"], "other marks, a full stop within"),
        ('It has the key "gods".', "It is about gods.", [], "a word like others"),
        ('The answer is "gods".', 'Is it "gods" or "giants"?', [], "a result is no demand"),
        ("If it has 3 lines, they rhyme.", "Write 3 lines.", [], "a condition is no demand"),
        ("It has 3 lines:\n- one", "Write 3 lines.", [], "a list holds more than one demand"),
    ],
)  # fmt: skip
def test_what_a_criterion_demands_that_its_instruction_states(
    criterion: str, prompt: str, found: list[str], why: str
) -> None:
    got = stated(criterion, prompt)
    assert [f"{one.kind} {one.value}" for one in got] == found, why
    for one in got:
        assert criterion[one.start : one.end].strip(), "it stands where it says"


@pytest.mark.parametrize(
    ("other", "one", "is_covered", "why"),
    [
        ("It is polite.", Stated("number", "3", 0, 1, "line"), False, "something else"),
        ("Three examples.", Stated("number", "3", 0, 1, "line"), True, "the number, whatever it counts"),
        ("The lines rhyme.", Stated("number", "3", 0, 1, "line"), True, "what is counted"),
        ("It meets all conditions.", Stated("number", "3", 0, 1, "line"), True, "one for all"),
        ("The translation is faithful.", Stated("language", "Korean", 0, 1), True, "into which language, it may mean"),
        ("Korean names stay.", Stated("language", "Korean", 0, 1), True, "the language"),
        ("It is short.", Stated("language", "Korean", 0, 1), False, "something else"),
        ("It has Gods.", Stated("keyword", "gods", 0, 1), True, "letter case"),
    ],
)
def test_what_might_cover_it(other: str, one: Stated, is_covered: bool, why: str) -> None:
    assert covered([other], one) is is_covered, why


def test_languages_are_known_by_their_names() -> None:
    assert all(name in named(f"It is in {name}.") for name in LANGUAGES)
    assert named("영어와 日本語, po polsku, по-русски") == ["English", "Japanese", "Polish", "Russian"]
    assert named("") == []


def instances(count: int = 24) -> list[Instance]:
    """Made instances: each states a number, a language and a keyword, and has criteria for them and another one."""
    languages = [name for name in LANGUAGES if name != "English"]
    found = []
    for number in range(count):
        language, lines, key = languages[number % len(languages)], 3 + number % 5, f"word{number}"
        prompt = f'Subject {number}: write {lines} lines on rivers in {language} that include "{key}".'
        criteria = (f"It has {lines} lines.", f"It is in {language}.", f'It must include "{key}".', "It is on rivers.")
        turns = (Turn(prompt, tuple(map(Criterion, criteria))),)
        found.append(Instance(f"made-{number}", "EN", "Editing", "Rewrite", turns))
    return found


def check(rows: list[Edited], before: dict[str, Instance]) -> None:
    """Every row is its instance with exactly the edit that it claims."""
    for row in rows:
        old, new = before[row.instance.id], row.instance
        if row.edit == "unedited":
            assert old == new
            continue
        assert row.turn is not None
        assert row.criterion is not None
        was, now = (list(one.turns[row.turn - 1].criteria) for one in (old, new))
        prompt = old.turns[row.turn - 1].prompt
        if row.edit == "E1":
            assert [i for i, pair in enumerate(zip(was, now, strict=True), 1) if pair[0] != pair[1]] == [row.criterion]
            kind, value = row.what.split(" is now ")[0].split(" ", 1)
            claims = {(one.kind, one.value) for one in stated(was[row.criterion - 1].text, prompt)}
            assert (kind, value) in claims
            assert row.what.split(" is now ")[1] in now[row.criterion - 1].text
        elif row.edit == "E2":
            added = now.pop(row.criterion - 1)
            assert was == now
            text = "\n".join(t for turn in old.turns for t in (turn.prompt, *(c.text for c in turn.criteria)))
            assert not DEMANDS[added.text].search(text.lower())
        else:
            removed = was.pop(row.criterion - 1)
            assert was == now
            assert not any(covered([one.text for one in now], claim) for claim in stated(removed.text, prompt))
        assert replace(new, turns=()) == replace(old, turns=())
        assert [t.prompt for t in new.turns] == [t.prompt for t in old.turns]


def test_every_edit_is_what_it_claims() -> None:
    every = instances()
    rows = constructed(every)
    assert Counter(row.edit for row in rows) == {"unedited": 12, "E1": 4, "E2": 4, "E3": 4}, "in the shares of SIZES"
    assert len({row.instance.id for row in rows}) == len(rows) == 24
    check(rows, {one.id: one for one in every})
    order = [one.id for one in every]
    assert [row.instance.id for row in rows] == order, "in the order of the data"


def test_the_seed_draws_and_nothing_else() -> None:
    every = instances(60)
    rows = constructed(every, 1)
    assert rows == constructed(every, 1)
    assert rows != constructed(every, 2)
    assert {row.instance.id: row for row in constructed(every[::-1], 1)} == {row.instance.id: row for row in rows}


def test_items_in_several_languages_give_one_row() -> None:
    every = [
        replace(one, id=f"{language}{number:03}") for number, one in enumerate(instances(30)) for language in (1, 7)
    ]
    rows = constructed(every)
    assert len(rows) == len({source(row.instance) for row in rows}) == 30


def test_data_without_stated_demands_has_no_edits_of_them() -> None:
    bare = [Instance(str(n), "EN", "", "", (Turn("Hello.", (Criterion("It greets."),)),)) for n in range(300)]
    assert Counter(row.edit for row in constructed(bare)) == {"unedited": 150, "E2": 50}
    assert constructed([]) == []


def test_a_lone_keyword_has_nothing_to_be_altered_to() -> None:
    prompt, criteria = 'Include "alpha" and rhyme.', (Criterion('It must include "alpha".'), Criterion("It rhymes."))
    every = [Instance(str(number), "EN", "", "", (Turn(prompt, criteria),)) for number in range(12)]
    assert Counter(row.edit for row in constructed(every)) == {"unedited": 6, "E2": 2, "E3": 2}


def test_sizes() -> None:
    assert SIZES == {"E1": 50, "E2": 50, "E3": 50, "unedited": 150}
