package sweep

import (
	_ "embed" // keys.yaml
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/strictyaml"
)

//go:embed keys.yaml
var keys string

// Keys is text for people: sweeps, one behind the other, that have every key of a sweep's file.
func Keys() string { return keys }

// showKeys is the command that prints [Keys].
const showKeys = "condorsim keys sweep"

// Parse reads a sweep's file. Every fault is reported with its place:
//
//	easy.yaml: [3:1] unknown field "shcedulers", did you mean schedulers?
//	   2 | traces: …
//	>  3 | shcedulers: …
//	       ^
func Parse(name string, text []byte) (*File, error) {
	file, err := strictyaml.Parse(text)
	if err != nil {
		return nil, placed(name, err)
	}
	if len(file.Docs) == 0 {
		return nil, fmt.Errorf("%s: there is nothing in it; a sweep has a name, traces and schedulers", name)
	}
	f := &File{}
	if err = strictyaml.Decode(text, f); err != nil {
		return nil, placed(name, strictyaml.Suggest(file, err, reflect.TypeFor[File](), backfill.DidYouMean, showKeys))
	}
	f.path, f.text, f.tree = name, text, file
	if err = f.report(append(f.faults(), f.zeros()...)); err != nil {
		return nil, err
	}
	return f, nil
}

// zeros returns a fault for each number of a trace that is given as 0, which would be the same as to leave
// it out.
func (f *File) zeros() (all []fault) {
	for i, t := range f.Traces {
		for key, zero := range map[string]bool{"max": t.Max == 0, "scale_estimates": t.ScaleEstimates == 0} {
			path := at("traces")(i) + "." + key
			if zero && isGiven(f.tree, path) {
				all = append(all, fault{path, "0 is no such number: leave it out to change nothing"})
			}
		}
	}
	return all
}

// isGiven reports whether a file has a setting.
func isGiven(file *ast.File, path string) bool {
	at, err := yaml.PathString("$." + path)
	if err != nil {
		return false
	}
	node, err := at.FilterFile(file)
	return err == nil && node != nil
}

// Check returns an error with all that is wrong with a sweep that a program made, without a file.
func (f *File) Check() error { return f.report(f.faults()) }

// report returns an error with all faults and, of a file, their places.
func (f *File) report(faults []fault) error {
	var errs []error
	for _, wrong := range faults {
		if f.tree == nil {
			errs = append(errs, errors.New(wrong.text))
			continue
		}
		errs = append(errs, placed(f.path, wrong.locate(f.tree)))
	}
	return errors.Join(errs...)
}

// placed returns an error of the YAML library as text, with the file's name and the lines around the
// fault.
func placed(name string, err error) error {
	return fmt.Errorf("%s: %s", name, strings.TrimRight(yaml.FormatError(err, false, true), "\n"))
}

// fault is an invalid setting.
type fault struct {
	path string // of the setting in the file, such as traces[0].cpus
	text string
}

// locate returns the fault as an error with its place: that of the setting, or of the mapping in
// which the setting is missing.
func (f fault) locate(file *ast.File) error {
	for path := "$." + f.path; path != "$" && path != ""; path = parent(path) {
		at, err := yaml.PathString(path)
		if err != nil {
			continue
		}
		if node, err := at.FilterFile(file); err == nil && node != nil && node.GetToken() != nil {
			return &yaml.SyntaxError{Message: f.text, Token: node.GetToken()}
		}
	}
	return &yaml.SyntaxError{Message: f.text, Token: file.Docs[0].Body.GetToken()}
}

// parent returns the path without its last step.
func parent(path string) string {
	return path[:max(0, strings.LastIndexAny(path, ".["))]
}
