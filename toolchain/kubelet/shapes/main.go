// kubelet-shapes asks kubelet's own code whether an empty node would admit a pod (its Topology
// Manager, its static CPU manager and its Static memory manager) and whether it would start with a
// configuration. The tests hold our own algorithms to it. The device manager alone is a stand-in
// (devices.go), because the real one wants sockets.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

const usage = `usage: kubelet-shapes batch    lines of {"node": {...}, "pod": [...]} on stdin, on stdout lines of
                               {"error": "..."} where kubelet would not start, else
                               {"admitted": ..., "reason": "...", "message": "...",
                                "insufficient": [...], "placed": [...]}
       kubelet-shapes config   lines of {"base": "...", "patches": ["..."], "node": {...}}, JSON of
                               a KubeletConfiguration and merge patches; lines of
                               {"error": "...", "ignored": "..."}
       kubelet-shapes schema   the feature gates and the fields that kubelet knows
`

func main() {
	klog.SetLogger(logr.Discard())
	debug.SetGCPercent(400) // hints are garbage at once, and there are many
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	if len(arguments) == 1 {
		switch arguments[0] {
		case "batch":
			return batch(os.Stdin, os.Stdout, admit)
		case "config":
			return batch(os.Stdin, os.Stdout, judge)
		case "schema":
			encoder := json.NewEncoder(os.Stdout)
			encoder.SetIndent("", "  ")
			return encoder.Encode(knownOfKubelet())
		}
	}
	fmt.Fprint(os.Stderr, usage)
	os.Exit(2)
	return nil
}

type question struct {
	Node node        `json:"node"`
	Pod  []container `json:"pod"`
}

type answer struct {
	Error        string   `json:"error,omitempty"`
	Admitted     bool     `json:"admitted"`
	Reason       string   `json:"reason"`
	Message      string   `json:"message"`
	Insufficient []string `json:"insufficient"`
	Placed       []placed `json:"placed"`
}

// placed is what a container got; a container that was not reached got nothing.
type placed struct {
	Hint   []int  `json:"hint"`
	CPUs   string `json:"cpus"`
	Memory []int  `json:"memory"`
	GPUs   []int  `json:"gpus"`
}

func admit(asked question) answer {
	given, err := ask(asked)
	if err != nil {
		return answer{Error: err.Error()}
	}
	return given
}

// batch answers one question a line, so that many cases cost one process.
func batch[Question, Answer any](in io.Reader, out io.Writer, answer func(Question) Answer) error {
	decoder := json.NewDecoder(bufio.NewReaderSize(in, 1<<20))
	buffered := bufio.NewWriter(out)
	encoder := json.NewEncoder(buffered)
	encoder.SetEscapeHTML(false)
	for {
		var asked Question
		err := decoder.Decode(&asked)
		if errors.Is(err, io.EOF) {
			return buffered.Flush()
		}
		if err != nil {
			return fmt.Errorf("a line of the batch is no question: %w", err)
		}
		if err := encoder.Encode(answer(asked)); err != nil {
			return err
		}
	}
}
