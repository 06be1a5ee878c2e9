"""What charts become is judged by the environment's rules."""

from policies.environment import Environment
from rehearsal.charts.results import RenderedChart
from rehearsal.charts.rules import Judged, judge

GREEDY = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "greedy", "namespace": "there"},
    "spec": {
        "template": {
            "spec": {
                "restartPolicy": "Never",
                "containers": [
                    {
                        "name": "c",
                        "image": "a.example/c:1",
                        "resources": {"limits": {"nvidia.com/gpu": 3}},
                    }
                ],
            }
        }
    },
}
SERVICE = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {}}


def test_a_finding_names_the_release_and_the_template(environment: Environment) -> None:
    objects = [
        Judged(release="a", source="ours/templates/job.yaml", object=GREEDY),
        Judged(release="b", source="theirs/templates/service.yaml", object=SERVICE),
    ]

    found = judge(objects, environment.rules)

    assert set(found) == {"a"}
    assert all(each.resource and each.resource.name == "greedy" for each in found["a"])
    assert {each.resource.template for each in found["a"] if each.resource} == {
        "ours/templates/job.yaml"
    }


def test_a_broken_rule_is_a_problem_of_the_chart(environment: Environment) -> None:
    objects = [Judged(release="a", source="ours/templates/job.yaml", object=GREEDY)]
    findings = tuple(judge(objects, environment.rules)["a"])
    chart = RenderedChart(name="a", chart="ours", version="1", source="here", findings=findings)

    broken = [each for each in findings if each.state == "violated"]
    assert broken
    assert all(problem.startswith("Chart of a: ") for problem in chart.problems)
    assert len(chart.problems) == sum(len(each.sentences) for each in broken)
