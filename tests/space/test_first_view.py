"""The page carries its table in front of Gradio's element: only there, only where it is wanted, and as text."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from truebench_hf.space.serving import FirstView, preview, render

PAGE = "<body><gradio-app></gradio-app>ü</body>"


def _get(
    parts: list[bytes],
    path: str = "/",
    query: str = "",
    method: str = "GET",
    status: int = 200,
    head: str = "",
) -> list[Any]:
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

    view = FirstView(app, html, head)
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


def test_a_link_to_the_page_shows_our_title_and_not_gradios() -> None:
    theirs = (
        '<meta property="og:title" content="Gradio" />\n<meta name="twitter:card" content="x" />'
        '<meta\n  property="og:image"\n  content="https://example.org/x.jpg"\n/>'
    )
    page = f'<head><meta name="viewport" content="w">{theirs}</head>{PAGE}'
    body = _body(_get([page.encode()], head=preview('A "title"', "<b>")))
    assert "Gradio" not in body
    assert "example.org" not in body
    assert '<meta name="viewport" content="w">' in body
    assert '<meta property="og:title" content="A &#34;title&#34;">' in body
    assert '<meta name="description" content="&lt;b&gt;">' in body
    assert body.index("og:title") < body.index("</head>")


def _rendered(board: str = "<p>board</p>", theme: str = "") -> str:
    return render(
        board, part=7, head="<h1>T</h1>", tabs=["Leaderboard", "Judges"], style="s", script="t", fonts="f", theme=theme
    )


def test_another_tab_gets_the_script_alone() -> None:
    assert "<h1>T</h1>" in _rendered()
    assert "<span>Judges</span>" in _rendered()
    assert "first-view" not in _rendered("").replace("#first-view", "")
    assert "<script>t</script>" in _rendered("")


@pytest.mark.parametrize(
    ("theme", "scheme"), [("dark", "dark"), ("light", "light"), ("", "light dark"), ("red;}</style>", "light dark")]
)
def test_the_theme_of_the_address_or_else_of_the_system(theme: str, scheme: str) -> None:
    assert f"color-scheme: {scheme};" in _rendered(theme=theme)
