import re
from collections import Counter
from pathlib import Path

import pytest

from luna.errors import ModelNotFoundError
from luna.models.known import DEFAULT_MODEL, KNOWN_MODELS, LocalModel, known_model

SHARED_HASHES = Path(__file__).parents[5] / "shared" / "data" / "local-model-wheels.sha256.txt"


@pytest.mark.parametrize("model", KNOWN_MODELS, ids=lambda model: model.name)
def test_catalogue_slices_add_up_to_the_file(model: LocalModel) -> None:
    others = (len(model.wheels) - 1) * model.slice_bytes
    assert others < model.size_bytes <= others + model.slice_bytes


@pytest.mark.parametrize("model", KNOWN_MODELS, ids=lambda model: model.name)
def test_catalogue_hashes_are_distinct_sha256(model: LocalModel) -> None:
    hashes = [model.sha256, *(wheel.sha256 for wheel in model.wheels)]
    assert all(re.fullmatch("[0-9a-f]{64}", value) for value in hashes)
    assert len(set(hashes)) == len(hashes)


def test_catalogue_names_are_used_once() -> None:
    names = Counter(name for model in KNOWN_MODELS for name in (model.name, *model.aliases))
    assert set(names.values()) == {1}


@pytest.mark.skipif(not SHARED_HASHES.exists(), reason="the shared list of wheel hashes is not here")
def test_catalogue_wheels_have_the_shared_hashes() -> None:
    shared = {}
    for line in SHARED_HASHES.read_text().splitlines():
        file, sha256 = line.split()
        shared["-".join(Path(file).name.split("-")[:2])] = sha256
    for model in KNOWN_MODELS:
        for wheel in model.wheels:
            assert shared[f"{wheel.package.replace('-', '_')}-{wheel.version}"] == wheel.sha256


@pytest.mark.parametrize("name", [None, "default", "qwen2.5-coder-0.5b", " Qwen2.5-Coder-0.5B-Instruct "])
def test_known_model_finds_names_aliases_and_default(name: str | None) -> None:
    assert known_model(name) is DEFAULT_MODEL


def test_known_model_lists_names_when_there_is_none() -> None:
    with pytest.raises(ModelNotFoundError, match=r"'gpt-9'.*qwen2\.5-coder-0\.5b.*local:PATH\.gguf"):
        known_model("gpt-9")
