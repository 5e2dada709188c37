"""Several ES modules as one plain script: the page of a file has nothing to import from."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping

_IMPORT = re.compile(r'^import \{([^}]*)\} from "(\.[^"]+)";\n', re.M)
_EXPORT = re.compile(r"^export ((?:async )?(?:const|function|class) (\w+))", re.M)
_LEFT = re.compile(r"^(?:import|export)\b.*|\bimport\(", re.M)


def bundle(entry: str, files: Mapping[str, str]) -> str:
    """The module at `entry` and all that it imports, each once, in a scope of its own.

    files: text by path. Understood are `import { a, b as c } from "./x.js";` and `export` before
    const, function and class; anything else of the kind is a ValueError.

    >>> files = {"a.js": 'import { one } from "./b.js";\\none();\\n',
    ...          "b.js": "export function one() {}\\n"}
    >>> print(bundle("a.js", files))
    "use strict";
    const $b = (() => {
    function one() {}
    return { one };
    })();
    const $a = (() => {
    const { one } = $b;
    one();
    return {  };
    })();
    <BLANKLINE>
    """
    parts: dict[str, str] = {}
    _add(entry, files, parts, ())
    return '"use strict";\n' + "".join(parts.values())


def _exports(text: str) -> list[str]:
    return [found[2] for found in _EXPORT.finditer(text)]


def _add(
    path: str, files: Mapping[str, str], parts: dict[str, str], above: tuple[str, ...]
) -> None:
    if path in above:
        raise ValueError(f"{path} imports itself, by {' and '.join(above)}")
    text = files[path]

    def taken(found: re.Match[str]) -> str:
        other = posixpath.normpath(posixpath.join(posixpath.dirname(path), found[2]))
        if other not in parts:
            _add(other, files, parts, (*above, path))
        wanted = [name.split(" as ")[0].strip() for name in found[1].split(",") if name.strip()]
        if missing := set(wanted) - set(_exports(files[other])):
            raise ValueError(
                f"{path} takes {', '.join(sorted(missing))} from {other}: none is there"
            )
        return f"const {{{found[1].replace(' as ', ': ')}}} = {_name(other)};\n"

    text = _IMPORT.sub(taken, text)
    names = ", ".join(_exports(text))
    text = _EXPORT.sub(r"\1", text)
    if left := _LEFT.search(text):
        raise ValueError(f"{path} has {left[0]!r}, which cannot be put into one script")
    parts[path] = f"const {_name(path)} = (() => {{\n{text}return {{ {names} }};\n}})();\n"


def _name(path: str) -> str:
    return "$" + re.sub(r"\W", "_", path.removesuffix(".js"))
