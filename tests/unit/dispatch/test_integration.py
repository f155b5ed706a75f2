"""What a Luna gets that settles a conflict between the work of parts."""

from luna.protocol import Assignment
from luna.workspaces import Conflict, ConflictFile, Side
from sol.dispatch.isolation import TEXTS_BYTES, conflict_assignment
from sol.tree.effects import Checkout, MergeRequest, Part
from sol.tree.values import AssignmentData, plain, read
from tests.support.core import assignment_of

REQUEST = MergeRequest(
    read(AssignmentData, assignment_of()), Checkout("root.merge", "base"), (Part("0", "mend the door", "success"),)
)


def assigned(*files: ConflictFile) -> Assignment:
    conflict = Conflict(Side("1", "lamp"), files)
    return Assignment.model_validate(plain(conflict_assignment(REQUEST, conflict, context_bytes=4000)))


def test_sides_of_a_conflict_are_inputs() -> None:
    given = assigned(ConflictFile("a.py", "old", "ours", "theirs"), ConflictFile("b.bin", None, None, None))
    assert given.inputs["conflicts"] == [
        {"path": "a.py", "before": "old", "ours": "ours", "theirs": "theirs"},
        {"path": "b.bin", "before": None, "ours": None, "theirs": None},
    ]
    assert "left out" not in given.context
    assert "a.py" not in given.model_dump_json(exclude={"inputs"}), "names of files come from workers"


def test_sides_of_many_files_are_left_out_once_there_is_no_room_for_them() -> None:
    large = "é" * (TEXTS_BYTES // 8)
    given = assigned(
        *(ConflictFile(f"{name}.txt", None, large, large) for name in "abc"), ConflictFile("d.txt", "", "", "")
    )
    told: list[dict[str, str | None]] = given.inputs["conflicts"]  # type: ignore[assignment]  # as the sides above
    assert [one["path"] for one in told] == ["a.txt", "b.txt", "c.txt", "d.txt"]
    assert [one["ours"] for one in told] == [large, large, None, ""]
    assert "Sides left out here, see the files: 1 of 4." in given.context
