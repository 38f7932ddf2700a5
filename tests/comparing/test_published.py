"""The shipped tables of the TRUEBench paper agree with each other, and say what its section 4.3 says of them."""

from __future__ import annotations

from typing import Any

import pytest

from truebench_hf.benchmarks.truebench.data import CATEGORIES, LANGUAGES
from truebench_hf.comparing.leaderboard import leaderboard
from truebench_hf.report.table import paper_rows

COUNTS = {row["Category"]: row for row in paper_rows("truebench", "truebench_table4")}
BY_CATEGORY = paper_rows("truebench", "truebench_table5")
BY_LANGUAGE = paper_rows("truebench", "truebench_table6")


def weighted(row: dict[str, Any], sizes: dict[str, int]) -> float:
    return sum(row[name] * size for name, size in sizes.items()) / sum(sizes.values())


def gaps(rows: list[dict[str, Any]], sizes: dict[str, int]) -> dict[str, float]:
    return {row["Model"]: abs(weighted(row, sizes) - row["Overall"]) for row in rows}


def test_overall_follows_from_the_categories() -> None:
    found = gaps(BY_CATEGORY, {name: COUNTS[name]["Total Count"] for name in CATEGORIES})
    assert (len(found), sum(COUNTS[name]["Total Count"] for name in CATEGORIES)) == (32, 1329)
    assert max(found.values()) == pytest.approx(0.0072, abs=0.00005)


def test_overall_follows_from_the_languages_but_for_one_misprint() -> None:
    sizes = {name: COUNTS["Total"][name] for name in LANGUAGES}
    found = gaps(BY_LANGUAGE, sizes)
    assert {name for name, gap in found.items() if gap > 0.006} == {"Llama4-Maverick"}
    row = next(row for row in BY_LANGUAGE if row["Model"] == "Llama4-Maverick")
    assert (round(weighted(row, sizes), 2), row["Overall"]) == (55.44, 52.45)


def test_o1_leads_nine_languages() -> None:
    best = {name: max(row[name] for row in BY_LANGUAGE) for name in LANGUAGES}
    o1 = next(row for row in BY_LANGUAGE if row["Model"] == "o1")
    assert sum(o1[name] == best[name] for name in LANGUAGES) == 9


def test_french_and_italian_are_among_the_top_five_in_all_rows_but_one() -> None:
    def among(row: dict[str, Any], name: str) -> bool:
        return sum(row[other] > row[name] for other in LANGUAGES) < 5

    assert sum(among(row, "FR") and among(row, "IT") for row in BY_LANGUAGE) == 31
    assert len(BY_LANGUAGE) == 32


def test_published_results_are_ranked_by_their_totals_alone() -> None:
    found = leaderboard([], published=True)
    ranks = {entry.name: (entry.rank, entry.last) for entry in found.entries}
    assert (len(ranks), ranks["o1"], ranks["Gemma-3-1B-it"]) == (32, (1, 1), (32, 32))
    # 59.44 and 59.22 of 1,329: Newcombe's interval of their difference is -3.5 to 3.9.
    assert ranks["Claude-3.5-Sonnet (2024-10-22)"] == ranks["Claude-3.7-Sonnet-Thinking"] == (2, 7)
    assert all(entry.approximate for entry in found.entries)
    assert {entry.name for entry in found.entries if entry.facts["Self-judged"] == "yes"} == {"o1", "GPT-4o-2024-08-06"}
