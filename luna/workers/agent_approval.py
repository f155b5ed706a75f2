"""Tool calls that need a human's consent: asked for through the report, since an attempt never waits for anybody.

An answer of an earlier attempt holds for exactly the call it was given for. Whatever is not a yes is a no.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, Final, Literal

from langchain.agents.middleware import HumanInTheLoopMiddleware, InterruptOnConfig
from langchain.agents.middleware.human_in_the_loop import Decision
from pydantic import Field, JsonValue

from luna.protocol import Data, Stuck, StuckKind, Text

_SHOWN_CHARACTERS: Final = 600
_HASH_DIGITS: Final = 32
_YES: Final = frozenset({"yes", "y"})


class Approve(Data):
    """Which tool calls need consent.

    Attributes:
        tools: Names of tools; `*` stands for anything (`files__*`: all of the server `files`).
        how: `ask` ends the attempt as STUCK with the question; a later attempt heeds the answer. `reject` is for runs
            that nobody watches: such calls are refused, and the agent is told so and may go on without.
    """

    tools: tuple[Text, ...] = Field(min_length=1)
    how: Literal["ask", "reject"] = "ask"

    def covers(self, tool: str) -> bool:
        """Whether calls of this tool need consent."""
        return any(fnmatchcase(tool, pattern) for pattern in self.tools)


class Approval:
    """Decides on the calls of one attempt.

    Args:
        approve: Which calls, and how.
        answers: What humans have answered so far, by question.
    """

    def __init__(self, approve: Approve, answers: Mapping[str, str]) -> None:
        self._approve = approve
        self._answers = answers

    def middleware(self, tools: Iterable[str]) -> HumanInTheLoopMiddleware[Any, Any, Any]:
        """LangChain's review of calls, for those of the tools that need consent.

        Args:
            tools: Names of all tools that the agent has.
        """
        both = InterruptOnConfig(allowed_decisions=["approve", "reject"])
        return HumanInTheLoopMiddleware({name: both for name in tools if self._approve.covers(name)})

    def decide(self, requests: Sequence[Mapping[str, Any]]) -> list[Decision] | Stuck:
        """The decisions on the calls of one turn, or the report that asks for the first one missing.

        Args:
            requests: Name and arguments (`args`) of each, in order.
        """
        decisions: list[Decision] = []
        for request in requests:
            decision = self._decision(request["name"], request["args"])
            if isinstance(decision, Stuck):
                return decision
            decisions.append(decision)
        return decisions

    def _decision(self, tool: str, arguments: Mapping[str, JsonValue]) -> Decision | Stuck:
        if self._approve.how == "reject":
            return {"type": "reject", "message": f"denied: {tool} needs a human's consent, and nobody is there to ask"}
        asked = question(tool, arguments)
        answer = self._answers.get(asked)
        if answer is None:
            return Stuck(
                kind=StuckKind.NEEDS_HUMAN,
                summary="A call needs a human's consent.",
                blocker=f"{tool} must not be called without a human's consent",
                question=asked,
            )
        if answer.strip().lower() in _YES:
            return {"type": "approve"}
        return {"type": "reject", "message": f"denied: {answer.strip() or 'no reason given'}"}


def question(tool: str, arguments: Mapping[str, JsonValue]) -> str:
    """What a human is asked about a call: the same for the same call, another one for any other.

    The arguments are shown as JSON in plain ASCII, so that nothing in them can steer a terminal, look like something
    else, or end the question. Of long ones the middle is left out, and a digest of the whole tells them apart.
    """
    whole = json.dumps(arguments, sort_keys=True, separators=(", ", ": ")).replace("\x7f", "\\u007f")
    shown = whole
    if len(whole) > _SHOWN_CHARACTERS:
        half = _SHOWN_CHARACTERS // 2
        digest = hashlib.sha256(whole.encode()).hexdigest()[:_HASH_DIGITS]
        shown = f"{whole[:half]} … {whole[-half:]} ({len(whole)} characters, SHA-256 {digest})"
    return f"May this run: {tool} {shown}? Answer yes or no."
