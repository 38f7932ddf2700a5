"""What the About tab says of the board."""

from __future__ import annotations

import re
from pathlib import Path

from tests.space.sample_runs import many_runs
from truebench_hf.comparing.runs import BoardEntry
from truebench_hf.space import tabs
from truebench_hf.space.board.store import BoardStore, Snapshot
from truebench_hf.types import Score


def _submitted(data: str) -> BoardEntry:
    return BoardEntry("k", "truebench", "m", "submitted", "s", Score(None, 0), {}, {"Data": data})


def test_it_tells_how_many_runs_over_which_data_and_when_they_were_read(tmp_path: Path) -> None:
    told = tabs.held(BoardStore([many_runs(tmp_path, 2, 20)]).snapshot)
    rows = [re.findall("<t[dh][^>]*>(.*?)</t[dh]>", row) for row in re.findall("<tr>(.*?)</tr>", told)]
    assert rows[0] == ["Results", "Published", "Measured", "Submitted"]
    assert ["TRUEBench", "32", "2", "0"] in rows
    assert ["Judges", "50", "0", "0"] in rows
    assert "v0.6.1 (2 results)" in told
    assert " UTC" in told
    assert "No run has been measured here yet." in tabs.held(BoardStore().snapshot)


def test_names_given_by_strangers_are_text_and_few() -> None:
    entries = tuple(_submitted(f"<b>{number}") for number in range(20))
    told = tabs.held(Snapshot(entries, (), True, 0.0, stale="Since 04:00 UTC the data set is out of reach."))
    assert "&lt;b&gt;0 (1 result)" in told
    assert "<b>" not in told
    assert "and 12 more" in told
    assert "not yet" in told
    assert "out of reach" in told


def test_every_paper_can_be_cited() -> None:
    from truebench_hf import __version__

    text = Path(tabs.__file__).with_name("about.md").read_text("utf-8")
    cited = tabs._CITATIONS.read_text("utf-8")
    for paper in ("TRUEBench", "RubricEval", "TICK", "FACTS Grounding", "FlexBench"):
        [line] = [line for line in text.splitlines() if f"**{paper}**" in line]
        address = re.search(r"\]\((https://[^)]+)\)", line)
        assert address, "a link to the paper"
        assert f"url    = {{{address[1]}}}" in cited, "and the same where it is cited"
        assert f"{{{paper}" in cited
    assert cited.count("VERSION") == 1
    assert __version__
    assert cited.count("{") == cited.count("}")


def test_results_and_code_have_addresses_where_they_have_a_home() -> None:
    assert "href" not in tabs.links("", "")
    told = tabs.links("org/results@v2", "org/space")
    assert 'href="https://huggingface.co/datasets/org/results/tree/v2"' in told
    assert 'href="https://huggingface.co/spaces/org/space/tree/main/truebench_hf/prompts"' in told
