"""Agent cores for environments of the Gymnasium kind, with the interface that users of XuanCe 1.4.4 know.

Names, parameters and return values of :class:`~pe_sim.learning.agents.on_policy.OnPolicyAgent` are those of
``xuance.torch.agents.core.OnPolicyAgent``; the implementation is this package's own, and differs where results would
otherwise be wrong: observation statistics are frozen in tests, a time limit bootstraps with what that environment saw
last, and the log-probabilities of a rollout are those its actions were drawn with.
"""
