"""Hostile requests: the right status, one line, never a traceback, and no key in any log.

python benchmarks/service/hostile.py --json
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import quote

sys.path.insert(0, str(Path(__file__).parents[2]))  # for tests.support
from tests.support.load import Caller, Figures, Served, promise

ADMIN, WRITE, READ = (f"{role}-key-of-this-test-0123456789" for role in ("admin", "write", "read"))
NAMES = ("a/b", "nul\x00nul", "tea\U0001f375", "x" * 4096, "<script>alert(1)</script>", "../../etc")
EVENT = {"user": 1, "item": 2}
Case = tuple[str, str | None, str, str, Any, set[int]]
"""(what, key, method, path, body, statuses that are right)"""


def cases() -> list[Case]:
    read, big = "/v1/recommend?user=1", b'{"events": [' + b" " * 10_000_000 + b"]}"
    activate, climbs = "/v1/models/activate", {"name": "../x", "arms": {"a": 1.0}}
    found: list[Case] = [
        ("no key", None, "GET", read, None, {401}),
        ("wrong key", "wrong-key-wrong-key-wrong", "GET", read, None, {401}),
        ("an empty key", "", "GET", read, None, {401}),
        ("read key on a write route", READ, "POST", "/v1/events", EVENT, {403}),
        ("read key on an admin route", READ, "POST", "/v1/refit", {}, {403}),
        ("write key on an admin route", WRITE, "POST", "/v1/models/rollback", {}, {403}),
        ("no key is needed for livez", None, "GET", "/livez", None, {200}),
        ("write key reads", WRITE, "GET", read, None, {200}),
        ("10 MB", WRITE, "POST", "/v1/events", big, {413}),
        ("k of 10^9", READ, "GET", read + "&k=1000000000", None, {400, 422}),
        ("k of 0", READ, "GET", read + "&k=0", None, {400, 422}),
        ("k of -1", READ, "POST", "/v1/recommend", {"user": 1, "k": -1}, {400, 422}),
        ("k of 10^400", READ, "GET", read + "&k=1" + "0" * 400, None, {400, 422}),
        ("k as text", READ, "POST", "/v1/recommend", {"user": 1, "k": "10"}, {400, 422}),
        ("a name that is not there", READ, "GET", read + "&nonsense=1", None, {400, 422}),
        ("a user of a wrong type", READ, "POST", "/v1/recommend", {"user": {}}, {400, 422}),
        ("a user as text", READ, "POST", "/v1/recommend", {"user": "1"}, {400, 422}),
        ("a user of 300 digits", READ, "GET", "/v1/recommend?user=" + "9" * 300, None, {400, 422}),
        ("NaN", WRITE, "POST", "/v1/events", b'{"user":1,"item":2,"value":NaN}', {400, 422}),
        ("10^999", WRITE, "POST", "/v1/events", b'{"user":1,"item":2,"value":1e999}', {400, 422}),
        ("broken JSON", WRITE, "POST", "/v1/events", b'{"user": 1, "ite', {400, 422}),
        ("not UTF-8", WRITE, "POST", "/v1/events", b'{"user": "\xff\xfe"}', {400, 422}),
        ("half of a pair", WRITE, "POST", "/v1/items", b'{"id": "\\ud800"}', {400, 405, 422}),
        ("an empty body", WRITE, "POST", "/v1/events", b"", {400, 422}),
        ("a number as body", WRITE, "POST", "/v1/events", b"7", {400, 422}),
        ("deep nesting", WRITE, "POST", "/v1/events", b"[" * 100_000, {400, 422}),
        ("no events", WRITE, "POST", "/v1/events", {"events": []}, {400, 422}),
        ("no such path", READ, "GET", "/v1/nothing", None, {404}),
        ("a path that climbs", READ, "GET", "/../../etc/passwd", None, {400, 404}),
        ("no such method", READ, "PUT", "/v1/recommend", {}, {405}),
        ("no such model", READ, "GET", read + "&model=" + quote("../x"), None, {400, 404, 422}),
        ("no such item", READ, "GET", "/v1/similar?item=99999999", None, {404}),
        ("no such request", READ, "GET", "/v1/next?request_id=%00%ff", None, {400, 404, 410, 422}),
        ("window of nonsense", READ, "GET", "/v1/trending?window=-1x", None, {400, 422}),
        ("no such generation", ADMIN, "POST", activate, {"generation": 99}, {400, 404}),
        ("a name that climbs", ADMIN, "PUT", "/v1/experiments", climbs, {400, 422}),
    ]  # fmt: skip
    for name in NAMES:
        path = f"/v1/recommend?user={quote(name)}&k=3"
        found.append((f"user {name[:12]!r} in a query", READ, "GET", path, None, {400, 404, 422}))
        body = {"user": name, "k": 3}
        found.append((f"user {name[:12]!r}", READ, "POST", "/v1/recommend", body, {400, 404, 422}))
    return found


def text_cases() -> list[Case]:
    """Where ids are text, most of these are ids like any other."""
    found: list[Case] = []
    for name in NAMES:
        long = len(name) > 1024
        right = {400, 422} if long else {200}
        shown = repr(name[:12])
        get = f"/v1/recommend?user={quote(name)}&k=3"
        found += [
            (f"event of {shown}", WRITE, "POST", "/v1/events", {"user": name, "item": name}, right),
            (f"list of {shown}", READ, "GET", get, None, right),
            (f"item {shown}", WRITE, "PUT", "/v1/items", {"id": name, "name": name}, right),
        ]
    return found


def check(caller: Caller, case: Case, secrets: list[str]) -> str:
    """What is wrong with the answer; nothing where it is right."""
    what, _, method, path, body, right = case
    try:
        status, answer = caller.call(method, path, body)
    except Exception as error:
        return f"{what}: {error!r}"
    text = json.dumps(answer)
    if status not in right:
        return f"{what}: {status} {text[:200]}"
    if "Traceback" in text or 'File "' in text:
        return f"{what}: a traceback"
    if status >= 400:
        if not isinstance(answer, dict) or answer.get("status") != status:
            return f"{what}: no problem: {text[:200]}"
        detail = answer.get("detail", "")
        if not detail or "\n" in detail or len(detail) > 2000:
            return f"{what}: not one line: {detail[:200]!r}"
    if any(secret in text for secret in secrets):
        return f"{what}: a key in the answer"
    return ""


def run(wanted: argparse.Namespace) -> tuple[bool, Figures]:
    secrets = [ADMIN, WRITE, READ, "wrong-key-wrong-key-wrong"]
    wrong: list[str] = []
    asked = 0
    for make, texts in ((cases, False), (text_cases, True)):
        with tempfile.TemporaryDirectory(prefix="xorec-hostile-") as name:
            folder = Path(name)
            log = folder / "access.log"
            if texts:
                _text_model(folder / "shop.xorec")
            keys = {"KEYS__ADMIN": ADMIN, "KEYS__WRITE": WRITE, "KEYS__READ": READ}
            settings = {**keys, "ACCESS_LOG": str(log), "LOG_LEVEL": "debug"}
            with Served(folder, items=300, users=50, settings=settings) as served:
                for case in make():
                    asked += 1
                    with served.caller(case[1]) as caller:
                        problem = check(caller, case, secrets)
                    wrong += [problem] if problem else []
                with served.caller(READ) as caller:
                    status, _ = caller.get("/livez")
                    wrong += [] if status == 200 else ["it does not live any more"]
            for place in (served.process.log, log):
                text = place.read_text(errors="replace") if place.exists() else ""
                wrong += [f"a key in {place.name}" for secret in secrets if secret in text]
                wrong += [f"a traceback in {place.name}"] if "Traceback" in text else []
            if not texts and not log.exists():
                wrong.append("there is no access log")
    return not wrong, {"requests": asked, "wrong": wrong}


def _text_model(path: Path) -> None:
    import xorec

    pairs = [(f"u{n % 20}", f"i{n * 7 % 30}") for n in range(200)]
    data = xorec.read(pairs)
    xorec.Recommender.from_model(xorec.ItemKNN().fit(data), data).save(path)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    return promise("hostile", run, parser, {})


if __name__ == "__main__":
    sys.exit(main())
