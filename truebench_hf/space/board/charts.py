"""Charts of the leaderboard as Plotly figures that suit a light and a dark page."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Sequence
from typing import Any

from truebench_hf.space.board.runs import Entry
from truebench_hf.space.board.table import SOURCES, Kind, size

MOST = 5  # models in one radar: more cannot be told apart
_HEAT_ROWS = 30
# Okabe and Ito's palette without its black and yellow: tells models apart for colour-blind eyes on both grounds.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9")
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
_GRID = "rgba(128,128,128,0.3)"
# Light at both ends, so that the dark figures in the cells can be read on either ground.
_HEAT = ((0, "#fbe9c6"), (0.5, "#d6e6f4"), (1, "#5aa9dc"))


def radar(kind: Kind, entries: Sequence[Entry], group: str = "") -> Any:
    """The scores of a group of columns (else the first) of up to `MOST` models; line styles differ as colours do."""
    from plotly import graph_objects as go

    figure, headers = go.Figure(), _headers(kind, group, 0)
    values = [[kind.cell(entry, header) for header in headers] for entry in entries[:MOST]]
    around = [_inert(name).replace(" ", "<br>") for name in headers]  # two lines: narrow pages would cut one off
    names = _names(entries[:MOST])
    for i, row in enumerate(values):
        figure.add_trace(
            go.Scatterpolar(
                r=[*row, *row[:1]], theta=[*around, *around[:1]], name=names[i], mode="lines+markers",
                line={"color": _COLOURS[i], "dash": _DASHES[i], "width": 2}, hovertemplate="%{theta}: %{r:.1f}",
            )
        )  # fmt: skip
    axis = {"range": _range(values), "gridcolor": _GRID, "angle": 90, "tickangle": 90, "nticks": 6}
    polar = {"bgcolor": "rgba(0,0,0,0)", "radialaxis": axis, "angularaxis": {"gridcolor": _GRID}}
    return _plain(figure, 520).update_layout(polar=polar, margin={"l": 85, "r": 85, "t": 50, "b": 20})


def heat_map(kind: Kind, entries: Sequence[Entry], group: str = "") -> Any:
    """Models (rows, the best on top) by the columns of a group (else the last); what is not there stays empty."""
    from plotly import graph_objects as go

    shown, headers = list(entries[:_HEAT_ROWS])[::-1], _headers(kind, group, -1)
    values = [[kind.cell(entry, header) for header in headers] for entry in shown]
    texts = [["" if value is None else f"{value:.0f}" for value in row] for row in values]
    labels, (low, high) = _names(shown), _range(values) or (None, None)
    heat = go.Heatmap(
        z=values, x=[_inert(header) for header in headers], y=list(range(len(shown))), text=texts, texttemplate="%{text}",
        zmin=low, zmax=high, colorscale=_HEAT, textfont={"color": "#1a1a1a"}, xgap=1, ygap=1,
        customdata=[[label] * len(headers) for label in labels], showscale=False,
        hovertemplate="%{customdata}, %{x}: %{z:.1f}<extra></extra>",
    )  # fmt: skip
    figure = _plain(go.Figure(heat), 130 + 24 * max(4, len(shown)))
    axis = {"tickvals": list(range(len(shown))), "ticktext": labels, "automargin": True}
    margin = {"l": 10, "r": 10, "t": 75, "b": 20}  # room for the label that Gradio lays over the corner
    return figure.update_layout(
        xaxis={"side": "top", "fixedrange": True}, yaxis=axis | {"fixedrange": True}, margin=margin
    )


def _headers(kind: Kind, group: str, otherwise: int) -> tuple[str, ...]:
    groups = list(kind.groups.values())
    return kind.groups.get(group) or (groups[otherwise] if groups else ())


def _range(values: Sequence[Sequence[Any]]) -> tuple[float, float] | None:
    """0 to 100 for percent, as far as can be seen; else what the figures need."""
    return (0, 100) if all(0 <= value <= 100 for row in values for value in row if value is not None) else None


def score_by_size(kind: Kind, entries: Sequence[Entry], group: str = "") -> Any:
    """The main score with its interval against the number of parameters, for models whose size is known."""
    from plotly import graph_objects as go

    figure = go.Figure()
    for source, name, symbol, colour in (
        ("measured", "measured here", "circle", _COLOURS[0]),
        ("submitted", "submitted ‡", "square", _COLOURS[2]),
        ("paper", "published in the paper †", "diamond-open", _COLOURS[1]),
    ):
        known = [e for e in entries if e.source == source and size(e) and e.overall.value is not None]
        if not known:
            continue
        factor = kind.factor(kind.main)
        spans = [e.overall.ci95 or (e.overall.value or 0.0,) * 2 for e in known]
        y = [factor * (e.overall.value or 0.0) for e in known]
        bars = {
            "array": [factor * high - v for v, (_, high) in zip(y, spans, strict=True)],
            "arrayminus": [v - factor * low for v, (low, _) in zip(y, spans, strict=True)],
            "thickness": 1,
        }
        figure.add_trace(
            go.Scatter(
                x=[size(e) for e in known], y=y, error_y=bars, mode="markers", name=name,
                text=_names(known, most=100), marker={"symbol": symbol, "size": 10, "color": colour},
                hovertemplate="%{text}<br>%{x} B: %{y:.1f}<extra></extra>",
            )
        )  # fmt: skip
    ticks = [0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000]
    return _plain(figure, 480).update_layout(
        xaxis={"type": "log", "title": "Parameters in billions (total)", "tickvals": ticks, "gridcolor": _GRID},
        yaxis={"title": _inert(kind.unit), "rangemode": "tozero", "gridcolor": _GRID, "automargin": True},
        margin={"l": 60, "r": 15, "t": 50, "b": 90},
        legend={"orientation": "h", "y": -0.2},
        showlegend=True,
    )


def mark(entry: Entry) -> str:
    """The sign that sets an entry apart that was not measured here, with a space before it; else nothing."""
    return "".join(SOURCES[entry.source].partition(" ")[1:])


def _names(entries: Sequence[Entry], most: int = 28) -> list[str]:
    """What the entries are called, shortened to so many characters; facts where two would read the same."""
    cut = Counter(_short(name, most) for name in {entry.name for entry in entries})
    models = [_short(e.name, most if cut[_short(e.name, most)] == 1 else len(e.name)) for e in entries]
    names = [f"{model}{mark(entry)}" for model, entry in zip(models, entries, strict=True)]
    for fact in dict.fromkeys(fact for entry in entries for fact in entry.facts):
        count = Counter(names)
        pairs = zip(names, (entry.facts.get(fact, "") for entry in entries), strict=True)
        names = [f"{name}, {_short(said, most)}" if count[name] > 1 and said else name for name, said in pairs]
    return names


def _short(name: str, most: int) -> str:
    return _inert(name if len(name) <= most else f"{name[: most - 1]}…")


def _inert(name: str) -> str:
    # Plotly reads links and line breaks out of texts; a model's name is text.
    return html.escape(name, quote=False)


def _plain(figure: Any, height: int) -> Any:
    # No ground of its own: the page's shows through. Text colour comes from the page's style sheet.
    return figure.update_layout(
        height=height, paper_bgcolor="rgba(0,0,0,0)", plot_bgcolor="rgba(0,0,0,0)", template="none",
        font={"family": "system-ui, sans-serif", "size": 13, "color": "#808080"}, dragmode=False,
        margin={"l": 10, "r": 10, "t": 40, "b": 40}, legend={"orientation": "h", "y": -0.15}, autosize=True,
    )  # fmt: skip
