"""A command's output is a SUCCESS only as a whole record after a good exit, wherever it is cut."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from luna.process.execute import ProcessLimits, ProcessResult
from luna.protocol import Report, Success
from luna.workers.reports import judge

LIMITS = ProcessLimits(timeout_s=1, output_bytes=1 << 20)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def judged(stdout: bytes, *, exit_code: int = 0) -> Report:
    result = ProcessResult(kind="exited", exit_code=exit_code, stdout=stdout, stdout_bytes=len(stdout), seconds=0.1)
    return judge(result, name="x", output="report", ok_exit_codes=[0], limits=LIMITS)


@pytest.mark.case("STAT-01")
@given(json_values, st.binary(max_size=20), st.data())
def test_a_cut_report_is_never_a_success(value: object, before: bytes, data: st.DataObject) -> None:
    record = json.dumps({"status": "SUCCESS", "summary": "s", "result": value}, ensure_ascii=False).encode()
    cut = data.draw(st.integers(0, len(record) - 1))
    assert not isinstance(judged(before + b"\n" + record[:cut]), Success)


@given(json_values, st.text(st.characters(exclude_categories=["Cs"]), max_size=20))
def test_a_whole_report_is_read_after_any_text(value: object, before: str) -> None:
    record = {"status": "SUCCESS", "summary": "s", "result": value}
    report = judged(f"{before}\n{json.dumps(record)}\n".encode())
    assert report == Success(summary="s", result=value)  # type: ignore[arg-type]  # JSON by its making


@pytest.mark.req("S52")
@given(st.binary(max_size=60), st.integers(1, 255))
def test_a_bad_exit_is_never_a_success(tail: bytes, exit_code: int) -> None:
    whole = b'{"status": "SUCCESS", "summary": "s"}'
    for stdout in (whole, tail + b"\n" + whole, whole + b"\n" + tail):
        assert not isinstance(judged(stdout, exit_code=exit_code), Success)
