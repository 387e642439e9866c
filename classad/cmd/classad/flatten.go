package main

import (
	"fmt"
	"slices"

	"github.com/condor-backfill/condor-backfill/classad"
)

type flattenCommand struct {
	subject
	Line bool `help:"Print the expression as the line form has it."`
	JSON bool `help:"Print one JSON object." name:"json"`
	// Private is as in fmt.
	Private bool `help:"Write private attributes, too."`
}

// Help returns what --help adds.
func (*flattenCommand) Help() string {
	return `What the ad alone decides becomes a constant, names of the ad become their definitions, and what ` +
		`depends on the other ad of a match, on the clock or on chance stays. The value is the same for every other ad.

Examples:
  classad flatten --ad job.ad 'TARGET.Memory >= RequestMemory'
  classad flatten --ad slot.ad --attr Requirements`
}

// flattened is the result of flatten.
type flattened struct {
	Expr string `json:"expr"`
}

// Run prints the flattened expression.
func (c *flattenCommand) Run(s streams) error {
	e, ad, err := c.read(s)
	if err != nil {
		return err
	}
	internal, _, err := e.Refs(ad)
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(internal, classad.Private); i >= 0 && !c.Private {
		return fmt.Errorf("what this becomes would show %s, which is private: --private does so", internal[i])
	}
	flat := e.Flatten(ad)
	printed := flat.String()
	if c.Line {
		printed = flat.Format(classad.Lines)
	}
	if c.JSON {
		return s.printJSON(flattened{printed})
	}
	return s.print(printed + "\n")
}
