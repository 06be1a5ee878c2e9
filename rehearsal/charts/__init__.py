"""The Helm charts of an environment: found, rendered and judged, but not installed."""
