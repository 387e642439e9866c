package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/condor-backfill/condor-backfill/backfill/inwords"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/classad/classadtest"
)

type evalCommand struct {
	clock
	Ad     string `help:"File with the ad in which the expression stands (MY)." placeholder:"FILE"`
	Target string `help:"File with the other ad of a match (TARGET)." placeholder:"FILE"`
	Cases  string `help:"Answer the conformance cases in this file, one JSON object a line." placeholder:"FILE.jsonl"`
	JSON   bool   `help:"Print one JSON object." name:"json"`
	// Private is as in fmt.
	Private bool   `help:"Write private attributes, too."`
	Expr    string `arg:"" optional:"" help:"The expression, in the syntax of bracket ads."`
}

// Help returns what --help adds.
func (*evalCommand) Help() string {
	return `Undefined and error are values too, so the exit code is 0 whatever the value is.

` + worldHelp + `

Examples:
  classad eval '2 * 21'
  classad eval --time 1780000000 'formatTime(CurrentTime, "%A")'
  classad eval --ad job.ad --target slot.ad 'TARGET.Memory >= RequestMemory'
  classad eval --json --ad - Requirements < slot.ad
  classad eval --cases eval.jsonl`
}

// evaluated is the result of eval.
type evaluated struct {
	Value string `json:"value"` // in the canonical form
	Type  string `json:"type"`
}

// Run prints a value or, with cases, one JSON object per line.
func (c *evalCommand) Run(s streams) error {
	switch {
	case c.Cases != "" && (c.Expr != "" || c.Ad != "" || c.Target != "" || c.Time != nil):
		return errors.New("--cases goes with no other argument")
	case c.Cases != "":
		return runCases(s, c.Cases)
	case c.Expr == "":
		return errors.New("an expression is needed")
	}
	var my, target *classad.ClassAd
	for _, side := range []struct {
		file string
		ad   **classad.ClassAd
	}{{c.Ad, &my}, {c.Target, &target}} {
		if side.file == "" {
			continue
		}
		var err error
		if *side.ad, err = s.readAd(side.file); err != nil {
			return err
		}
	}
	e, err := parseExpr(c.Expr)
	if err != nil {
		return err
	}
	v := e.Eval(c.world().scope(my, target))
	text := v.String()
	for _, ad := range []*classad.ClassAd{my, target} {
		if ad != nil && !c.Private && text == ad.String() {
			text = classad.Public(ad).String()
		}
	}
	if c.JSON {
		return s.printJSON(evaluated{Value: text, Type: v.Kind().String()})
	}
	return s.print(text + "\n")
}

// runCases answers conformance cases, one per line.
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
			return fmt.Errorf("%s:%d: %s", file, number, inwords.JSON(err))
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
