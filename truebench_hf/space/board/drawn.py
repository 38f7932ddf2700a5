"""Charts of one group of comparable results: how models spread over the columns of a view, and their scores by size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from truebench_hf.comparing.runs import BoardEntry
from truebench_hf.comparing.table import Kind, size
from truebench_hf.space.board import words
from truebench_hf.space.board.figures import FEW, Cell, Chart, DrawnPoint, FigureRow, FigureRows, Points
from truebench_hf.space.board.page import score_axis, score_bar


def charts(kind: Kind, entries: Sequence[BoardEntry], views: Sequence[str]) -> list[Chart]:
    """All that can be drawn of a group: views with columns in percent, and sizes where two of them are known."""
    made = [_by_size(kind, entries), *(_spread(kind, entries, view) for view in views)]
    return [chart for chart in made if chart is not None]


def _by_size(kind: Kind, entries: Sequence[BoardEntry]) -> Chart | None:
    known = sorted((parameters, entry.key, entry) for entry in entries if (parameters := size(entry)))
    if len(known) < 2:
        return None
    axis = score_axis(kind, entries)
    rows = tuple(
        FigureRow(words.model(entry.name), (Cell(f"{parameters:g}", parameters), score_bar(kind, entry.overall, axis)))
        for parameters, _, entry in known
        if entry.overall.value is not None
    )
    heads = ("Model", "Size (B)", f"{kind.unit}, {axis.text}")
    return Chart("Score and size, the smallest model first", heads, (FigureRows("", rows),), chance=False)


def _spread(kind: Kind, entries: Sequence[BoardEntry], view: str) -> Chart | None:
    """A line for each column with a dot a model, the best of each named; None where nothing is in percent."""
    columns = [kind.column[kind.scores[header]] for header in kind.groups.get(view, ())]
    rows = []
    for column in columns:
        points = tuple(_points(kind, entries, column.name)) if column.percent else ()
        if points:
            best = max(points, key=lambda point: point.place)
            also = sum(point.place == best.place for point in points) - 1
            leads = f"{best.name} and {also} more" if also else best.name
            rows.append(
                FigureRow(words.column(column.title), (Points(points), Cell(f"{leads} {best.place:.0f}", best.place)))
            )
    heads = (view, "0 to 100, a dot a model", "Best")
    return (
        Chart(f"{view}: every model, the best one named", heads, (FigureRows("", tuple(rows)),), chance=False)
        if rows
        else None
    )


def _points(kind: Kind, entries: Sequence[BoardEntry], column: str) -> Iterator[DrawnPoint]:
    for entry in entries:
        score = entry.scores.get(column)
        if score is not None and score.value is not None:
            value, name = 100 * score.value, words.model(entry.name)
            of = f" ({score.n:,} decided)" if score.n else ""
            yield DrawnPoint(name, round(min(100.0, max(0.0, value)), 1), f"{name}: {value:.1f}{of}", 0 < score.n < FEW)
