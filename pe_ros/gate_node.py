"""Gate node: what stands between a policy and a vehicle. Limits, refusals, a watchdog, a latched stop."""

from __future__ import annotations

import sys
import threading
from typing import Any

import numpy as np
from std_srvs.srv import Trigger

from pe_ros import qos, topics
from pe_ros.action_codec import ActionReader, ActionRecord
from pe_ros.agent_lifecycle import AgentLifecycleNode
from pe_ros.agent_summary import AgentSummary
from pe_ros.conversions import duration_message, float_array, time_message
from pe_ros.engagement_node import LOCKSTEP, logger
from pe_ros.msg import Action, AgentStatus, SafetyEvent
from pe_ros.run_node import run
from pe_ros.sight import longest_blindness
from pe_sim.arrays import namespace
from pe_sim.draws import Parameter, latency_of
from pe_sim.gate import ActionGate, Gate
from pe_sim.timing import NANOSECONDS, seconds

ONE = np.ones((1, 1), np.bool_)
ONE.setflags(write=False)

REPEAT = NANOSECONDS // 5
"""Period at which a stop is repeated [ns]: fast enough for vehicles that need a stream of setpoints."""

RULES = {
    Gate.CLIPPED: "limits", Gate.SLEW: "slew", Gate.NOT_FINITE: "finite values", Gate.WRONG_SHAPE: "shape",
    Gate.STALE: "newest wins", Gate.WATCHDOG: "watchdog", Gate.STOP_LATCHED: "latched stop",
}  # fmt: skip
"""What each bit is called in a safety event."""


class GateNode(AgentLifecycleNode):
    """Checks /<agent>/action and publishes /<agent>/command."""

    def __init__(self, **node_arguments: Any) -> None:
        self._lock = threading.RLock()
        self._latched = ""
        self._stopped = False
        self._watches = 0
        super().__init__("gate", **node_arguments)

    def configure(self) -> None:
        """Read the limits, create topics and services."""
        engagement, xp = self.engagement, namespace()
        spec = engagement.roles[self.role]
        self._action = self.action_spec()
        self._gate = ActionGate(spec.gate, self._action, seconds(spec.trigger.period), xp, f"roles.{self.role}.gate")
        wait = self.values["watchdog"]
        self._wait = round(wait * NANOSECONDS) if wait else spec.valid_for + 2 * spec.trigger.period
        blindness = self.values["blindness"]
        self._blindness = round(blindness * NANOSECONDS) if blindness else longest_blindness(spec.sensors)
        self._blind = False
        self._action_latency = Parameter(engagement, *latency_of(engagement, self.role), xp, [self.agent])
        self._latency = spec.action.latency
        self._valid_for = duration_message(spec.valid_for)
        self._interventions = 0
        self._stale = 0
        self._clear()
        self._reader = ActionReader()
        self._commands = self.create_publisher(Action, topics.command(self.agent), qos.command(self.pace))
        self._events = self.create_publisher(SafetyEvent, topics.safety_event(self.agent), qos.safety_event(self.pace))
        self._actions = self.create_subscription(
            Action, topics.action(self.agent), self._hear_action, qos.action(self.pace), raw=True
        )
        self._stop_service = self.create_service(Trigger, topics.stop(self.agent), self._on_stop)
        self._release_service = self.create_service(Trigger, topics.release(self.agent), self._on_release)

    def exclusive_topics(self) -> list[str]:
        """Return what only one policy, and only this gate may publish on."""
        return [topics.action(self.agent), topics.command(self.agent)]

    def cleanup(self) -> None:
        """Destroy topics and services."""
        self.destroy_publisher(self._commands)
        self.destroy_publisher(self._events)
        self.destroy_subscription(self._actions)
        self.destroy_service(self._stop_service)
        self.destroy_service(self._release_service)

    def _clear(self) -> None:
        """Forget the last action."""
        self._allowed = np.zeros((self._action.size, 1, 1), np.float32)
        self._has = np.zeros((1, 1), np.bool_)
        self._sequence = -1
        self._deadline: int | None = None
        self._barking = False

    def activate(self) -> None:
        """Let actions pass from now on."""
        with self._lock:
            self._stopped = False
            if self.running:
                self._begin_watch(0)

    def begin(self, roots: np.ndarray[Any, Any]) -> None:
        """Forget the last episode's actions; a latched stop stays."""
        with self._lock:
            self._action_latency.redraw(roots, None)
            self._latency = self._action_latency.only()
            self._clear()

    def begin_running(self, start: int) -> None:
        """Watch for the first action."""
        with self._lock:
            if self.active and not self._stopped:
                self._begin_watch(start)

    def _begin_watch(self, start: int) -> None:
        """Expect an action within the watchdog's time from an instant [ns, ROS time], but not from one that is past."""
        if self.pace != LOCKSTEP:
            self._deadline = max(start, self.context_of_engagement.now()) + self._wait
            self._watches += 1
            self._watch(self._watches)

    def end(self) -> None:
        """Stop the agent: the episode is over."""
        with self._lock:
            self._deadline = None
            if self.pace != LOCKSTEP:
                self._send_stop(Gate.NONE)

    def _hear_action(self, data: bytes) -> None:
        with self._lock:
            if self.active and not self._stopped:
                self._judge(self._reader.read(data))

    def _judge(self, action: ActionRecord) -> None:
        """Let an action through, changed if need be, or refuse it."""
        wrong = self._refusal_of(action)
        if wrong:
            bits, rule = wrong
            self._tell(bits, rule, action.sequence, action.values, [])
            if self.pace == LOCKSTEP and not bits & Gate.STALE:
                self._answer_in_place_of(action, bits)
            return
        if self.pace != LOCKSTEP and self._is_blind(action):
            return
        self._sequence = action.sequence
        self._deadline = action.effective + self._wait
        self._barking = False
        if self._latched:
            self._commands.publish(action.patched(mode=Action.MODE_STOP, gate=int(Gate.STOP_LATCHED)))
            return
        allowed, changed = self._gate.check(action.values.reshape(-1, 1, 1), self._allowed, self._has)
        changes = Gate(int(changed[0, 0]))
        self._allowed, self._has = allowed, ONE
        if not changes:
            self._commands.publish(action.data if action.gate == 0 else action.patched(gate=0))
            return
        values = allowed[:, 0, 0]
        self._tell(changes, _rules(changes), action.sequence, action.values, values.tolist())
        self._commands.publish(action.patched(values=values, gate=int(changes)))

    def _is_blind(self, action: ActionRecord) -> bool:
        """Return whether all readings of a decision are too old; it then counts as none, and the watchdog bites."""
        newest = action.newest_reading()
        if newest is None or self._blindness is None:
            return False
        age = action.stamp - max(newest, self.start or 0)
        was, self._blind = self._blind, age > self._blindness
        if self._blind and not was:
            self._warn_and_tell(f"decided on nothing newer than {seconds(age):.2f} s", action.sequence)
        return self._blind

    def _warn_and_tell(self, text: str, sequence: int) -> None:
        logger(self).warning(f"{self.agent}: {text}; stopping it")
        self._tell(Gate.WATCHDOG, text, sequence, [], [])

    def _answer_in_place_of(self, action: ActionRecord, bits: Gate) -> None:
        """In lockstep time waits for a command: repeat the last one for an action that cannot be used."""
        message = Action(agent=self.agent, episode=self.episode, sequence=action.sequence, kind=self._action.kind)
        message.header.stamp = time_message(action.stamp)
        message.effective = time_message(action.stamp + self._latency)
        message.valid_for = self._valid_for
        message.values = float_array(self._allowed[:, 0, 0])
        self._publish(message, Action.MODE_EXECUTE if self._has[0, 0] else Action.MODE_COAST, bits)

    def _refusal_of(self, message: ActionRecord) -> tuple[Gate, str] | None:
        """Return why an action cannot be used, or None."""
        if message.agent != self.agent:
            return Gate.WRONG_SHAPE, f"is for {message.agent}, not for {self.agent}"
        if message.episode != self.episode:
            return Gate.STALE, f"is of episode {message.episode}, not {self.episode}"
        if message.kind != self._action.kind:
            return Gate.WRONG_SHAPE, f"is of kind {message.kind}, not {self._action.kind}"
        if len(message.values) != self._action.size:
            return Gate.WRONG_SHAPE, f"has {len(message.values)} values, not {self._action.size}"
        if message.sequence <= self._sequence:
            self._stale += 1
            return Gate.STALE, f"is decision {message.sequence}, {self._sequence} is in effect"
        return None

    def _publish(self, message: Action, mode: int, bits: Gate) -> None:
        message.mode = int(mode)
        message.gate = int(bits)
        self._commands.publish(message)

    def _tell(self, bits: Gate, rule: str, sequence: int, requested: Any, allowed: list[float]) -> None:
        """Publish a safety event."""
        self._interventions += 1
        event = SafetyEvent(agent=self.agent, episode=max(0, self.episode), gate=int(bits), sequence=int(sequence))
        event.header.stamp = time_message(self.context_of_engagement.now())
        event.rule = _rules(bits)
        event.message = f"{self.agent}: {rule}"
        event.requested = [float(v) for v in requested]
        event.allowed = allowed
        self._events.publish(event)

    def _watch(self, number: int) -> None:
        """Stop the agent when no action has come in time; look again when the next could be overdue."""
        with self._lock:
            if number != self._watches or self._deadline is None:
                return
            now = self.context_of_engagement.now()
            wake = self._deadline
            if now >= self._deadline:
                if not self._barking:
                    self._warn_and_tell(f"no action for {seconds(self._wait):.2f} s", 0)
                self._barking = True
                self._send_stop(Gate.WATCHDOG)
                wake = now + REPEAT
        self.alarms.at(wake, lambda: self._watch(number))

    def _send_stop(self, bits: Gate) -> None:
        """Publish a stop command in the name of the gate."""
        now = self.context_of_engagement.now()
        message = Action(agent=self.agent, episode=max(0, self.episode), kind=self._action.kind)
        message.header.stamp = time_message(now)
        message.effective = time_message(now)
        message.sequence = max(0, self._sequence)
        message.valid_for = self._valid_for
        message.values = float_array(np.zeros(self._action.size, np.float32))
        self._publish(message, Action.MODE_STOP, bits)

    def stop_motion(self) -> None:
        """Stop the agent for good: until the node is activated again, no action passes that is still on its way."""
        with self._lock:
            self._stopped = True
            self._deadline = None
            if hasattr(self, "_commands"):
                self._send_stop(Gate.NONE)

    def latch(self, reason: str) -> None:
        """Stop the agent and let nothing through until released."""
        with self._lock:
            self._latched = reason
            self._tell(Gate.STOP_LATCHED, reason, max(0, self._sequence), [], [])
            if self.pace != LOCKSTEP:
                self._send_stop(Gate.STOP_LATCHED)
        logger(self).warning(f"{self.agent}: {reason}")

    def _on_stop(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        del request
        self.latch("stopped by service")
        response.success = True
        response.message = f"{self.agent} is stopped; call {topics.release(self.agent)} to go on"
        return response

    def _on_release(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        del request
        with self._lock:
            was, self._latched = self._latched, ""
        response.success = bool(was)
        response.message = f"{self.agent} is released" if was else f"{self.agent} was not stopped"
        return response

    def fill_status(self, message: AgentStatus) -> None:
        """Report interventions and refused actions."""
        message.interventions = self._interventions
        message.stale_actions = self._stale
        if self._latched:
            message.state = AgentStatus.STATE_STOPPED
            message.message = self._latched

    def add_to_summary(self, summary: AgentSummary) -> None:
        """Add interventions."""
        summary.interventions += self._interventions
        summary.stale_actions += self._stale


def _rules(bits: Gate) -> str:
    return ", ".join(text for bit, text in RULES.items() if bit & bits)


def main(args: list[str] | None = None) -> int:
    """Run the node until it is told to end."""
    return run(GateNode, args, name="gate_node")


if __name__ == "__main__":
    sys.exit(main())
