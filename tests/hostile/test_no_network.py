"""No import, fit, report or command uses the network or starts another program."""

import os
import subprocess
import sys
import textwrap

import pytest

pytest.importorskip("typer")
pytest.importorskip("jinja2")
pytest.importorskip("skops")

WATCH = """
import sys
FORBIDDEN = {
    "socket.connect", "socket.sendto", "socket.getaddrinfo", "socket.gethostbyname", "socket.bind",
    "urllib.Request", "http.client.connect", "ftplib.connect", "smtplib.connect",
    "subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn",
}
asked = []

def watch(event, arguments):
    if event in FORBIDDEN:
        asked.append(event)
        raise PermissionError(f"{event} {arguments}")

sys.addaudithook(watch)
"""


def run(code, tmp_path):
    """Code in a fresh interpreter in which every way out is watched and closed."""
    program = WATCH + textwrap.dedent(code) + "\nprint('asked', asked)\n"
    # scikit-learn's k-means asks the system's lscpu for the number of cores if nobody says it
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1]


IMPORTS = """
import importlib, pkgutil
import opgd
names = [own.name for own in pkgutil.walk_packages(opgd.__path__, "opgd.")]
for name in names:
    if not name.endswith("__main__"):
        importlib.import_module(name)
for name in opgd.__all__:
    getattr(opgd, name)
assert names
"""
FITS = """
import warnings
warnings.simplefilter("ignore")
import numpy as np
from sklearn.datasets import load_iris
import opgd
from opgd import (OPGDClassifier, OPGDClassifierCV, OPGDMixture, OPGDSemiSupervised, compare,
                  load_model, save_model, write_report)
X, y = load_iris(return_X_y=True)
models = [
    OPGDClassifier().fit(X, y),
    OPGDClassifierCV([1, 2], shrinkage=0, ridge=0, cv=2).fit(X, y),
    OPGDMixture(3, random_state=0).fit(X),
    OPGDSemiSupervised().fit(X, np.where(np.arange(150) % 3, -1, y)),
]
for number, model in enumerate(models):
    save_model(model, f"{number}.opgd")
    load_model(f"{number}.opgd").predict(X)
    write_report(model, X, y, path=f"{number}.html", cv=0)
"""
COMMANDS = """
from sklearn.datasets import load_wine
load_wine(as_frame=True).frame.to_csv("wine.csv", index=False)
from opgd.cli import main
for text in ("fit wine.csv -t target --axes 2 --cv 2 -o m.opgd", "predict m.opgd wine.csv -o p.csv",
             "report m.opgd wine.csv --cv 0 -o r.html",
             "cluster wine.csv --ignore target -k 3 -o c.opgd"):
    try:
        main(text.split() + ["--quiet"])
    except SystemExit as end:
        assert not end.code, text
"""


def test_imports_fits_reports_and_commands_ask_nobody(tmp_path):
    assert run(IMPORTS + FITS + COMMANDS, tmp_path) == "asked []"
