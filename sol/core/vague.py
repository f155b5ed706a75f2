"""Tell whether a goal names anything to work on, without any model: no object, or an unbounded scope, is refused."""

import re
import unicodedata

_EMPTY_WORDS = frozenset(
    """
    a an the this that these those it its them they here there around about of in on at to for with and or all any every
    everything anything something whatever whole entire stuff thing things rest remaining other others some more up out
    please just now asap properly correctly better good nice right well again ok okay work works working done do does
    make makes making get fix fixes fixing solve handle improve finish complete check clean sort deal change update
    implement write you we i me my our your can could should must is are be so as etc
    """.split()
)
_EMPTY_PHRASES = (
    "この辺",
    "その辺",
    "このあたり",
    "ここ",
    "そこ",
    "これ",
    "それ",
    "あれ",
    "全部",
    "すべて",
    "全て",
    "みんな",
    "いろいろ",
    "直して",
    "修正して",
    "やって",
    "よろしく",
    "お願い",
    "ください",
    "下さい",
    "しておいて",
    "しといて",
    "して",
    "なんとか",
    "を",
    "は",
    "が",
    "に",
    "の",
    "も",
    "で",
    "と",
)
_BETWEEN = re.compile(r"[^\w./-]+")


def vague(goal: str) -> str | None:
    """Say why a goal is too vague to hand out, or None when it names something.

    What counts is whether any word is left once pronouns, quantifiers and verbs that fit everything are taken away.

    Source: S34.
    """
    if goal.isascii():  # the phrases are not
        text = goal.casefold().strip()
    else:
        text = unicodedata.normalize("NFKC", goal).casefold().strip()
        for phrase in _EMPTY_PHRASES:
            text = text.replace(phrase, " ")
    for word in _BETWEEN.split(text):
        bare = word.strip("./-")
        if bare and bare not in _EMPTY_WORDS:
            return None
    return f"the goal {goal!r} names no object to work on; say what is to be changed or found, and where"
