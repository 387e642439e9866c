package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/condor-backfill/condor-backfill/classad/classadtest"
)

type benchCommand struct {
	Timings  int    `help:"How many timings to take the middle of." default:"3"`
	Evals    int    `help:"How often each expression is evaluated." default:"100000"`
	Machines int    `help:"How many machines with four slots each the synthetic pool has." default:"1000"`
	JSON     bool   `help:"Print one JSON object." name:"json"`
	Dir      string `arg:"" optional:"" help:"${bench_folder}"`
}

// benchFolder is the help of the argument Dir.
const benchFolder = "Folder with slots.long.gz, slots.new.gz, jobs.long.gz, exprs.txt and expected.jsonl; " +
	"without it a synthetic pool is made up."

// Help returns what --help adds.
func (*benchCommand) Help() string {
	return `First the answers are compared with those of HTCondor's own library, in expected.jsonl; a ` +
		`difference ends the command with exit code 2. Times are the processor time of the whole process on all ` +
		`threads, garbage collection included. The numbers beside them are those of HTCondor's C++ library with ` +
		`the same work on one machine; they mean something only for that folder, and as far as this machine is like it.

Examples:
  classad bench
  classad bench ../shared/classad-bench
  classad bench --json --timings 5 ../shared/classad-bench`
}

// Run measures and prints a table.
func (c *benchCommand) Run(s streams) error {
	if c.Timings < 1 || c.Evals < 1 || c.Machines < 1 {
		return errors.New("--timings, --evals and --machines must be positive")
	}
	name := fmt.Sprintf("synthetic pool of %d machines", c.Machines)
	var pool *classadtest.Pool
	if c.Dir == "" {
		pool = classadtest.Synthetic(1, c.Machines)
	} else {
		name = c.Dir
		var err error
		if pool, err = classadtest.ReadPool(c.Dir); err != nil {
			return err
		}
	}
	m, err := (&bench{pool: pool, timings: c.Timings, evals: c.Evals}).run()
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	m.Pool = name
	if c.JSON {
		return s.printJSON(m)
	}
	return s.print(m.String())
}

// row is a line of the table. The field reference is the number of HTCondor's C++ library, 0 where
// none is known.
type row struct {
	what      string
	got       float64
	reference float64
	unit      string
	less      bool // less is better
}

func (m measured) rows() []row {
	return []row{
		{what: "parse lines", got: m.ParseLines.AdsPerSecond, reference: 9770, unit: "ads/s"},
		{what: "parse lines", got: m.ParseLines.MegabytesPerSecond, reference: 48.9, unit: "MB/s"},
		{what: "parse brackets", got: m.ParseBrackets.AdsPerSecond, unit: "ads/s"},
		{what: "parse brackets", got: m.ParseBrackets.MegabytesPerSecond, reference: 48.5, unit: "MB/s"},
		{what: "unparse", got: m.Unparse.AdsPerSecond, unit: "ads/s"},
		{what: "unparse", got: m.Unparse.MegabytesPerSecond, unit: "MB/s"},
		{what: "memory of a kept ad", got: m.BytesPerAd / 1000, reference: 23.9, unit: "KB", less: true},
		{what: "more when evaluated once", got: m.CompiledBytesPerAd / 1000, unit: "KB", less: true},
		{what: "match", got: m.MatchPerSecond, reference: 172_000, unit: "pairs/s"},
		{what: "rank", got: m.RankPerSecond, reference: 2_220_000, unit: "pairs/s"},
		{what: "expression, mean", got: m.MeanExprNs, reference: 647, unit: "ns", less: true},
		{what: "parse an expression, mean", got: m.ParseExprNs, unit: "ns", less: true},
	}
}

// String returns the tables for people.
func (m measured) String() string {
	checked := "no answers to compare with"
	if m.Checked {
		checked = "all answers are those of HTCondor's library"
	}
	head := fmt.Sprintf("%s: %d slots, %d jobs; %s\n"+
		"processor time, the middle of %d; for match and rank the slots are freshly parsed and nothing is prepared:\n"+
		"what is compiled at the first evaluation counts, except that of the jobs and the expressions below\n\n",
		m.Pool, m.Slots, m.Jobs, checked, m.Timings)
	right := func(columns ...int) []table.ColumnConfig {
		var all []table.ColumnConfig
		for _, n := range columns {
			all = append(all, table.ColumnConfig{Number: n, Align: text.AlignRight})
		}
		return all
	}
	t := newTable("what", "here", "C++ library", "unit", "times as good")
	t.SetColumnConfigs(right(2, 3, 5))
	for _, r := range m.rows() {
		reference, ratio := "", ""
		if r.reference > 0 && m.Checked {
			times := r.got / r.reference
			if r.less {
				times = 1 / times
			}
			reference, ratio = number(r.reference), strconv.FormatFloat(times, 'f', 1, 64)
		}
		t.AppendRow(table.Row{r.what, number(r.got), reference, r.unit, ratio})
	}
	e := newTable("ns", "allocs", "expression")
	e.SetColumnConfigs(right(1, 2))
	for _, x := range m.Expressions {
		e.AppendRow(table.Row{number(x.Ns), strconv.FormatFloat(x.Allocs, 'f', 1, 64), clip(x.Expr)})
	}
	return head + rendered(t) + "\n" + rendered(e)
}

// number prints about three digits, with commas between thousands.
func number(v float64) string {
	switch {
	case v < 100:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case v >= 10_000:
		scale := math.Pow10(int(math.Log10(v)) - 2)
		v = math.Round(v/scale) * scale
	}
	digits := strconv.FormatFloat(v, 'f', 0, 64)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
