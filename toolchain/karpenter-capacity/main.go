// karpenter-capacity asks the code of Karpenter's AWS provider what a machine of an instance type
// offers to pods before one was ever seen: its capacity, less what its EC2NodeClass reserves. The
// tests hold our own figures to it.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	v1 "github.com/aws/karpenter-provider-aws/pkg/apis/v1"
	"github.com/aws/karpenter-provider-aws/pkg/operator/options"
	"github.com/aws/karpenter-provider-aws/pkg/providers/instancetype"
	"github.com/samber/lo"
)

const usage = `usage: karpenter-capacity batch   lines of {"type": {...}, "spec": {...}, "overhead": 0.075} on stdin,
                                  on stdout lines of {"cpu": "191", "memory_mib": 1, "gpus": 8, "efa": 32}
`

// question is an instance type with the figures of our catalogue, the `spec` of an EC2NodeClass and
// Karpenter's setting vmMemoryOverheadPercent, a share of 1.
type question struct {
	Type     machine             `json:"type"`
	Spec     v1.EC2NodeClassSpec `json:"spec"`
	Overhead float64             `json:"overhead"`
}

type machine struct {
	Name      string `json:"name"`
	Arch      string `json:"arch"`
	VCPUs     int32  `json:"vcpus"`
	MemoryMiB int64  `json:"memory_mib"`
	GPUs      int32  `json:"gpus"`
	EFA       int32  `json:"efa"`
}

type answer struct {
	CPU       string `json:"cpu"`
	MemoryMiB int64  `json:"memory_mib"`
	GPUs      int64  `json:"gpus"`
	EFA       int64  `json:"efa"`
}

func main() {
	if len(os.Args) != 2 || os.Args[1] != "batch" {
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	if err := batch(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func batch(in io.Reader, out io.Writer) error {
	decoder, encoder := json.NewDecoder(in), json.NewEncoder(out)
	decoder.DisallowUnknownFields() // a field that the class does not know would do nothing
	for {
		var asked question
		err := decoder.Decode(&asked)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("a line of the batch is no question: %w", err)
		}
		if err := encoder.Encode(ask(asked)); err != nil {
			return err
		}
	}
}

func ask(asked question) answer {
	given := options.Options{VMMemoryOverheadPercent: asked.Overhead}
	class := &v1.EC2NodeClass{Spec: asked.Spec}
	resolver := instancetype.NewDefaultResolver("us-east-1")
	found := resolver.Resolve(given.ToContext(context.Background()), info(asked.Type), []string{"us-east-1a"}, class)
	allocatable := found.Allocatable()
	return answer{
		CPU:       allocatable.Cpu().String(),
		MemoryMiB: allocatable.Memory().Value() >> 20,
		GPUs:      lo.ToPtr(allocatable[v1.ResourceNVIDIAGPU]).Value(),
		EFA:       lo.ToPtr(allocatable[v1.ResourceEFA]).Value(),
	}
}

// info is what EC2's DescribeInstanceTypes says of a machine, as far as the figures depend on it.
func info(machine machine) ec2types.InstanceTypeInfo {
	arch := map[string]ec2types.ArchitectureType{"amd64": "x86_64", "arm64": "arm64"}[machine.Arch]
	return ec2types.InstanceTypeInfo{
		InstanceType:          ec2types.InstanceType(machine.Name),
		VCpuInfo:              &ec2types.VCpuInfo{DefaultVCpus: &machine.VCPUs, DefaultCores: &machine.VCPUs},
		MemoryInfo:            &ec2types.MemoryInfo{SizeInMiB: &machine.MemoryMiB},
		ProcessorInfo:         &ec2types.ProcessorInfo{SupportedArchitectures: []ec2types.ArchitectureType{arch}},
		SupportedUsageClasses: []ec2types.UsageClassType{"on-demand"},
		BareMetal:             lo.ToPtr(false),
		Hypervisor:            "nitro",
		GpuInfo: &ec2types.GpuInfo{Gpus: []ec2types.GpuDeviceInfo{{
			Manufacturer: lo.ToPtr("NVIDIA"),
			Name:         lo.ToPtr("H200"),
			Count:        &machine.GPUs,
			MemoryInfo:   &ec2types.GpuDeviceMemoryInfo{SizeInMiB: lo.ToPtr[int32](1)},
		}}},
		NetworkInfo: &ec2types.NetworkInfo{
			EfaInfo:                      &ec2types.EfaInfo{MaximumEfaInterfaces: &machine.EFA},
			EncryptionInTransitSupported: lo.ToPtr(true),
			Ipv4AddressesPerInterface:    lo.ToPtr[int32](50),
			DefaultNetworkCardIndex:      lo.ToPtr[int32](0),
			NetworkCards:                 []ec2types.NetworkCardInfo{{MaximumNetworkInterfaces: lo.ToPtr[int32](2)}},
		},
	}
}
