"""opgd export writes graphs that predict like the command."""

import json

import numpy as np
import pandas as pd
import pytest

from tests.cli.helpers import COLUMNS, assert_call_refused, join_words, run_ok

pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")


def test_graph_predicts_like_the_command(files):
    printed = run_ok("export", "model.opgd", "-o", "own.onnx").out
    assert printed.startswith("Wrote graph with outputs label, probabilities, scores to")
    run_ok("predict", "model.opgd", "new.csv", "-o", "own.csv")
    session = onnxruntime.InferenceSession("own.onnx", providers=["CPUExecutionProvider"])
    rows = pd.read_csv("new.csv")[COLUMNS].to_numpy(np.float32)
    labels, probabilities = session.run(["label", "probabilities"], {"X": rows})
    expected = pd.read_csv("own.csv")
    assert labels.tolist() == expected["prediction"].tolist()
    np.testing.assert_allclose(probabilities.max(axis=1), expected["probability"], atol=1e-5)


def test_existing_graphs_are_replaced_only_if_asked_for(files):
    (files / "own.onnx").write_bytes(b"mine")
    assert_call_refused(["export", "model.opgd", "-o", "own.onnx"], ["--force"], files)
    done = run_ok(
        "export", "model.opgd", "-o", "own.onnx", "--force", "--json", "--dtype", "float64"
    )
    facts = json.loads(done.out)
    assert facts["inputs"] == ["X"]
    assert facts["bytes"] == (files / "own.onnx").stat().st_size
    session = onnxruntime.InferenceSession("own.onnx", providers=["CPUExecutionProvider"])
    assert session.get_inputs()[0].type == "tensor(double)"


def test_models_with_fill_values_need_complete_cells(files):
    table = pd.read_csv("train.csv")
    table.loc[:4, "ash"] = np.nan
    table.to_csv("own.csv", index=False)
    impute = ["--impute", "median"]
    run_ok("fit", "own.csv", "-t", "kind", "--axes", 2, *impute, "-o", "filled.opgd")
    done = run_ok("export", "filled.opgd", "-o", "own.onnx", "--dtype", "float64")
    assert "does not fill missing cells" in done.err
    session = onnxruntime.InferenceSession("own.onnx", providers=["CPUExecutionProvider"])
    (probabilities,) = session.run(["probabilities"], {"X": table[COLUMNS].to_numpy()})
    assert np.isnan(probabilities[:5]).all()
    assert np.isfinite(probabilities[5:]).all()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["model.opgd", "-o", "own.txt"], ["'own.txt' must end in .onnx"]),
        (["model.opgd", "-o", "own.onnx", "--dtype", "int8"], ["--dtype must be", "'int8'"]),
        (["none.opgd", "-o", "own.onnx"], ["no such file"]),
        (["dates.opgd", "-o", "own.onnx"], ["encodes columns", "convert the classifier"]),
        (["RDA.opgd", "-o", "RDA.opgd"], ["is read by this command"]),
    ],
    ids=join_words,
)
def test_what_cannot_be_exported_is_refused(arguments, words, files):
    name = arguments[0]
    if name == "dates.opgd":
        table = pd.read_csv("train.csv")
        table["day"] = pd.date_range("2024-01-01", periods=len(table)).astype(str)
        table.to_csv("own.csv", index=False)
        run_ok("fit", "own.csv", "-t", "kind", "--axes", 1, "-o", name)
    elif name == "RDA.opgd":
        (files / name).write_bytes((files / "model.opgd").read_bytes())
        arguments = [*arguments, "--force"]
    assert_call_refused(["export", *arguments], words, files)
