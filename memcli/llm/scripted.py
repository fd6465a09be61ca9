"""A model that reads its replies from a file: for tests, demonstrations and bug reports."""

from __future__ import annotations

import json
from pathlib import Path

from memcli.errors import ProviderError
from memcli.llm import Ask, Reply


class Scripted:
    """Answers with the JSON strings of a file, one a line, in turn; the last one stays."""

    def __init__(self, path: Path) -> None:
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
            self.replies = [str(json.loads(line)) for line in lines if line.strip()]
        except (OSError, ValueError) as error:
            raise ProviderError(
                f"the scripted replies cannot be read: {error} ({path})", "check llm_replies"
            ) from None
        self.asked = 0

    def complete(self, system: str, prompt: str) -> str:
        return self.ask(Ask(system, prompt)).text

    def ask(self, ask: Ask) -> Reply:
        if not self.replies:
            raise ProviderError("the scripted model has no reply", "add a line to the file of llm_replies")
        reply = self.replies[min(self.asked, len(self.replies) - 1)]
        self.asked += 1
        return Reply(reply)
