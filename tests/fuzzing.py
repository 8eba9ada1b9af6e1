"""Random damage, the same for the same seed: to bytes, to JSON, and to tables of text."""

import copy
import os
import random
import time

LONG_RUN = float(os.environ.get("OPGD_FUZZ_SECONDS", "300"))
"""Seconds of each long run; the ordinary ones have a number of cases instead."""
NUMBERS = [0, 1, -1, 2, 7, 255, 2**31, 2**40, 2**63, 2**64, -(2**63), 10**30, 0.5, -0.0, 1e308]
VALUES = [
    *NUMBERS,
    *[None, True, False, "", "a", "nan", "-inf", "\ud800", "\x00", "__class__", "../x", "x" * 300],
    *[[], {}, [[]], [0, 0], [1] * 40, {"is": "dict", "keys": [1], "values": [2]}],
    *[{"is": "tuple", "items": []}, {"is": "range", "items": [0, 10**12, 1]}],
    *[{"is": kind} for kind in ("array", "words", "floats", "scalar", "pickle")],
    *[{"is": "scalar", "dtype": dtype, "value": 1} for dtype in ("<f8", "|b1", "<U9", "<M8[ns]")],
    *[{"is": "words", "dtype": dtype, "values": ["a", "b"]} for dtype in ("|O", "<U99999999")],
    *["<f2", "<f4", ">f8", "<i8", "|u1", "<U0", "|O", "F32", "I64", "BOOL", "U8", "full", "tied"],
]


def cases(seed, count=None):
    """Generators of random numbers, `count` of them or for the time of a long run."""
    end = time.monotonic() + LONG_RUN
    number = 0
    while number < count if count is not None else time.monotonic() < end:
        yield random.Random(f"{seed} {number}")
        number += 1


def damaged_bytes(rng, data):
    """A few bits, bytes or stretches changed."""
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 5])):
        at = rng.randrange(len(data) + 1)
        length = min(rng.choice([1, 1, 2, 8, 64, 1000]), len(data) - at)
        kind = rng.randrange(6)
        if kind == 0 and length:
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            data[at : at + length] = rng.randbytes(length)
        elif kind == 2:
            del data[at : at + length]
        elif kind == 3:
            data[at:at] = data[at : at + length]
        elif kind == 4:
            data[at:at] = rng.choice([b"\0", b"\xff", b'"', b"{", b"]", b",", b"1e999", b"NaN"])
        else:
            del data[at:]
    return bytes(data)


def damaged_json(rng, tree):
    """Some values of a tree of dicts and lists replaced, left out, copied or swapped."""
    tree = copy.deepcopy(tree)
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        places = list(_places(tree))
        if not places:
            break
        parent, key = rng.choice(places)
        other_parent, other_key = rng.choice(places)
        kind = rng.randrange(7)
        if kind == 0:
            del parent[key]
        elif kind == 1:
            parent[key] = copy.deepcopy(other_parent[other_key])
        elif kind == 2 and isinstance(parent, dict):
            parent[rng.choice(["x", "is", "tensor", "dtype", "shape"])] = parent.pop(key)
        elif kind == 3 and isinstance(parent, list):
            parent.insert(key, copy.deepcopy(rng.choice(VALUES)))
        elif kind == 4 and isinstance(parent[key], int | float):
            parent[key] += rng.choice([-1, 1, 0.5, 2**32])
        else:
            parent[key] = copy.deepcopy(rng.choice(VALUES))
    return tree


def _places(tree):
    """Every place of a value in the tree."""
    inside = tree.items() if isinstance(tree, dict) else enumerate(tree)
    for key, value in inside:
        yield tree, key
        if isinstance(value, dict | list):
            yield from _places(value)


CELLS = [
    *["", " ", "NA", "nan", "-inf", "inf", "1e999", "-1e308", "1e-400", "0x10", "1_000", "1,5"],
    *[
        "١٢٣",
        "½",
        "\u20131",
        "1.2.3",
        "+",
        "-",
        "=1+1",
        "@x",
        '"',
        '""',
        "'",
        '"a',
        'a"b"',
        "\t",
        "\r",
    ],
    *["\n", "\0", "\ufeff", "\u2028", "\U0001f600", "\x1b[31m", "true", "FALSE", "None", "?", "00"],
    *[
        "1e5",
        "9" * 400,
        "x" * 5000,
        ";",
        "|",
        "\\",
        "\r\n",
        "p",
        "q",
        "3",
        "0.1",
        "-7",
        "2020-01-01",
    ],
]


def damaged_table(rng, text):
    """Cells, rows, columns, separators and ends of lines changed; as bytes."""
    rows = [line.split(",") for line in text.splitlines()]
    for _ in range(rng.choice([1, 1, 2, 4, 12])):
        kind, i = rng.randrange(9), rng.randrange(len(rows))
        row = rows[i]
        j = rng.randrange(len(row)) if row else 0
        if kind <= 3 and row:
            row[j] = rng.choice(CELLS)
        elif kind == 4 and row:
            del row[j]
        elif kind == 5:
            row.insert(j, rng.choice(CELLS))
        elif kind == 6 and len(rows) > 1:
            del rows[i]
        elif kind == 7:
            rows.insert(rng.randrange(len(rows) + 1), list(row))
        else:
            for own in rows:
                own[j : j + 1] = [rng.choice(CELLS)] if own[j : j + 1] else []
    separator = rng.choice([",", ",", ",", ";", "\t", "|", ", "])
    text = rng.choice(["\n", "\n", "\n", "\r\n", "\r"]).join(separator.join(own) for own in rows)
    encoding = rng.choice(["utf-8"] * 8 + ["utf-8-sig", "utf-16", "utf-16-le", "latin-1"])
    data = text.encode(encoding, "replace")
    return damaged_bytes(rng, data) if rng.random() < 0.2 else data
