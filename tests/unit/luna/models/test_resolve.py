import subprocess
import sys
from pathlib import Path

import pytest

from luna.errors import ModelError, ModelNotFoundError
from luna.models import gate_name, resolve_chat_model
from luna.models import resolve as resolve_module
from luna.models.chat import LocalChatModel
from luna.testing import ScriptedChatModel
from tests.unit.luna.models.conftest import SLICES, FakeEngine, WheelIndex

KEY = "sk-very-secret-0123456789"


@pytest.fixture
def here(index: WheelIndex, fake_engine: FakeEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache without weights, and no keys in the environment."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for name in ("SOL_WEIGHTS", "OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def weights(here: Path) -> Path:
    path = here / "cache" / "sol-luna" / "weights" / "tiny.gguf"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"".join(SLICES))
    return path


@pytest.mark.parametrize("name", ["local", "local:", "local:tiny", "local:WEE", " local:tiny "])
def test_local_names_give_the_verified_weights(name: str, weights: Path) -> None:
    model = resolve_chat_model(name, max_tokens=9)
    assert isinstance(model, LocalChatModel)
    assert (model.path, model.model_name, model.max_tokens) == (weights, "tiny", 9)


def test_local_path_gives_that_file(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "own.GGUF").write_bytes(b"GGUF and so on")
    monkeypatch.chdir(here)
    model = resolve_chat_model("local:own.GGUF")
    assert isinstance(model, LocalChatModel)
    assert (model.path, model.model_name) == (Path("own.GGUF"), "own")


def test_local_path_that_is_missing_is_told(here: Path) -> None:
    with pytest.raises(ModelNotFoundError, match=r"no weights at '.*lost\.gguf': No such file"):
        resolve_chat_model(f"local:{here}/lost.gguf")


def test_local_path_of_another_format_is_told(here: Path) -> None:
    (here / "page.gguf").write_text("<html>")
    with pytest.raises(ModelError, match="is not a GGUF file"):
        resolve_chat_model(f"local:{here}/page.gguf")


def test_local_weights_that_are_missing_are_told_with_the_command(here: Path) -> None:
    with pytest.raises(ModelNotFoundError, match=r"sol models fetch tiny\. Or give a file"):
        resolve_chat_model("local")


def test_local_engine_that_is_missing_is_told_with_the_extra(weights: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resolve_module.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ModelNotFoundError, match=r"pip install 'sol-luna\[local\]'"):
        resolve_chat_model("local")


def test_local_settings_that_are_wrong_are_told_without_their_values(weights: Path) -> None:
    with pytest.raises(ModelError, match=r"n_ctx: .*; api_key: Extra inputs") as hit:
        resolve_chat_model("local", n_ctx=1, api_key=KEY)
    assert KEY not in str(hit.value)


def test_local_with_a_base_url_is_refused(here: Path) -> None:
    with pytest.raises(ModelError, match="has no base URL"):
        resolve_chat_model("local", base_url="http://127.0.0.1:9")


def test_provider_names_go_to_langchain(here: Path) -> None:
    model = resolve_chat_model("openai:gpt-test", api_key=KEY, temperature=0.5)
    assert (model.model_name, model.temperature) == ("gpt-test", 0.5)  # type: ignore[attr-defined]
    assert KEY not in repr(model)


@pytest.mark.parametrize(
    ("name", "served"), [("gpt-test", "gpt-test"), ("openai:gpt-test", "gpt-test"), ("qwen2.5:0.5b", "qwen2.5:0.5b")]
)
def test_base_url_means_a_compatible_server_that_needs_no_key(name: str, served: str, here: Path) -> None:
    model = resolve_chat_model(name, base_url="http://127.0.0.1:9/v1")
    assert model.model_name == served  # type: ignore[attr-defined]
    assert model.openai_api_base == "http://127.0.0.1:9/v1"  # type: ignore[attr-defined]


def test_base_url_keeps_the_key_of_the_environment(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    model = resolve_chat_model("gpt-test", base_url="http://127.0.0.1:9/v1")
    assert model.openai_api_key.get_secret_value() == KEY  # type: ignore[attr-defined]


def test_calls_are_made_once_since_the_gate_tries_again(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert resolve_chat_model("openai:gpt-test", api_key=KEY).max_retries == 0  # type: ignore[attr-defined]
    assert resolve_chat_model("gpt-test", api_key=KEY).max_retries == 0  # type: ignore[attr-defined]
    assert resolve_chat_model("gpt-test", base_url="http://127.0.0.1:9").max_retries == 0  # type: ignore[attr-defined]
    assert resolve_chat_model("openai:m", api_key=KEY, max_retries=3).max_retries == 3  # type: ignore[attr-defined]


@pytest.mark.parametrize("base_url", [None, "http://127.0.0.1:9/v1"])
def test_connections_are_not_kept_for_an_event_loop_that_may_have_ended(here: Path, base_url: str | None) -> None:
    model = resolve_chat_model("openai:m", base_url=base_url, api_key=KEY)
    assert model.default_headers == {"Connection": "close"}  # type: ignore[attr-defined]
    given = resolve_chat_model("openai:m", base_url=base_url, api_key=KEY, default_headers={"X-Own": "1"})
    assert given.default_headers == {"Connection": "close", "X-Own": "1"}  # type: ignore[attr-defined]


def test_models_without_retries_of_their_own_are_made_once(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[dict[str, object]] = []

    def make(name: str, **settings: object) -> ScriptedChatModel:
        made.append(settings)
        return ScriptedChatModel([])

    monkeypatch.setattr("langchain.chat_models.init_chat_model", make)
    assert isinstance(resolve_chat_model("ollama:tiny"), ScriptedChatModel)
    assert made == [{"disable_streaming": "tool_calling"}]


@pytest.mark.parametrize(
    ("name", "base_url", "gate"),
    [
        ("openai:gpt-test", None, "openai"),
        (" local:tiny ", None, "local"),
        ("openai:gpt-test", "http://127.0.0.1:9/v1", "openai at http://127.0.0.1:9/v1"),
        ("qwen2.5:0.5b", "http://127.0.0.1:9/v1", "openai at http://127.0.0.1:9/v1"),
        ("ollama:tiny", "http://127.0.0.1:9", "ollama at http://127.0.0.1:9"),
    ],
)
def test_gate_is_that_of_the_provider_or_of_the_server(name: str, base_url: str | None, gate: str) -> None:
    assert gate_name(name, base_url=base_url) == gate


def test_missing_key_is_a_model_error(here: Path) -> None:
    with pytest.raises(ModelError, match=r"'openai:gpt-test' cannot be set up: .*OPENAI_API_KEY"):
        resolve_chat_model("openai:gpt-test")


def test_secrets_are_never_in_messages(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def quoting(name: str, **settings: object) -> None:
        raise RuntimeError(f"refused {settings['api_key']} and env-token-value for {name}")

    monkeypatch.setenv("SOME_TOKEN", "env-token-value")
    monkeypatch.setattr("langchain.chat_models.init_chat_model", quoting)
    with pytest.raises(ModelError, match=r"refused \*\*\* and \*\*\* for openai:m") as hit:
        resolve_chat_model("openai:m", api_key=KEY)
    assert hit.value.__suppress_context__


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("anthropic:claude-test", r"pip install 'sol-luna\[anthropic\]'"),
        ("mistralai:small", "langchain-mistralai"),
    ],
)
def test_missing_provider_package_is_told(name: str, message: str, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "langchain_anthropic", None)
    monkeypatch.setitem(sys.modules, "langchain_mistralai", None)
    with pytest.raises(ModelNotFoundError, match=message):
        resolve_chat_model(name)


@pytest.mark.parametrize("name", ["nonsense", "nobody:model", "", ":", "scripted:x"])
def test_unknown_names_are_refused_with_what_to_write(name: str, here: Path) -> None:
    with pytest.raises(ModelNotFoundError, match="Write local, local:NAME, openai:NAME"):
        resolve_chat_model(name)


def test_import_loads_neither_langchain_nor_the_engine() -> None:
    code = (
        "import sys, luna.models\n"
        "print([name for name in ('langchain', 'langchain_core', 'xllamacpp', 'psutil') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
