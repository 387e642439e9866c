package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/alecthomas/kong"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/classad/classadtest"
)

// The exit codes.
const (
	exitOK       = 0
	exitNoMatch  = 1
	exitBadInput = 2
)

const description = `Evaluate ClassAd expressions and match ads as HTCondor does.

Examples:
  classad eval '2 * 21'
  classad eval --ad job.ad --target slot.ad 'TARGET.Memory >= RequestMemory'
  classad eval --cases eval.jsonl
  classad match job.ad slot.ad

A file holds one ad: in brackets "[ a = 1; b = 2 ]", as lines "a = 1", as JSON or as XML; - is the standard input.

Exit codes: 0 all well, 1 the ads do not match, 2 bad input or usage.`

type cli struct {
	Eval  evalCommand  `cmd:"" help:"Evaluate an expression and print its value."`
	Match matchCommand `cmd:"" help:"Match two ads; exit code 1 if they do not."`
}

// streams is where commands read and write.
type streams struct {
	in  io.Reader
	out io.Writer
}

// errNoMatch is the outcome of a match, not a failure.
var errNoMatch = errors.New("the ads do not match")

// run is the whole program, apart from the process around it.
func run(args []string, in io.Reader, out, errs io.Writer) int {
	var commands cli
	helped := false
	parser, err := kong.New(&commands, kong.Name("classad"), kong.Description(description),
		kong.Writers(out, errs), kong.Exit(func(int) { helped = true }))
	if err != nil {
		return fail(errs, err)
	}
	command, err := parser.Parse(args)
	if helped {
		return exitOK
	}
	if err != nil {
		return fail(errs, err)
	}
	err = command.Run(streams{in: in, out: out})
	switch {
	case errors.Is(err, errNoMatch):
		return exitNoMatch
	case err != nil:
		return fail(errs, err)
	default:
		return exitOK
	}
}

func fail(errs io.Writer, err error) int {
	_, _ = fmt.Fprintln(errs, "classad:", err) // there is nowhere to report that this failed
	return exitBadInput
}

type evalCommand struct {
	Ad     string `help:"File with the ad in which the expression stands (MY)." placeholder:"FILE"`
	Target string `help:"File with the other ad of a match (TARGET)." placeholder:"FILE"`
	Cases  string `help:"Answer the conformance cases in this file, one JSON object a line." placeholder:"FILE.jsonl"`
	Expr   string `arg:"" optional:"" help:"The expression, in the syntax of bracket ads."`
}

// Run prints a value or, with cases, a JSON object a line.
func (c *evalCommand) Run(s streams) error {
	switch {
	case c.Cases != "" && (c.Expr != "" || c.Ad != "" || c.Target != ""):
		return errors.New("--cases goes with no other argument")
	case c.Cases != "":
		return runCases(s, c.Cases)
	case c.Expr == "":
		return errors.New("an expression is needed")
	}
	var scope classad.Scope
	for file, ad := range map[string]**classad.ClassAd{c.Ad: &scope.My, c.Target: &scope.Target} {
		if file == "" {
			continue
		}
		var err error
		if *ad, err = s.readAd(file); err != nil {
			return err
		}
	}
	e, err := classad.ParseExpr(c.Expr)
	if err != nil {
		return inFile(err, "expression")
	}
	_, err = fmt.Fprintln(s.out, e.Eval(scope))
	return err
}

func inFile(err error, file string) error {
	if syntax, ok := errors.AsType[*classad.SyntaxError](err); ok {
		syntax.File = file
	}
	return err
}

func (s streams) open(file string) (io.ReadCloser, error) {
	if file == "-" {
		return io.NopCloser(s.in), nil
	}
	return os.Open(file)
}

// readAd reads the only ad of a file.
func (s streams) readAd(file string) (*classad.ClassAd, error) {
	r, err := s.open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }() // it was only read
	var only *classad.ClassAd
	for ad, err := range classad.ReadAds(r, file) {
		if err != nil {
			return nil, err
		}
		if only != nil {
			return nil, fmt.Errorf("%s: more than one ad", file)
		}
		only = ad
	}
	if only == nil {
		return nil, fmt.Errorf("%s: no ad", file)
	}
	return only, nil
}

// runCases answers a conformance case a line.
func runCases(s streams, file string) error {
	r, err := s.open(file)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // it was only read
	const longestLine = 64 << 20
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, longestLine)
	out := bufio.NewWriter(s.out)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for number := 1; lines.Scan(); number++ {
		var c classadtest.Case
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			return fmt.Errorf("%s:%d: %w", file, number, err)
		}
		c.Dir = filepath.Dir(file)
		if err := encoder.Encode(c.Run()); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return out.Flush()
}

type matchCommand struct {
	JSON  bool   `help:"Print one JSON object." name:"json"`
	Left  string `arg:"" help:"File with the left ad, by convention the job."`
	Right string `arg:"" help:"File with the right ad, by convention the slot."`
}

// report is the result of a match.
type report struct {
	Symmetric bool `json:"symmetric"`
	Left      side `json:"left"`
	Right     side `json:"right"`
}

// side is what one ad makes of the other.
type side struct {
	Requirements string  `json:"requirements"` // the value, in the canonical form
	Accepts      bool    `json:"accepts"`
	Rank         float64 `json:"rank"`
}

func newSide(ad, other *classad.ClassAd) side {
	return side{
		Requirements: ad.Eval("Requirements", other).String(),
		Accepts:      classad.Accepts(ad, other),
		Rank:         classad.Rank(ad, other),
	}
}

// Run prints the report and gives errNoMatch if it is negative.
func (c *matchCommand) Run(s streams) error {
	left, err := s.readAd(c.Left)
	if err != nil {
		return err
	}
	right, err := s.readAd(c.Right)
	if err != nil {
		return err
	}
	r := report{Symmetric: classad.Match(left, right), Left: newSide(left, right), Right: newSide(right, left)}
	if c.JSON {
		err = json.NewEncoder(s.out).Encode(r)
	} else {
		err = r.print(s.out)
	}
	if err == nil && !r.Symmetric {
		err = errNoMatch
	}
	return err
}

func (r report) print(out io.Writer) error {
	_, err := fmt.Fprintf(out, "symmetric: %v\n", r.Symmetric)
	for _, side := range []struct {
		name string
		side side
	}{{"left", r.Left}, {"right", r.Right}} {
		if err == nil {
			_, err = fmt.Fprintf(out, "%s requirements: %s\n%s rank: %g\n",
				side.name, side.side.Requirements, side.name, side.side.Rank)
		}
	}
	return err
}
