// blockio-classes reads a file of block-I/O classes with the code to which containerd hands it
// (goresctrl), and says which class and limits a pod gets by its annotations on this machine.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/intel/goresctrl/pkg/blockio"
	"sigs.k8s.io/yaml"
)

const usage = `usage: blockio-classes   {"file": "<text>", "annotations": {...}} on stdin,
                         {"error": "...", "class": "...", "limits": {...}} on stdout
`

type question struct {
	File        string            `json:"file"`
	Annotations map[string]string `json:"annotations"`
}

// answer has the class of the pod, and what runc gets for it.
type answer struct {
	Error  string `json:"error"`
	Class  string `json:"class"`
	Limits any    `json:"limits"`
}

func main() {
	if len(os.Args) != 1 {
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	var asked question
	text, err := io.ReadAll(os.Stdin)
	if err == nil {
		err = yaml.UnmarshalStrict(text, &asked)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	given, err := ask(asked)
	if err != nil {
		given.Error = err.Error()
	}
	if err := json.NewEncoder(os.Stdout).Encode(given); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func ask(asked question) (given answer, err error) {
	// containerd passes over a faulty class and logs a warning (force); here it is an error
	if err = blockio.SetConfigFromData([]byte(asked.File), false); err != nil {
		return given, err
	}
	if given.Class, err = blockio.ContainerClassFromAnnotations("main", nil, asked.Annotations); err != nil {
		return given, err
	}
	if given.Class != "" {
		given.Limits, err = blockio.OciLinuxBlockIO(given.Class)
	}
	return given, err
}
