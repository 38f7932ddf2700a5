"""The work list of `refine-criteria` as a form: what is filled in stays, and comes back as the same table."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest

from truebench_hf.benchmarks.truebench.refinement.worklist import COLUMNS, Row, cells
from truebench_hf.benchmarks.truebench.refinement.worklist import page as form

pytestmark = pytest.mark.slow


def test_the_form_gives_the_work_list_back(browser: Any, tmp_path: Path) -> None:
    page = browser.new_page()
    row = Row("ra1", "i", "m", "people FAIL, the judge passes", 'a "b",\n=c', "1. x", "", ("unclear", "keep"), None, 1)
    file = tmp_path / "worklist.html"
    file.write_text(form([row, row], 2), encoding="utf-8")
    page.goto(file.as_uri())
    page.select_option("select[data-row='0']", "unclear")
    page.fill("textarea[data-row='0'][data-name='new text']", '=It is\n"polite".')
    page.reload()
    with page.expect_download() as found:
        page.click("#csv")
    text = Path(found.value.path()).read_bytes().decode("utf-8-sig")
    first, second = csv.DictReader(io.StringIO(text, newline=""))
    assert tuple(first) == COLUMNS
    assert first == cells(row, 2) | {"kind": "unclear", "new text": '\'=It is\n"polite".'}
    assert second == cells(row, 2)
