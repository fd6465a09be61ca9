"""Sessions as Claude Code writes them, and a scripted model that answers about them."""

import hashlib
import json

JOB = ".mem/jobs/shop"


def record(session, cwd, number, role, content, day="2026-11-20", **more):
    """The turn of a session that stands at a place, which tells its uuid and minute."""
    name = hashlib.md5(f"{session} {number}".encode()).hexdigest()
    return {
        "type": role,
        "uuid": f"{name[:8]}-{name[8:12]}-{name[12:16]}-{name[16:20]}-{name[20:]}",
        "sessionId": session,
        "timestamp": f"{day}T10:{number:02}:00.000Z",
        "cwd": str(cwd),
        "gitBranch": "main",
        "isSidechain": False,
        "message": {"role": role, "content": content},
        **more,
    }


def jsonl(rows):
    """A line of JSON each."""
    return "".join(json.dumps(row) + "\n" for row in rows)


def held(path, session, cwd, messages, **how):
    """Write a session in which these were said, each a role and a content; its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    turns = enumerate(messages)
    path.write_text(jsonl(record(session, cwd, at, *said, **how) for at, said in turns))
    return path


class Talk:
    """A transcript in the making; every turn has a uuid that follows from its place."""

    def __init__(self, cwd, session="s-1", day="2026-11-20"):
        self.cwd = cwd
        self.session = session
        self.day = day
        self.lines: list[str] = []

    def _add(self, kind, content, **more):
        at = len(self.lines)
        row = record(self.session, self.cwd, at, kind, content, self.day, **more)
        self.lines.append(json.dumps(row))
        return self

    def user(self, text):
        return self._add("user", text)

    def agent(self, text):
        return self._add("assistant", [{"type": "text", "text": text}])

    def tool(self, name, given, result, *, error=False):
        call = f"t{len(self.lines)}"
        self._add(
            "assistant",
            [{"type": "tool_use", "id": call, "name": name, "input": given}],
        )
        block = {
            "type": "tool_result",
            "tool_use_id": call,
            "content": result,
            "is_error": error,
        }
        return self._add("user", [block], toolUseResult={"stdout": result})

    def write(self, path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(line + "\n" for line in self.lines))
        return path


def talk(project, session="s-1", *, cwd=None):
    """A session with a preference, in a project or a job."""
    return (
        Talk(cwd or project.root, session)
        .user("Please make the checkout page load faster than it does today.")
        .agent("I will look at the queries of the checkout page.")
        .tool("Bash", {"command": "pytest -q tests/test_checkout.py"}, "2 passed")
        .user("I prefer short commit messages in the imperative mood.")
        .agent("Noted. The checkout page needs one query instead of twelve now.")
        .user("Great, that works. Thank you!")
    )


def saved(project, given, name="one.jsonl"):
    return str(given.write(project.home / "sessions" / name))


def learn(project, session="s-1", *args, **options):
    """Run `mem extract` on the session of `talk`, which lies in a file of its name."""
    path = saved(project, talk(project, session), f"{session}.jsonl")
    return project.mem("extract", path, *args, **options)


def state(project):
    """Every file of the project and its home but git's, the index and the sessions."""
    kept = {}
    for base in (project.root, project.home):
        for path in sorted(base.rglob("*")):
            inner = path.relative_to(base).parts
            aside = inner[0] in (".git", "sessions") or ".memory.db" in path.name
            if path.is_file() and not aside:
                kept[f"{base.name}/{'/'.join(inner)}"] = path.read_bytes()
    return kept


def markdown(project):
    return {name: text for name, text in state(project).items() if name.endswith(".md")}


QUOTES = {
    1: "make the checkout page load faster",
    2: "the queries of the checkout page",
    5: "I prefer short commit messages",
}
"""Words of the turns of `talk`."""


def item(turn=5, title="A lesson", text="Do it this way.", **more):
    fixed = {"turn": turn, "quote": QUOTES.get(turn, ""), "kind": "decision"}
    return {**fixed, "title": title, "text": text, **more}


def script(where, judge="", **replies):
    """An environment with a model that answers one call with the items of each
    scope."""
    items = [
        {"scope": name.replace("_", "-"), **one}
        for name, rows in replies.items()
        for one in rows
    ]
    rows = [{"match": "extract", "reply": json.dumps({"items": items})}]
    if judge:
        rows.insert(0, {"match": "judge", "reply": judge})
    path = where.write("~/replies.jsonl", jsonl(rows))
    return {"MEM_LLM": "scripted", "MEM_LLM_REPLIES": str(path)}


def in_job(project):
    """A job with one task and memories in both; the task's folder."""
    web = f"{JOB}/tasks/web"
    project.write(
        f"{JOB}/MEMORY.md", project.entry("Job memory", "The job uses feature flags.")
    )
    project.write(
        f"{web}/MEMORY.md",
        project.entry("Task memory", "Web tasks start with a story."),
    )
    return project.root / web


def credentials():
    """40 tokens of 12 kinds, put together here so that no file holds one."""
    alphabet = "Zq7Wm2Xc9Vb4Nt6Kj8Hg5Fd3Sa1PoIuYtReL0"

    def mixed(length, seed):
        return "".join(
            alphabet[(number * 7 + seed * 11 + number * number) % len(alphabet)]
            for number in range(length)
        )

    kinds = [
        lambda n: "AKIA" + mixed(16, n).upper().replace("0", "A"),
        lambda n: "ghp_" + mixed(36, n),
        lambda n: "github_pat_" + mixed(22, n) + "_" + mixed(59, n),
        lambda n: "sk-ant-api03-" + mixed(93, n) + "AA",
        lambda n: "xoxb-" + "1234567890" + f"{n:02}-1234567890123-" + mixed(24, n),
        lambda n: "glpat-" + mixed(20, n),
        lambda n: "npm_" + mixed(36, n),
        lambda n: "sk_live_" + mixed(24, n),
        lambda n: "AIza" + mixed(35, n),
        lambda n: "hf_" + mixed(34, n),
        lambda n: "SG." + mixed(22, n) + "." + mixed(43, n),
        lambda n: "dop_v1_" + hashlib.sha256(str(n).encode()).hexdigest(),
    ]
    return [kinds[n % 12](n) for n in range(40)]


def leaky(project, tokens):
    """A session with 40 credentials in words, input, output and the names of files."""
    given = Talk(project.root)
    given.user(
        f"I prefer the token {tokens[0]} in the tests, always use it. Fix the build."
    )
    for token in tokens[1:14]:
        given.user(f"Always deploy with {token} and never without.")
        given.agent(f"I used {token} as you said.")
    for token in tokens[14:27]:
        call = {"command": f"curl -H 'Authorization: {token}' x"}
        given.tool("Bash", call, "x " * 995 + f"{token} " + "y " * 600, error=True)
    for token in tokens[27:39]:
        given.tool(
            "Write",
            {"file_path": f"/tmp/{token}.txt", "content": token},
            f"wrote {token}",
        )
    return saved(project, given, f"{tokens[39]}.jsonl")
