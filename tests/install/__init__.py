"""What mem init writes, and takes back."""

from memcli.install import agent_settings


def is_installed(text, harness):
    """Whether each event that mem wants to hear of has a handler of ours."""
    wanted = set(agent_settings.groups(harness))
    return wanted <= {handler.event for handler in agent_settings.handlers(text)}
