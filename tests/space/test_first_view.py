"""The page carries its table in front of Gradio's element: only there, only where it is wanted, and as text."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from truebench_hf.space.first_view import FirstView, render

PAGE = "<body><gradio-app></gradio-app>ü</body>"


def framed_rows(headers: list[str], rows: list[list[Any]]) -> dict[str, Any]:
    styles = [["font-style: italic" if "paper †" in row else ""] * len(row) for row in rows]
    return {"headers": headers, "metadata": {"display_value": [list(map(str, row)) for row in rows], "styling": styles}}


def _get(parts: list[bytes], path: str = "/", query: str = "", method: str = "GET", status: int = 200) -> list[Any]:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        length = str(sum(map(len, parts))).encode()
        headers = [(b"content-type", b"text/html"), (b"Content-Length", length)]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        for number, part in enumerate(parts, 1):
            await send({"type": "http.response.body", "body": part, "more_body": number < len(parts)})

    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": method, "path": path, "query_string": query.encode(), "headers": []}

    def html(asked: dict[str, str]) -> str:
        return "" if asked.get("tab") == "judges" else f"<p>é {sorted(asked.items())}</p>"

    view = FirstView(app, html)
    asyncio.run(view(scope, None, send))
    return sent


def _body(sent: list[Any]) -> str:
    return b"".join(message.get("body", b"") for message in sent[1:]).decode()


def _length(sent: list[Any]) -> int:
    (found,) = (value for name, value in sent[0]["headers"] if name.lower() == b"content-length")
    return int(found)


@pytest.mark.parametrize("cut", [0, 9, len(PAGE.encode()) - 8])  # whole, inside the element's name, inside the ü
def test_the_view_stands_in_front_of_the_app(cut: int) -> None:
    page = PAGE.encode()
    sent = _get([page[:cut], page[cut:]] if cut else [page], query="a=1&a=2&__theme=dark")
    assert _body(sent) == "<body><p>é [('__theme', 'dark'), ('a', '1')]</p><gradio-app></gradio-app>ü</body>"
    assert _length(sent) == len(_body(sent).encode())


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({"query": "tab=judges"}, "another tab was asked for"),
        ({"path": "/config"}, "not the page"),
        ({"status": 404}, "an error"),
    ],
)
def test_all_else_passes_as_it_is(asked: dict[str, Any], why: str) -> None:
    sent = _get([PAGE.encode()], **asked)
    assert _body(sent) == PAGE, why
    assert _length(sent) == len(PAGE.encode()), why


def test_head_tells_no_length_but_that_of_the_page_itself() -> None:
    # The length of a page without the view is not what GET tells; without any, HEAD says nothing wrong.
    names = [name.lower() for name, _ in _get([b""], method="HEAD")[0]["headers"]]
    assert names == [b"content-type"]
    assert _length(_get([PAGE.encode()], path="/config", method="HEAD")) == len(PAGE.encode())


def test_a_page_without_the_element_passes_as_it_is() -> None:
    assert _body(_get([b"<body>", b"</body>"])) == "<body></body>"


def test_names_stay_text_and_published_lines_are_set_apart() -> None:
    hostile = "<script>alert(1)</script>\"'&{{ 7*7 }}"
    table = framed_rows(["Rank", "Model", "Results"], [[1, hostile, "measured"], [2, "o1", "paper †"]])
    html = render(table, head="<h1>T</h1>", tabs=["Leaderboard", "Judges"], label="Pass rate in %")
    assert "<script>alert" not in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;&#34;&#39;&amp;{{ 7*7 }}" in html
    first, second = html.split("<tbody>")[1].split("</tr>")[:2]
    assert "style=" not in first
    assert 'style="font-style: italic' in second
    assert "<h1>T</h1>" in html
    assert "<span>Judges</span>" in html


def test_no_results_at_all() -> None:
    empty = render(framed_rows(["Rank", "Model"], []), head="", tabs=["Leaderboard"], label="")
    assert empty.count("<tr") == 1, "the headers alone"


@pytest.mark.parametrize(
    ("theme", "scheme"), [("dark", "dark"), ("light", "light"), ("", "light dark"), ("red;}</style>", "light dark")]
)
def test_the_theme_of_the_address_or_else_of_the_system(theme: str, scheme: str) -> None:
    html = render(framed_rows(["Rank"], []), head="", tabs=["Leaderboard"], label="", theme=theme)
    assert f"color-scheme: {scheme};" in html
