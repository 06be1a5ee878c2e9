"""As many trivial resources as the configuration says, with the providers of the real program."""

import pulumi
import pulumi_aws as aws
import pulumi_hcloud as hcloud
import pulumi_kubernetes as kubernetes

config = pulumi.Config("gpu-fleet")
providers = {
    "aws": aws.Provider("aws", region="us-east-1"),
    "hcloud": hcloud.Provider("hcloud", token=config.require_secret("hcloud_token")),
    "kubernetes": kubernetes.Provider("cluster", kubeconfig=config.require_secret("kubeconfig")),
}
for package, count in config.require_object("resources").items():
    options = pulumi.ResourceOptions(provider=providers[package])
    for number in range(count):
        name = f"bare-{number}"
        if package == "kubernetes":
            kubernetes.core.v1.ConfigMap(name, data={"number": str(number)}, opts=options)
        elif package == "hcloud":
            hcloud.PlacementGroup(name, type="spread", opts=options)
        else:
            aws.s3.Bucket(name, opts=options)
