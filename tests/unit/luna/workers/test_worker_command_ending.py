"""Commands as workers: how they end."""

import time
import tracemalloc
from pathlib import Path

import pytest

from luna.process.execute import ProcessLimits, ProcessResult
from luna.protocol import Failed, FailedKind, Stuck, StuckKind, Success
from luna.verify import verify
from luna.workers.reports import judge
from tests.support.commands import SUCCESS, failure_of, py, report_of, result_of, sh, task
from tests.support.processes import linux


async def test_exit_code_and_stderr_are_the_reason(tmp_path: Path) -> None:
    script = "echo out; echo 'token=abcdefgh1234 \x1b[1mbad' >&2; exit 3"
    report = await failure_of(tmp_path, sh(script))
    assert report.kind == FailedKind.EXIT
    assert report.reason == "sh ended with exit code 3: token=[hidden] bad"
    assert report.evidence == ("stdout: out", "stderr: token=[hidden] bad")
    assert (await failure_of(tmp_path, "false")).reason == "false ended with exit code 1"


async def test_long_stderr_is_clipped(tmp_path: Path) -> None:
    report = await failure_of(tmp_path, sh("seq 1 20000 >&2; exit 1"))
    assert report.reason.endswith("20000")
    assert len(report.reason) < 600
    assert len(report.evidence[0]) < 2_100


async def test_claim_of_success_with_a_bad_exit_is_kept_as_evidence(tmp_path: Path) -> None:
    report = await failure_of(tmp_path, sh(f"echo '{SUCCESS}'; exit 4"), output="report")
    assert report.evidence == ("claimed SUCCESS nevertheless", f"stdout: {SUCCESS}")


async def test_stuck_and_failed_reports_count_with_a_bad_exit(tmp_path: Path) -> None:
    record = '{"status": "STUCK", "blocker": "no network"}'
    assert await report_of(tmp_path, sh(f"echo '{record}'; exit 3"), output="report") == Stuck(blocker="no network")
    record = '{"status": "FAILED", "kind": "refused", "reason": "no"}'
    report = await report_of(tmp_path, sh(f"echo '{record}'; exit 3"), output="report")
    assert report == Failed(kind=FailedKind.REFUSED, reason="no")
    assert (await failure_of(tmp_path, sh("echo; exit 3"), output="report")).kind == FailedKind.EXIT


async def test_other_exit_codes_may_be_good(tmp_path: Path) -> None:
    assert await result_of(tmp_path, ["grep", "x", "/dev/null"], ok_exit_codes=[0, 1]) == ""
    assert await result_of(tmp_path, sh("exit 130"), ok_exit_codes=[130]) == ""
    assert (await failure_of(tmp_path, "true", ok_exit_codes=[1])).kind == FailedKind.EXIT
    assert (await failure_of(tmp_path, sh("exit 255"))).kind == FailedKind.EXIT


async def test_signals_are_named(tmp_path: Path) -> None:
    assert (await failure_of(tmp_path, sh("kill -9 $$"))).reason == "sh was killed: signal SIGKILL"
    assert (await failure_of(tmp_path, sh("exit 137"))).reason == "sh ended with exit code 137: signal SIGKILL"


async def test_a_command_that_is_not_there_is_not_started(tmp_path: Path) -> None:
    report = await failure_of(tmp_path, "no-such-program-here -x")
    assert report.kind == FailedKind.NOT_STARTED
    assert "no such program" in report.reason


async def test_silence_ends_as_stuck(tmp_path: Path) -> None:
    report = await report_of(tmp_path, sh("echo begun; sleep 60"), inactivity_s=0.3)
    assert isinstance(report, Stuck)
    assert (report.kind, report.blocker) == (StuckKind.TIMEOUT, "sh wrote nothing for 0.3 s and was ended")
    assert report.evidence == ("stdout: begun",)


@pytest.mark.case("PROC-02")
@pytest.mark.slow
@pytest.mark.parametrize(
    "script",
    [
        'trap "" TERM; (trap "" TERM; sleep 60) & echo hi; sleep 60',
        "setsid sleep 60 & echo hi; sleep 60",
    ],
)
async def test_time_out_ends_all_of_it_in_time(tmp_path: Path, script: str) -> None:
    begun = time.monotonic()
    report = await report_of(tmp_path, sh(script), timeout_s=0.5)
    assert time.monotonic() - begun < 40  # what it started would take 60
    assert isinstance(report, Stuck)
    assert (report.kind, report.blocker) == (StuckKind.TIMEOUT, "sh did not end within 0.5 s and was ended")
    assert report.evidence == ("stdout: hi",)


LANTERN = 'import sys; sys.stdout.write(\'lantern \' * 50_000 + \'{"status":"SUCCESS","summary":""}\')'


@pytest.mark.case("LOOP-07")
@pytest.mark.parametrize("output", ["text", "report"])
async def test_huge_repeated_reply_is_over_the_limit(tmp_path: Path, output: str) -> None:
    report = await failure_of(tmp_path, py(LANTERN), output=output, output_bytes=65_536)
    assert report.kind == FailedKind.OUTPUT_LIMIT
    assert report.reason.startswith("reply over limit, repeated text ('lantern ', ")
    assert report.reason.endswith("; the limit is 65536 bytes")
    assert sum(map(len, report.evidence)) < 2_100


@pytest.mark.case("LOOP-07")
async def test_huge_reply_within_the_limit_is_no_success_without_its_artefact(tmp_path: Path) -> None:
    report = await failure_of(tmp_path, py(LANTERN), output="report", output_bytes=1 << 20)
    assert report.kind == FailedKind.NO_STATUS
    claim = await report_of(tmp_path, py(LANTERN), output="text", output_bytes=1 << 20)
    assert isinstance(claim, Success)
    assignment = task(files=("out.csv",))
    [check, _] = await verify(
        assignment.checks, assignment=assignment, result=claim.result, workspace=tmp_path, started_t=0
    )
    assert (check.kind, check.ok) == ("file", False)


@pytest.mark.case("LOOP-07")
async def test_memory_stays_bounded_by_the_limit(tmp_path: Path) -> None:
    endless = py("import sys\nwhile True: sys.stdout.write('lantern ' * 1000)")
    await report_of(tmp_path, endless, output_bytes=65_536)  # loads what is loaded once
    tracemalloc.start()
    try:
        report = await failure_of(tmp_path, endless, output_bytes=65_536)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert report.kind == FailedKind.OUTPUT_LIMIT
    assert peak < 4 << 20


def test_reply_that_was_over_the_limit_when_the_command_ended_is_no_success() -> None:
    result = ProcessResult(kind="exited", exit_code=0, stdout=b"begin[...]end", stdout_bytes=101, seconds=0.1)
    limits = ProcessLimits(timeout_s=None, output_bytes=100)
    report = judge(result, name="x", output="text", ok_exit_codes=[0], limits=limits)
    assert isinstance(report, Failed)
    assert report.kind == FailedKind.OUTPUT_LIMIT


def test_processes_that_could_not_be_ended_are_named() -> None:
    limits = ProcessLimits(timeout_s=1)
    result = ProcessResult(kind="exited", exit_code=0, seconds=0.1, leftovers=(12,))
    report = judge(result, name="x", output="text", ok_exit_codes=[0], limits=limits)
    assert isinstance(report, Success)
    assert report.remaining_risks == ("process 12 could not be ended",)
    result = ProcessResult(kind="timeout", seconds=0.1, leftovers=(12,))
    report = judge(result, name="x", output="text", ok_exit_codes=[0], limits=limits)
    assert isinstance(report, Stuck)
    assert report.evidence == ("process 12 could not be ended",)


async def test_varied_reply_over_the_limit_is_not_called_repeated(tmp_path: Path) -> None:
    report = await failure_of(tmp_path, ["seq", "1", "20000"], output_bytes=4_096)
    assert report.reason == "reply over limit; the limit is 4096 bytes"


async def test_kill_by_the_limit_on_processor_time_is_named(tmp_path: Path) -> None:
    report = await failure_of(tmp_path, py("while True: pass"), cpu_s=1)
    assert report.kind == FailedKind.KILLED
    assert report.reason.endswith("was killed: signal SIGXCPU, it used up its limit of 1 s of processor time")
    deaf = "import signal; signal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True: pass"
    report = await failure_of(tmp_path, py(deaf), cpu_s=1)
    assert report.reason.endswith("signal SIGKILL, perhaps for its limit of 1 s of processor time")


@linux
async def test_memory_is_limited(tmp_path: Path) -> None:
    report = await failure_of(tmp_path, py("bytearray(1 << 30)"), memory_mb=500)
    assert (report.kind, report.reason.rpartition(": ")[2]) == (FailedKind.EXIT, "MemoryError")


async def test_grace_time_is_that_of_the_options(tmp_path: Path) -> None:
    clean = "trap 'sleep 0.3; echo cleaned; exit' TERM; while :; do sleep 0.02; done"
    for grace_s in (2, 0):
        report = await report_of(tmp_path, sh(clean), timeout_s=0.3, grace_s=grace_s)
        assert ("stdout: cleaned" in report.evidence) == (grace_s > 0)
