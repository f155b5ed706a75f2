"""What monitors share: a memory with a limit, fingerprints, short descriptions."""

from luna.monitor.base import Memory, describe, fingerprint, shorten
from luna.protocol import Action


def test_memory_forgets_the_eldest_beyond_its_limit() -> None:
    memory: Memory[str, int] = Memory(2)
    for number, key in enumerate("abac"):
        memory.put(key, number)
    assert [memory.get(key) for key in "abc"] == [2, None, 3]
    memory.clear()
    assert memory.get("a") is None


def test_fingerprint_ignores_what_changes_by_itself() -> None:
    assert fingerprint("done at 12:30:01, 0x7f3a") == fingerprint("done at 23:59:59, 0x11ff")
    assert fingerprint("3 left") != fingerprint("2 left")


def test_shorten_keeps_both_ends_on_one_line() -> None:
    assert shorten("a\n  b") == "a b"
    short = shorten(f"begin {'x ' * 300} end", 20)
    assert len(short) <= 20
    assert (short[:5], short[-3:]) == ("begin", "end")
    assert shorten("ab" * 20, 21) == "ababababa … babababab"


def test_describe_names_the_action_with_its_arguments() -> None:
    assert describe(Action(name="look")) == "look()"
    assert describe(Action(name="look", arguments={"at": "sky", "n": 2})) == "look(at='sky', n=2)"
    assert len(describe(Action(name="look", arguments={"at": "sky" * 200}))) < 130
