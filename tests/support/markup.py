"""Reading back the HTML that is made for people."""

from html.parser import HTMLParser

VOID = frozenset({"br", "hr", "img", "meta", "link", "input"})


class Reader(HTMLParser):
    """Collects what a browser would see.

    Attributes:
        tags: Names of all elements, in order.
        words: All text outside style sheets.
        deepest: Most elements inside one another.
        flaws: Elements that are not closed, or closed out of order; attributes that run code or load something.
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.words = ""
        self.deepest = 0
        self.flaws: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        self.flaws += self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.flaws += [name for name, _ in attrs if name.startswith("on") or name in {"src", "href"}]
        if tag not in VOID:
            self._open.append(tag)
            self.deepest = max(self.deepest, len(self._open))

    def handle_endtag(self, tag: str) -> None:
        if self._open and self._open[-1] == tag:
            self._open.pop()
        else:
            self.flaws.append(f"/{tag}")

    def handle_data(self, data: str) -> None:
        if "style" not in self._open:
            self.words += data
