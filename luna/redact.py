"""Takes secrets out of text that is about to be kept: messages of errors, output of programs.

A safety net, no licence to log secrets: it knows the usual shapes of keys and the values of secret-looking variables.
"""

import os
import re
from collections.abc import Mapping

HIDDEN = "[hidden]"
_SHORTEST = 8
_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL", re.IGNORECASE)
_SHAPES = (
    (re.compile(r"(?<=://)[^\s/@:]*:[^\s/@]+(?=@)"), HIDDEN),
    (re.compile(r"\b(bearer|basic)\s+[\w.~+/=-]{8,}", re.IGNORECASE), rf"\1 {HIDDEN}"),
    (
        re.compile(
            r"(\b[\w-]*(?:api[_-]?key|token|secret|passw(?:or)?d)[\"']?\s*[:=]\s*[\"']?)[^\s\"',;&)}]{4,}",
            re.IGNORECASE,
        ),
        rf"\1{HIDDEN}",
    ),
    (re.compile(r"\b(?:sk|pk|rk|ghp|gho|ghs|glpat|xox[abp]|hf)[-_][\w-]{12,}"), HIDDEN),
    (re.compile(r"\bAKIA[0-9A-Z]{16}\b"), HIDDEN),
    (re.compile(r"\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{4,}"), HIDDEN),
)


def redact(text: str, environ: Mapping[str, str] = os.environ) -> str:
    """Return `text` with what looks like a secret replaced by `[hidden]`.

    Args:
        text: Anything.
        environ: Variables whose values are hidden when their names say key, token, secret, password or credential;
            values shorter than 8 characters are left, they would hide ordinary words.
    """
    for name, value in environ.items():
        if len(value) >= _SHORTEST and value in text and _SECRET_NAME.search(name):
            text = text.replace(value, HIDDEN)
    for shape, instead in _SHAPES:
        text = shape.sub(instead, text)
    return text
