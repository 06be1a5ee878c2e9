"""The operators whose word about their own pods and gangs is taken.

An operator is known by the service account that its project ships it with; only administrators can
make these namespaces and accounts.
"""

OPERATORS = (
    # KubeRay's chart in a namespace of its own: helm-chart/kuberay-operator/values.yaml
    "system:serviceaccount:kuberay-operator:kuberay-operator",
    "system:serviceaccount:kuberay-system:kuberay-operator",
    # https://github.com/kubeflow/mpi-operator/blob/v0.6.0/deploy/v2beta1/mpi-operator.yaml
    "system:serviceaccount:mpi-operator:mpi-operator",
    # https://github.com/kubeflow/training-operator/blob/v1.9.0/manifests/base/rbac
    "system:serviceaccount:kubeflow:training-operator",
)
"""User names, as the API server writes the accounts."""
