package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/condor-backfill/condor-backfill/classad"
)

type explainCommand struct {
	clock
	Attr  string `help:"Explain this attribute of the left ad instead of both Requirements." placeholder:"NAME"`
	JSON  bool   `help:"Print one JSON object." name:"json"`
	Left  string `arg:"" help:"File with the left ad, by convention the job."`
	Right string `arg:"" help:"File with the right ad or ads, by convention slots."`
}

// Help returns what --help adds.
func (*explainCommand) Help() string {
	return `With one right ad the parts of both Requirements are shown with their values and the names in them; ` +
		`a cross marks what keeps the whole from being true. The lines before them say which clauses of which ad ` +
		`refuse, in which attribute. With several right ads a table tells how many of them each clause rejects, and ` +
		`how many it rejects alone.

` + worldHelp + `

The exit code is 0 if the ads match (at least one pair does, the attribute is true), else 1.

Examples:
  classad explain job.ad slot.ad
  classad explain --time 2026-11-28T20:00:00Z job.ad slot.ad
  classad explain --attr Start slot.ad job.ad
  condor_status -long | classad explain job.ad -`
}

// explained is the result for two ads. Right is missing if the explanation is about one attribute.
type explained struct {
	Holds    bool                 `json:"holds"`
	Refusals []refusal            `json:"refusals,omitempty"`
	Left     *classad.Explanation `json:"left"`
	Right    *classad.Explanation `json:"right,omitempty"`
}

// refusal is a clause that refuses the other ad.
type refusal struct {
	Side      string `json:"side"`
	Attribute string `json:"attribute,omitempty"` // in which the clause stands
	Clause    string `json:"clause"`
	Text      string `json:"text"` // the refusal for people
}

// Run prints the explanation and returns errNo if the result is negative.
func (c *explainCommand) Run(s streams) error {
	left, err := s.readAd(c.Left)
	if err != nil {
		return err
	}
	right, err := s.readAds(c.Right)
	if err != nil {
		return err
	}
	if c.Attr != "" {
		if _, ok := left.Lookup(c.Attr); !ok {
			return fmt.Errorf("%s: no attribute %s", c.Left, c.Attr)
		}
	}
	var holds bool
	if len(right) == 1 {
		holds, err = c.one(s, left, right[0])
	} else {
		holds, err = c.many(s, left, right)
	}
	if err == nil && !holds {
		err = errNo
	}
	return err
}

// explain returns the explanations for both ads; the right one is nil if one attribute was asked
// for.
func (c *explainCommand) explain(w world, left, right *classad.ClassAd) explained {
	if c.Attr != "" {
		x := w.scope(left, right).Explain(c.Attr)
		return explained{Holds: x.Holds, Left: x}
	}
	x, y := w.scope(left, right).Explain("Requirements"), w.scope(right, left).Explain("Requirements")
	return explained{Holds: x.Holds && y.Holds, Left: x, Right: y}
}

// refusals returns the clauses because of which the result is negative.
func (x explained) refusals() (all []refusal) {
	for _, s := range []struct {
		name string
		x    *classad.Explanation
	}{{"left", x.Left}, {"right", x.Right}} {
		if s.x == nil {
			continue
		}
		for _, r := range s.x.Refusals() {
			all = append(all, refusal{s.name, r.Attribute, r.Clause.Expr, r.String()})
		}
	}
	return all
}

func (c *explainCommand) one(s streams, left, right *classad.ClassAd) (bool, error) {
	x := c.explain(c.world(), left, right)
	x.Refusals = x.refusals()
	switch {
	case c.JSON:
		return x.Holds, s.printJSON(x)
	case x.Right == nil:
		return x.Holds, s.print(x.Left.String())
	}
	var verdict strings.Builder
	if x.Holds {
		verdict.WriteString("the ads match\n")
	} else {
		verdict.WriteString("the ads do not match\n")
	}
	for _, r := range x.Refusals {
		verdict.WriteString(r.Side + " refuses, " + r.Text + "\n")
	}
	return x.Holds, s.print(fmt.Sprintf("%s\nleft, %s:\n%s\nright, %s:\n%s",
		verdict.String(), c.Left, x.Left, c.Right, x.Right))
}

// summary counts how many right ads match a left one, and why the others do not.
type summary struct {
	Ads          int         `json:"ads"`
	Matches      int         `json:"matches"`
	LeftRejects  int         `json:"left_rejects"`
	RightRejects int         `json:"right_rejects"`
	Clauses      []rejection `json:"clauses"`
}

// rejection is a clause and the number of ads for which it is not true.
type rejection struct {
	Side string `json:"side"`
	// Attribute is the one in which the clause stands; "" if it stands in none.
	Attribute string `json:"attribute,omitempty"`
	Clause    string `json:"clause"`
	Rejects   int    `json:"rejects"`
	// Alone is the number of those ads for which all other clauses on both sides are true.
	Alone int `json:"alone"`
	// Undefined is the number of those ads for which the clause is undefined.
	Undefined int `json:"undefined"`
}

func (c *explainCommand) many(s streams, left *classad.ClassAd, right []*classad.ClassAd) (bool, error) {
	sum := c.summarize(left, right)
	if c.JSON {
		return sum.Matches > 0, s.printJSON(sum)
	}
	return sum.Matches > 0, s.print(sum.String(c.Attr))
}

func (c *explainCommand) summarize(left *classad.ClassAd, right []*classad.ClassAd) summary {
	sum, w := summary{Ads: len(right)}, c.world()
	rejections := map[[3]string]*rejection{}
	for _, ad := range right {
		if c.Attr == "" && w.accepts(left, ad) && w.accepts(ad, left) {
			sum.Matches++
			continue
		}
		x := c.explain(w, left, ad)
		if x.Holds {
			sum.Matches++
			continue
		}
		rejecting := count("left", x.Left, rejections)
		if !x.Left.Holds {
			sum.LeftRejects++
		}
		if x.Right != nil && !x.Right.Holds {
			sum.RightRejects++
			rejecting = append(rejecting, count("right", x.Right, rejections)...)
		}
		if len(rejecting) == 1 {
			rejecting[0].Alone++
		}
	}
	sum.Clauses = []rejection{}
	for _, r := range rejections {
		sum.Clauses = append(sum.Clauses, *r)
	}
	slices.SortFunc(sum.Clauses, func(a, b rejection) int {
		return cmp.Or(cmp.Compare(b.Rejects, a.Rejects), cmp.Compare(b.Alone, a.Alone),
			cmp.Compare(a.Side, b.Side), cmp.Compare(a.Clause, b.Clause), cmp.Compare(a.Attribute, b.Attribute))
	})
	return sum
}

// count counts, in the map, the clauses that must all be true and are not, and returns their
// rejections.
func count(side string, x *classad.Explanation, in map[[3]string]*rejection) (all []*rejection) {
	for _, refusal := range x.Refusals() {
		clause := refusal.Clause
		key := [3]string{side, strings.ToLower(refusal.Attribute), clause.Expr}
		r := in[key]
		if r == nil {
			r = &rejection{
				Side: side, Attribute: refusal.Attribute, Clause: strings.Join(strings.Fields(clause.Expr), " "),
			}
			in[key] = r
		}
		r.Rejects++
		if clause.Value == "undefined" {
			r.Undefined++
		}
		all = append(all, r)
	}
	return all
}

// String returns the summary for people.
func (sum summary) String(attr string) string {
	head := fmt.Sprintf("%d ads: %d match, the left ad rejects %d, %d reject the left ad\n",
		sum.Ads, sum.Matches, sum.LeftRejects, sum.RightRejects)
	if attr != "" {
		head = fmt.Sprintf("%d ads: %s is true for %d\n", sum.Ads, attr, sum.Matches)
	}
	if len(sum.Clauses) == 0 {
		return head
	}
	t := newTable("rejects", "alone", "undefined", "side", "attribute", "clause")
	t.SetColumnConfigs([]table.ColumnConfig{
		{Number: 1, Align: text.AlignRight}, {Number: 2, Align: text.AlignRight}, {Number: 3, Align: text.AlignRight},
	})
	for _, r := range sum.Clauses {
		t.AppendRow(table.Row{r.Rejects, r.Alone, r.Undefined, r.Side, clip(r.Attribute), clip(r.Clause)})
	}
	return head + "\n" + rendered(t)
}

// clip shortens a text that is too wide for a table.
func clip(s string) string {
	const widest = 110
	if runes := []rune(s); len(runes) > widest {
		return string(runes[:widest-1]) + "…"
	}
	return s
}
