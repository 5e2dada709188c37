"""Examples in docstrings as code: without a fence, `>>>` begins a quotation in Markdown."""

from __future__ import annotations

import re
from typing import Any

import griffe

_EXAMPLE = re.compile(r"^>>> .*(?:\n(?!\s*$).*)*", re.M)


def fenced(docstring: str) -> str:
    """The docstring with each example in a fence.

    >>> print(fenced("Adds.\\n\\n>>> 1 + 1\\n2\\n\\nThat is all."))
    Adds.
    <BLANKLINE>
    ```pycon
    >>> 1 + 1
    2
    ```
    <BLANKLINE>
    That is all.
    """
    return _EXAMPLE.sub(lambda found: f"```pycon\n{found[0]}\n```", docstring)


class FenceExamples(griffe.Extension):  # type: ignore[misc]
    """For mkdocstrings: every docstring as it is collected."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)
