"""The one version of the monitoring chart that this program installs."""

from components.versions import Chart

# renovate: datasource=helm depName=kube-prometheus-stack registryUrl=https://prometheus-community.github.io/helm-charts
KUBE_PROMETHEUS_STACK = Chart(
    name="kube-prometheus-stack",
    version="88.5.3",
    repository="https://prometheus-community.github.io/helm-charts",
)
