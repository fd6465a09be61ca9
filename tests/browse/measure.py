"""How large and how quick the page is: python -m tests.browse.measure [ENTRIES]."""

import random
import sys
import tempfile
from pathlib import Path

from memcli.views import page
from tests.browse.driver import Browser
from tests.browse.test_page import item, report

WORDS = "cart checkout parser importer worker billing mailer index cache session token deploy".split()
ASKED = ("p", "pa", "par", "cart worker", "the", "zzz", "c", "")


def main():
    number = int((*sys.argv, 10_000)[1])
    chance = random.Random(1)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "page.html"
        texts = (" ".join(chance.choices(WORDS, k=90)) for _ in range(number))
        made = (
            item(n, text=text, tags=[WORDS[n % 12]]) for n, text in enumerate(texts)
        )
        place.write_text(page.render(report(*made)), "utf-8")
        browser = Browser(Path(folder) / "chromium")
        browser.open(place.as_uri())
        paint = browser.until(
            "return performance.getEntriesByType('paint')[0]?.startTime"
        )
        ready = browser.js(
            "return performance.getEntriesByType('navigation')[0].loadEventEnd"
        )
        press = (
            "const q = document.getElementById('query'), begun = performance.now(); q.value ="
            " arguments[0]; q.dispatchEvent(new Event('input')); document.body.offsetHeight;"
            " return performance.now() - begun"
        )
        slowest = max(browser.js(press, text) for text in ASKED)
        browser.close()
        size = place.stat().st_size / 1e6
    print(
        f"{number:,} entries: {size:.1f} MB, first paint {paint:.0f} ms, ready {ready:.0f} ms,",
        end="",
    )
    print(f" a key press at most {slowest:.0f} ms")


if __name__ == "__main__":
    main()
