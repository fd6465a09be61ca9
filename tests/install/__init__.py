"""What mem init writes, and takes back."""

from memcli.install import harness as agents


def is_installed(text: str, harness: str) -> bool:
    """Whether each event that mem wants to hear of has a handler of ours."""
    wanted = set(agents.groups(harness))
    return wanted <= {each.event for each in agents.handlers(text)}
