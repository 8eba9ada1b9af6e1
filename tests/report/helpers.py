"""Reading a written report."""

import base64
import json
import re

import numpy as np


def unpack(packed):
    raw = np.frombuffer(base64.b64decode(packed["data"]), dtype=packed["type"])
    return raw if "offset" not in packed else packed["offset"] + packed["step"] * raw.astype(float)


def read_text_data(text):
    return json.loads(re.search(r'id="data">(.*?)</script>', text, flags=re.S).group(1))


def read_page_data(path):
    return read_text_data(path.read_text("utf-8"))
