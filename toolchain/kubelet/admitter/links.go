package main

import "slices"

// together is bestEffortPolicy (vendor/github.com/NVIDIA/go-gpuallocator, besteffort_policy.go of
// k8s-device-plugin v0.20.0): of all ways to divide the available GPUs into sets of this size, with what
// is left over as a smaller one, the one with the best links, and of it the best set that has the
// required GPUs. Links are better within a NUMA node, and else alike, as those of NVLink are behind
// a switch. Of two that are as good the first by name is taken, where NVIDIA's takes the first in
// the order of kubelet's request, which is chance.
func (p inProcess) together(available, required []string, size int) []string {
	node := map[string]int64{}
	for _, each := range p.Devices {
		if each.NUMANode != nil {
			node[each.ID] = *each.NUMANode
		}
	}
	links := func(set []string) int {
		found := 0
		combinations(set, 2, func(pair, _ []string) {
			if node[pair[0]] == node[pair[1]] {
				found++
			}
		})
		return found
	}
	var best []string
	most := -1
	divisions(available, size, func(sets [][]string) {
		score := 0
		var chosen []string
		for _, set := range sets {
			score += links(set)
			if len(set) == size && hasAll(set, required) && (chosen == nil || links(set) > links(chosen)) {
				chosen = set
			}
		}
		if chosen != nil && score > most {
			best, most = chosen, score
		}
	})
	return best
}

func hasAll(set, required []string) bool {
	return !slices.ContainsFunc(required, func(id string) bool { return !slices.Contains(set, id) })
}

// divisions are the ways to divide ids into sets of a size and, where they do not come out even, one
// smaller set.
func divisions(ids []string, size int, each func([][]string)) {
	if len(ids) == 0 {
		each(nil)
		return
	}
	lengths := []int{size}
	if left := len(ids) % size; left > 0 {
		lengths = append(lengths, left)
	}
	for _, length := range lengths {
		if length > len(ids) {
			continue
		}
		combinations(ids[1:], length-1, func(others, rest []string) {
			set := append([]string{ids[0]}, others...)
			divisions(rest, size, func(sets [][]string) { each(append([][]string{set}, sets...)) })
		})
	}
}

// combinations are the ways to choose so many of the ids, each with those that were not chosen.
func combinations(ids []string, count int, each func(chosen, rest []string)) {
	if count == 0 {
		each(nil, ids)
		return
	}
	for i := range len(ids) - count + 1 {
		combinations(ids[i+1:], count-1, func(chosen, rest []string) {
			each(append([]string{ids[i]}, chosen...), slices.Concat(ids[:i], rest))
		})
	}
}
