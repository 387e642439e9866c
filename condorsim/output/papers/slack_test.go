package papers_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim/output/papers"
	"github.com/condor-backfill/condor-backfill/condorsim/output/results"
)

var waits = []string{"mean_wait", "mean_bounded_slowdown", "top5_wait", "widest10_wait"}

// slacks returns results of all schedulers on a trace: 100 in all metrics, but less under first-fit
// and best-fit (nothing), and what is given under slack, which keeps its one promise.
func slacks(trace string, slack, nothing float64) (cells []results.Cell) {
	for _, policy := range []string{"easy", "bb", "ibb", "conservative"} {
		cells = append(cells, cell(trace, policy, "fcfs", 100, waits...))
	}
	for _, policy := range []string{"pc", "dc"} {
		cells = append(cells, cell(trace, policy, "sjf", 100, waits...))
	}
	for _, policy := range []string{"first-fit", "best-fit"} {
		cells = append(cells, cell(trace, policy, "fcfs", nothing, waits...))
	}
	cells = append(cells, cell(trace, "easy", "sjf", 70, waits...))
	own := cell(trace, "slack", "sjf", slack, waits...)
	own.Metrics["guarantees_given"], own.Metrics["guarantees_kept"] = 1, 1
	own.Metrics["guarantees_broken"] = 0
	return append(cells, own)
}

const (
	theirHeads = "promise at least the head"
	nobodys    = "promise nothing"
	inOrder    = "EASY in the same order"
)

func TestSlack(t *testing.T) {
	var cells []results.Cell
	for i := range 12 { // four are not below those that promise nothing
		cells = append(cells, slacks(fmt.Sprint("t", i), 60+5*float64(i%8), 79)...)
	}
	for i := range cells {
		if cells[i].Policy == "slack" && cells[i].Trace == "t2" {
			for _, m := range waits {
				cells[i].Metrics[m] = 111
			}
		}
	}
	all := rows(t, "slack", cells...)
	r := row(t, all, theirHeads)
	require.Equal(t, papers.Agrees, r.Verdict, "one of twelve may be an exception")
	require.Equal(t, "on at least 11 of 12 traces", r.Paper)
	require.Contains(t, r.Ours, "both 11 of 12 (not t2); mean wait 11 of 12 (not t2)")
	r = row(t, all, nobodys)
	require.Equal(t, papers.Partly, r.Verdict, "five are not, three may be")
	require.Contains(t, r.Ours, "both 7 of 12")
	require.NotEmpty(t, r.Why)
	r = row(t, all, inOrder)
	require.Equal(t, "on at least 9 of 12 traces", r.Paper)
	require.Equal(t, papers.Differs, r.Verdict, "it is below 70 on four")
	require.Contains(t, r.Ours, "both 4 of 12")
	r = row(t, all, "5 %")
	require.Equal(t, papers.Agrees, r.Verdict)
	require.Equal(t, "11 of 12 (not t2); the most is 1.11 times, t2", r.Ours)
	r = row(t, all, "widest")
	require.Equal(t, papers.Agrees, r.Verdict)
	require.Equal(t, "11 of 12 (not t2); the most is 1.11 times, t2", r.Ours)
	require.Equal(t, papers.Untested, row(t, all, "area-weighted").Verdict, "older results do not have it")
	r = row(t, all, "0.6 times")
	require.Equal(t, papers.Partly, r.Verdict)
	require.Equal(t, "0.76 times, over 12 traces", r.Ours)
	r = row(t, all, "promise", "keeps")
	require.Equal(t, papers.Agrees, r.Verdict)
	require.Equal(t, "12 of 12; 12 of 12 promises kept", r.Ours)
	require.Equal(t, papers.Untested, row(t, all, "user").Verdict, "nothing is known of users")
}

// By area, slack may be a twentieth above EASY on each trace, and none is an exception.
func TestSlackByArea(t *testing.T) {
	for own, want := range map[float64]papers.Verdict{105: papers.Agrees, 106: papers.Partly} {
		var cells []results.Cell
		for i := range 3 {
			area := 90.0
			if i == 2 {
				area = own
			}
			trace := fmt.Sprint("t", i)
			cells = append(cells, slacks(trace, 50, 100)...)
			cells = append(cells, cell(trace+"x", "bb", "fcfs", 1))
			for k := range cells {
				if cells[k].Trace != trace {
					continue
				}
				if cells[k].Metrics["area_weighted_response"] = 100; cells[k].Policy == "slack" {
					cells[k].Metrics["area_weighted_response"] = area
				}
			}
		}
		all := rows(t, "slack", cells...)
		r := row(t, all, "area-weighted")
		require.Equal(t, want, r.Verdict, own)
		require.Equal(t, "on at least 12 of 12 traces", r.Paper)
		require.Contains(t, r.Ours, fmt.Sprintf("the most is %.2f times, t2", own/100))
		require.Equal(t, papers.Agrees, row(t, all, "0.6 times").Verdict, "0.5 times on each")
	}
}

// Both metrics must be lower, against each of the others; a promise that is broken is told.
func TestSlackFailsInOneMetric(t *testing.T) {
	for _, metric := range waits[:2] {
		cells := slacks("a", 50, 100)
		for i := range cells {
			if cells[i].Policy == "dc" {
				cells[i].Metrics[metric] = 50
			}
		}
		all := rows(t, "slack", cells...)
		require.Equal(t, papers.Differs, row(t, all, theirHeads).Verdict, metric)
		require.Equal(t, papers.Agrees, row(t, all, nobodys).Verdict, metric)
	}
	cells := slacks("a", 50, 100)
	cells[len(cells)-1].Metrics["guarantees_kept"], cells[len(cells)-1].Metrics["guarantees_broken"] = 0, 1
	r := row(t, rows(t, "slack", cells...), "keeps")
	require.Equal(t, papers.Differs, r.Verdict)
	require.Equal(t, "0 of 1 (not a); 0 of 1 promises kept", r.Ours)
	require.Equal(t, papers.Untested, row(t, rows(t, "slack", slacks("a", 50, 100)[1:]...), theirHeads).Verdict,
		"EASY's result is missing")
}

// Over loads, no load may be an exception, and only what is lower at all of them agrees.
func TestSlackOverLoads(t *testing.T) {
	var cells []results.Cell
	for i, load := range []float64{0.5, 1, 1.5} {
		at := slacks("a", 50, 100-30*float64(i))
		for j := range at {
			at[j].Load = load
		}
		cells = append(cells, at...)
	}
	all := rows(t, "slack", cells...)
	r := row(t, all, theirHeads)
	require.Equal(t, "at every load", r.Paper)
	require.Equal(t, papers.Agrees, r.Verdict)
	r = row(t, all, nobodys)
	require.Equal(t, papers.Partly, r.Verdict)
	require.Contains(t, r.Ours, "both 2 of 3 (not a at 1.5)")
	for i := range cells {
		cells[i].Users = []results.User{got("ann", 1, 3)}
	}
	r = row(t, rows(t, "slack", cells...), "user")
	require.Equal(t, papers.Agrees, r.Verdict)
	require.Contains(t, r.Ours, "more for 0 of 3 users, counted at each load")
}

func got(user string, jobs int, slowdown float64) results.User {
	return results.User{Name: user, Jobs: jobs, MeanBoundedSlowdown: slowdown}
}

func TestWorstUsers(t *testing.T) {
	cells := slacks("a", 50, 100)
	for i := range cells {
		switch cells[i].Policy {
		case "easy":
			cells[i].Users = []results.User{got("ann", 30, 2), got("bob", 10, 3), got("eve", 10, 1), got("old", 9, 4)}
		case "slack":
			cells[i].Users = []results.User{got("ann", 30, 4), got("bob", 10, 6.3), got("eve", 10, 1)}
		}
	}
	r := row(t, rows(t, "slack", cells...), "user")
	require.Equal(t, papers.Differs, r.Verdict)
	require.Equal(t, "more for 1 of 3 users, with 20.00 % of the jobs; the most is 2.1 times, user bob of a", r.Ours)
	f := &results.Folder{Manifest: results.Manifest{Paper: "slack"}, Cells: cells}
	require.Equal(t, []papers.User{
		{Name: "bob", Where: "a", Jobs: 10, EASY: 3, Slack: 6.3},
		{Name: "ann", Where: "a", Jobs: 30, EASY: 2, Slack: 4},
	}, papers.Worst(f, 2))
	require.Len(t, papers.Worst(f, 10), 3)
	f.Manifest.Paper = "ibb"
	require.Empty(t, papers.Worst(f, 10))
}
