"""The real promtool, for sweeps over alerts."""

from tests.conformance.monitoring.conftest import prometheus, promtool

__all__ = ["prometheus", "promtool"]
