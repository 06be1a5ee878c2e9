package main

import (
	"context"
	"encoding/json"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	kubetypes "k8s.io/kubernetes/pkg/kubelet/types"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
)

const answersIn = 30 * time.Second

// mark says in a pod what kubelet gave its containers; kwok runs it then.
func (a *admitter) mark(ctx context.Context, pod *v1.Pod, found map[string]given) error {
	text, err := json.Marshal(found)
	if err != nil {
		return err
	}
	return a.change(ctx, pod, map[string]any{admitted: string(text)}, nil)
}

// fail writes what kubelet's rejectPod and its status manager do. A pod that was marked, and that
// kubelet refuses when it starts again, no longer has its mark, as kwok would run it once more.
func (a *admitter) fail(ctx context.Context, pod *v1.Pod, result lifecycle.PodAdmitResult) error {
	before, err := json.Marshal(pod.Status)
	if err != nil {
		return err
	}
	after, err := json.Marshal(rejected(pod, result))
	if err != nil {
		return err
	}
	status, err := jsonpatch.CreateMergePatch(before, after)
	if err != nil {
		return err
	}
	return a.change(ctx, pod, map[string]any{admitted: nil}, status)
}

// rejected is a status of nothing but the failure; what others than kubelet say in it stays
// (mergePodStatus and updateStatusInternal of pkg/kubelet/status).
func rejected(pod *v1.Pod, result lifecycle.PodAdmitResult) v1.PodStatus {
	now := metav1.Now()
	made := v1.PodStatus{
		Phase:                                v1.PodFailed,
		Reason:                               result.Reason,
		Message:                              "Pod was rejected: " + result.Message,
		ObservedGeneration:                   pod.Status.ObservedGeneration,
		QOSClass:                             pod.Status.QOSClass,
		StartTime:                            &now,
		ResourceClaimStatuses:                pod.Status.ResourceClaimStatuses,
		ExtendedResourceClaimStatus:          pod.Status.ExtendedResourceClaimStatus,
		NodeAllocatableResourceClaimStatuses: pod.Status.NodeAllocatableResourceClaimStatuses,
	}
	if pod.Status.StartTime != nil {
		made.StartTime = pod.Status.StartTime
	}
	for _, each := range pod.Status.Conditions {
		if !kubetypes.PodConditionByKubelet(each.Type) {
			made.Conditions = append(made.Conditions, each)
		}
	}
	return made
}

// change leaves a pod alone that is gone, also where another one has its name.
func (a *admitter) change(ctx context.Context, pod *v1.Pod, annotations map[string]any, status json.RawMessage) error {
	metadata := map[string]any{"uid": pod.UID, "annotations": annotations}
	changed := map[string]any{"metadata": metadata}
	if status != nil {
		changed["status"] = status
	}
	body, err := json.Marshal(changed)
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, answersIn)
	defer cancel()
	_, err = a.client.CoreV1().Pods(pod.Namespace).Patch(limited, pod.Name, types.MergePatchType, body,
		metav1.PatchOptions{}, "status")
	return ofWhatIsThere(err)
}

// tell writes what kubelet says in a Node's status beside what kwok and rehearsal/nodes.py write.
func (a *admitter) tell(ctx context.Context, node *v1.Node) error {
	body, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": node.UID},
		"status": map[string]any{
			"declaredFeatures": node.Status.DeclaredFeatures,
			"features":         node.Status.Features,
		},
	})
	if err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, answersIn)
	defer cancel()
	_, err = a.client.CoreV1().Nodes().Patch(limited, node.Name, types.MergePatchType, body,
		metav1.PatchOptions{}, "status")
	return ofWhatIsThere(err)
}

// ofWhatIsThere drops the errors that say that a thing is gone, or that another has its name.
func ofWhatIsThere(err error) error {
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}
