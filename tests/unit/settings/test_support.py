"""Each pinned release says until when it is supported."""

from settings import support, versions
from settings.versions import Chart


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
