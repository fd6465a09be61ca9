"""An old value is told by no layer and no hook once the new one is known."""

import re

import pytest

from tests.commands.talk import Talk, saved

VALUES = [
    ("The gateway listens on port 8080", "The gateway listens on port 9090", "8080"),
    ("The minimum SDK of the app is 26", "The minimum SDK of the app is 28 now", "26"),
    ("The timeout of the importer is 30 s", "The timeout of the importer is 45 s", "30 s"),
    ("The owner of the billing service is Ana", "The owner of the billing service is Bruno", "Ana"),
    ("The staging host is stage.example.org", "The staging host is blue.example.org", "stage.example"),
    ("We build with Python 3.11", "We build with Python 3.12", "3.11"),
    ("Retry the payment call 3 times", "Retry the payment call 5 times", "3 times"),
    ("The database is db-qx71.internal", "The database is db-zz12.internal", "qx71"),
    ("Der Port des Archivs ist 7001", "Der Port des Archivs ist 7002", "7001"),
    ("Le port de la passerelle interne est 8181", "Le port de la passerelle interne est 8282", "8181"),
    ("El puerto del servicio de pagos es 5001", "El puerto del servicio de pagos es 5002", "5001"),
    ("Порт сервера отчётов — 6001", "Порт сервера отчётов — 6002", "6001"),
    ("监控服务的端口是 4001", "监控服务的端口是 4002", "4001"),
    ("The release branch is release-7", "The release branch is release-8", "release-7"),
    ("The lint limit is 100 columns", "The lint limit is 88 columns", "100"),
    ("The cache lives for 10 minutes", "The cache lives for 25 minutes", "10 min"),
    ("The coverage gate of the parser is 80 %", "The coverage gate of the parser is 90 %", "80 %"),
    ("The log bucket is logs-eu-1", "The log bucket is logs-eu-2", "logs-eu-1"),
    ("The default locale of the shop is de-AT", "The default locale of the shop is de-CH", "de-AT"),
    ("The worker pool has 4 threads", "The worker pool has 12 threads", "4 threads"),
    ("The support mail address is help@example.org", "The support mail address is care@example.org", "help@"),
    ("The Node version of the site is 18", "The Node version of the site is 22", "is 18"),
    ("The upload limit of avatars is 2 MB", "The upload limit of avatars is 5 MB", "2 MB"),
    ("The queue for invoices is q-invoices-a", "The queue for invoices is q-invoices-b", "invoices-a"),
    ("The nightly backup starts at 02:00", "The nightly backup starts at 03:30", "02:00"),
    ("The editor font of the docs is Inter", "The editor font of the docs is Lato", "Inter"),
    ("The session token expires after 15 minutes", "The session token expires after 60 minutes", "15 min"),
    ("The review of a pull request needs 1 approval", "The review of a pull request needs 2 approvals", "1 approval"),
    ("A porta do serviço de busca é 3001", "A porta do serviço de busca é 3002", "3001"),
    ("The health check path is /healthz", "The health check path is /livez", "/healthz"),
]  # fmt: skip
WRITTEN = "service.py"


def everything_told(project, task):
    """What recall, the start, a prompt and the moment before a tool tell of it."""
    edit = {
        "file_path": str(project.root / WRITTEN),
        "old_string": "a",
        "new_string": "b",
    }
    told = "\n".join((
        project.mem("recall", task).out,
        project.mem("recall", task, "--ranked").out,
        project.hook("session-start", "a", source="startup").out,
        project.hook("prompt", "b", prompt=f"{task}?").out,
        project.hook("pre-tool", "c", tool_name="Edit", tool_input=edit).out,
    ))  # fmt: skip
    return re.sub(r"\b[0-9a-f]{8}\b", "", told)  # an id may have the value's digits


@pytest.mark.parametrize(("old", "new", "gone"), VALUES, ids=lambda text: text[:24])
def test_the_old_value_is_told_nowhere(project, old, new, gone):
    """Control: before the new one is known the old one is told; after it the new."""
    project.write(WRITTEN, "PORT = 1\n")
    words = ("--kind", "pitfall", "--path", WRITTEN)
    project.mem("add", old, *words)
    assert gone in everything_told(project, old)
    result = project.mem("add", new, *words)
    assert "supersedes" in result.out
    told = everything_told(project, new)
    assert gone not in told
    assert new.rpartition(" ")[2] in told


@pytest.mark.parametrize(
    ("day", "live"), [("2025-01-05", "9090"), ("2026-11-21", "8080")]
)
def test_a_session_of_before_supersedes_nothing(project, day, live):
    """A backlog that is read late has the old value; of the same day the last holds."""
    project.ok("add", "The gateway listens on port 9090")
    said = Talk(project.root, "s-old", day).user(
        "Remember that the gateway listens on port 8080."
    )
    result = project.ok("extract", saved(project, said))
    entries = [one for one in project.entries() if one.status != "retired"]
    assert [live in one.body for one in entries] == [True]
    assert ("said otherwise since" in result.out) == (live == "9090")
