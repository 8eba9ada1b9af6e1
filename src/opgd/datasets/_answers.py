"""Bounds on the answers of a server: size, time, encoding and redirects."""

import io
import threading
import time
import urllib.error
import urllib.request
import urllib.response
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from opgd.datasets._tables import MAX_TEXT_SIZE

MAX_SECONDS = 120.0
"""Maximum time of one answer, since a timeout of a socket allows a byte now and then."""
CHUNK = 2**16
_LOCK = threading.Lock()


class BoundedAnswers(urllib.request.BaseHandler):
    """Read answers completely, within the bounds, before anything else sees them.

    Compressed answers are refused, since they could expand to any size.
    """

    handler_order = 2000  # after those that follow redirects and raise errors

    def https_request(self, request: urllib.request.Request) -> urllib.request.Request:
        """Ask for an answer that is not compressed."""
        request.remove_header("Accept-encoding")
        return request

    def https_response(self, request: urllib.request.Request, response: Any) -> Any:
        """Return the answer from memory."""
        if not request.full_url.startswith("https:"):
            raise urllib.error.URLError(f"redirected to {request.full_url[:80]}")
        if response.headers.get("Content-Encoding", "identity") != "identity":
            raise urllib.error.URLError("the answer is compressed")
        content = io.BytesIO(_read_bounded(response))
        answer = urllib.response.addinfourl(
            content, response.headers, response.geturl(), response.getcode()
        )
        answer.msg = getattr(response, "msg", "")  # type: ignore[attr-defined]
        return answer

    http_request, http_response = https_request, https_response


def _read_bounded(response: Any) -> bytes:
    deadline, parts, size = time.monotonic() + MAX_SECONDS, [], 0
    while part := response.read1(CHUNK) if hasattr(response, "read1") else response.read(CHUNK):
        parts.append(part)
        size += len(part)
        if size > MAX_TEXT_SIZE:
            raise urllib.error.URLError(f"the answer has more than {MAX_TEXT_SIZE >> 20} MB")
        if time.monotonic() > deadline:
            raise urllib.error.URLError(f"the answer takes more than {MAX_SECONDS:g} seconds")
    length = response.headers.get("Content-Length")
    if length is not None and length.isdecimal() and size < int(length):
        raise urllib.error.URLError(f"the answer ends after {size} of {int(length)} bytes")
    return b"".join(parts)


@contextmanager
def bound_answers() -> Iterator[None]:
    """Add the bounds to the opener of urllib, which `fetch_openml` uses, for a while."""
    with _LOCK:
        previous = getattr(urllib.request, "_opener", None)
        base: Any = previous or urllib.request.build_opener()
        opener = urllib.request.OpenerDirector()
        opener.addheaders = base.addheaders
        for handler in [*base.handlers, BoundedAnswers()]:
            opener.add_handler(handler)
        urllib.request.install_opener(opener)
        try:
            yield
        finally:
            urllib.request.install_opener(previous)
            for handler in base.handlers:
                handler.add_parent(base)
