"""Ways in which an answer can be malformed, one by one: HTTP, its length, its encoding, its JSON."""

from __future__ import annotations

import gzip
import json
import zlib

from tests.support.bad_server import Bad, reply

_JSON = "Content-Type: application/json\r\n"
_ANSWER = {"choices": [{"message": {"role": "assistant", "content": "WRONG"}, "finish_reason": "stop"}]}
_BODY = json.dumps(_ANSWER).encode()


def _head(headers: str, status: str = "HTTP/1.1 200 OK") -> bytes:
    return f"{status}\r\n{_JSON}{headers}\r\n".encode("latin-1")


def _sized(body: bytes, headers: str = "", status: str = "HTTP/1.1 200 OK") -> bytes:
    return _head(f"Content-Length: {len(body)}\r\n{headers}", status) + body


def _deep(depth: int, closed: bool = True) -> bytes:
    return b'{"choices": ' + b"[" * depth + b"]" * (depth * closed) + b"}" * closed


def redirect(where: str, status: int = 307) -> Bad:
    """An answer that sends the call on."""
    return Bad(f"HTTP/1.1 {status} X\r\nLocation: {where}\r\nContent-Length: 0\r\n\r\n".encode(), "open")


_GZIP = gzip.compress(_BODY)

BAD: dict[str, Bad] = {
    # HTTP itself
    "nothing at all": Bad(b""),
    "a reset at once": Bad(b"", "reset"),
    "a status line that is none": Bad(b"what is this\r\n\r\n"),
    "a status that is no number": Bad(b"HTTP/1.1 abc OK\r\n\r\n"),
    "a status of four digits": Bad(b"HTTP/1.1 2000 OK\r\nContent-Length: 0\r\n\r\n"),
    "an unknown version": Bad(b"HTTP/9.9 200 OK\r\nContent-Length: 0\r\n\r\n"),
    "HTTP/0.9, a bare page": Bad(b"<html><body>It works!</body></html>\n"),
    "another protocol": Bad(b"SSH-2.0-OpenSSH_9.6\r\n"),
    "binary noise": Bad(bytes(range(256)) * 4),
    "TLS where none was asked for": Bad(b"\x15\x03\x01\x00\x02\x02\x46"),
    "half a status line": Bad(b"HTTP/1.1 2"),
    "half a header": Bad(b"HTTP/1.1 200 OK\r\nContent-Ty"),
    "a header over 8 KB": Bad(_sized(_BODY, f"X-Long: {'a' * 9000}\r\n")),
    "a header over 1 MB": Bad(_sized(_BODY, f"X-Long: {'a' * 2**20}\r\n")),
    "a thousand headers": Bad(_sized(_BODY, "".join(f"X-{n}: {n}\r\n" for n in range(1000)))),
    "a header without a colon": Bad(_head("no colon here\r\nContent-Length: 2\r\n") + b"{}"),
    "a header with a NUL": Bad(_head("X-Nul: a\0b\r\nContent-Length: 2\r\n") + b"{}"),
    "only an informational answer": Bad(b"HTTP/1.1 100 Continue\r\n\r\n"),
    "protocols switched": Bad(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"),
    "status 204, no content": Bad(b"HTTP/1.1 204 No Content\r\n\r\n"),
    # Where the body ends
    "a body longer than its length": Bad(_head("Content-Length: 10\r\n") + _BODY + b" " * 100),
    "a whole answer and more behind it": Bad(_sized(b'{"choices": []}') + b"HTTP/1.1 garbage\r\n\r\n", "open"),
    "a body shorter than its length": Bad(_head("Content-Length: 100000\r\n") + _BODY),
    "a reset in the middle of the body": Bad(_head("Content-Length: 100000\r\n") + _BODY, "reset"),
    "a length that is no number": Bad(_head("Content-Length: many\r\n") + _BODY),
    "a length below zero": Bad(_head("Content-Length: -5\r\n") + _BODY),
    "two lengths that differ": Bad(_head("Content-Length: 5\r\nContent-Length: 7\r\n") + _BODY),
    "a length and chunks": Bad(_head("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n") + b"5\r\n[1,2,\r\n0\r\n\r\n"),
    "a chunk size that is no number": Bad(_head("Transfer-Encoding: chunked\r\n") + b"xyz\r\n{}\r\n0\r\n\r\n"),
    "a chunk size of 20 digits": Bad(_head("Transfer-Encoding: chunked\r\n") + b"F" * 20 + b"\r\n{}\r\n0\r\n\r\n"),
    "a chunk longer than its size": Bad(_head("Transfer-Encoding: chunked\r\n") + b"2\r\n{}}}}}\r\n0\r\n\r\n"),
    "chunks without an end": Bad(_head("Transfer-Encoding: chunked\r\n") + b"5\r\n[1,2,\r\n"),
    # How it is encoded
    "gzip that is none": Bad(_sized(b"this is no gzip", "Content-Encoding: gzip\r\n")),
    "gzip cut short": Bad(_sized(_GZIP[: len(_GZIP) // 2], "Content-Encoding: gzip\r\n")),
    "gzip with a wrong checksum": Bad(_sized(_GZIP[:-8] + b"\0" * 8, "Content-Encoding: gzip\r\n")),
    "deflate that is none": Bad(_sized(b"\xff\xff\xff", "Content-Encoding: deflate\r\n")),
    "deflate cut short": Bad(_sized(zlib.compress(_BODY)[:20], "Content-Encoding: deflate\r\n")),
    "brotli that is none": Bad(_sized(b"\xff\xff\xff", "Content-Encoding: br\r\n")),
    "zstandard that is none": Bad(_sized(b"\xff\xff\xff", "Content-Encoding: zstd\r\n")),
    "an encoding that nobody knows": Bad(_sized(b"\x01\x02\x03", "Content-Encoding: rot13\r\n")),
    "gzip ten times over": Bad(_sized(_GZIP, "Content-Encoding: " + ", ".join(["gzip"] * 10) + "\r\n")),
    "bytes that are no UTF-8": Bad(_sized(b'{"choices": [{"message": {"content": "\xff\xfe\xfa"}}]}')),
    "UTF-16 with a mark": Bad(_sized('{"choices": []}'.encode("utf-16"))),
    "a charset that nobody knows": Bad(b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=klingon\r\n\r\nhello"),
    # What is in it
    "no body": Bad(_sized(b"")),
    "only a space": Bad(_sized(b" ")),
    "a page of HTML": Bad(_sized(b"<html>502</html>").replace(b"application/json", b"text/html")),
    "JSON nested 900 deep": Bad(_sized(_deep(900))),
    "JSON nested 1,000 deep": Bad(_sized(_deep(1_000))),
    "JSON nested 100,000 deep": Bad(_sized(_deep(100_000))),
    "objects nested 100,000 deep": Bad(_sized(b'{"a": ' * 100_000 + b"1" + b"}" * 100_000)),
    "nesting without an end": Bad(_sized(_deep(50_000, closed=False))),
    "an error nested 900 deep": Bad(_sized(b'{"error": ' + b"[" * 900 + b"1" + b"]" * 900 + b"}")),
    "a number of 5,000 digits": Bad(_sized(b'{"choices": [' + b"9" * 5000 + b"]}")),
    "JSON with something behind it": Bad(_sized(_BODY + b" and more")),
    "a bare number": Bad(_sized(b"42")),
    "a bare text": Bad(_sized(b'"hello"')),
    "null": Bad(_sized(b"null")),
    "no choices": Bad(reply(200, {"choices": []})),
    "a message that is no object": Bad(reply(200, {"choices": [{"message": "text"}]})),
    "a message that is null": Bad(reply(200, {"choices": [{"message": None, "finish_reason": "stop"}]})),
    "an answer broken off": Bad(reply(200, {"choices": [{"message": {"content": "The Rhi"}, "finish_reason": "error"}]})),
    "an error with status 200": Bad(reply(200, {"error": {"message": "upstream failed"}})),
    "an error beside what is left of an answer": Bad(
        reply(200, {"error": "upstream failed", "choices": [{"message": {"content": "The Rhi"}}]})
    ),
    # Errors that are malformed themselves
    "an error 500 nested 100,000 deep": Bad(_sized(_deep(100_000), status="HTTP/1.1 500 X")),
    "an error 500 with a message nested 900 deep": Bad(
        _sized(b'{"error": {"message": ' + b"[" * 900 + b"1" + b"]" * 900 + b"}}", status="HTTP/1.1 500 X")
    ),
    "an error 500 in broken gzip": Bad(_sized(b"no gzip", "Content-Encoding: gzip\r\n", "HTTP/1.1 500 X")),
    "an error 500 cut short": Bad(_head("Content-Length: 100000\r\n", "HTTP/1.1 500 X") + b"half"),
    "a status that nobody knows": Bad(reply(599, {"error": "?"})),
}  # fmt: skip
