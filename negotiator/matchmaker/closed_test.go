package matchmaker

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// TestClosed says which slots that refuse a job are closed for a while: those that would do.
func TestClosed(t *testing.T) {
	const draining, paused = "Requirements = false; BackfillClosed = \"draining\"",
		"Requirements = false; BackfillClosed = \"left out\"; BackfillClosedUntil = "
	for name, c := range map[string]struct {
		slots    []string
		job      string
		closed   []Closed
		describe string // "" if it is not why the job matches none
		why      string
	}{
		"none": {
			slots: []string{"Requirements = false"}, why: "the Requirements of all 1 refuse it: false",
		},
		"one": {
			slots: []string{draining}, closed: []Closed{{Why: "draining", Slots: 1}},
			describe: "of 1 slot 1 is draining", why: "those that would do are closed: of 1 slot 1 is draining",
		},
		"several, and one refuses it": {
			slots:    []string{draining, draining, paused + "70", paused + "90", "Requirements = false"},
			closed:   []Closed{{Why: "draining", Slots: 2}, {Why: "left out", Slots: 2, Until: 90}},
			describe: "of 5 slots 2 are draining, 2 are left out until 90 s, 1 refuses it",
			why:      "those that would do are closed: of 5 slots 2 are draining, 2 are left out, 1 refuses it",
		},
		"others": {
			slots: []string{draining + "; Site = 1", "Site = 2"}, job: "Requirements = TARGET.Site == 3",
			why: "true on none of 2: TARGET.Site == 3",
		},
		"it takes some": {slots: []string{"Requirements = true; BackfillClosed = \"draining\""}},
		"it matches another": {
			slots: []string{draining, ""}, closed: []Closed{{Why: "draining", Slots: 1}},
			describe: "of 2 slots 1 is draining",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPool()
			for i, more := range c.slots {
				p.add(slotAd(t, strconv.Itoa(i), 4, more))
			}
			id := p.clusterOf(t, jobAd(t, c.job))
			p.match(t)
			up := func(backfill.SlotID) bool { return true }
			fit := p.Fit(id, up)
			require.Equal(t, c.closed, fit.Closed)
			require.Equal(t, len(c.slots), fit.Slots)
			if c.why != "" {
				require.Equal(t, c.why, fit.WhyNone())
			}
			to, found := p.ClosedTo(id, up)
			require.Equal(t, c.describe != "", found)
			if found {
				at := func(unix int64) string { return strconv.FormatInt(unix, 10) + " s" }
				require.Equal(t, c.describe, to.DescribeClosed(at))
			}
		})
	}
}

// TestReasonsOfLongRequirements has a reason quote little of Requirements of any length, and find out
// little of them that it does not quote.
func TestReasonsOfLongRequirements(t *testing.T) {
	for name, requirements := range map[string]string{
		"one long text":     `TARGET.Name == "` + strings.Repeat(`x\n`, 100_000) + `"`,
		"one long clause":   `TARGET.Name == "x"` + strings.Repeat(` || TARGET.Name == "y"`, 5_000),
		"many clauses":      strings.Repeat(`TARGET.Name == "x" && `, 5_000) + "TARGET.Cpus > 0",
		"many long clauses": strings.Repeat(`TARGET.Name == "`+strings.Repeat("x", 1000)+`" && `, 200) + "TARGET.Cpus > 0",
		"a long list":       "member(TARGET.Name, { " + strings.Repeat(`"x", `, 20_000) + `"x" })`,
	} {
		t.Run(name, func(t *testing.T) {
			p := bigPool(t, 3)
			id := p.clusterOf(t, ad(t, "Requirements = "+requirements))
			p.match(t)
			fit := p.Fit(id, func(backfill.SlotID) bool { return true })
			require.LessOrEqual(t, len(fit.Clauses), mostClauses)
			for _, c := range fit.Clauses {
				require.LessOrEqual(t, len(c.Text), longestClause+len("…"))
				require.Equal(t, c.Text, backfill.Printable(c.Text, longestClause+1))
			}
			require.Less(t, len(fit.WhyNone()), mostQuoted*(longestQuoted+10)+100)
			why, _ := p.WhyNone(id)
			require.Less(t, len(why), mostQuoted*(longestQuoted+10)+100)
		})
	}
}
