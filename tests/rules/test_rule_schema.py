"""The schema of rules, and the way of a rule from a row to a criterion and back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from tests.support.corpus import each_row, table
from tests.support.runs import command_here
from truebench_hf.data.instances import as_row, of_row
from truebench_hf.data.rows import Record
from truebench_hf.data.rules import KINDS, LANGUAGES, rule_of
from truebench_hf.errors import UserError
from truebench_hf.judging.rules.languages import language_code, unload

RULES: list[dict[str, Any]] = table(__file__, "schema")["rules"]


@pytest.mark.parametrize("row", RULES, ids=lambda row: row["kind"])
def test_a_rule_comes_back_from_its_text(row: dict[str, Any]) -> None:
    rule = rule_of(row)
    assert rule_of(rule.text) == rule
    assert rule_of(rule.text).text == rule.text
    assert "\n" not in rule.text
    assert rule_of(dict(reversed(row.items()))).text == rule.text, "the order of fields says nothing"


def test_every_kind_stands_in_the_table_above() -> None:
    assert {row["kind"] for row in RULES} == set(KINDS)


@each_row(__file__, "schema", "refused")
def test_what_is_no_rule_is_refused_with_the_remedy(given: Any, said: str) -> None:
    with pytest.raises(UserError, match=said):
        rule_of(given)


def test_the_languages_are_those_of_the_detector() -> None:
    from lingua import Language

    assert {one.iso_code_639_1.name.lower() for one in Language.all()} == LANGUAGES


def test_the_detector_reads_on_after_its_memory_was_given_back() -> None:
    text = "Das Meer ist groß und weit heute. Es glitzert in der Sonne am Morgen."
    codes = [language_code(text)]
    unload()
    assert [*codes, language_code(text)] == ["de", "de"]


@pytest.mark.parametrize("form", [RULES[0], rule_of(RULES[0]).text])
def test_a_row_gives_its_criterion_a_rule_and_gets_it_back(form: Any) -> None:
    row = {"prompt": "p", "criteria": [{"text": "At most 50 words.", "rule": form}, "Is polite."]}
    made = of_row(Record("x", row))
    first, second = made.turns[0].criteria
    assert (first.rule, second.rule) == (rule_of(RULES[0]).text, None)
    assert of_row(Record("x", as_row(made))).turns == made.turns


def test_a_wrong_rule_names_row_and_field() -> None:
    with pytest.raises(UserError, match=r"line 3, criteria\[0\]: field 'rule' holds no rule: .*did you mean count"):
        of_row(Record("line 3", {"prompt": "p", "criteria": [{"text": "t", "rule": {"kind": "counts"}}]}))
    with pytest.raises(UserError, match=r"an empty list is no rule: leave it out, or give {\"beside\": \[\]}"):
        of_row(Record("line 3", {"prompt": "p", "criteria": [{"text": "t", "rule": []}]}))


def vocabulary() -> str:
    """Return every kind of rule with what it says, an example, and its fields as a line of JSON schema, in Markdown."""
    lines = []
    for kind, model in KINDS.items():
        schema = TypeAdapter(model).json_schema()
        properties = schema.get("properties") or schema["$defs"][model.__name__]["properties"]
        fields = {}
        for name, field in properties.items():
            if name == "kind":
                continue
            # Without its title, without null where it may be left out, and rules by their name.
            fields[name] = {key: value for key, value in field.items() if key != "title" and value is not None}
            for choice in fields[name].pop("anyOf", ()):
                fields[name] |= choice if choice != {"type": "null"} else {}
            if "oneOf" in fields[name].get("items", {}):
                fields[name]["items"] = "a rule"
        doc = " ".join((model.__doc__ or "").split())
        example = json.dumps(next(row for row in RULES if row["kind"] == kind))
        lines.append(f"### {kind}\n\n{doc}\n\n    {example}\n\nFields: `{json.dumps(fields)}`\n")
    return "\n".join(lines)


def test_the_documentation_and_the_command_show_every_kind(capsys: pytest.CaptureFixture[str]) -> None:
    """What `vocabulary` gives stands there: copy it from here where this fails."""
    page = (Path(__file__).parents[2] / "docs" / "rules.md").read_text(encoding="utf-8")
    assert vocabulary().strip() in page
    shown = command_here(capsys, "data", "rules", "--show")
    assert (shown.returncode, shown.stdout.strip()) == (0, vocabulary().strip())
