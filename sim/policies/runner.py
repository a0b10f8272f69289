"""The policy of a bundle as it flies: in the environment for a whole batch, in a policy node for one agent."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, Literal

from pe_sim import streams
from pe_sim.arrays import Array
from pe_sim.envs.flatten import Flattener
from pe_sim.errors import ContractError
from pe_sim.policies.base import Policy, PolicyContext, Views
from pe_sim.policies.bundle import Bundle, read
from pe_sim.policies.contract import require_fit
from pe_sim.policies.networks import EXACT_ROWS, Network
from pe_sim.policies.torch_network import TorchNetwork
from pe_sim.schema import Strict, validated
from pe_sim.sensors.inbox import SensorView


class BundleParameters(Strict):
    """Parameters of a bundle in ``policy.parameters``.

    Attributes:
        deterministic: fly the most probable action, or draw one; default what the bundle says.
        accept: differences between training and this agent to fly with nevertheless.
        compute: what computes the networks: 'arrays', the array library of the simulation with sums in a fixed order,
            which needs nothing else; 'torch', with one thread, which is faster for wide networks; 'matrices', the array
            library's matrix products, for batches of which no row needs to equal the same engagement run alone.
    """

    deterministic: bool | None = None
    accept: tuple[Literal["dynamics", "latency", "rate"], ...] = ()
    compute: Literal["arrays", "torch", "matrices"] = "arrays"


def load(path: Path, context: PolicyContext, parameters: dict[str, Any]) -> BundlePolicy:
    """Return the policy of a bundle for some agents.

    Raises:
        ContractError: if it cannot be used or does not fit the agents.
        EngagementError: if a parameter is wrong.
    """
    settings = validated(BundleParameters, parameters, f"roles.{context.role}.policy.parameters")
    return BundlePolicy(read(path), context, settings)


class BundlePolicy(Policy):
    """Decides with the networks of a bundle.

    Args:
        bundle: what was read.
        context: the agents.
        parameters: see :class:`BundleParameters`.

    Attributes:
        bundle: the same.
        deterministic: whether the most probable action is flown.
        compute: what computes the networks.

    Raises:
        ContractError: if it does not fit the agents.
        PluginError: if torch is to compute and is not installed.
    """

    def __init__(self, bundle: Bundle, context: PolicyContext, parameters: BundleParameters | None = None) -> None:
        super().__init__(context)
        settings = parameters or BundleParameters()
        described = bundle.description
        require_fit(f"policy {bundle.path}", described.contract, context, settings.accept)
        if described.members > 1 and max(context.numbers) >= described.members:
            raise ContractError(
                f"policy {bundle.path}", f"holds one network for each of {described.members} agents",
                context.agents[-1], "train it with sharing: role",
            )
        self.bundle = bundle
        self.deterministic = described.deterministic if settings.deterministic is None else settings.deterministic
        self.compute = settings.compute
        self._squashed = described.distribution == "squashed"
        if self._squashed and not self.deterministic:
            rule = "flies one action for each observation: there is none to draw"
            raise ContractError(f"policy {bundle.path}", rule, cure="leave out parameters.deterministic: false")
        self.recurrent = described.network.recurrent != "none"
        self._discrete = context.action.discrete
        self._flat = Flattener(described.observe, context.layouts[0], context.action)
        self._groups = self._group_agents()
        self._agents, self._batch = len(context.agents), context.batch
        self._keys = self.xp.zeros((self._agents, self._batch), dtype=self.xp.int64)
        self._allocate()

    def _group_agents(self) -> list[tuple[list[int], Network | TorchNetwork, Array, Array, Array | None]]:
        """Return, per network: places of its agents, network, mean, deviation, standard deviation of the action."""
        xp, described, groups = self.xp, self.bundle.description, []
        for member in range(described.members):
            numbers = self.context.numbers
            places = [i for i, number in enumerate(numbers) if described.members == 1 or number == member]
            if not places:
                continue
            mine = {
                name.partition(".")[2]: xp.asarray(values)
                for name, values in self.bundle.weights.items()
                if name.startswith(f"{member}.")
            }
            mean, deviation = mine.pop("normalisation.mean"), mine.pop("normalisation.deviation")
            spread = xp.exp(mine.pop("log_std")) if "log_std" in mine else None
            groups.append((places, self._network(mine), mean, deviation, spread))
        return groups

    def _network(self, weights: dict[str, Array]) -> Network | TorchNetwork:
        spec = self.bundle.description.network
        if self.compute == "torch":
            return TorchNetwork(spec, weights, self.xp)
        return Network(spec, weights, self.xp, exact_rows=0 if self.compute == "matrices" else EXACT_ROWS)

    def _allocate(self) -> None:
        xp, described = self.xp, self.bundle.description
        shape = (self._agents, self._batch)
        self._count = xp.zeros(shape, dtype=xp.int64)
        self._past = [
            xp.zeros((self.context.action.size, *shape), dtype=xp.float32) for _ in range(described.observe.actions)
        ]
        size = described.network.state_size
        self._memory = xp.zeros((*shape, size), dtype=xp.float32) if size else None

    @property
    def sha256(self) -> str:
        """Hash of weights, network, scaling, whether actions are drawn, and what computes."""
        described, others = self.bundle.description, ""
        if self.deterministic != described.deterministic:
            others += f" deterministic: {self.deterministic}"
        if self.compute != "arrays":
            others += f" compute: {self.compute}"
        return hashlib.sha256(f"{described.sha256}{others}".encode()).hexdigest() if others else described.sha256

    def reset(self, roots: Array, rows: Array | None) -> None:
        """Begin episodes: memory and own past actions are cleared."""
        where: Any = slice(None) if rows is None else rows
        names = [streams.name_key(f"{agent}/policy") for agent in self.context.agents]
        self._keys[:, where] = self.xp.stack([streams.derive(roots, name) for name in names])
        self._count[:, where] = 0
        for values in self._past:
            values[:, :, where] = 0.0
        if self._memory is not None:
            self._memory[:, where] = 0.0

    def observe(self, views: Views) -> Array:
        """Return the observation vectors as the network was trained on them, not yet scaled, float32 (K, n, B)."""
        out = self.xp.empty((self._flat.size, self._agents, self._batch), dtype=self.xp.float32)
        return self._flat.flatten(views, self._past, out)

    def decide(self, views: Views, now: Array, due: Array) -> Array:
        """Return the actions, float32 (A, n, B); 0 for those that are not due."""
        xp, size = self.xp, self.context.action.size
        observed = self.observe(views)
        action = xp.zeros((size, self._agents, self._batch), dtype=xp.float32)
        for places, network, mean, deviation, spread in self._groups:
            rows = xp.nonzero(xp.reshape(due[places], (-1,)))[0]
            if rows.shape[0] == 0:
                continue
            inputs = xp.reshape(xp.permute_dims(observed[:, places], (1, 2, 0)), (-1, observed.shape[0]))[rows]
            clip = self.bundle.description.normalisation.clip
            inputs = xp.clip((inputs - mean) / deviation, -clip, clip)
            outputs = self._infer(network, places, inputs, rows)
            chosen = xp.zeros((len(places) * self._batch, size), dtype=xp.float32)
            chosen[rows] = self._choose(outputs, spread, places, rows)
            action[:, places] = xp.permute_dims(xp.reshape(chosen, (len(places), self._batch, size)), (2, 0, 1))
        self._remember(action, due)
        return action

    def probabilities(self, views: Views) -> Array:
        """Return how probable each choice is, float32 (choices, n, B); of a policy that chooses and has no memory.

        One that flies the most probable choice has 1 for it.
        """
        xp, described = self.xp, self.bundle.description
        assert self._discrete
        assert not self.recurrent
        observed, clip = self.observe(views), described.normalisation.clip
        out = xp.zeros((self.context.action.choices, self._agents, self._batch), dtype=xp.float32)
        for places, network, mean, deviation, _ in self._groups:
            inputs = xp.reshape(xp.permute_dims(observed[:, places], (1, 2, 0)), (-1, observed.shape[0]))
            logits = network.forward(xp.clip((inputs - mean) / deviation, -clip, clip), None)[0]
            if self.deterministic:
                best = xp.argmax(logits, axis=-1)[:, None]
                share = xp.astype(best == xp.arange(logits.shape[-1])[None], xp.float32)
            else:
                raised = xp.exp(logits - xp.max(logits, axis=-1)[:, None])
                share = raised / xp.sum(raised, axis=-1)[:, None]
            out[:, places] = xp.permute_dims(xp.reshape(share, (len(places), self._batch, -1)), (2, 0, 1))
        return out

    def _infer(self, network: Network | TorchNetwork, places: list[int], inputs: Array, rows: Array) -> Array:
        if self._memory is None:
            return network.forward(inputs, None)[0]
        xp, before = self.xp, self._memory[places]
        memory = xp.reshape(before, (-1, before.shape[-1]))
        outputs, memory[rows] = network.forward(inputs, memory[rows])
        self._memory[places] = xp.reshape(memory, before.shape)
        return outputs

    def _choose(self, outputs: Array, spread: Array | None, places: list[int], rows: Array) -> Array:
        """Return the actions (R, A) in the action's units."""
        xp, spec = self.xp, self.context.action
        if self.deterministic:
            keys = count = None
        else:
            keys, count = (xp.reshape(values[places], (-1,))[rows] for values in (self._keys, self._count))
        if self._discrete:
            chosen = xp.argmax(outputs, axis=-1) if keys is None else self._draw_choice(outputs, keys, count)
            return xp.astype(chosen, xp.float32)[:, None]
        if self._squashed:
            outputs = xp.tanh(outputs)
        elif keys is not None:
            draws = xp.stack(
                [streams.normal_pair(xp, keys, count, i)[0] for i in range(spec.size)], axis=-1
            )
            outputs = outputs + spread * xp.astype(draws, xp.float32)
        return scale_up(xp, outputs, xp.asarray(spec.low), xp.asarray(spec.high))

    def _draw_choice(self, logits: Array, keys: Array, count: Array) -> Array:
        """Return a draw of each row's softmax: where its running sum passes a uniform share of the whole, (R,)."""
        xp = self.xp
        weights = xp.astype(xp.exp(logits - xp.max(logits, axis=-1)[:, None]), xp.float64)
        sums = [weights[:, 0]]
        for i in range(1, weights.shape[1]):  # one after another: the order of a library's sum may depend on the batch
            sums.append(sums[-1] + weights[:, i])
        share = streams.uniform(xp, keys, count) * sums[-1]
        chosen = count * 0
        for passed in sums[:-1]:
            chosen = chosen + xp.astype(share >= passed, xp.int64)
        return chosen

    def _remember(self, action: Array, due: Array) -> None:
        xp = self.xp
        self._count = self._count + xp.astype(due, xp.int64)
        if self._past:
            shifted = [action, *self._past[:-1]]
            self._past = [xp.where(due, new, old) for new, old in zip(shifted, self._past, strict=True)]

    def warm_up(self) -> None:
        """Decide a few times on nothing, then begin anew: allocates, and compiles where there is anything to."""
        xp, shape = self.xp, (self._agents, self._batch)
        unknown = xp.zeros(shape, dtype=xp.int64) - 1
        views = {}
        for layout in self.context.layouts[0]:
            size = (len(layout.fields), *shape)
            nothing, nowhere = xp.zeros(size, dtype=xp.float32), xp.zeros(size, dtype=xp.bool)
            views[layout.sensor] = SensorView(nothing, nowhere, unknown, unknown, unknown)
        everyone = xp.ones(shape, dtype=xp.bool)
        for _ in range(3):
            self.decide(views, xp.zeros((self._batch,), dtype=xp.int64), everyone)
        self._allocate()


def scale_up(xp: Any, values: Array, low: Array, high: Array) -> Array:
    """Return values in [-1, 1], clipped to it, as an action from ``low`` to ``high``."""
    share = (xp.clip(values, -1.0, 1.0) + 1.0) * 0.5
    return xp.clip(low + share * (high - low), low, high)
