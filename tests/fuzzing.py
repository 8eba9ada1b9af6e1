"""Random damage, the same for the same seed: to bytes, and to tables of text."""

import os
import random
import time

LONG_RUN = float(os.environ.get("OPGD_FUZZ_SECONDS", "300"))
"""Seconds of each long run; the ordinary ones have a number of cases instead."""


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
