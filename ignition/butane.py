"""Butane (flatcar 1.0.0 and 1.1.0) to Ignition in pure Python, equal to `butane --strict`."""


class ButaneError(ValueError):
    """Butane that the real one would refuse; the message has the YAML path and line."""


def transpile(source: str) -> dict[str, object]:
    """The Ignition configuration of a Butane document; ButaneError where it is wrong."""
    raise NotImplementedError
