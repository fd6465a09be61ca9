"""The `claude` and `codex` commands: for people who have a subscription and no key."""

import json
import os
import re
import shutil
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from memcli.errors import ProviderError
from memcli.providers.llm import Ask, Reply, Usage
from memcli.providers.llm.ledger import excerpt
from memcli.storage.durable import write_output
from memcli.storage.files import kill_group, read_file
from memcli.storage.programs import Limits, Program, run
from memcli.text.matching import verbose

CLAUDE_OPTIONS = """
    --print
    --output-format json
    --strict-mcp-config
    --no-session-persistence
    --tools
""".split()
CLAUDE_OPTIONS.append("")
"""One answer and nothing else: no tools, no servers, no transcript to learn from."""
SAFE = ["--safe-mode"]
"""Nothing of the user's own: no CLAUDE.md, skills, plug-ins, hooks."""
OLDER = ["--setting-sources", "", "--disable-slash-commands", "--settings"]
OLDER.append('{"disableAllHooks": true}')
"""The same for a version without `--safe-mode`."""
CODEX_OPTIONS = """
    exec
    --skip-git-repo-check
    --ephemeral
    --json
    -s read-only
    -c web_search=disabled
    -c project_doc_max_bytes=0
    -c model_reasoning_effort=low
    -c skills.include_instructions=false
    -c include_environment_context=false
    -c include_permissions_instructions=false
    --disable hooks
    --disable apps
    --disable plugins
    --disable shell_tool
    --disable multi_agent
    --disable goals
""".split()
COUNTS = {
    "input": "input_tokens",
    "cache_read": "cache_read_input_tokens",
    "cache_write": "cache_creation_input_tokens",
    "output": "output_tokens",
}
"""What a result calls the fields of `Usage`."""
MOST_SAID = 16 << 20
"""The most bytes of a reply."""
INSIDE = ("CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT")
"""Set inside a session, which refuses to start another: removed."""
SET = {"MEM_HOOK": "off", "MAX_THINKING_TOKENS": "0"}
"""In case hooks are called all the same; and an answer without long thought."""


_folder = partial(
    tempfile.TemporaryDirectory, "", "mem-model-", ignore_cleanup_errors=True
)


class AgentCommand:
    """Runs a command for each question, in a new folder, with the question on standard
    input."""

    name = ""
    install = ""

    def __init__(self, model: str, environ: Mapping[str, str]) -> None:
        self.model = model
        remaining = {key: value for key, value in environ.items() if key not in INSIDE}
        self._environ = remaining | SET
        self._running = 0

    def close(self) -> None:
        """End a running command with all that it started: it leads a group of its
        own."""
        if self._running:
            with suppress(ProcessLookupError, PermissionError):
                kill_group(self._running)

    def ask(self, ask: Ask) -> Reply:
        """The reply of the program, run in a folder of its own. Raises
        ProviderError."""
        with _folder() as folder:
            return self.answer(self._program(), ask, folder)

    def answer(self, program: str, ask: Ask, folder: str) -> Reply:
        """The reply of the program, run in this folder."""
        raise NotImplementedError

    def _program(self) -> str:
        program = shutil.which(self.name, path=self._environ.get("PATH", ""))
        # A relative entry in PATH would start what lies in the repository.
        if program is None or not os.path.isabs(program):
            message = f"llm = {self.name}, but there is no {self.name} command on PATH"
            hint = f"install {self.install} and log in once, or use a key with --set llm=anthropic"
            raise ProviderError(message, hint)
        return program

    def _run(
        self, command: list[str], text: str, folder: str, seconds: float
    ) -> tuple[int, str, str]:
        limits = Limits(seconds=seconds, most=MOST_SAID, whole=True)
        try:
            program = Program(
                command=command,
                folder=folder,
                environ=self._environ,
                given=text.encode("utf-8", "replace"),
            )
            done = run(program, limits, self._note)
        except (OSError, ValueError) as error:
            message = f"the {self.name} command cannot be run: {error}"
            raise ProviderError(message, f"try: {self.name} --version") from None
        finally:
            self._running = 0
        if done.stopped == "time":
            raise TimeoutError
        if done.stopped:
            message = f"the {self.name} command said more than {MOST_SAID >> 20} MB"
            raise ProviderError(message, f"try: {self.name} --version")
        output, errors = (
            data.decode("utf-8", "replace") for data in (done.output, done.errors)
        )
        return done.code, output, errors

    def _note(self, pid: int) -> None:
        self._running = pid


class Claude(AgentCommand):
    """The command of Claude Code."""

    name = "claude"
    install = "Claude Code"

    @cached_property
    def _safe(self) -> list[str]:
        """The options of this version that leave out all of the user's own settings."""
        with _folder() as folder:
            _, output, _ = self._run([self._program(), "--help"], "", folder, 20)
        return SAFE if "--safe-mode" in output else OLDER

    def answer(self, program: str, ask: Ask, folder: str) -> Reply:
        """The result that the command prints as JSON."""
        command = [program, *CLAUDE_OPTIONS, *self._safe, "--model", self.model]
        if ask.budget:
            command += ["--max-budget-usd", f"{ask.budget:.4f}"]
        if ask.system.strip():
            command += ["--system-prompt", ask.system]
        status, output, errors = self._run(command, question(ask), folder, ask.timeout)
        return _reply(status, output, errors)


class Codex(AgentCommand):
    """The command of Codex; if the model has another maker's name, its own
    configuration chooses one."""

    name = "codex"
    install = "Codex"

    def answer(self, program: str, ask: Ask, folder: str) -> Reply:
        """The last message, which the command writes to a file, with the tokens of its
        events."""
        answer = Path(folder, "reply.txt")
        instructions = Path(folder, "instructions.md")
        write_output(instructions, ask.system, root=None)
        login = self._leave_home(Path(folder, "home")) / "auth.json"
        command = [program, *CODEX_OPTIONS]
        command += ["-c", f"model_instructions_file={json.dumps(str(instructions))}"]
        command += ["-o", str(answer)]
        if not self.model.startswith("claude"):
            command += ["-m", self.model]
        command.append("-")
        try:
            status, output, errors = self._run(
                command, question(ask), folder, ask.timeout
            )
        finally:
            # A renewed login is no longer a link: copy it back to its home.
            if login.is_file() and not login.is_symlink():
                shutil.copyfile(login, self._home / login.name)
        if status or not answer.is_file():
            reason = excerpt(errors) or excerpt(output)
            message = f"the codex command failed ({status}): {reason}"
            raise ProviderError(message, "try it by hand: codex exec hello")
        return Reply(
            text=_unfenced(_text(answer)), usage=_used_by_codex(output), cost=0.0
        )

    @cached_property
    def _home(self) -> Path:
        return Path(self._environ.get("CODEX_HOME") or os.path.expanduser("~/.codex"))

    def _leave_home(self, to: Path) -> Path:
        """A home with only the login and the settings: AGENTS.md and skills stay
        out."""
        paths = (self._home / "auth.json", self._home / "config.toml")
        remaining = [path for path in paths if path.exists()]
        to.mkdir()
        # A login in a keyring is found by the name of the home.
        if not any(_keyring().search(_text(path)) for path in remaining):
            for path in remaining:
                (to / path.name).symlink_to(path)
            self._environ["CODEX_HOME"] = str(to)
        return to


@verbose
def _keyring() -> str:
    return r"""auth_credentials_store \s* = \s* ["'] (?: keyring | auto )"""


def _text(path: Path) -> str:
    return read_file(path).data.decode("utf-8", "replace")


def _used_by_codex(output: str) -> Usage:
    """The tokens in the last event that counts them."""
    events = re.findall(r'"usage": ?(\{[^{}]*\})', output)
    counts = json.loads(events[-1]) if events else {}
    cached = counts.get("cached_input_tokens", 0)
    return Usage(
        input=max(counts.get("input_tokens", 0) - cached, 0),
        cache_read=cached,
        output=counts.get("output_tokens", 0),
    )


def question(ask: Ask) -> str:
    """What the command gets to read: the shared part, the prompt, and the schema in
    words."""
    parts = [ask.shared, ask.prompt]
    if ask.schema is not None:
        schema = json.dumps(ask.schema, ensure_ascii=False)
        asked = "Answer with one JSON value that fits this JSON schema"
        parts.append(f"{asked}, and nothing else:\n{schema}")
    return "\n\n".join(part for part in parts if part.strip())


def _reply(status: int, output: str, errors: str) -> Reply:
    result = _result(output)
    if result is None:
        message = f"failed ({status})" if status else "gave no result"
        reason = excerpt(errors) or excerpt(output) or "it said nothing"
        hint = "try it by hand: claude -p hello"
        raise ProviderError(f"the claude command {message}: {reason}", hint)
    text = result.get("result")
    stop = ""
    if status or result.get("is_error") or not isinstance(text, str):
        stop = f"is an error: {excerpt(str(text or result.get('subtype')))}"
    return Reply(
        text="" if stop else _unfenced(str(text)),
        usage=_usage(result.get("usage")),
        stop=stop,
        cost=_paid(result.get("total_cost_usd")),
    )


def _paid(cost: object) -> float | None:
    if isinstance(cost, (int, float)) and 0 <= cost < 1e6:
        return float(cost)
    return None


def _usage(counts: object) -> Usage:
    """The tokens that a result counts, of whatever type they are."""
    if not isinstance(counts, dict):
        return Usage()
    return Usage(**{name: counts.get(theirs, 0) for name, theirs in COUNTS.items()})


def _unfenced(text: str) -> str:
    """The text alone: chat models like to put a whole reply into a code fence."""
    fenced = re.fullmatch(r"\s*```(?:json)?\n(.*?)\n?```\s*", text, re.DOTALL)
    return fenced[1] if fenced and "```" not in fenced[1] else text


def _result(output: str) -> Mapping[str, Any] | None:
    """The last result among the printed events."""
    try:
        content = json.loads(output)
    except (ValueError, RecursionError):
        return None
    events = content if isinstance(content, list) else [content]
    for event in reversed(events):
        if isinstance(event, dict) and event.get("type", "result") == "result":
            return event
    return None
