// Its own module: with Cilium's requirements the other definitions would be made by other versions.
module gpu-fleet/toolchain/crds/cilium

go 1.26.6

require github.com/cilium/cilium v1.20.2
