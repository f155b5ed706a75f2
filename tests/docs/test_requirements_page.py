"""docs/requirements.md names the tests that there are, and every id in a docstring is on it."""

import re

from tests.support.requirements import PAGE, ROOT, page


def test_page_is_up_to_date() -> None:
    assert PAGE.read_text() == page(), "run: python tests/support/requirements.py"


def test_every_id_in_a_docstring_is_on_the_page() -> None:
    known = set(re.findall(r"^## (\S+)$", PAGE.read_text(), re.MULTILINE))
    named = {
        one
        for folder in ("sol", "luna")
        for file in (ROOT / folder).rglob("*.py")
        for source in re.findall(r"Source: ([^\n]*)", file.read_text())
        for one in re.findall(r"\b(?:[SRWD]\d\d|[A-Z]+-\d\d)\b", source)
    }
    assert sorted(named - known) == []
