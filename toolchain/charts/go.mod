// The charts that these modules carry; nothing is compiled, so `go mod tidy` would empty the list.
// After a change: `go mod download` of each module, with -mod=mod.
module gpu-fleet/toolchain/charts

go 1.26.0

require (
	github.com/aws/karpenter-provider-aws v1.14.1
	github.com/cilium/cilium v1.20.2
	sigs.k8s.io/kueue v0.19.2
	volcano.sh/volcano v1.14.1
)
