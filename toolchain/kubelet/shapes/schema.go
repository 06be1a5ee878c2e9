package main

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	cliflag "k8s.io/component-base/cli/flag"
	logsapi "k8s.io/component-base/logs/api/v1"
	_ "k8s.io/component-base/logs/json/register" // kubelet knows the format json
	"k8s.io/kubelet/config/v1beta1"
)

func init() {
	// as cmd/kubelet/app does; the gates of pkg/features come with the validation
	utilruntime.Must(logsapi.AddFeatureGates(utilfeature.DefaultMutableFeatureGate))
}

// known is what kubelet knows of its configuration before it validates any.
type known struct {
	Gates       map[string]gate     `json:"gates"`
	Needs       map[string][]string `json:"needs"` // the gates without which a gate cannot be on
	TLSVersions []string            `json:"tls_versions"`
	TLSCiphers  []string            `json:"tls_ciphers"`
	TLSCurves   []int32             `json:"tls_curves"`
	Fields      map[string]string   `json:"fields"` // the type at each place: a.b, a[] an item, a{} a value of a map
}

type gate struct {
	Default bool `json:"default"`
	Locked  bool `json:"locked"`
}

func knownOfKubelet() known {
	found := known{
		Gates:       map[string]gate{},
		Needs:       map[string][]string{},
		TLSVersions: cliflag.TLSPossibleVersions(),
		TLSCiphers:  cliflag.TLSCipherPossibleValues(),
		Fields:      map[string]string{},
	}
	for name, spec := range utilfeature.DefaultMutableFeatureGate.GetAll() {
		found.Gates[string(name)] = gate{Default: spec.Default, Locked: spec.LockToDefault}
	}
	for name, needed := range utilfeature.DefaultMutableFeatureGate.Dependencies() {
		for _, other := range needed {
			found.Needs[string(name)] = append(found.Needs[string(name)], string(other))
		}
	}
	for curve := int32(1); curve <= math.MaxUint16; curve++ {
		if _, err := cliflag.TLSCurvePreferences([]int32{curve}); err == nil {
			found.TLSCurves = append(found.TLSCurves, curve)
		}
	}
	places(reflect.TypeFor[v1beta1.KubeletConfiguration](), "", found.Fields)
	delete(found.Fields, "")
	return found
}

var scalars = map[reflect.Type]string{
	reflect.TypeFor[metav1.Duration]():   "duration",
	reflect.TypeFor[resource.Quantity](): "quantity",
	reflect.TypeFor[metav1.Time]():       "time",
	// a duration in a string, or a number of nanoseconds
	reflect.TypeFor[logsapi.TimeOrMetaDuration](): "duration or nanoseconds",
	reflect.TypeFor[resource.QuantityValue]():     "quantity",
}

func places(kind reflect.Type, place string, found map[string]string) {
	for kind.Kind() == reflect.Pointer {
		kind = kind.Elem()
	}
	if name, scalar := scalars[kind]; scalar {
		found[place] = name
		return
	}
	switch kind.Kind() {
	case reflect.Struct:
		found[place] = "object"
		for i := range kind.NumField() {
			name, _, _ := strings.Cut(kind.Field(i).Tag.Get("json"), ",")
			if name == "" && kind.Field(i).Anonymous {
				places(kind.Field(i).Type, place, found)
			} else if name != "-" {
				places(kind.Field(i).Type, strings.TrimPrefix(place+"."+name, "."), found)
			}
		}
	case reflect.Slice:
		if reflect.PointerTo(kind).Implements(reflect.TypeFor[json.Unmarshaler]()) {
			found[place] = "any"
			return
		}
		found[place] = "array"
		places(kind.Elem(), place+"[]", found)
	case reflect.Map:
		found[place] = "map"
		places(kind.Elem(), place+"{}", found)
	default:
		found[place] = kind.Kind().String()
	}
}
