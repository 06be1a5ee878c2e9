module gpu-fleet/toolchain/blockio-classes

go 1.25.0

require (
	github.com/intel/goresctrl v0.8.0
	sigs.k8s.io/yaml v1.4.0
)

require (
	github.com/gogo/protobuf v1.3.2 // indirect
	github.com/opencontainers/runtime-spec v1.0.2 // indirect
	golang.org/x/sys v0.11.0 // indirect
	gopkg.in/inf.v0 v0.9.1 // indirect
	k8s.io/apimachinery v0.27.4 // indirect
)
