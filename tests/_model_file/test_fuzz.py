"""Mutated model files are refused with one sentence, or are models with finite results."""

import random

import pytest

pytest.importorskip("safetensors")
from tests._model_file.attacks import ATTACKS, attack
from tests._model_file.fuzz import judge
from tests._model_file.mutations import FILES, mutant

CASES, PARTS = 500, 5
LATER = [pytest.param(part, marks=pytest.mark.slow) for part in range(2, PARTS)]


@pytest.mark.parametrize("part", [0, 1, *LATER])
def test_mutated_files_are_refused_or_finite(part, tmp_path):
    findings, used = [], 0
    for number in range(part * CASES // PARTS, (part + 1) * CASES // PARTS):
        found = mutant(random.Random(f"suite {number}"))
        if found is None:
            continue
        kind, name, data = found
        used += 1
        verdict = judge(data, tmp_path / "model", memory=number % 10 == 0)
        if verdict.finding:
            findings.append(f"case {number}, {kind} of {name}: {verdict.finding}")
    assert not findings
    assert used > 0.9 * CASES / PARTS


@pytest.mark.parametrize("name", ATTACKS)
def test_repetitions_take_time_and_memory_in_proportion(name, tmp_path):
    verdict = judge(attack(name, 2**14), tmp_path / "model", memory=True)
    assert verdict.finding is None


@pytest.mark.parametrize("name", FILES)
def test_valid_files_are_accepted(name, tmp_path):
    verdict = judge(FILES[name], tmp_path / "model", memory=True)
    assert verdict.accepted
    assert verdict.finding is None
