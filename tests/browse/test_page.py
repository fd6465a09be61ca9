"""The page of mem browse, in a browser: found, filtered, read, copied; nothing hostile,
nothing sent."""

import re
import stat
from base64 import b64encode
from hashlib import sha256
from html import unescape

import pytest

from memcli.commands.browse import BrowseReport
from memcli.views import page

HEALTH = {
    "score": 50.0,
    "band": "yellow",
    "counts": {"live": 1, "tokens": 2, "files": 1},
    "metrics": {
        "freshness": {
            "value": None,
            "weight": 0.3,
            "reason": "none yet",
            "raise_with": "",
        }
    },
    "trend": [],
}
pytestmark = pytest.mark.process  # a browser

HOSTILE = [
    "</script><script>window.hit = 1</script>",
    '<img src=x onerror="window.hit = 1">',
    "[click](javascript:window.hit=1) <a href=javascript:window.hit=1>x</a>",
    "\"'><svg onload=window.hit=1> <!--data--><!--script-->",
    "&lt;b&gt; \u2028 ]]> ${window.hit=1} `code` **bold**",
]


def report(*items, pairs=()):
    return BrowseReport(
        name="repo",
        root="/r",
        day="2026-11-21",
        items=items,
        pairs=pairs,
        health=HEALTH,
    )


def item(number, **more):
    """One entry as the page reads it."""
    return {
        "id": f"id-{number:05}-abc",
        "what": "entry",
        "title": f"Title {number}",
        "text": f"Word{number}",
        "level": "project",
        "kind": ("fact", "pitfall")[number % 2],
        "status": "active",
        "path": "MEMORY.md",
        "line": number,
        "date": "2026-10-01",
        "age_days": number,
        "score": 1.0,
        "importance": 0.5,
        "reinforcement_count": 0,
        **more,
    }


def shown(browser, tmp_path, made, **window):
    """Open a page of these; neither the console nor the network has anything to say."""
    place = tmp_path / "page.html"
    place.write_text(page.render(made), "utf-8")
    browser.log(), browser.requests()
    browser.open(place.as_uri(), **window)
    assert browser.log() == []
    assert browser.requests() == [place.as_uri()]


@pytest.mark.unit
def test_nothing_but_the_pages_own_script_and_style_may_run():
    """By the policy: their hashes, no address, no reach; memory cannot end the element
    it is in."""
    text = page.render(
        report(
            *(
                item(number, title=each, text=each)
                for number, each in enumerate(HOSTILE)
            )
        )
    )
    (found,) = re.findall(r'Content-Security-Policy" content="([^"]+)"', text)
    policy = unescape(found)
    for tag in ("style", "script"):
        (own,) = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        digest = b64encode(sha256(own.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    assert "connect-src 'none'" in policy
    assert "unsafe" not in policy
    assert "require-trusted-types-for 'script'" in policy
    body = text.split('id="data">')[1].split("</script>")[0]
    assert not set("<>&\u2028\u2029") & set(body)
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacent|document\.write|\beval\(", text
    )


def test_hostile_text_is_text(browser, tmp_path):
    """In a title, a body, a tag, a file's name, an id, a reason: it is read, and does
    nothing."""
    made = [
        item(
            number,
            id=each,
            title=each,
            text=f"{each}\n- {each}",
            tags=[each],
            path=each,
            kind=each,
            paths=[each],
            gone=each,
            told=[("2026-11-20T10:00", each, each, each)],
            links=[("supports", HOSTILE[0])],
            life=[(each, each, each, each, each)],
        )
        for number, each in enumerate(HOSTILE)
    ]
    pair = ("contradiction", HOSTILE[0], (HOSTILE[1], HOSTILE[2]), HOSTILE[3])
    shown(browser, tmp_path, report(*made, pairs=(pair,)))
    for view in "234512":
        browser.press(view)
    browser.press("1")
    for number, each in enumerate(HOSTILE):
        browser.js("document.querySelectorAll('.row')[arguments[0]].click()", number)
        read = each.replace("\u2028", " ").replace("`", "")
        assert browser.text("#detail h2").split() == read.split()
    look = """
        const active = document.querySelectorAll("a, img, svg[onload], iframe").length;
        return [window.hit || 0, active, document.scripts.length]
    """
    assert browser.js(look) == [0, 0, 2]
    assert browser.log() == []
    assert browser.requests() == []


def test_a_text_that_only_says_its_title_is_not_shown_again(browser, tmp_path):
    one = item(0, title="Use pnpm", text="No, use pnpm.")
    shown(browser, tmp_path, report(one))
    assert "pnpm" not in browser.text("#detail .text")


def test_search_filter_keys_and_copy(browser, tmp_path):
    """Words must all occur, -word must not; arrows go on, Esc clears; a command is
    copied."""
    links = [("supports", "id-00002-abc")]
    made = [
        item(
            number,
            tags=["red"] if number < 3 else [],
            links=links if number == 1 else [],
        )
        for number in range(40)
    ]
    made[38]["text"] = "A Cafe"
    made[39]["title"] += ", naïve"
    made[37]["title"] += ", 한글 в моём"
    shown(browser, tmp_path, report(*made, item(99, what="archive", title="Gone")))
    browser.press("/title 3")
    assert browser.text("#tally") == "13 of 41"
    assert browser.text(".row b") == "Title 3"
    assert browser.text("#detail h2") == "Title 3"
    browser.press("\ue00c/CAFÉ")
    assert browser.text("#detail mark") == "Cafe"
    browser.press("\ue00c/naive")
    assert browser.text("#detail mark") == "naïve"
    for half in ("하", "моем"):
        browser.press(f"\ue00c/{half}")
        assert browser.text("#list") == "Nothing fits. Fewer words, or fewer filters?"
    browser.press("\ue00c/한글")
    assert browser.text("#detail mark") == "한글"
    browser.press("\ue00c/title 3")
    browser.press(" -title1 zebra\ue007")
    assert browser.text("#list") == "Nothing fits. Fewer words, or fewer filters?"
    browser.press("\ue00c")
    assert browser.text("#tally") == "40 entries, 1 archived"
    browser.press("j")
    assert browser.text("#detail h2") == "Title 1"
    assert "supports\nTitle 2" in browser.text("#detail")
    assert "mem retire id-00001 --because 'no longer true'" in browser.text(".cmds")
    assert browser.js("return location.hash") == "#/e/id-00001-abc"
    browser.press("c")
    browser.until(
        "return document.getElementById('said').textContent.startsWith('Copied: mem show')"
    )
    browser.press("f")
    pick = "const s = document.querySelector(`[aria-label='${arguments[0]}']`); s.value = arguments[1];"
    for name, value, left in (("Tag", "red", "3 of 41"), ("Kind", "fact", "2 of 41")):
        browser.js(f"{pick} s.dispatchEvent(new Event('change'))", name, value)
        assert browser.text("#tally") == left
    browser.js("[...document.querySelectorAll('#filters button')].at(-1).click()")
    browser.js(f"{pick} s.dispatchEvent(new Event('change'))", "Status", "retired")
    assert browser.text(".row b") == "Gone"
    browser.js("document.querySelector('.row').click()")
    assert browser.text(".cmds").startswith("mem restore")
    assert browser.log() == []


def test_a_small_dark_screen(browser, tmp_path):
    """360 px: the list, then the entry over it, nothing wider than the screen; dark by
    itself."""
    wide = item(1, text="`" + "long_name_" * 40 + "`\n\n" + "x" * 400)
    shown(browser, tmp_path, report(wide, item(2)), width=360, height=700, dark=True)
    look = """
        const detail = document.getElementById("detail"), ground = getComputedStyle(document.body).backgroundColor;
        const wide = document.documentElement.scrollWidth;
        document.querySelector(".row").click();
        return [wide, Math.max(...ground.match(/\\d+/g)) < 60, detail.scrollWidth <= 360]
    """
    left = "return getComputedStyle(document.querySelector('.left')).display"
    assert browser.js(look) == [360, True, True]
    assert browser.js(left) == "none"
    browser.press("\ue00c")
    assert browser.js(left) == "flex"


def test_ten_thousand_entries_are_a_window_of_rows(browser, tmp_path):
    """Only the rows in sight exist, wherever one scrolls; each has its place for a
    screen reader."""
    shown(browser, tmp_path, report(*(item(number) for number in range(10_000))))
    rows = "return document.querySelectorAll('.row').length"
    assert browser.js(rows) < 60
    browser.js("document.getElementById('list').scrollTop = 80 * 5000")
    browser.until(
        "return document.getElementById('row-5000')?.getAttribute('aria-posinset') === '5001'"
    )
    assert browser.js(rows) < 60
    browser.press("\ue010")
    at = "return document.querySelector('[aria-selected=true]').id"
    assert browser.js(at) == "row-9999"


def test_a_title_of_two_lines_is_not_clipped(browser, tmp_path):
    """Nor what stands below it."""
    title = "Do not trigger privileged workflows from pull requests of forks " * 6
    shown(browser, tmp_path, report(item(0, title=title)))
    inside = """
        const row = document.querySelector('.row'), name = row.querySelector('b');
        const lines = name.clientHeight / parseFloat(getComputedStyle(name).lineHeight);
        return [lines, row.scrollHeight - row.clientHeight]
    """
    lines, over = browser.js(inside)
    assert lines > 1.95 and over == 0


LOOK = """
    const light = (name) => {
      const node = document.createElement("i");
      node.style.color = `var(--${name})`;
      document.body.append(node);
      const parts = getComputedStyle(node).color.match(/[\\d.]+/g).map((part) => part / 255);
      node.remove();
      const [red, green, blue] = parts.map((c) => c <= .03928 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4);
      return .2126 * red + .7152 * green + .0722 * blue + .05;
    };
    const contrast = (ink, ground) => Math.max(ink / ground, ground / ink);
    const inks = ["ink", "soft", "accent", "red", "green"].map(light), grounds = ["bg", "card"].map(light);
    const controls = [...document.querySelectorAll("button, input, select")];
    return [
      document.querySelectorAll("main, nav, header, search").length,
      controls.filter((e) => !(e.getAttribute("aria-label") || e.textContent || e.labels?.length)).length,
      Math.min(...inks.flatMap((ink) => grounds.map((ground) => contrast(ink, ground)))) >= 4.5,
    ];
"""
"""Landmarks, controls without a name, whether the worst contrast is 4.5 to 1."""


@pytest.mark.parametrize("dark", [False, True])
def test_each_control_has_a_name_and_colours_contrast(browser, tmp_path, dark):
    """Landmarks, labels; text on its ground has 4.5 to 1 in light and in dark."""
    shown(browser, tmp_path, report(item(1), item(2)), dark=dark)
    browser.press("jf")
    assert browser.js(LOOK) == [4, 0, True]


def test_the_page_is_for_its_owner_and_holds_no_secret(project):
    """In the cache, 0600; retired, archived and prose units are in it, what a secret
    was is not."""
    project.memory(
        "# Notes\n\nPeople write, too.\n\n",
        project.entry("Herd", "password = hunter2x9"),
    )
    project.write(
        "MEMORY.archive.md",
        project.entry("Past", "It was so.", archived_because="stale"),
    )
    result = project.mem("browse")
    place = type(project.root)(result.out.strip())
    text = place.read_text("utf-8")
    assert result.code == 0
    assert not place.is_relative_to(project.root)
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert "hunter2x9" not in text
    assert "[secret removed: password]" in text
    made = project.mem("browse", "--json").json["items"]
    assert {each["what"] for each in made} == {"entry", "prose", "archive"}
    assert project.mem("browse", "--json", "--type", "directive").json["items"] == []


def test_life_and_relations_are_in_it(project):
    """What git says of each entry, and what it names, with the commands' words."""
    five = project.entry(
        "Pool", "The database pool has 5 workers in production.", id="p5"
    )
    nine = project.entry(
        "Pool",
        "The database pool has 9 workers in production.",
        id="p9",
        supports=["p5"],
    )
    project.memory(five)
    project.commit("one")
    project.memory(f"{five}\n{nine}")
    project.mem("index", "--history")
    found = project.mem("browse", "--json", "--history").json
    assert found["items"][-1]["title"] == "one"
    by_id = {each["id"]: each for each in found["items"]}
    ((commit, _, _, what, _),) = by_id["p5"]["life"]
    assert commit and what == "added"
    assert by_id["p9"]["life"][0][0] == ""
    assert ["supports", "p5"] in by_id["p9"]["links"]


def test_health_is_a_part_of_the_page(project):
    """mem health --html writes the same page, which begins there."""
    project.remembers("Herd", "zebra")
    result = project.mem("health", "--out", "out.html")
    text = (project.root / "out.html").read_text("utf-8")
    assert result.code == 0
    assert "freshness" in result.out
    assert '"start":"health"' in text
    project.ends(2, "health", "--out", "no/such/folder/x.html")


def test_what_tells_titles_apart_is_seen(browser, tmp_path):
    """A section's own name stands first in its row, no two circles have one label, and
    beside the list an entry is open from the start."""
    begun = "Retry the payment of a customer whose card was declined"
    titles = [f"{begun} at noon", f"{begun} by night", begun, begun]
    made = [
        item(number, title=f"Rules of the shop > {title}", line=number + 1)
        for number, title in enumerate(titles)
    ]
    made[0]["links"] = [("similar", each["id"]) for each in made[1:]]
    shown(browser, tmp_path, report(*made))
    assert browser.text("#detail h2") == made[0]["title"]
    assert browser.text(".row b").startswith(begun)
    browser.press("3")
    names = "return new Set([...document.querySelectorAll('text.name')].map((one) => one.textContent)).size"
    assert browser.js(names) == len(made)


WAY = """
    const seen = [], wait = () => new Promise((then) => setTimeout(then, 150));
    const note = () => seen.push(`${document.querySelector("#entries.open h2")?.textContent || "list"} ${location.hash}`);
    for (const step of ["back", "back", "forward"]) { history[step](); await wait(); note(); }
    document.querySelector(".back").click();
    note();
    for (const wrong of ["e/gone", "%", "constructor"]) { location.hash = `/${wrong}`; await wait(); note(); }
    return seen.join("\\n");
"""
SEEN = """Title 3 #/e/id-00003-abc
list \n\
Title 3 #/e/id-00003-abc
list #/entries
list #/e/gone
list #/%
list #/constructor"""


def test_the_address_says_what_is_seen(browser, tmp_path):
    """Back goes to what was seen before, forward again; j leaves no step; an address
    may be one of an entry that is gone, or none at all."""
    shown(browser, tmp_path, report(*map(item, range(9))), width=360)
    browser.js("document.querySelectorAll('.row')[2].click()")
    browser.press("j4")
    assert browser.js(WAY) == SEEN
    browser.js("location.reload()")
    assert browser.text(".row b") == "Title 0"
    assert browser.log() == []


def test_markdown_is_read_not_seen(browser, tmp_path):
    """Steps keep their numbers, a table is one, stars are emphasis but in globs and
    products."""
    text = "3. *Stop* it\n4. Go\n\n| a | b |\n|---|:-:|\n| `x` | 2\\|3 |\n\n2 * 3 * 4, src/*.py, */x"
    shown(browser, tmp_path, report(item(0, text=text)))
    assert browser.text("#detail .text ul").split() == "3. Stop it 4. Go".split()
    assert browser.text("#detail table").split() == "a b x 2|3".split()
    assert browser.text("#detail .text em") == "Stop"
    assert browser.text("#detail .text > p") == "2 * 3 * 4, src/*.py, */x"


def test_a_quotation_is_one_and_a_life_is_a_sentence(browser, tmp_path):
    """With what stands in it; figures of a few entries say that they are such."""
    text = "> First\n> - one\n> - two\n\nBelow"
    life = [("", "", "not committed", "changed", "title")]
    made = report(item(1, text=text, life=life))
    made = made._replace(health={**HEALTH, "few": 20})
    shown(browser, tmp_path, made)
    browser.press("j")
    quotes = "return document.querySelectorAll('.text blockquote').length"
    assert browser.js(quotes) == 1
    assert browser.js("return document.querySelectorAll('blockquote li').length") == 2
    assert browser.text(".life li") == "nowchanged (title), not committed"
    browser.press("6")
    assert "mean something from 20 entries on" in browser.text("#health")
    shown(browser, tmp_path, made._replace(health={**HEALTH, "few": 0}))
    browser.press("6")
    bare = "return [...document.querySelectorAll('.panel')].some((panel) => [...panel.childNodes].some((node) => node.nodeType === 3))"
    assert browser.js(bare) is False


def test_a_quotation_within_thousands_is_text(browser, tmp_path):
    """Only some are read: each is one within the other, for the page as for its
    stack."""
    shown(browser, tmp_path, report(item(1, text=f"{20_000 * '>'} deep")))
    browser.press("j")
    assert browser.text("#detail .text").endswith("> deep")
    quotes = "return document.querySelectorAll('.text blockquote').length"
    assert browser.js(quotes) == 8
    assert browser.log() == []


def test_each_circle_has_a_line_and_each_pair_its_difference(browser, tmp_path):
    """Of more pairs than the graph can hold, whole pairs are drawn; a switch keeps the
    focus."""
    made = [
        item(number, text="", links=[("supports", f"id-{number ^ 1:05}-abc")])
        for number in range(600)
    ]
    pair = ("contradiction", "MEMORY.md", ("id-00500-abc", "id-00501-abc"), "number")
    shown(browser, tmp_path, report(*made, pairs=(pair,)))
    browser.press("3")
    drawn = "return ['circle', 'line'].map((tag) => document.querySelectorAll(`.stage ${tag}`).length)"
    assert browser.js(drawn) == [220, 110]
    browser.js("document.querySelector('#relations input').focus()")
    browser.press("  4")
    assert browser.js("return document.querySelector('#relations input').checked")
    browser.js("location.hash = '/e/id-00299-abc'")
    in_sight = "const place = document.querySelector('[aria-selected=true]')?.getBoundingClientRect(); return place && place.top > 0 && place.bottom < innerHeight + 2"
    browser.until(in_sight)
    browser.press("4")
    marks = "return [...document.querySelectorAll('#review h4 mark')].map((one) => one.textContent)"
    assert browser.js(marks) == ["500", "501"]
