"""Fetches a model's weights from the Hugging Face hub with plain HTTPS, continuing where an earlier try stopped.

No account, token or cache of the hub's own tools is used. What arrives is checked by the caller, by hash.
"""

import http
import http.client
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from luna.errors import WeightsError
from luna.models.catalogue import LocalModel

CHUNK_BYTES = 1 << 20
TIMEOUT_S = 30.0


class HubSource:
    """The Hugging Face hub as a source of weights.

    Args:
        endpoint: Root of the hub or of a mirror, `http:` or `https:`; the hash makes a mirror as good as the hub.
    """

    name = "Hugging Face hub"

    def __init__(self, endpoint: str = "https://huggingface.co") -> None:
        self._endpoint = endpoint.rstrip("/")

    def extend(self, partial: Path, model: LocalModel, *, report: Callable[[int], None]) -> None:
        """Continue `partial` at its end, or start over where the server sends only whole files.

        Raises:
            WeightsError: If the hub cannot be reached, refuses, or sends another number of bytes. What arrived stays.
            OSError: If the disk cannot be written.
        """
        url = f"{self._endpoint}/{model.hub_repo}/resolve/main/{model.hub_file}"
        with partial.open("ab") as stream:
            try:
                with _open(url, start=stream.tell()) as response:
                    if response.status != http.HTTPStatus.PARTIAL_CONTENT:
                        stream.truncate(stream.seek(0))
                    while chunk := response.read(CHUNK_BYTES):
                        if stream.tell() + len(chunk) > model.size_bytes:
                            raise WeightsError(f"{url} sends more than the expected {model.size_bytes} bytes.")
                        stream.write(chunk)
                        report(stream.tell())
            except (urllib.error.URLError, http.client.HTTPException, ConnectionError, TimeoutError) as error:
                raise WeightsError(f"{url}: {error}.") from error
            if stream.tell() != model.size_bytes:
                raise WeightsError(f"{url} stopped after {stream.tell()} of {model.size_bytes} bytes; run it again.")


def _open(url: str, *, start: int) -> Any:  # noqa: ANN401 - urllib's response has no common type
    if not url.startswith(("http://", "https://")):
        raise WeightsError(f"The hub's address {url!r} is neither http: nor https:; correct HF_ENDPOINT.")
    request = urllib.request.Request(url, headers={"User-Agent": "sol-luna"})  # noqa: S310 - scheme checked above
    if start:
        request.add_header("Range", f"bytes={start}-")
    return urllib.request.urlopen(request, timeout=TIMEOUT_S)  # noqa: S310 - scheme checked above
