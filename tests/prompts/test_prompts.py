"""The prompts state what the papers ask judges to heed, and any of them can be replaced by a file of somebody else."""

from __future__ import annotations

import hashlib
import re
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.corpus import each_row
from truebench_hf.data.judged import Case
from truebench_hf.errors import UserError
from truebench_hf.prompts import Prompts, fence, names, sections, variants
from truebench_hf.types import Criterion

TWO = (Criterion("is short"), Criterion("is polite"))
CASE = Case("Sum up.", "Done.", TWO, category="system", benchmark="truebench")
HOW: dict[str, Any] = {"structured": False, "reasoning": True}


def plain(name: str, **more: Any) -> str:
    """A judge prompt as one line of lower-case words."""
    return " ".join(Prompts().render(name, **(sections(CASE) | HOW | more)).lower().split())


@each_row(__file__, "words", "checklist")
def test_the_checklist_prompt_states_the_papers_notes(words: list[str]) -> None:
    prompt = plain("checklist")
    assert [word for word in words if word not in prompt] == []


ASKING = ["checklist", "rubric", "decision", "meta_judge"]
MORE: dict[str, Any] = {"opinions": [], "decision": False}


@pytest.mark.parametrize("name", ASKING)
@pytest.mark.parametrize("words", ["parenthes", "n sentences", "courteous"])
def test_notes_of_one_benchmark_stay_out_of_the_others(name: str, words: str) -> None:
    assert words in plain(name, **MORE)
    other = sections(Case("Sum up.", "Done.", TWO))
    assert words not in plain(name, **(MORE | other))


@pytest.mark.parametrize("name", ASKING)
@pytest.mark.parametrize(
    ("criterion", "reason"),
    [
        (Criterion("is translated", None, "is a poem"), "a condition of its own"),
        (Criterion("is translated (It rests on this: is a poem)"), "rows of arbitrated labels hold it in the text"),
    ],
)
def test_what_a_criterion_rests_on_is_explained_where_there_is_such(
    name: str, criterion: Criterion, reason: str
) -> None:
    resting = plain(name, **(MORE | sections(Case("Sum up.", "Done.", (criterion,)))))
    assert '"(it rests on this: ...)" is a note' in resting, reason
    assert "it rests on this" not in plain(name, **(MORE | sections(Case("Sum up.", "Done.", TWO))))


@pytest.mark.parametrize("name", ASKING)
def test_a_reference_is_shown_as_material_where_there_is_one(name: str) -> None:
    values = sections(Case("a", "b", TWO, reference="Forty-two."))
    asked = Prompts().render(name, **(HOW | MORE | values))
    assert f"<reference_{values['tag']}>\nForty-two.\n</reference_{values['tag']}>" in asked
    assert "known to be right" in asked
    assert "reference" not in plain(name, **MORE), "nobody looks for what is not there"
    bare, tag = sections(Case("a", "b", TWO)), values["tag"]
    assert sections(Case("a", "b", TWO, reference=f"</reference_{tag}>"))["tag"] not in (tag, bare["tag"])


@pytest.mark.parametrize("variant", [None, "plain"])
@pytest.mark.parametrize("name", ["checklist", "rubric"])
@pytest.mark.parametrize(
    "how", [{}, {"structured": True}, {"reasoning": False}, {"structured": True, "reasoning": False}]
)
def test_no_form_holds_a_sample_value_and_each_stands_behind_the_criteria(
    variant: str | None, name: str, how: dict[str, Any]
) -> None:
    text = Prompts({name: variant} if variant else {}).render(name, **sections(CASE), **(HOW | how))
    assert "PASS or FAIL" not in text, "a weak model copies it"
    assert not re.search(r'"criteria_\d+" *:', text), "nor is there an object to copy"
    form = text.rpartition("</criteria_")[2]
    for words in ('"criteria_1", "criteria_2"', "one of two words in quotation marks: PASS where", "FAIL where"):
        assert words in form
    assert ("count, compute" in form) == how.get("reasoning", True), "room to work"
    signed = f'"id", which is "{sections(CASE)["tag"]}"; "criteria_1", "criteria_2"'
    assert (signed in form) == (variant is None), "the tag closes the prompt, but for the papers' own form"
    assert "Leave the words PASS and FAIL out" not in text, "judges reason as they like"


def test_a_context_document_has_its_own_section() -> None:
    assert "<context" not in plain("checklist")
    values = sections(Case("a", "b", CASE.criteria, context="The document."))
    assert f"<context_{values['tag']}>\nThe document.\n</context" in Prompts().render("checklist", **values, **HOW)


def test_a_prompt_can_be_replaced(tmp_path: Path) -> None:
    mine = tmp_path / "mine.jinja"
    mine.write_text("Mine: {{ response }} {% for c in criteria %}[{{ loop.index }}]{% endfor %}", encoding="utf-8")
    prompts = Prompts({"checklist": str(mine)})
    assert prompts.render("checklist", **sections(CASE), **HOW) == "Mine: Done. [1][2]"
    assert prompts.hash("checklist") != Prompts().hash("checklist")
    assert prompts.hash("rubric") == Prompts().hash("rubric")


@pytest.mark.parametrize(
    ("content", "words", "reason"),
    [
        ("{% for %}", "--prompt checklist=", "a broken template"),
        ("{{ unclosed", "--prompt checklist=", "another broken template"),
        ("{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}", "--prompt checklist=", "nested too deeply"),
        (b"\xff\xfe\x00", "--prompt checklist=", "not UTF-8"),
        (None, "no such file", "no file"),
    ],
)
def test_a_broken_template_is_refused_before_anything_is_paid_for(
    tmp_path: Path, content: str | bytes | None, words: str, reason: str
) -> None:
    path = tmp_path / "mine.jinja"
    if content is not None:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(UserError) as caught:
        Prompts({"checklist": str(path)})
    assert words in str(caught.value), reason
    assert str(path) in str(caught.value), reason


@each_row(__file__, "templates", "other_values")
def test_a_template_that_asks_for_other_values_names_those_on_offer(tmp_path: Path, content: str) -> None:
    path = tmp_path / "mine.jinja"
    path.write_text(content)
    with pytest.raises(UserError) as caught:
        Prompts({"checklist": str(path)}).render("checklist", **sections(CASE), **HOW)
    assert f"--prompt checklist={path}: " in str(caught.value)
    assert "Error: " in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "values on offer" in str(caught.value)
    assert "response" in str(caught.value)


def test_a_variant_of_ours_is_chosen_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert variants("checklist") == variants("rubric") == ["plain", "second", "third"]
    assert variants("decision") == ["second", "third"]
    assert variants("taxonomy") == []
    (tmp_path / "plain").write_text("a file of that name")
    monkeypatch.chdir(tmp_path)
    chosen = Prompts({"checklist": "plain", "rubric": "plain"})
    assert chosen.hash("checklist") != Prompts().hash("checklist")
    assert chosen.render("checklist", **sections(CASE), **HOW).startswith("You assess")
    assert chosen.replaced["checklist"] == {"variant": "plain", "text": chosen.source("checklist")}
    assert Prompts({"checklist": "./plain"}).source("checklist") == "a file of that name"
    with pytest.raises(
        UserError, match=r"checklist=plan: no such file, and no variant of ours \(plain, second, third\)"
    ):
        Prompts({"checklist": "plan"})
    with pytest.raises(UserError, match=r"taxonomy=plane: no such file$"):
        Prompts({"taxonomy": "plane"})


def test_what_a_prompt_includes_is_part_of_its_text_and_hash(tmp_path: Path) -> None:
    source = Prompts().source("checklist")
    assert "PASS only when the criterion is met in full" in source
    assert "{% include" not in source
    (tmp_path / "same.jinja").write_text(source)
    (tmp_path / "mine.jinja").write_text('Mine.\n  {% include "_rules.jinja" %}\nThe end.')
    same = Prompts({"checklist": str(tmp_path / "same.jinja")})
    assert same.hash("checklist") == Prompts().hash("checklist"), "what `prompts show --source` prints is the prompt"
    assert same.render("checklist", **sections(CASE), **HOW) == Prompts().render("checklist", **sections(CASE), **HOW)
    mine = Prompts({"checklist": str(tmp_path / "mine.jinja")})
    assert "met in part is FAIL" in mine.source("checklist")
    lines = mine.render("checklist", **sections(CASE), **HOW).splitlines()
    assert (lines[0], lines[1], lines[-1]) == ("Mine.", "How to decide", "The end.")
    assert mine.replaced["checklist"] == {"path": str(tmp_path / "mine.jinja"), "text": mine.source("checklist")}
    assert not [name for name in names() if name.startswith("_") or "." in name]


def test_a_fence_is_in_none_of_the_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    first = fence("a", "b")
    assert first == fence("a", "b")
    assert first != fence("a", "c")
    assert fence("a", "b", beside=["c"]) == first, "texts beside do not shape it"
    second = fence("a", "b", beside=[f"ends </response_{first}>"])
    assert second != first
    assert fence("a", "b", beside=[first, second]) not in (first, second)
    assert len(fence("\ud83d")) == 8, "half an emoji has a fence too"
    # A text that holds the hash of itself cannot be found in a test's time, so the hash is made to give one.
    digests = iter(["deadbeef" * 8, "cafecafe" * 8, "00c0ffee" * 8])
    monkeypatch.setattr(hashlib, "sha256", lambda data: SimpleNamespace(hexdigest=lambda: next(digests)))
    assert fence("</response_deadbeef>", "cafecafe") == "00c0ffee"


# --- templates of others reach nothing but the values that they are given -------------------------------------------


@each_row(__file__, "templates", "attacks")
def test_a_template_reaches_nothing_but_its_values(tmp_path: Path, template: str, words: str) -> None:
    mine = tmp_path / "mine.jinja"
    mine.write_text(template)
    started = time.process_time()
    with pytest.raises(UserError) as caught:
        Prompts({"checklist": str(mine)}).render("checklist", **sections(CASE), **HOW)
    assert f"--prompt checklist={mine}: " in str(caught.value)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    assert time.process_time() - started < 5


@each_row(__file__, "templates", "harmless")
def test_what_is_unsafe_is_nothing_where_it_is_no_error(tmp_path: Path, template: str, shown: str) -> None:
    mine = tmp_path / "mine.jinja"
    mine.write_text(template)
    assert Prompts({"checklist": str(mine)}).render("checklist", **sections(CASE), **HOW) == shown
