"""How the Space looks: theme, style sheet, a few lines of script, templates. Nothing comes from elsewhere.

What templates print is text, whatever it holds, but for numbers and markup of ours.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from truebench_hf.report.page import inert, spoken, style
from truebench_hf.space.board.figures import Bar

# One family per script, those that systems have at hand: Latin and Vietnamese, Cyrillic, Korean, Japanese, Chinese.
FONTS = (
    "system-ui", "Segoe UI", "Roboto", "Noto Sans", "Noto Sans KR", "Noto Sans CJK KR", "Apple SD Gothic Neo",
    "Malgun Gothic", "Noto Sans JP", "Noto Sans CJK JP", "Hiragino Sans", "Yu Gothic", "Noto Sans SC",
    "Noto Sans CJK SC", "PingFang SC", "Microsoft YaHei", "sans-serif",
)  # fmt: skip
_GENERIC = ("system-ui", "sans-serif")
MONO = ("ui-monospace", "SFMono-Regular", "Menlo", "Consolas", "monospace")
FONT_LIST = ", ".join(name if name in _GENERIC else f'"{name}"' for name in FONTS)  # as CSS reads them

# For handlers that only look things up: they take milliseconds, and never wait behind those that run a model.
QUIET: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden", "queue": False}


def theme() -> Any:
    """The Gradio theme with fonts of the visitor's own system."""
    import gradio as gr

    return gr.themes.Base(
        primary_hue="blue", secondary_hue="slate", neutral_hue="slate", radius_size="md",
        font=[gr.themes.Font(name) for name in FONTS], font_mono=[gr.themes.Font(name) for name in MONO],
    ).set(  # what Gradio takes has a contrast of 3.7 and 2.6 to 1 only
        body_text_color_subdued="*neutral_500",
        button_primary_background_fill="*primary_600", button_primary_background_fill_dark="*primary_600",
        button_primary_background_fill_hover="*primary_700", button_primary_background_fill_hover_dark="*primary_700",
    )  # fmt: skip


def css() -> str:
    """The style sheet: that of sections, which a report shows alike, that of the playground, and the Space's own."""
    here = Path(__file__).parent
    own = ("playground.css", "space.css")
    return "".join([style(), *((here / name).read_text("utf-8") for name in own)])


# Gradio tells of a tab being selected while the page is still being laid out: until the link was followed, the address is
# left alone.
FOLLOWED = "() => { window.tbFollowed = true; window.tbViews?.followed(); }"
CHOSEN = "() => window.tbViews?.chosen('%s')"


def filled(template: str, **values: Any) -> str:
    """A template by its file's name, filled."""
    return _TEMPLATES.get_template(template).render(**values)


def macro(template: str, name: str, *values: Any) -> str:
    """One of a template's macros, filled."""
    return str(getattr(_TEMPLATES.get_template(template).module, name)(*values))


_TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
    lstrip_blocks=True, finalize=lambda value: value if isinstance(value, int | float | Markup) else inert(value),
)  # fmt: skip
_TEMPLATES.globals["spoken"] = spoken
_TEMPLATES.tests |= {"bar": lambda cell: isinstance(cell, Bar), "points": lambda cell: isinstance(cell, tuple)}
