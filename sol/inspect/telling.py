"""The story of one node as text and as HTML for notebooks. Pure; what happened is put into words by `story`."""

from collections.abc import Iterator

from sol.inspect import labels, markup
from sol.inspect.diagrams import cut, short_path
from sol.inspect.markup import text
from sol.inspect.story import assignment_lines, happened
from sol.inspect.terminal import spent_words
from sol.tree.node import Node
from sol.tree.story import Story

_FIELD = 18
EVENTS = 300
"""Most lines on what happened in HTML; the first and the last of them."""

PARTS = 50
"""Most parts that are listed in HTML."""


def as_text(story: Story) -> str:
    """The story for a terminal or a log; holds no controls but line ends."""
    node = story.node
    lines = [f"node {short_path(node.path, most=60)}: {labels.SYMBOLS[node.state][0]} {_state(node)}"]
    lines += [labels.detail_of(node)] if labels.detail_of(node) else []
    before = ""
    for field, value in [*assignment_lines(node), ("Used", _used(node))]:
        lines.append(f"{'' if field == before else field:<{_FIELD}}{value}")
        before = field
    told = _happened(story)
    lines += ["", "What happened"] if told else []
    lines += [f"{labels.duration(at):>8}  {words}" for at, words in told]
    lines += ["", "Parts"] if story.children else []
    lines += [
        f"{labels.SYMBOLS[child.state][0]} {child.state:<9} {short_path(child.path)} {_about(child, node)}"
        for child in story.children
    ]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _state(node: Node) -> str:
    return f"{node.state} ({labels.clean(node.kind)})" if node.kind else str(node.state)


def _used(node: Node) -> str:
    return ", ".join([labels.duration(node.spent.seconds), *spent_words(node.spent)])


def _happened(story: Story) -> list[tuple[float, str]]:
    if not story.events:
        return []
    shift = story.events[0].t - story.began
    return [(max(at + shift, 0.0), words) for at, words in happened(story.node, story.events)]


def _about(child: Node, node: Node) -> str:
    return " — ".join(part for part in (labels.title_of(child, node), labels.detail_of(child)) if part)


# --- HTML ------------------------------------------------------------------------------------------------------------


def as_html(story: Story) -> str:
    """The story as one self-contained piece of HTML."""
    node = story.node
    head = f'<div class="head"><b class="m">node {text(short_path(node.path, most=60))}</b>'
    head += f' {markup.badge(str(node.state), _state(node))} <span class="q">{text(_used(node))}</span></div>'
    detail = labels.detail_of(node)
    parts = [head, f'<div class="t">{text(detail)}</div>' if detail else ""]
    fields = ((f'<span class="q">{field}</span>', text(value)) for field, value in _fields(node))
    parts += [markup.table(fields, classes=("m q", "t"))]
    if node.result is not None:
        parts.append(f"<details><summary>result</summary>{markup.preview(node.result)}</details>")
    parts += _checks(story)
    told = list(_limited(_happened(story)))
    if told:
        rows = ((text(at), text(words)) for at, words in told)
        parts += ["<h4>What happened</h4>", markup.table(rows, classes=("n", "t"))]
    parts += _parts(story)
    return markup.box(*parts)


def _fields(node: Node) -> Iterator[tuple[str, str]]:
    before = ""
    for field, value in assignment_lines(node):
        yield "" if field == before else field, value
        before = field


def _limited(told: list[tuple[float, str]]) -> Iterator[tuple[str, str]]:
    half = EVENTS // 2
    left_out = len(told) - 2 * half
    for place, (at, words) in enumerate(told):
        if left_out > 0 and half <= place < half + left_out:
            if place == half:
                yield "", f"… {left_out:,} more lines"
            continue
        yield labels.duration(at), words


def _checks(story: Story) -> Iterator[str]:
    if not story.checks:
        return
    words = {True: ("✓ holds", "success"), False: ("✗ does not hold", "failed"), None: ("? not checked", "skipped")}
    rows = []
    for check in story.checks[-PARTS:]:
        said, colour = words[check.ok]
        state = f'<span class="s" style="--c:var(--sol-{colour})">{said}</span>'
        rows.append((state, text(check.criterion), text(check.detail)))
    yield "<h4>Checks</h4>"
    yield markup.table(rows, classes=("t", "t", "t q"))


def _parts(story: Story) -> Iterator[str]:
    if not story.children:
        return
    yield "<h4>Parts</h4>"
    for child in story.children[:PARTS]:
        name = f'<span class="m q">{text(short_path(child.path))}</span>'
        words = f'<span class="w t">{text(cut(_about(child, story.node), 300))}</span>'
        yield f'<div class="row">{markup.mark(child.state)} {name} {words}</div>'
