"""The faults `etcd` and `api`: a server of the control plane is killed, and comes back later.

It is started as it was, with the same data. Controllers that have ended meanwhile are started
again, as their kubelet would.

In a cluster the controller manager and the scheduler lead by a Lease, and end when they could not
renew it for ten seconds (Kubernetes 1.36.3, OnStoppedLeading in cmd/kube-controller-manager/app/
controllermanager.go and cmd/kube-scheduler/app/server.go). The twin's elect no leader, and would go
on with what they knew: their watches try again after up to a minute (client-go 0.36.3,
tools/cache/reflector.go), and a controller manager that has seen no Lease for 50 s calls each node
unreachable, however soon its kubelet renewed it. So the fault ends them, as the Lease would.

It ends kwok, too, which renews a Lease by what its watch has shown of it (kwok 0.8.0,
node_lease_controller.go), and missed 30 s of renewals after such a wait; a kubelet asks again.
"""

from dataclasses import dataclass, field

from rehearsal.faults.scene import Hit, Scene

DOWN_S = 15.0
WATCHERS = ("kube-controller-manager", "kube-scheduler", "kwok")
"""What would believe an old watch when the server is back."""
RENEW_DEADLINE_S = 10.0
"""Kubernetes' default, in component-base 0.36.3, config/v1alpha1/defaults.go."""
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
    watched: bool = True

    def inject(self, scene: Scene) -> Hit:
        """Kill the server as a power cut does."""
        self.killed_s = scene.watch.seconds
        scene.processes.kill(self.name)
        return Hit(words=f"{self.name} is killed for {self.down_s:.0f} s", may_restart=False)

    def step(self, scene: Scene) -> None:
        """Start it again, and then whatever has ended without it."""
        silent_s = scene.watch.seconds - self.killed_s
        if self.watched and self.answers_s is None and silent_s > RENEW_DEADLINE_S:
            self.watched = False
            for name in WATCHERS:
                scene.processes.kill(name)
        if self.started_s is None:
            if silent_s > self.down_s:
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
