package papers_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim/papers"
	"github.com/condor-backfill/condor-backfill/condorsim/results"
)

// cell is a result with mean waits and the like that are all the same number.
func cell(trace, policy, order string, value float64, metrics ...string) results.Cell {
	c := results.Cell{Key: results.Key{Trace: trace, Policy: policy, Order: order, Load: 1}, Metrics: map[string]float64{}}
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

// row is the one whose statement has all the words.
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
	require.ErrorContains(t, err, "guarantees, fairness, ibb")
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
		cell("A", "dc", "ljf", 138, wait...), cell("A", "pc", "ljf", 105, wait...), cell("A", "pc", "widest", 75, wait...),
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
		Statement: "combinations of trace, PC or DC, and five orders in which the mean wait is worse than Conservative's",
		Paper:     "49 of 150 (33 %)", Ours: "3 of 7 (43 %)", Verdict: papers.Agrees,
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
		cell("HPC2N", "conservative", "fcfs", 10, n), cell("HPC2N", "pc", "ljf", 1270, n), cell("HPC2N", "pc", "sjf", 100, n),
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
		Statement: "PC on DAS2-fs1: strict unfairness over Conservative, with fifo", Paper: "+61.9 %", Ours: "+61.9 %", Verdict: papers.Agrees,
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
	all := rows(t, "ibb", cell("npb54", "fcfs", "fcfs", 3, "mean_wait", "makespan"), cell("npb54", "ibb", "fcfs", 2, "mean_wait", "makespan"))
	require.Len(t, all, 1)
	require.Equal(t, "fcfs 3.0 s and 3 s, ibb 2.0 s and 2 s", all[0].Ours)
	require.Equal(t, papers.Untested, all[0].Verdict)
}
