"""The rules on versions whose support has ended, or ends soon."""

from policies.rules.isolation.ending_versions import RULE as ENDING
from policies.rules.isolation.supported_versions import RULE as SUPPORTED
from settings import support, versions
from settings.versions import Chart
from tests.support.ignition.nodes import OWN_DRIVER, OWN_FABRIC_MANAGER
from tests.support.policies.shipped_pools import Pool, edited, file, pool

SYSEXTS = "/etc/flatcar/enabled-sysext.conf"


def said(rule: object, found: Pool, today: str, **settings: object) -> list[str]:
    asked = {**rule.defaults(), **settings, "today": today}  # type: ignore[attr-defined]  # a Rule
    start = "gpu:pools:BareMetalPool 'p' must run a supported version: "
    told = rule.predicate(found, asked)  # type: ignore[attr-defined]  # as above
    return [each.removeprefix(start) for each in told]


def with_driver(name: str) -> Pool:
    return edited(pool(), file(SYSEXTS, f"nvidia-drivers-{name}\n"))


def test_what_has_ended_is_refused_from_the_day_after() -> None:
    assert said(SUPPORTED, with_driver("535"), "2026-06-30") == []
    assert said(SUPPORTED, with_driver("535"), "2026-07-01") == [
        "NVIDIA's driver 535 ended on 2026-06-30."
    ]
    assert said(SUPPORTED, pool(), "2026-10-28") == [
        "Kubernetes 1.34 ended on 2026-10-27.",
        "NVIDIA's driver 570 ended on 2026-02-28.",
    ]


def test_a_pool_without_gpus_has_no_driver_that_could_end() -> None:
    assert said(SUPPORTED, pool("ccx33", "batch"), "2026-10-28") == [
        "Kubernetes 1.34 ended on 2026-10-27."
    ]


def test_an_extension_of_ones_own_ends_with_its_branch() -> None:
    found = pool(driver="580-open", driver_extension=OWN_DRIVER, fabric_manager=OWN_FABRIC_MANAGER)
    driver = "NVIDIA's driver 580"
    assert f"{driver} ended on 2028-06-30." not in said(SUPPORTED, found, "2028-06-30")
    assert f"{driver} ended on 2028-06-30." in said(SUPPORTED, found, "2028-07-01")
    assert f"{driver} ends on 2028-06-30." in said(ENDING, found, "2028-06-30")


def test_a_version_that_nobody_here_knows_is_refused_with_the_place_to_add_it() -> None:
    assert said(SUPPORTED, with_driver("700-open"), "2026-01-01") == [
        "NVIDIA's driver 700 has no last day of support in settings/support.py."
    ]


def test_what_ends_within_sixty_days_is_listed_and_not_refused() -> None:
    assert said(ENDING, pool("ccx33", "batch"), "2026-08-27") == []
    assert said(ENDING, pool("ccx33", "batch"), "2026-08-28") == [
        "Kubernetes 1.34 ends on 2026-10-27."
    ]
    assert said(ENDING, pool("ccx33", "batch"), "2026-10-27") == [
        "Kubernetes 1.34 ends on 2026-10-27."
    ]
    assert said(ENDING, pool("ccx33", "batch"), "2026-10-28") == [], "the other rule's"
    assert said(ENDING, pool("ccx33", "batch"), "2026-08-27", days=61) != []
    assert (SUPPORTED.level, ENDING.level) == ("mandatory", "advisory")


def test_an_object_that_is_no_pool_has_no_versions() -> None:
    assert said(SUPPORTED, {"kind": "Pod", "metadata": {"name": "p"}}, "2026-10-28") == []


def pins() -> set[str]:
    """The names of all values in settings/versions.py that are pinned."""
    found = {name for name, value in vars(versions).items() if isinstance(value, str | Chart)}
    return {name for name in found if name.isupper()}


def test_every_pin_says_until_when_it_is_supported_and_where_that_stands() -> None:
    charts = {name for name in pins() if isinstance(getattr(versions, name), Chart)}
    assert {getattr(versions, name).name for name in charts} == support.CHARTS.keys()
    assert support.minor(versions.KUBERNETES) in support.KUBERNETES
    assert versions.NVIDIA_DRIVER.partition("-")[0] in support.DRIVERS
    of_an_environment = {"FLATCAR", "KUBERNETES", "NVIDIA_DRIVER"}
    no_versions = {"FLATCAR_CHANNEL", "FLATCAR_AMI_OWNER"}
    assert pins() - charts - of_an_environment - no_versions == support.PROGRAMS.keys()
    lists = (support.CHARTS, support.KUBERNETES, support.DRIVERS, support.PYTHON, support.PROGRAMS)
    every = [support.FLATCAR, *(each for found in lists for each in found.values())]
    assert all(each.source.startswith("https://") for each in every)


def test_an_image_of_python_or_cuda_ends_with_the_release_that_is_in_it() -> None:
    tag = versions.PYTHON_IMAGE.partition("@")[0].rpartition(":")[2]
    assert support.PROGRAMS["PYTHON_IMAGE"] == support.PYTHON[support.minor(tag)]
    # 12.8 came with 570: https://docs.nvidia.com/cuda/cuda-toolkit-release-notes/
    assert versions.CUDA_IMAGE.startswith("docker.io/nvidia/cuda:12.8.")
    assert support.PROGRAMS["CUDA_IMAGE"].last_day == support.DRIVERS["570"].last_day
