"""Whether a response is several named parts, such as a translation and a summary of it.

The readings of an answer (`answers`) hold all of it; what is asked of one such part can only be measured of the part.
"""

from __future__ import annotations

import re

_LABEL = re.compile(
    r"^[ \t]*(?:#{1,6}[ \t]+\S[^\n]*"  # a heading
    r"|(?:\*\*|__)[^*_\n]{1,60}(?:\*\*|__)[:：]?[ \t]*"  # a line in bold letters
    r"|[\[【〈《][^\]】〉》\n]{1,40}[\]】〉》][^\n]*"
    r"|(?:\*\*|__)?[^\W\d_][^\n.!?:：*_|]{0,40}(?:\*\*|__)?[:：](?:\*\*|__)?(?:[ \t]+[^\n]*)?)$",  # "Summary: ..."
    re.MULTILINE,
)


def in_parts(response: str) -> bool:
    """Whether two lines or more name what follows them."""
    found = _LABEL.finditer(response)
    return next(found, None) is not None and next(found, None) is not None
