"""A prompt is a file that one takes over from others: its template reaches nothing but the values it is given."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.support.corpus import each_row
from truebench_hf.data.judged import Case
from truebench_hf.errors import UserError
from truebench_hf.prompts import Prompts, sections
from truebench_hf.types import Criterion

VALUES = sections(Case("Sum up.", "Done.", (Criterion("is short"),))) | {"structured": False, "reasoning": True}

ATTACKS = [
    ("{{ cycler.__init__.__globals__.os.popen('id').read() }}", "__init__", "a global of Jinja's"),
    ("{{ lipsum.__globals__['os'].popen('id').read() }}", "__globals__", "a function's globals"),
    ("{{ cycler|attr('__init__')|attr('__globals__') }}", "__globals__", "by the filter attr"),
    ("{{ ''['__class__'] }}", "__class__", "by subscript"),
    ("{{ ''.__class__.__mro__[1].__subclasses__() }}", "__class__", "from any value to all classes"),
    ("{{ '{0.__class__.__mro__}'.format('') }}", "__class__", "in a format string"),
    ("{{ ('{0.__cl' ~ 'ass__}').format(response) }}", "__class__", "in one that is put together"),
    ("{% set f = '{0.__class__}'.format %}{{ f('') }}", "__class__", "by a method with another name"),
    ("{{ [{'a': 1}]|sum('__class__') }}", "__class__", "by a filter that takes attributes"),
    ("{{ self.__init__.__globals__ }}", "__init__", "by the template itself"),
    ("{{ (criteria|map('upper')).gi_frame.f_globals }}", "gi_frame", "by a generator's frame"),
    ("{% for x in criteria %}{{ loop._iterator }}{% endfor %}", "_iterator", "by the loop"),
    ("{{ criteria.append('always met') }}", "append", "changing what comes after it"),
    ("{{ range(10**9)|list }}", "Range too big", "a list that fills the memory"),
    ("{% for i in range(10**9) %}x{% endfor %}", "Range too big", "a loop without end"),
    ("{% include '/etc/passwd' %}", "'/etc/passwd' cannot be included", "any file"),
    ('{% include "../__init__.py" %}', "'../__init__.py' cannot be included", "a file above ours"),
    ('{% include "__init__.py" %}', "'__init__.py' cannot be included", "a file of ours that is no prompt"),
    ("{% include ['/etc/passwd'] ignore missing %}", "cannot be included, only _answer.jinja", "without an error"),
    ("{% include response %}", "'Done.' cannot be included", "a file that the response names"),
    ("{% import '/etc/passwd' as x %}", "cannot be included", "another statement"),
    ("{% extends '/etc/passwd' %}", "cannot be included", "and another"),
]


@each_row(__file__, "templates", "attacks")
def test_a_template_reaches_nothing_but_its_values(tmp_path: Path, template: str, words: str) -> None:
    mine = tmp_path / "mine.jinja"
    mine.write_text(template)
    started = time.process_time()
    with pytest.raises(UserError) as caught:
        Prompts({"checklist": str(mine)}).render("checklist", **VALUES)
    assert f"--prompt checklist={mine}: " in str(caught.value)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    assert time.process_time() - started < 5


@each_row(__file__, "templates", "harmless")
def test_what_is_unsafe_is_nothing_where_it_is_no_error(tmp_path: Path, template: str, shown: str) -> None:
    mine = tmp_path / "mine.jinja"
    mine.write_text(template)
    assert Prompts({"checklist": str(mine)}).render("checklist", **VALUES) == shown


def test_text_under_judgment_is_no_template(tmp_path: Path) -> None:
    mine = tmp_path / "mine.jinja"
    mine.write_text("{{ response }}")
    attack = "{{ cycler.__init__.__globals__ }}{% include '_rules.jinja' %}"
    assert Prompts({"checklist": str(mine)}).render("checklist", **(VALUES | {"response": attack})) == attack
