"""Agent cores for environments of the Gymnasium kind, with the interface that users of XuanCe 1.4.4 know.

Names, parameters and return values of the cores are those of the classes of the same names in
``xuance.torch.agents.core``; the implementation is this package's own, and differs where results would otherwise be
wrong: observation statistics are frozen in tests, a time limit bootstraps with what that environment saw last, the
log-probabilities of a rollout are those its actions were drawn with, exploration is drawn for every environment by
itself and stops at its floor, and updates are counted in environment steps whatever the number of environments.

Where things are:

- A new algorithm is one file, and nothing else changes. Its class extends the core of its kind and says what its
  networks are (``_build_policy``) and what it learns from a sample: for one learner ``OnPolicyAgent``,
  ``OffPolicyAgent`` or ``OfflineAgent`` with a ``Learner`` (see ``a2c.py``, ``dqn.py``, ``bc.py``); for several agents
  ``OnPolicyMARLAgents`` or ``OffPolicyMARLAgents`` (see ``marl_ippo.py``, ``marl_iql.py``).
- What all cores are: ``core.py`` (saved, loaded, training environments), ``testing.py`` (test episodes),
  ``settings.py``, ``callbacks.py``, ``targets.py`` (target networks), ``off_policy_schedules.py`` (when to learn, how
  much to explore).
- For one learner: ``agent.py``, ``online.py`` (the loop of a training), ``on_policy.py``, ``off_policy.py``,
  ``offline.py``, ``actor_critic.py`` and ``deterministic.py`` (what algorithms of a kind share), ``learner.py``.
- For several: ``marl_agents.py``, ``marl_training.py`` (the loop of a training), ``marl_actors.py`` and
  ``marl_explorers.py`` (how they act), ``on_policy_marl.py``, ``off_policy_marl.py``, ``marl_q_agents.py``.
- Environments: ``vector_base.py`` and ``slot.py`` (what both kinds share), ``vector_processes.py`` (in processes of
  their own), ``vector_env.py`` and ``marl_vector_env.py``.
"""
