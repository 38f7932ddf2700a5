"""How the Space looks: its templates, and what Gradio's pages need to look alike. Nothing comes from elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from markupsafe import Markup

from truebench_hf.report.page import fragment, style, templates
from truebench_hf.space.board.queries import address

TABS = {
    "leaderboard": "Leaderboard", "judges": "Trust in judges", "explorer": "Explorer", "playground": "Playground",
    "submit": "Submit", "about": "About",
}  # fmt: skip
# What stands below the title of the pages that are not about the results that the title names.
SUBTITLES = {
    "explorer": "Every answer with its verdicts, what went wrong first.",
    "playground": "Have an answer written, held against a checklist or a document, and improved.",
    "submit": "Hand in the judgments of a run.",
}
# For handlers that only look things up: they take milliseconds, and never wait behind those that run a model.
QUIET: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden", "queue": False}
_HERE = Path(__file__).parent
_TEMPLATES = templates(_HERE)
_GLOBALS = {"address": address, "fragment": lambda section: Markup(fragment(section))}


def filled(template: str, **values: Any) -> str:
    """Return a template, filled. What it prints is text, whatever it holds, or markup of ours."""
    return _TEMPLATES.get_template(f"{template}.html.jinja", globals=_GLOBALS).render(**values)


def macro(template: str, name: str, *values: Any) -> str:
    """Return one of a template's macros, filled."""
    return str(getattr(_TEMPLATES.get_template(f"{template}.html.jinja", globals=_GLOBALS).module, name)(*values))


def read(name: str) -> str:
    """Return a file of this folder."""
    return (_HERE / name).read_text("utf-8")


def gradio_theme() -> Any:
    """Return the Gradio theme with fonts of the visitor's own system."""
    import gradio as gr

    mono = ("ui-monospace", "Menlo", "Consolas", "monospace")
    return gr.themes.Base(
        primary_hue="blue", secondary_hue="slate", neutral_hue="slate", radius_size="md",
        font=[gr.themes.Font(name) for name in ("system-ui", "sans-serif")],
        font_mono=[gr.themes.Font(name) for name in mono],
    ).set(  # what Gradio takes has a contrast of 3.7 and 2.6 to 1 only
        body_text_color_subdued="*neutral_500",
        button_primary_background_fill="*primary_600", button_primary_background_fill_dark="*primary_600",
        button_primary_background_fill_hover="*primary_700", button_primary_background_fill_hover_dark="*primary_700",
    )  # fmt: skip


def gradio_css() -> str:
    """Return the style sheet of Gradio's pages: that of sections, which a report shows alike, and their own."""
    return style() + read("gradio.css")
