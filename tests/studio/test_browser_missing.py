"""What happens to the tests of the page on a machine without Chromium."""

import shutil

import pytest

from tests.studio import browser


@pytest.fixture(autouse=True)
def without_chromium(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    browser.chromium.cache_clear()


def test_they_are_skipped_with_a_sentence_that_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match=r"apt-get install chromium\."):
        browser.chromium()


def test_they_fail_in_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "1")
    with pytest.raises(pytest.fail.Exception, match=r"apt-get install chromium\."):
        browser.chromium()
