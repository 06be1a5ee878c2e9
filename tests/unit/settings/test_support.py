"""Each pinned release says until when it is supported."""

from settings import support, versions


def test_every_pin_says_until_when_it_is_supported_and_where_that_stands() -> None:
    charts = [each for each in vars(versions).values() if isinstance(each, versions.Chart)]
    assert {each.name for each in charts} == support.CHARTS.keys()
    assert support.minor(versions.KUBERNETES) in support.KUBERNETES
    assert versions.NVIDIA_DRIVER.partition("-")[0] in support.DRIVERS
    every = [*support.CHARTS.values(), *support.KUBERNETES.values(), *support.DRIVERS.values()]
    assert all(each.source.startswith("https://") for each in [*every, support.FLATCAR])
