"""The README's Python runs as it is printed."""

import re
from pathlib import Path

import pytest

README = Path(__file__).parent.parent / "README.md"


def test_the_ten_lines_of_python_run(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert len([line for line in code.splitlines() if line]) <= 10
    names: dict[str, object] = {}
    exec(code, names)  # noqa: S102  (our own README)
    assert capsys.readouterr().out == "within 4.0 px\n"
    truth = names["squares"].positions  # type: ignore[attr-defined]
    errors = (names["positions"].detach().numpy()[:, 0] - truth).__abs__()  # type: ignore[attr-defined]
    assert errors.max() < 0.5


def test_every_public_name_is_there() -> None:
    import withinpx  # noqa: PLC0415

    for name in withinpx.__all__:
        assert getattr(withinpx, name) is not None
    with pytest.raises(AttributeError, match="has no nonsense"):
        _ = withinpx.nonsense
