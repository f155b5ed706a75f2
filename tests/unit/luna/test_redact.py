import pytest

from luna.text import redact


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("GET https://ann:hunter2pass@host/x failed", "hunter2pass"),
        ("Authorization: Bearer abcdef123456.xyz", "abcdef123456"),
        ("401 with api_key=0123456789abcdef", "0123456789abcdef"),
        ('{"access_token": "0123456789abcdef"}', "0123456789abcdef"),
        ("PASSWORD: hunter2pass", "hunter2pass"),
        ("Incorrect API key provided: sk-proj-abcdefghijklmnop", "abcdefghijklmnop"),
        ("AKIAABCDEFGHIJKLMNOP is not allowed", "AKIAABCDEFGHIJKLMNOP"),
        ("token eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.SflKxwRJSM", "SflKxwRJSM"),
    ],
)
def test_redact_hides_the_usual_shapes(text: str, secret: str) -> None:
    hidden = redact(text, {})
    assert secret not in hidden
    assert "[hidden]" in hidden


def test_redact_hides_values_of_secret_variables_only() -> None:
    environ = {"MY_API_KEY": "quite ordinary words", "HOME": "/home/somebody", "SHORT_TOKEN": "ok"}
    text = "ok: quite ordinary words in /home/somebody"
    assert redact(text, environ) == "ok: [hidden] in /home/somebody"


def test_redact_leaves_ordinary_text() -> None:
    text = "ValueError: 17 tokens left, https://host/path?x=1, see key 'goal'; task-123 is basic"
    assert redact(text, {}) == text
