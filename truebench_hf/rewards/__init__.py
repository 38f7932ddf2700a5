"""Rewards for training from checklists: `checklist_reward` and `to_verifiers`. No paper has them."""

from truebench_hf.rewards.reward import AwaitedReward, ChecklistReward, checklist_reward
from truebench_hf.rewards.shapes import reward_of
from truebench_hf.rewards.verifiers import to_verifiers, write_verifiers

__all__ = (
    "AwaitedReward",
    "ChecklistReward",
    "Split",
    "checklist_reward",
    "reward_of",
    "to_verifiers",
    "write_verifiers",
)
