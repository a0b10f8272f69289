"""Agent cores for environments of the Gymnasium kind, with the interface that users of XuanCe 1.4.4 know.

Names, parameters and return values of the cores are those of the classes of the same names in
``xuance.torch.agents.core``; the implementation is this package's own, and differs where results would otherwise be
wrong: observation statistics are frozen in tests, a time limit bootstraps with what that environment saw last, the
log-probabilities of a rollout are those its actions were drawn with, exploration is drawn for every environment by
itself and stops at its floor, and updates are counted in environment steps whatever the number of environments.
"""
