"""The funnel and its validation as tables for the terminal; rows of the paper are marked as such."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from truebench_hf.benchmarks.rubric_eval.arbitration.validation import PAPER, PAPER_HUMANS
from truebench_hf.metrics.kappa import verbal_band
from truebench_hf.report.sections import Grid as Grid_
from truebench_hf.report.sections import Section

Grid = list[list[object]]


def funnel_table(result: Mapping[str, Any]) -> Grid:
    """Stages as rows, with a last one for the whole."""
    grid: Grid = [["stage", "rubrics in", "exits", "rubrics on", "calls", "tokens in", "tokens out"]]
    for stage in result["funnel"]:
        exits = "\n".join(f"{name} {count}" for name, count in stage["exits"].items())
        counts = [stage[name] for name in ("rubrics_on", "calls", "input_tokens", "output_tokens")]
        grid.append([stage["stage"], stage["rubrics_in"], exits, *counts])
    sums = [sum(stage[name] for stage in result["funnel"]) for name in ("calls", "input_tokens", "output_tokens")]
    kept = sum(result["exits"][name]["n"] for name in ("easy", "hard"))
    grid.append(["all", result["rubrics"], f"labelled {kept}", "", *sums])
    return grid


def validation_tables(found: Mapping[str, Any] | None) -> list[tuple[str, Grid]]:
    """(title, table) of the comparison with trusted labels; none where there was none."""
    if found is None:
        return []
    left_out = (
        f"left out: {found['not_in_run']} not in this run, {found['other_response']} of other responses, "
        f"{found['unanswered']} without a response"
    )
    on_disputed = {name: row for name, row in found["on_disputed"].items() if name != "judges"}
    ways = {"unanimous": found["unanimous"], **on_disputed}
    return [
        (f"Judges ranked on {found['n']} trusted labels ({left_out})", _grid("judge", found["ranking"])),
        (f"Single judges on the {found['disputed']} disputed", _grid("judge", found["on_disputed"]["judges"])),
        ("Ways to label (paper 003, Figure 3): unanimous, and what to do with the disputed", _grid("way", ways, PAPER)),
        ("Labels by exit", _grid("exit", found["by_exit"])),
    ]


def _grid(
    first: str, rows: Mapping[str, Mapping[str, Any] | None], paper: Mapping[str, Sequence[float]] | None = None
) -> Grid:
    """The strict figure stands first: of four judges, ties leave the easy half of the disputed to be right on."""
    header: list[object] = [first, "accuracy %, ties wrong", "of decided %", "kappa of decided", "n", "undecided"]
    grid: Grid = [header + (["paper: accuracy %", "paper: kappa"] if paper else [])]
    for name, row in rows.items():
        if row is None:
            continue
        shares = [_percent(row["accuracy_strict"]), _percent(row["accuracy"]), _plain(row["kappa"])]
        theirs = list(paper.get(name, ("", ""))) if paper else []
        grid.append([name, *shares, row["n"], row["undecided"], *theirs])
    return grid


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.1f}"


def _plain(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def human_table(found: Mapping[str, Any]) -> Grid:
    """Arbitrated labels against people, all and by split and category, and people among themselves.

    The paper's annotators settled all their disagreements; its figure compares with ours once nothing is open.
    """
    grid: Grid = [["rows", "settled", "open", "accuracy %", "open=wrong %", "kappa", "band"]]
    rows = {"all": found, **found["by_stratum"]}
    for name, row in rows.items():
        shown = [_percent(row["accuracy"]), _percent(row["accuracy_open_wrong"]), _plain(row["kappa"])]
        title = f"{name} (upper estimate)" if row["upper_estimate"] else name
        grid.append([title, row["n"], row["n_open"], *shown, row["kappa_band"] or "-"])
    accuracy, kappa = PAPER_HUMANS
    grid.append(["paper 003, section 3.4", 160, 0, f"{accuracy:.1f}", f"{accuracy:.1f}", f"{kappa:.3f}", "substantial"])
    people = found["annotators"]
    band = "" if people["fleiss_kappa"] is None else verbal_band(people["fleiss_kappa"])
    shares = [_percent(people["raw"]), "", _plain(people["fleiss_kappa"]), band]
    grid.append([f"{len(people['names'])} annotators among themselves", "", "", *shares])
    return grid


def sections(result: Mapping[str, Any]) -> list[Section]:
    """The funnel, and the comparison with trusted labels where there was one."""
    grids = [("Funnel", funnel_table(result)), *validation_tables(result["validation"])]
    return [
        Grid_(title, tuple(map(str, rows[0])), tuple(tuple(map(str, r)) for r in rows[1:])) for title, rows in grids
    ]
