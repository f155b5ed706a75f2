"""The default local model with real weights: from the user's cache, or fetched where SOL_TEST_FETCH=1 allows it.

Without weights or engine everything here is skipped with the reason.
"""

import asyncio
import importlib.util
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import BaseModel

from luna.errors import ModelError
from luna.models import DEFAULT_MODEL, find_weights, resolve_chat_model
from luna.models.chat import LocalChatModel
from luna.models.llama import EngineSettings, PromptTooLongError, close_engines, engine_for

pytestmark = [pytest.mark.weights, pytest.mark.timeout(300)]


class Person(BaseModel):
    name: str
    age: str
    city: str


QUESTION = "Extract the person: Ruth Adler, 41, came to Zurich by train."


@pytest.fixture(scope="module")
def weights() -> Path:
    if importlib.util.find_spec("xllamacpp") is None:
        pytest.skip("the extra [local] is not installed")
    try:
        if found := find_weights():
            return found
    except ModelError as error:
        pytest.skip(str(error))
    if os.environ.get("SOL_TEST_FETCH") != "1":
        pytest.skip(
            f"no weights of {DEFAULT_MODEL.name} in the cache; `sol models fetch` or SOL_TEST_FETCH=1 gets them"
        )
    code = "from luna.models import fetch_weights; print(fetch_weights())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.skip(f"the weights could not be fetched: {done.stderr.strip().splitlines()[-1]}")
    return Path(done.stdout.strip())


@pytest.fixture(scope="module")
def model(weights: Path) -> Iterator[LocalChatModel]:
    model = resolve_chat_model("local", max_tokens=64, n_ctx=1024)
    assert isinstance(model, LocalChatModel)
    assert model.path == weights
    yield model
    close_engines()


def test_answer_follows_the_schema_and_is_the_same_each_time(model: LocalChatModel) -> None:
    extract = model.with_structured_output(Person, include_raw=True)
    answers = [extract.invoke(QUESTION) for _ in range(2)]
    assert answers[0]["parsed"] == answers[1]["parsed"] == Person(name="Ruth Adler", age="41", city="Zurich")
    usage = answers[1]["raw"].usage_metadata
    assert 0 < usage["input_token_details"]["cache_read"] < usage["input_tokens"]


async def test_concurrent_calls_are_all_answered(model: LocalChatModel) -> None:
    answers = await asyncio.gather(
        *(model.bind(max_tokens=4).ainvoke(f"Write a story about {n} foxes.") for n in range(4))
    )
    assert all(answer.response_metadata["finish_reason"] == "length" for answer in answers)
    assert all(answer.usage_metadata["output_tokens"] == 4 for answer in answers)


async def test_slots_are_used_at_once(weights: Path) -> None:
    model = LocalChatModel(path=weights, slots=2, n_ctx=512, max_tokens=4)
    answers = await asyncio.gather(*(model.ainvoke(f"Write a story about {n} foxes.") for n in range(3)))
    assert [answer.usage_metadata["output_tokens"] for answer in answers] == [4, 4, 4]


def test_prompt_longer_than_the_context_is_told(model: LocalChatModel) -> None:
    with pytest.raises(PromptTooLongError, match="context only 1024"):
        model.invoke("word " * 1200)


def test_schema_that_cannot_be_enforced_is_told(model: LocalChatModel) -> None:
    with pytest.raises(ModelError, match="unrecognized type"):
        model.with_structured_output({"type": "strange"}).invoke("q")


async def test_cancelled_call_frees_the_slot(model: LocalChatModel) -> None:
    task = asyncio.create_task(model.bind(max_tokens=900).ainvoke("Write a very long story about a lighthouse."))
    await asyncio.sleep(0.3)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    before = time.monotonic()
    assert (await model.bind(max_tokens=2).ainvoke("Say yes.")).content
    # The cancelled history alone would take longer than this on any machine that the tests run on.
    assert time.monotonic() - before < 15


def test_port_of_the_engine_is_shut(weights: Path) -> None:
    settings = EngineSettings(path=weights, n_ctx=512, slots=1, threads=1)
    engine = engine_for(settings)
    engine.submit({"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 1}).future.result(60)
    url = f"{engine._load().listening_address}/v1/models"
    assert url.startswith("http://127.0.0.1:")
    with pytest.raises(urllib.error.HTTPError, match="401"):
        urllib.request.urlopen(url, timeout=10)


INTERRUPTED = """
import os, signal, sys, threading
from pathlib import Path
from luna.models.chat import LocalChatModel
model = LocalChatModel(path=Path(sys.argv[1]), n_ctx=1024)
model.bind(max_tokens=1).invoke("Hi")
threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    model.bind(max_tokens=900).invoke("Write a very long history about a lighthouse.")
except KeyboardInterrupt:
    print("interrupted")
"""

LEFT_RUNNING = """
import sys, time
from pathlib import Path
from luna.models.llama import EngineSettings, engine_for
engine = engine_for(EngineSettings(path=Path(sys.argv[1]), n_ctx=1024, slots=1, threads=1))
engine.submit({"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 1}).future.result()
engine.submit({"messages": [{"role": "user", "content": "Write a very long history."}], "max_tokens": 900})
time.sleep(0.3)
print("left")
"""


@pytest.mark.parametrize(("script", "says"), [(INTERRUPTED, "interrupted"), (LEFT_RUNNING, "left")])
def test_process_ends_cleanly_and_silently_in_the_middle_of_an_answer(script: str, says: str, weights: Path) -> None:
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    done = subprocess.run(
        [sys.executable, "-c", script, str(weights)], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, says, "")
