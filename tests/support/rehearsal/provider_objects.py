"""The kinds and objects that the tests of the provider make."""

from rehearsal.providers.values import Properties

NAMESPACE = "kubernetes:core/v1:Namespace"


CONFIG_MAP = "kubernetes:core/v1:ConfigMap"


SECRET = "kubernetes:core/v1:Secret"


PRIORITY = "kubernetes:scheduling.k8s.io/v1:PriorityClass"


JOB = "kubernetes:batch/v1:Job"


CRD = "kubernetes:apiextensions.k8s.io/v1:CustomResourceDefinition"


WIDGET = "kubernetes:fleet.example/v1:Widget"


POLICY = "kubernetes:admissionregistration.k8s.io/v1:ValidatingAdmissionPolicy"


BINDING = "kubernetes:admissionregistration.k8s.io/v1:ValidatingAdmissionPolicyBinding"


NODE_POOL = "kubernetes:karpenter.sh/v1:NodePool"
PROMETHEUS_RULE = "kubernetes:monitoring.coreos.com/v1:PrometheusRule"


def config_map(name: str, namespace: str = "default", **data: str) -> Properties:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace},
        "data": {**data},
    }
