"""How the Space looks: theme, style sheet and the few lines of script it needs. Nothing comes from elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from truebench_hf.report.page import style

# One family per script, those that systems have at hand: Latin and Vietnamese, Cyrillic, Korean, Japanese, Chinese.
FONTS = (
    "system-ui", "Segoe UI", "Roboto", "Noto Sans", "Noto Sans KR", "Noto Sans CJK KR", "Apple SD Gothic Neo",
    "Malgun Gothic", "Noto Sans JP", "Noto Sans CJK JP", "Hiragino Sans", "Yu Gothic", "Noto Sans SC",
    "Noto Sans CJK SC", "PingFang SC", "Microsoft YaHei", "sans-serif",
)  # fmt: skip
_GENERIC = ("system-ui", "sans-serif")
MONO = ("ui-monospace", "SFMono-Regular", "Menlo", "Consolas", "monospace")


# For handlers that only look things up: they take milliseconds, and never wait behind those that run a model.
QUIET: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden", "queue": False}


def font_list() -> str:
    """The fonts as CSS reads them."""
    return ", ".join(name if name in _GENERIC else f'"{name}"' for name in FONTS)


def theme() -> Any:
    """The Gradio theme with fonts of the visitor's own system."""
    import gradio as gr

    return gr.themes.Base(
        primary_hue="blue", secondary_hue="slate", neutral_hue="slate", radius_size="md",
        font=[gr.themes.Font(name) for name in FONTS], font_mono=[gr.themes.Font(name) for name in MONO],
    ).set(  # white on the shade that Gradio takes has a contrast of 3.7 to 1 only
        button_primary_background_fill="*primary_600", button_primary_background_fill_dark="*primary_600",
        button_primary_background_fill_hover="*primary_700", button_primary_background_fill_hover_dark="*primary_700",
    )  # fmt: skip


def css() -> str:
    """The style sheet: that of sections, which a report shows alike, that of the playground, and the Space's own."""
    here = Path(__file__).parent
    own = ("playground/playground.css", "space.css")
    return "".join([style(), *((here / name).read_text("utf-8") for name in own)])


# The address stays in step with what is shown, so that it can be copied from the browser as well. Gradio tells of a
# tab being selected while the page is still being laid out: until the link was followed, the address is left alone.
FOLLOWED = "() => { window.tbFollowed = true; }"
# What else the address says stays, as the theme; but not in a link to pass on what lets one into a private Space.
_ADDRESS = """const asked = new URLSearchParams(location.search);
  ["tab", "run", "id", "with"].forEach(name => asked.delete(name));
  window.tbBoard?.tab("%s", asked);"""
KEEP_TAB = f"""() => {{
  {_ADDRESS}
  asked.set("tab", "%s");
  if (window.tbFollowed) history.replaceState(null, "", "?" + asked);
}}"""
KEEP_VIEW = f"""(run, id, other) => {{
  if (!run) return "";
  {_ADDRESS % "explorer"}
  Object.entries({{ tab: "explorer", run: run, id: id }}).forEach(pair => asked.set(...pair));
  if (other) asked.set("with", other);
  if (window.tbFollowed) history.replaceState(null, "", "?" + asked);
  asked.delete("__sign");
  return new URL("?" + asked, location.href).href;
}}"""
