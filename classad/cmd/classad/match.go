package main

import (
	"fmt"

	"github.com/condor-backfill/condor-backfill/classad"
)

type matchCommand struct {
	clock
	JSON  bool   `help:"Print one JSON object." name:"json"`
	Left  string `arg:"" help:"File with the left ad, by convention the job."`
	Right string `arg:"" help:"File with the right ad, by convention the slot."`
}

// Help returns what --help adds.
func (*matchCommand) Help() string {
	return `Two ads match if the Requirements of both are true with the other ad as TARGET. The exit code is 0 ` +
		`if they do and 1 if they do not; explain says why.

` + worldHelp + `

Examples:
  classad match job.ad slot.ad
  classad match --time '2026-11-28 20:00' job.ad slot.ad
  classad match --json job.ad slot.ad`
}

// report is the result of a match.
type report struct {
	Symmetric bool `json:"symmetric"`
	Left      side `json:"left"`
	Right     side `json:"right"`
}

// side is the result of evaluating one ad against the other.
type side struct {
	Requirements string  `json:"requirements"` // the value, in the canonical form
	Accepts      bool    `json:"accepts"`
	Rank         float64 `json:"rank"`
}

func newSide(w world, ad, other *classad.ClassAd) side {
	return side{
		Requirements: w.scope(ad, other).Attr("Requirements").String(),
		Accepts:      w.accepts(ad, other),
		Rank:         w.pair(ad, other).LeftRank(),
	}
}

// Run prints the report and returns errNo if the ads do not match.
func (c *matchCommand) Run(s streams) error {
	left, err := s.readAd(c.Left)
	if err != nil {
		return err
	}
	right, err := s.readAd(c.Right)
	if err != nil {
		return err
	}
	w := c.world()
	r := report{Left: newSide(w, left, right), Right: newSide(w, right, left)}
	r.Symmetric = r.Left.Accepts && r.Right.Accepts
	if c.JSON {
		err = s.printJSON(r)
	} else {
		err = s.print(r.String())
	}
	if err == nil && !r.Symmetric {
		err = errNo
	}
	return err
}

// String returns the report for people.
func (r report) String() string {
	return fmt.Sprintf("symmetric: %v\n", r.Symmetric) + r.Left.text("left") + r.Right.text("right")
}

func (s side) text(name string) string {
	return fmt.Sprintf("%s requirements: %s\n%s rank: %g\n", name, s.Requirements, name, s.Rank)
}
