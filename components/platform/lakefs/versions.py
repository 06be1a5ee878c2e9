"""The one version of lakeFS that this program installs."""

CHART = "lakefs"
CHART_REPOSITORY = "https://charts.lakefs.io"

# renovate: datasource=helm depName=lakefs registryUrl=https://charts.lakefs.io
CHART_VERSION = "1.12.16"

# The image of the open-source server; the chart's own appVersion counts the Enterprise releases.
# renovate: datasource=docker depName=docker.io/treeverse/lakefs
APP_VERSION = "1.84.0"
