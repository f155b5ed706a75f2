"""A scripted coding agent, built with the protocol's own package, to be run as a process.

Usage: python acp_agent.py SCRIPT. The script is JSON: settings of the agent, and under "turns" the steps of each turn.
"""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any, cast

import acp
from acp import schema


class Agent:
    """Does what its script says; the last turn is repeated when there are more prompts than turns."""

    def __init__(self, script: dict[str, Any]) -> None:
        self._script = script
        self._client: Any = None
        self._turn = 0
        self._called_off = asyncio.Event()
        self._values = {option["id"]: option["currentValue"] for option in script.get("config", [])}
        self._children: list[int] = []

    def on_connect(self, conn: acp.Client) -> None:
        self._client = conn

    async def initialize(self, protocol_version: int, client_capabilities: Any = None, **_: Any) -> Any:
        if self._script.get("hangs_at_start"):
            self._log("waiting", "ever")
            await asyncio.Event().wait()
        self._log("initialize", client_capabilities.model_dump(mode="json", exclude_none=True))
        return schema.InitializeResponse(
            protocol_version=self._script.get("version", protocol_version),
            agent_info=schema.Implementation(name="scripted", version="1"),
        )

    async def new_session(self, cwd: str, **_: Any) -> Any:
        if error := self._script.get("refuses"):
            raise acp.RequestError(*error)
        response = {"sessionId": "s1", "modes": self._script.get("modes"), "configOptions": self._options()}
        return schema.NewSessionResponse.model_validate(response)

    async def set_session_mode(self, session_id: str, mode_id: str, **_: Any) -> Any:
        self._log("mode", mode_id)
        return schema.SetSessionModeResponse()

    async def set_config_option(self, config_id: str, session_id: str, value: str | bool, **_: Any) -> Any:
        self._log("config", [config_id, value])
        if value == self._script.get("refused_value"):
            raise acp.RequestError.invalid_params({"details": "not today"})
        if value != self._script.get("ignored_value"):
            self._values[config_id] = value
        return schema.SetSessionConfigOptionResponse.model_validate({"configOptions": self._options()})

    async def cancel(self, session_id: str, **_: Any) -> None:
        self._log("cancel", session_id)
        self._called_off.set()

    async def prompt(self, session_id: str, prompt: list[Any], **_: Any) -> Any:
        self._log("prompt", "".join(block.text for block in prompt))
        turns = self._script["turns"]
        turn = turns[min(self._turn, len(turns) - 1)]
        self._turn += 1
        for step in turn:
            [(name, given)] = step.items()
            if name == "stop":
                return schema.PromptResponse.model_validate({"stopReason": given, **self._script.get("usage", {})})
            await getattr(self, f"_do_{name}")(given)
        return schema.PromptResponse(stop_reason="end_turn")

    # --- steps ---

    async def _do_update(self, update: dict[str, Any]) -> None:
        params = {"sessionId": "s1", "update": update}
        await self._do_raw(json.dumps({"jsonrpc": "2.0", "method": "session/update", "params": params}))

    async def _do_say(self, text: str) -> None:
        for start in range(0, len(text), 40):
            await self._client.session_update("s1", acp.update_agent_message_text(text[start : start + 40]))

    async def _do_raw(self, line: str) -> None:
        os.set_blocking(1, True)
        print(line, flush=True)

    async def _do_noise(self, size: int) -> None:
        print("x" * size, file=sys.stderr, flush=True)

    async def _do_ask(self, given: dict[str, Any]) -> None:
        call = schema.ToolCallUpdate.model_validate(given["call"])
        kinds = given.get("kinds", ["allow_always", "allow_once", "reject_always", "reject_once"])
        options = [schema.PermissionOption(option_id=f"id-{kind}", name=kind, kind=kind) for kind in kinds]
        answer = await self._client.request_permission("s1", call, options)
        self._log("answer", answer.outcome.model_dump(exclude_none=True))

    async def _do_read(self, given: dict[str, Any]) -> None:
        await self._try("read", self._client.read_text_file, session_id="s1", **given)

    async def _do_write(self, given: dict[str, Any]) -> None:
        await self._try("write", self._client.write_text_file, session_id="s1", **given)

    async def _do_terminal(self, command: str) -> None:
        await self._try("terminal", self._client.create_terminal, session_id="s1", command=command)

    async def _do_environment(self, names: list[str]) -> None:
        self._log("environment", {name: os.environ.get(name) for name in names})

    async def _do_child(self, seconds: int) -> None:
        self._children.append((await asyncio.create_subprocess_exec("sleep", str(seconds))).pid)

    async def _do_fail(self, error: list[Any]) -> None:
        raise acp.RequestError(*error)

    async def _do_exit(self, code: int) -> None:
        print("the last words", file=sys.stderr, flush=True)
        os._exit(code)

    async def _do_wait(self, until: str) -> None:
        self._log("waiting", until)
        if until == "cancel":
            await self._called_off.wait()
        else:
            await asyncio.Event().wait()

    async def _do_endless_line(self, size: int) -> None:
        await self._do_raw("x" * size)
        await asyncio.Event().wait()

    async def _do_burn(self, _: Any) -> None:
        while True:
            pass

    async def _do_pid(self, _: Any) -> None:
        self._log("pid", [os.getpid(), *self._children])

    async def _do_close(self, _: Any) -> None:
        os.close(1)
        await asyncio.Event().wait()

    # --- what a test looks at ---

    async def _try(self, name: str, function: Any, **given: Any) -> None:
        try:
            answer = await function(**given)
        except acp.RequestError as error:
            self._log(name, {"error": str(error), "data": error.data})
        except Exception as error:  # noqa: BLE001 - an answer that is not of the protocol
            self._log(name, {"error": type(error).__name__})
        else:
            self._log(name, answer.model_dump(exclude_none=True))

    def _log(self, what: str, value: Any) -> None:
        if log := self._script.get("log"):
            with Path(log).open("a") as file:
                file.write(json.dumps([what, value]) + "\n")

    def _options(self) -> list[dict[str, Any]]:
        return [{**option, "currentValue": self._values[option["id"]]} for option in self._script.get("config", [])]


if __name__ == "__main__":
    asyncio.run(acp.run_agent(cast("acp.Agent", Agent(json.loads(sys.argv[1])))))
