"""From the engagement file's word to a policy: scripted guidance by name, or a bundle by path."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pe_sim import registry
from pe_sim.actions import ActionSpec
from pe_sim.errors import ContractError, PluginError
from pe_sim.policies.base import Policy, context_of
from pe_sim.schema import nearest, validated
from pe_sim.shared_files import config_directories

if TYPE_CHECKING:
    from pe_sim.engagement import Engagement

GUIDANCE = "guidance/"
"""Prefix of scripted guidance in ``policy.use``."""

BUNDLES = "policies/"
"""Prefix of the bundles that come with the package."""


def load_policy(
    engagement: Engagement,
    role: str,
    action: ActionSpec,
    *,
    batch: int = 1,
    xp: Any,
    numbers: list[int] | None = None,
    use: str | None = None,
    parameters: dict[str, Any] | None = None,
) -> Policy:
    """Return the policy of a role.

    Args:
        engagement: the engagement.
        role: the role.
        action: what its agents can do.
        batch: number of engagements.
        xp: array namespace.
        numbers: which agents of the role it decides for; default all.
        use: policy to load instead of the file's.
        parameters: its parameters, with ``use``.

    Raises:
        PluginError: if there is no guidance of this name.
        EngagementError: if its parameters are wrong.
        ContractError: if it does not fit the agents, or the bundle cannot be used.
    """
    spec = engagement.roles[role].policy
    chosen = spec.use if use is None else use
    given = spec.parameters if use is None else (parameters or {})
    context = context_of(engagement, role, action, batch, xp, numbers)
    if chosen.startswith(GUIDANCE):
        try:
            law = registry.lookup("pe_sim.guidance", chosen.removeprefix(GUIDANCE))
        except PluginError as fault:
            raise PluginError(f"roles.{role}.policy.use", fault.rule, fault.value, fault.cure) from fault
        policy: Policy = law(context, validated(law.Parameters, given, f"roles.{role}.policy.parameters"))
        return policy
    path = bundle_directory(chosen)
    if not path.is_dir():
        raise ContractError(
            f"roles.{role}.policy.use",
            "is neither 'guidance/<name>' nor 'policies/<name>' nor the directory of a policy bundle", chosen,
            _nearest_policy(chosen),
        )
    return load_bundle(path, context, given)


def _nearest_policy(chosen: str) -> str:
    """Return what may have been meant, by its last word; all that there is where nothing is like it."""
    laws, bundles = registry.names("pe_sim.guidance"), shipped_bundles()
    near = nearest(chosen.rpartition("/")[2], [*laws, *bundles])
    if not near.startswith("did you mean"):
        return f"guidance: {', '.join(laws)}; policies: {', '.join(bundles) or 'none'}"
    name = near.split("'")[1]
    return f"did you mean '{GUIDANCE if name in laws else BUNDLES}{name}'?"


def shipped_bundles() -> dict[str, Path]:
    """Return the policy bundles that come with the package, by name."""
    found: dict[str, Path] = {}
    for directory in reversed(config_directories()):
        found.update({path.parent.name: path.parent for path in sorted((directory / "policies").glob("*/policy.yaml"))})
    return dict(sorted(found.items()))


def bundle_directory(use: str) -> Path:
    """Return the directory of a bundle: its path, or 'policies/<name>' for one that comes with the package."""
    path = Path(use)
    if path.is_dir() or not use.startswith(BUNDLES):
        return path
    return shipped_bundles().get(use.removeprefix(BUNDLES), path)


def load_bundle(path: Path, context: Any, parameters: dict[str, Any] | None = None) -> Policy:
    """Return the policy of a bundle; parameters as :class:`pe_sim.policies.runner.BundleParameters` says.

    Raises:
        ContractError: if the bundle cannot be used or does not fit.
        EngagementError: if a parameter is wrong.
    """
    readers = registry.names("pe_sim.bundle_readers")
    if not readers:
        raise ContractError(str(path), "no reader of policy bundles is installed", cure="use guidance/<name>")
    policy: Policy = registry.lookup("pe_sim.bundle_readers", readers[0])(path, context, parameters or {})
    return policy
