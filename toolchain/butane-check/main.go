// butane-check asks the real Butane and the real Ignition: what Ignition config a Butane config
// becomes, and whether an Ignition config is valid. The tests hold our own transpiler to it.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	butane "github.com/coreos/butane/config"
	"github.com/coreos/butane/config/common"
	ignition "github.com/coreos/ignition/v2/config"
	"github.com/coreos/vcontext/report"
)

const usage = `usage: butane-check butane     Butane YAML on stdin, Ignition JSON on stdout
       butane-check ignition   Ignition JSON on stdin, nothing on stdout when it is valid
       butane-check batch      lines of {"butane": "..."} or {"ignition": "..."} on stdin,
                               lines of {"ignition": {...}|null, "report": "..."} on stdout
Warnings count as errors, as with butane --strict, but for a line of the batch with "lax": true.
Local files are read below the "files_dir" of a line. Resources are never compressed.
`

func main() {
	if len(os.Args) != 2 {
		fail(2, usage)
	}
	switch os.Args[1] {
	case "butane":
		config, problems := transpile(stdin(), "", false)
		if config == nil {
			fail(1, problems+"\n")
		}
		fmt.Println(string(config))
	case "ignition":
		if problems := validate(stdin()); problems != "" {
			fail(1, problems+"\n")
		}
	case "batch":
		if err := batch(os.Stdin, os.Stdout); err != nil {
			fail(1, err.Error()+"\n")
		}
	default:
		fail(2, usage)
	}
}

// transpile returns the Ignition config, nil where there is none, and the problems. Where it is lax,
// there is a config beside warnings.
func transpile(source []byte, filesDir string, lax bool) (json.RawMessage, string) {
	options := common.TranslateBytesOptions{
		TranslateOptions: common.TranslateOptions{
			FilesDir:                  filesDir,
			NoResourceAutoCompression: true,
		},
	}
	config, problems, err := butane.TranslateBytes(source, options)
	if err == nil && len(problems.Entries) == 0 {
		return config, ""
	}
	if err == nil && lax {
		return config, problems.String()
	}
	return nil, describe(problems, err)
}

// validate returns the problems of an Ignition config, "" when it has none.
func validate(source []byte) string {
	_, problems, err := ignition.Parse(source)
	if err == nil && len(problems.Entries) == 0 {
		return ""
	}
	return describe(problems, err)
}

func describe(problems report.Report, err error) string {
	if len(problems.Entries) > 0 {
		return problems.String()
	}
	return err.Error()
}

type question struct {
	Butane   *string `json:"butane"`
	Ignition *string `json:"ignition"`
	FilesDir string  `json:"files_dir"`
	Lax      bool    `json:"lax"`
}

type answer struct {
	Ignition json.RawMessage `json:"ignition"`
	Report   string          `json:"report"`
}

// batch answers one question a line, so that many cases cost one process.
func batch(in io.Reader, out io.Writer) error {
	decoder := json.NewDecoder(bufio.NewReader(in))
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for {
		var asked question
		err := decoder.Decode(&asked)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("a line of the batch is no JSON object: %w", err)
		}
		var given answer
		switch {
		case asked.Butane != nil:
			given.Ignition, given.Report = transpile([]byte(*asked.Butane), asked.FilesDir, asked.Lax)
		case asked.Ignition != nil:
			given.Report = validate([]byte(*asked.Ignition))
		default:
			return errors.New(`a line of the batch has neither "butane" nor "ignition"`)
		}
		if err := encoder.Encode(given); err != nil {
			return err
		}
	}
}

func stdin() []byte {
	source, err := io.ReadAll(os.Stdin)
	if err != nil {
		fail(1, err.Error()+"\n")
	}
	return source
}

func fail(code int, message string) {
	fmt.Fprint(os.Stderr, message)
	os.Exit(code)
}
