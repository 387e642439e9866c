package papers_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim/output/papers"
	"github.com/condor-backfill/condor-backfill/condorsim/output/results"
)

func TestSC15(t *testing.T) {
	const slowdown = "mean_bounded_slowdown"
	clairvoyant := func(trace string, value float64) results.Cell {
		c := cell(trace, "easy", "fcfs", value, slowdown)
		c.Estimates = &results.Estimates{All: "accurate"}
		return c
	}
	cells := []results.Cell{
		clairvoyant("KTH-SP2", 71.72238511244173), cell("KTH-SP2", "easy", "fcfs", 92.69, slowdown),
		clairvoyant("CTC-SP2", 37.1662), cell("CTC-SP2", "easy", "fcfs", 53, slowdown),
		clairvoyant("SDSC-BLUE", 31), cell("SDSC-BLUE", "easy", "wfp", 36.52, slowdown),
		cell("KTH-SP2", "slack", "wfp", 44, slowdown), cell("KTH-SP2", "slack", "xfactor", 43, slowdown),
		cell("CTC-SP2", "slack", "wfp", 16, slowdown), cell("SDSC-BLUE", "slack", "wfp", 19, slowdown),
	}
	for i := range cells {
		cells[i].Scheduler = cells[i].Policy + "-" + cells[i].Order
	}
	all := rows(t, "sc15", cells...)
	for _, want := range []struct {
		trace, words string
		verdict      papers.Verdict
		ours         string
	}{
		{"KTH-SP2", "clairvoyant", papers.Agrees, "71.722, easy-fcfs"},
		{"CTC-SP2", "clairvoyant", papers.Partly, "37.166, easy-fcfs"},
		{"SDSC-BLUE", "clairvoyant", papers.Differs, "31.000, easy-fcfs"},
		{"CEA-Curie", "clairvoyant", papers.Untested, ""},
		{"KTH-SP2", "requested", papers.Agrees, "92.69, easy-fcfs"},
		{"CTC-SP2", "requested", papers.Partly, "53.00, easy-fcfs"},
		{"SDSC-BLUE", "requested", papers.Untested, ""},
		{"KTH-SP2", "slack", papers.Agrees, "43.00, slack-xfactor"},
		{"CTC-SP2", "slack", papers.Partly, "16.00, slack-wfp"},
		{"SDSC-BLUE", "slack", papers.Differs, "19.00, slack-wfp"},
	} {
		r := row(t, all, want.trace, want.words)
		require.Equal(t, want.verdict, r.Verdict, r.Statement)
		require.Equal(t, want.ours, r.Ours, r.Statement)
	}
}
