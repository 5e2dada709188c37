"""A shop for the page: names, categories, two kinds of models, ids and names that mean harm."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

import xorec
from xorec.data.ids import Ids
from xorec.data.interactions import Interactions
from xorec.data.text import Text
from xorec.recommender.recommender import Recommender
from xorec.testing.data import planted
from xorec.testing.examples import categories_of

GROUPS = ("tea", "bread", "paper", "wool", "seeds")
KINDS = ("black", "green", "white", "fine", "coarse", "old", "new", "plain")
HARM = (
    "a/b",
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    '\'; echo "$(id)" `id` \\',
    "50% & more?q=1#x +",
    "javascript:alert(1)",
    "🍵 tea",
    "abc\u202edef",
    "nul\x00nul",
    " spaces  and\nlines ",
    "..",
    "{{7*7}} ${7*7}",
)
"""Ids of items and of users that a careless page would run, break at, or turn round."""
HARM_NAMES = {
    "a/b": "<img src=x onerror=alert(1)>",
    "🍵 tea": "long " * 818 + "end",
    "abc\u202edef": "right\u202eto left\u2066 and \u200bnothing",
    "..": "<b>bold</b> &amp; 🧶🧶🧶",
}
"""Names of some of these; one has 4 kB."""
HARM_CATEGORY = "<i>cat</i> & 'dog'"
HIDDEN = "new wool 3"
"""The name of an item that the tests hide."""


@cache
def shop_data() -> Interactions:
    """320 users and 240 items in five groups; the first ids are those that mean harm."""
    data = planted(320, 240, groups=len(GROUPS), per_user=18)
    items = [*HARM, *(f"i{row:03}" for row in range(len(HARM), 240))]
    users = [*HARM, *(f"user {row:03}" for row in range(len(HARM), 320))]
    return replace(data, users=Ids.of(users), items=Ids.of(items))


def item_name(row: int, item: str) -> str:
    """What the item at this row is called: "green tea 7"."""
    number = row // len(GROUPS)
    plain = f"{KINDS[number % len(KINDS)]} {GROUPS[row % len(GROUPS)]} {number // len(KINDS)}"
    return HARM_NAMES.get(item, plain)


@cache
def shop_recommender(model: str = "dsiml") -> Recommender:
    """With names and categories. dsiml has codes of 64 bits, slim has none."""
    data = shop_data()
    learner = xorec.DSIML(bits=64, epochs=4) if model == "dsiml" else xorec.SLIM()
    made = Recommender.from_model(learner.fit(data), data)
    names = [item_name(row, str(item)) for row, item in enumerate(made.item_ids)]
    labels = [
        sorted({GROUPS[row % len(GROUPS)], *([HARM_CATEGORY] if row < len(HARM) else [])})
        for row in np.arange(len(names))
    ]
    return replace(made, names=Text.pack(names), categories=categories_of(labels))
