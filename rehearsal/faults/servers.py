"""The faults `etcd` and `api`: a server of the control plane is killed, and comes back later.

It is started as it was, with the same data. Controllers that have ended meanwhile are started
again, as their kubelet would.
"""

from dataclasses import dataclass, field

from rehearsal.faults.scene import Hit, Scene

DOWN_S = 15.0
SETTLES_S = 30.0
"""The fleet is looked at for so long afterwards: a node is silent after 50 s."""


@dataclass(kw_only=True)
class ServerKilled:
    """One server without a word for a while; `name` is that of its process."""

    name: str
    down_s: float = DOWN_S
    settles_s: float = SETTLES_S
    limit_s: float = 180.0
    killed_s: float = 0.0
    started_s: float | None = None
    answers_s: float | None = None
    restarted: list[str] = field(default_factory=list)

    def inject(self, scene: Scene) -> Hit:
        """Kill the server as a power cut does."""
        self.killed_s = scene.watch.seconds
        scene.processes.kill(self.name)
        return Hit(words=f"{self.name} is killed for {self.down_s:.0f} s", may_restart=False)

    def step(self, scene: Scene) -> None:
        """Start it again, and then whatever has ended without it."""
        if self.started_s is None:
            if scene.watch.seconds > self.killed_s + self.down_s:
                self.end(scene)
            return
        if self.answers_s is None and scene.api.ready() is None:
            self.answers_s = scene.watch.seconds
        if self.answers_s is not None:
            self.restarted += scene.start_ended()

    def over(self, scene: Scene) -> bool:
        """It answers, and the fleet has had time to notice."""
        return self.answers_s is not None and scene.watch.seconds > self.answers_s + self.settles_s

    def end(self, scene: Scene) -> None:
        """Start it again."""
        if self.started_s is None:
            self.started_s = scene.watch.seconds
            scene.processes.start_again(self.name)

    def mended_s(self) -> float | None:
        """When it was started again."""
        return self.started_s
