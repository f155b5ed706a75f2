"""Fits a loaded YAML document to a pydantic model and says, for each misfit, where it stands and what to write.

Validation is strict: a text never becomes a number or a boolean, nor the other way round. It must not change the data.
"""

import difflib
import json
import re
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from sol.strictyaml.document import Document, Position, Problem, StrictYamlError, YamlPath

MAX_PROBLEMS = 10
MAX_SHOWN_CHARACTERS = 80

M = TypeVar("M", bound=BaseModel)
Detail = Mapping[str, Any]

_NUMBER_ERRORS = frozenset({"int_type", "float_type", "int_parsing", "float_parsing", "int_from_float"})


def validate_model(document: Document, model_type: type[M], path: YamlPath = ()) -> M:
    """Read the value at `path` as a model.

    Args:
        document: The loaded text.
        model_type: The model to make. Its fields are read strictly, as from JSON: lists fit tuples, texts fit enums.
        path: Where the value is; it must be there.

    Raises:
        StrictYamlError: Names up to 10 problems in the order of the text, each with its position and remedy.
        KeyError, IndexError: If `path` leads nowhere.
    """
    value = document.value
    for step in path:
        value = value[step]
    try:
        # JSON, since strict validation of Python objects would ask for real tuples and enums.
        return model_type.model_validate_json(json.dumps(value), strict=True)
    except ValidationError as error:
        details = error.errors(include_url=False)
    problems = {_problem(document, model_type, path, detail): None for detail in details}
    ordered = sorted(problems, key=lambda p: (p.position.line, p.position.column))
    listed = ordered[:MAX_PROBLEMS]
    raise StrictYamlError(document.source, listed, omitted=len(ordered) - len(listed))


def _problem(document: Document, model_type: type[BaseModel], base: YamlPath, detail: Detail) -> Problem:
    loc: YamlPath = detail["loc"]
    path = _path_in(document.value, base + loc)
    name = _dotted(path)
    match detail["type"]:
        case "extra_forbidden":
            known = sorted(_fields_at(model_type, loc[:-1]))
            return Problem(document.key_at(path), f"unknown field {name}", _suggest(str(loc[-1]), known))
        case "missing":
            position = document.key_at(path)
            return Problem(position, f"field {str(loc[-1])!r} is missing in {name}", f"add '{loc[-1]}: …'")
        case _:
            what, remedy = _misfit(document.raw(path), detail)
            return Problem(_value_position(document, path), f"{name} {what}", remedy)


def _value_position(document: Document, path: YamlPath) -> Position:
    # An empty value has no text of its own; its key is what a reader looks for.
    return document.key_at(path) if document.raw(path) == "" else document.at(path)


def _misfit(raw: str | None, detail: Detail) -> tuple[str, str]:
    kind, given = detail["type"], detail["input"]
    if kind == "string_type" and raw:
        return f"must be text, but unquoted {raw} is not", f'quote this: "{raw}"'
    if kind == "string_type" and raw == "":
        return "must be text, but nothing is given", 'write the text, or "" for an empty one'
    if kind in {"bool_type", "bool_parsing"}:
        return f"must be true or false, not {_shown(given)}", "write true or false, without quotes"
    if kind in _NUMBER_ERRORS and isinstance(given, str):
        remedy = "write digits without quotes, leading zeros or underscores, and 1.0e3 rather than 1e3"
        return f"must be a number, but {_shown(given)} is text", remedy
    message = str(detail["msg"]).removeprefix("Value error, ").removeprefix("Assertion failed, ").rstrip(".")
    what = f"is not accepted: {message} (given: {_shown(given)})"
    choices = re.findall(r"'([^']*)'", detail.get("ctx", {}).get("expected", "")) if isinstance(given, str) else []
    return what, _suggest(given, choices) if choices else "correct the value"


def _suggest(given: str, known: list[str]) -> str:
    if near := difflib.get_close_matches(given, known, n=1):
        return f"did you mean {near[0]!r}?"
    return f"known: {', '.join(known)}" if known else "remove it"


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= MAX_SHOWN_CHARACTERS else f"{text[:MAX_SHOWN_CHARACTERS]}…"


def _dotted(path: YamlPath) -> str:
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return repr(text.removeprefix(".")) if text else "the document"


def _path_in(value: object, loc: YamlPath) -> YamlPath:
    """The way down `value` along `loc`, whose steps may also be names of union members; those are skipped."""
    path: list[str | int] = []
    parts = _parts(value)
    for step, following in zip_longest(loc, loc[1:]):
        if step not in parts:
            continue
        below = _parts(parts[step])
        if following in parts and following not in below:
            continue  # A member's name that happens to be a key as well.
        path.append(step)
        parts = below
    return tuple(path)


def _parts(value: object) -> Mapping[str | int | None, object]:
    if isinstance(value, dict):
        return value
    return dict(enumerate(value)) if isinstance(value, list) else {}


def _fields_at(model_type: type[BaseModel], loc: YamlPath) -> set[str]:
    """Names a mapping may have where `loc` leads; in a union those of all its members."""
    models = {model_type}
    for step in loc:
        named = {model for model in models if model.__name__ == step}
        deeper = {
            inner
            for model in models
            for name, info in model.model_fields.items()
            if step in {name, info.alias}
            for inner in _models_in(info.annotation)
        }
        # A list index or a dict key leads to what the annotation already gave.
        models = deeper or named or models
    return {info.alias or name for model in models for name, info in model.model_fields.items()}


def _models_in(annotation: object) -> Iterator[type[BaseModel]]:
    pending, seen = [annotation], set[int]()
    while pending:
        part = pending.pop()
        if id(part) in seen:
            continue  # A type alias may name itself.
        seen.add(id(part))
        if isinstance(part, type) and issubclass(part, BaseModel):
            yield part
        pending.extend(get_args(getattr(part, "__value__", part)))
