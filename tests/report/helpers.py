"""Reading a written report."""

import base64
import json
import re

import numpy as np


def unpack(packed):
    raw = np.frombuffer(base64.b64decode(packed["data"]), dtype=packed["type"])
    return raw if "offset" not in packed else packed["offset"] + packed["step"] * raw.astype(float)


def read_page_data(path):
    text = path.read_text("utf-8")
    return json.loads(re.search(r'id="data">(.*?)</script>', text, flags=re.S).group(1))
