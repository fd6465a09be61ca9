"""The ids of the Atlas, and what each asks."""

from typing import NamedTuple

SOURCE = "https://github.com/neoneye/agent-memory-atlas"


class Asked(NamedTuple):
    """What a test of the Atlas asks, in our words; `apart` says why it does not apply
    to files, "" where it does."""

    what: str
    apart: str = ""


TESTS = {
    "scope.cross_tenant_absent": Asked(
        "What is written in one place is never told in another one."
    ),
    "scope.caller_cannot_widen": Asked(
        "A caller gets no further by naming another place."
    ),
    "scope.background_respects_boundary": Asked(
        "What runs by itself mixes no two places."
    ),
    "evidence.claim_resolves_to_source": Asked(
        "Everything told leads back to where it is from."
    ),
    "evidence.source_delete_reaches_derived": Asked(
        "Deleting what was said reaches what was made of it."
    ),
    "evidence.rebuild_from_retained": Asked(
        "What is derived can be made anew from what is kept."
    ),
    "gateway.no_bypass_path": Asked("Every way in enforces the same rule."),
    "gateway.model_cannot_claim_human_authority": Asked(
        "Words of an agent that claim to be a person's are not taken for them."
    ),
    "tombstone.laundering_sequence": Asked(
        "What was taken back does not return by another value and being said again."
    ),
    "tombstone.survives_ttl_and_prune": Asked("It does not return by age either."),
    "tombstone.key_normalization_attack": Asked(
        "Look-alike letters, case, blanks and unseen characters do not hide it."
    ),
    "tombstone.reextraction_stays_inactive": Asked(
        "Reading the session again does not bring it back."
    ),
    "tombstone.no_second_memory_unit": Asked(
        "Nor does it make a second entry that is merely hidden: the write is refused."
    ),
    "deletion.absent_after_reindex_and_restart": Asked(
        "What was forgotten is gone after index, restart and export."
    ),
    "deletion.absent_from_shared_copies": Asked(
        "It is gone from exports and from the other machine, too, and no copy brings"
        " it back."
    ),
    "correction.survives_reindex": Asked(
        "A correction holds: another value, the opposite, a part, a bounded time,"
        " nothing instead."
    ),
    "correction.retraction_without_replacement": Asked(
        "What is taken back without a new value is gone, and stays so."
    ),
    "retrieval.k_is_an_upper_bound": Asked(
        "Limit and budget hold in what reaches the prompt."
    ),
    "prompt.recall_is_fenced_as_data": Asked("What is recalled is fenced as data."),
    "prompt.model_ignores_embedded_instructions": Asked(
        "A model does not obey what is recalled.",
        apart="it measures a model, and mem asks none to obey",
    ),
}


def function_of(name: str) -> str:
    """The name of the test function of an id."""
    return f"test_{name.replace('.', '__')}"
