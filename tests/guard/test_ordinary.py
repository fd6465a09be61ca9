"""Ordinary calls of a developer's days pass, whatever is guarded beside them."""

from pathlib import Path

import pytest

from tests.commands.test_guard import guarded, ruled

pytestmark = pytest.mark.process
LINES = Path(__file__).with_name("ordinary.txt").read_text().splitlines()
COMMANDS = """
git push --force *
git commit --no-verify*
npm install *
rm -rf *
docker compose down -v*
docker volume rm *
kubectl delete *
terraform apply *
prettier --write *
pip install *
""".strip().splitlines()
PATHS = ["gen/**", "migrations/**", "*.pem", ".env"]


def test_an_ordinary_call_is_not_stopped(project):
    guarded(project, commands=COMMANDS, paths=PATHS)
    for name in ("gen/api.py", "migrations/001.sql", "server.pem", ".env", "src/a.ts"):
        project.write(name, "x\n")

    def is_stopped(line):
        return ruled(project, line) is not None

    assert [line for line in LINES if is_stopped(line)] == []
