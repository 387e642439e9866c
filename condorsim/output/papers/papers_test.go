package papers_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim/output/papers"
	"github.com/condor-backfill/condor-backfill/condorsim/output/results"
)

// cell returns a result whose mean wait and other metrics are all the same number.
func cell(trace, policy, order string, value float64, metrics ...string) results.Cell {
	c := results.Cell{
		Key:     results.Key{Trace: trace, Policy: policy, Order: order, Load: 1},
		Metrics: map[string]float64{},
	}
	for _, m := range metrics {
		c.Metrics[m] = value
	}
	return c
}

func rows(t *testing.T, set string, cells ...results.Cell) []papers.Row {
	t.Helper()
	all, err := papers.Of(&results.Folder{Manifest: results.Manifest{Paper: set}, Cells: cells})
	require.NoError(t, err)
	return all
}

// row returns the row whose statement has all the words.
func row(t *testing.T, all []papers.Row, words ...string) papers.Row {
	t.Helper()
	var found []papers.Row
next:
	for _, r := range all {
		for _, w := range words {
			if !strings.Contains(r.Statement, w) {
				continue next
			}
		}
		found = append(found, r)
	}
	require.Len(t, found, 1, "%v", words)
	return found[0]
}

func TestNames(t *testing.T) {
	require.Empty(t, rows(t, ""))
	_, err := papers.Of(&results.Folder{Manifest: results.Manifest{Paper: "guarantee"}})
	require.ErrorContains(t, err, "guarantees, fairness, ibb, estimates, slack")
	for _, set := range papers.Names() {
		for _, r := range rows(t, set) {
			require.Equal(t, papers.Untested, r.Verdict, r.Statement)
			require.NotEmpty(t, r.Why, r.Statement)
			require.NotEmpty(t, r.Paper, r.Statement)
		}
	}
}

func TestGuarantees(t *testing.T) {
	wait := []string{"mean_wait", "top5_wait", "widest10_wait"}
	all := rows(t, "guarantees",
		cell("A", "conservative", "fcfs", 100, wait...), cell("A", "easy", "fcfs", 90, wait...),
		cell("A", "pc", "sjf", 80, wait...), cell("A", "dc", "sjf", 70, wait...),
		cell("A", "dc", "ljf", 138, wait...), cell("A", "pc", "ljf", 105, wait...),
		cell("A", "pc", "widest", 75, wait...),
		cell("LANL-CM5", "conservative", "fcfs", 100, wait...), cell("LANL-CM5", "easy", "fcfs", 90, wait...),
		cell("LANL-CM5", "pc", "sjf", 109, wait...), cell("LANL-CM5", "dc", "sjf", 95, wait...),
	)
	r := row(t, all, "PC with sjf", "mean wait")
	require.Equal(t, "on 1 of 2 (not LANL-CM5)", r.Ours)
	require.Equal(t, papers.Differs, r.Verdict)
	require.NotEmpty(t, r.Why)
	r = row(t, all, "PC with sjf", "5 %")
	require.Equal(t, papers.Agrees, r.Verdict, "LANL-CM5 is an exception of the paper's")
	require.Empty(t, r.Why)
	require.Equal(t, "on 2 of 2", row(t, all, "DC with sjf has").Ours)
	require.Equal(t, "on 1 of 2 (not LANL-CM5)", row(t, all, "beats both").Ours)
	require.Equal(t, "on 0 of 2", row(t, all, "worse than both").Ours)
	require.Equal(t, papers.Row{
		Statement: "combinations of trace, PC or DC, and five orders in which the mean wait is worse " +
			"than Conservative's",
		Paper: "49 of 150 (33 %)", Ours: "3 of 7 (43 %)", Verdict: papers.Agrees,
	}, row(t, all, "combinations of trace"))
	require.Equal(t, "2 of 3", row(t, all, "worse by less").Ours)
	r = row(t, all, "the worst of all")
	require.Equal(t, "-38.0 %, dc-ljf on A", r.Ours)
	require.Equal(t, papers.Agrees, r.Verdict)
	require.Equal(t, "on 1 of 1, by 25–25 %", row(t, all, "PC with widest").Ours)
	require.Equal(t, papers.Untested, row(t, all, "LLNL-Thunder is").Verdict)
}

func TestEvents(t *testing.T) {
	const n = "profile_events"
	all := rows(t, "guarantees",
		cell("HPC2N", "conservative", "fcfs", 10, n), cell("HPC2N", "pc", "ljf", 1270, n),
		cell("HPC2N", "pc", "sjf", 100, n),
		cell("B", "conservative", "fcfs", 10, n), cell("B", "pc", "sjf", 900, n))
	r := row(t, all, "HPC2N, the most")
	require.Equal(t, "127.0 times", r.Ours)
	require.Equal(t, papers.Agrees, r.Verdict)
	r = row(t, all, "other traces")
	require.Equal(t, "at most 90.0 times, pc-sjf on B", r.Ours)
	require.Equal(t, papers.Differs, r.Verdict)
}

func TestFairness(t *testing.T) {
	m := []string{"strict_unfairness", "relaxed_unfairness", "fairshare_unweighted", "mean_wait"}
	all := rows(t, "fairness",
		cell("DAS2-fs1", "conservative", "fcfs", 4.838, m...), cell("DAS2-fs1", "pc", "fifo", 1.845, m...),
		cell("DAS2-fs1", "easy", "fcfs", 5, m...), cell("DAS2-fs1", "dc", "fifo", 9, m...),
		cell("LPC-EGEE", "conservative", "fcfs", 0, m...), cell("LPC-EGEE", "pc", "fifo", 0, m...),
		cell("LPC-EGEE", "easy", "fcfs", 0, m...), cell("LPC-EGEE", "dc", "fifo", 0.104, m...))
	require.Equal(t, papers.Row{
		Statement: "PC on DAS2-fs1: strict unfairness over Conservative, with fifo", Paper: "+61.9 %", Ours: "+61.9 %",
		Verdict: papers.Agrees,
	}, row(t, all, "PC on DAS2-fs1"))
	r := row(t, all, "EASY on DAS2-fs1")
	require.Equal(t, "-3.3 %", r.Ours)
	require.Equal(t, papers.Differs, r.Verdict)
	require.Equal(t, papers.Agrees, row(t, all, "no difference but").Verdict)
	r = row(t, all, "DC on LPC-EGEE", "strict")
	require.Equal(t, "0.104 s", r.Ours)
	require.Equal(t, papers.Agrees, r.Verdict)
	require.Equal(t, "on 1 of 1", row(t, all, "DC is worse", "strict").Ours)
}

// estimated returns a result with an estimator; the metrics are wait, uwait and slowdown.
func estimated(trace, policy, order string, e *results.Estimates, metrics ...float64) results.Cell {
	c := cell(trace, policy, order, metrics[0], "mean_wait")
	c.Estimates = e
	for i, name := range []string{"mean_uwait", "mean_slowdown", "share_backfilled"}[:len(metrics)-1] {
		c.Metrics[name] = metrics[i+1]
	}
	return c
}

func TestEstimates(t *testing.T) {
	all := func(estimator string) *results.Estimates { return &results.Estimates{All: estimator} }
	cells := []results.Cell{
		estimated("A", "fcfs", "fcfs", all(""), 900, 90, 900),
		estimated("A", "easy", "fcfs", all(""), 130, 20, 160),
		estimated("A", "easy", "fcfs", all("accurate"), 125, 19, 165),
		estimated("A", "easy", "wfp", all(""), 100, 10, 100),
		estimated("A", "easy", "wfp", all("accurate"), 70, 6, 50),
		estimated("A", "easy", "wfp", all("user"), 95, 9, 90),
		estimated("A", "easy", "wfp", all("project"), 92, 9, 85),
		estimated("A", "easy", "wfp", all("combined"), 90, 8, 85),
		estimated("A", "easy", "wfp", &results.Estimates{Order: "accurate"}, 80, 8, 80),
		estimated("A", "easy", "wfp", &results.Estimates{Backfill: "accurate"}, 90, 8, 90),
		estimated("B", "drain", "fcfs", all(""), 100, 10, 100),
		estimated("B", "drain", "fcfs", all("accurate"), 50, 5, 50),
		estimated("B", "drain", "wfp", all(""), 100, 10, 100),
		estimated("B", "drain", "wfp", all("accurate"), 99, 10, 99),
		estimated("B", "drain", "wfp", all("user"), 99, 10, 99),
		estimated("B", "drain", "wfp", all("project"), 100, 10, 100),
		estimated("B", "drain", "wfp", all("combined"), 99, 10, 99),
		estimated("C", "easy", "fcfs", all(""), 100, 10, 100),
	}
	got := rows(t, "estimates", cells...)
	for _, want := range []struct {
		statement, ours string
		verdict         papers.Verdict
	}{
		{"A: WFP waits", "wait +23.1 %, uwait +50.0 %, slowdown +37.5 %", papers.Agrees},
		{"B: WFP waits", "wait +0.0 %, uwait +0.0 %, slowdown +0.0 %", papers.Differs},
		{"C: WFP waits", "", papers.Untested},
		{"in all: WFP waits", "agrees on 1 of 2 (not B). A trace agrees if each is at least 5 % better; partly " +
			"if one is", papers.Partly},
		{"A: FCFS gains nothing", "wait +3.8 %, uwait +5.0 %, slowdown -3.1 % with accurate ones", papers.Agrees},
		{"B: FCFS gains nothing", "wait +50.0 %, uwait +50.0 %, slowdown +50.0 % with accurate ones", papers.Differs},
		{"A: WFP gains", "wait +30.0 %, uwait +40.0 %, slowdown +50.0 %", papers.Agrees},
		{"B: WFP gains", "wait +1.0 %, uwait +0.0 %, slowdown +1.0 %", papers.Differs},
		{"A: WFP with combined", "wait +10.0 %, uwait +20.0 %, slowdown +15.0 %", papers.Agrees},
		{"B: WFP with combined", "wait +1.0 %, uwait +0.0 %, slowdown +1.0 %", papers.Partly},
		{"A: combined is better", "in 3 of 3: combined wait +10.0 %, uwait +20.0 %, slowdown +15.0 %; user wait +5.0 " +
			"%, uwait +10.0 %, slowdown +10.0 %; project wait +8.0 %, uwait +10.0 %, slowdown +15.0 %", papers.Agrees},
		{"B: combined is better", "", papers.Untested},
		{
			"A: accurate estimates are worth",
			"S100 wait +20.0 %, uwait +20.0 %, slowdown +20.0 %; S010 wait +10.0 %, uwait +20.0 %, slowdown +10.0 %",
			papers.Partly,
		},
		{
			"in all: accurate estimates are worth",
			"agrees on 0 of 1 (not A). A trace agrees if S100 gains more in each; partly if in one", papers.Partly,
		},
		{"Intrepid, FCFS", "", papers.Untested},
	} {
		r := row(t, got, want.statement)
		require.Equal(t, want.ours, r.Ours, want.statement)
		require.Equal(t, want.verdict, r.Verdict, want.statement)
		require.Equal(t, r.Verdict == papers.Agrees, r.Why == "", want.statement)
	}
	require.Contains(t, row(t, got, "B: combined is better").Why, "users or projects")

	for i := range cells {
		cells[i].Load = 0.7
	}
	require.Contains(t, row(t, rows(t, "estimates", cells...), "in all: WFP waits").Ours, "agrees on 1 of 2 (not B)",
		"at whatever load")

	got = rows(t, "estimates",
		estimated("ANL-Intrepid", "drain", "fcfs", all(""), 5000, 2, 10, 0.17),
		estimated("ANL-Intrepid", "drain", "wfp", all(""), 3700, 2, 6, 0.12))
	r := row(t, got, "Intrepid, FCFS with")
	require.Equal(t, papers.Agrees, r.Verdict)
	require.Equal(t, "80.9 min, 1.92, 10.14, 17.1 % (table III)", r.Paper)
	require.Equal(t, "83.3 min, 2.00, 10.00, 17.0 %", r.Ours)
	require.Empty(t, r.Why)
	r = row(t, got, "Intrepid, WFP with")
	require.Equal(t, papers.Partly, r.Verdict, "uwait is twice as long")
	require.NotEmpty(t, r.Why)
}

func TestIBB(t *testing.T) {
	low := cell("LANL-CM5", "bb", "fcfs", 100, "mean_wait", "mean_response")
	low.Load = 0.5
	all := rows(t, "ibb", low, cell("LANL-CM5", "bb", "fcfs", 100, "mean_wait", "mean_response"),
		cell("LANL-CM5", "ibb", "fcfs", 60, "mean_wait"), cell("LANL-CM5", "ibb", "fcfs", 1, "mean_wait"))
	r := row(t, all, "mean wait")
	require.Equal(t, "+40.0 % at 1", r.Ours, "the first cell of its kind counts")
	require.Equal(t, papers.Partly, r.Verdict)
	require.Equal(t, papers.Untested, row(t, all, "mean response").Verdict)
}

func TestIBBOnNodes(t *testing.T) {
	all := rows(t, "ibb", cell("npb54", "fcfs", "fcfs", 3, "mean_wait", "makespan"),
		cell("npb54", "ibb", "fcfs", 2, "mean_wait", "makespan"))
	require.Len(t, all, 1)
	require.Equal(t, "fcfs 3.0 s and 3 s, ibb 2.0 s and 2 s", all[0].Ours)
	require.Equal(t, papers.Untested, all[0].Verdict)
}
