package daemon

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/preempt"
)

// TestExplainedScavengers: scavengers are told what they do and no start; the one that makes way is told for
// whom, and that job when it has left. All are counted.
func TestExplainedScavengers(t *testing.T) {
	w := newWorld()
	o := w.options("conservative")
	runs, waits, other := w.job(1, 3, 1000), w.job(2, 3, 1000), w.job(3, 4, 50)
	runs.Scavenger, waits.Scavenger = true, true
	w.matched = []backfill.JobID{3}
	claim := onSlot{preempt.Claim{Slot: "slot1@a", Host: "slot1@a", Vacate: 600}}
	w.deltas <- negotiator.Delta{
		Now: 1000, SlotsUp: []*negotiator.Slot{w.slot}, Submitted: []*negotiator.Job{waits}, Claims: claim,
		Found: []negotiator.Running{{Job: runs, Placement: negotiator.Placement{{Slot: w.slot, Count: 1}}, Start: 900}},
	}
	w.deltas <- negotiator.Delta{Now: 1100, Submitted: []*negotiator.Job{other}, Claims: claim}
	close(w.deltas)
	d := New(o)
	_ = d.Run(t.Context())
	require.Equal(t, "a scavenger: it makes way; displaced by 3.0 of bob: scavengers make way for any other job", explainedTo(t, d, "1").Reason)
	one := explainedTo(t, d, "2")
	require.Equal(t, "waits", one.Situation)
	require.Nil(t, one.Start)
	require.Contains(t, one.Reason, "a scavenger: it starts as soon as something is idle")
	require.Equal(t, one.Reason, one.Why(time.UTC))
	heir := explainedTo(t, d, "3")
	require.Equal(t, "takes over slot1@a, expected start 00:28 UTC, once others have made way", heir.Reason)
	listed, err := d.Plans(t.Context(), "")
	require.NoError(t, err)
	require.Len(t, listed.All(), 2, "those that wait")
	s, _ := d.statusAt(time.Now())
	require.Equal(t, 1, s.scavenged.Running)
	require.Equal(t, 1, s.scavenged.Waiting)
	require.EqualValues(t, 3, s.scavenged.CPUs)
	w.retires = true
	require.NotContains(t, explainedTo(t, d, "1").Reason, "max_job_retirement_time", "as of the last cycle")
}

// TestScavengedCounts: what scavengers ran counts when their runs are over, from when they were seen to run, and
// as lost if they made way.
func TestScavengedCounts(t *testing.T) {
	w := newWorld()
	job := w.job(1, 3, 1000)
	runs := []negotiator.JobCheckpoint{{Job: job, Standing: backfill.Standing{Running: true, Start: 1000}}}
	report := func(now backfill.Time, told negotiator.Scavenged) *negotiator.Report {
		return &negotiator.Report{Delta: negotiator.Delta{Now: now}, Scavengers: &told}
	}
	var s scavenged
	s.follow(report(1000, negotiator.Scavenged{}), runs, 0)
	s.follow(report(1010, negotiator.Scavenged{Began: []negotiator.Began{{Job: 1, At: 1005}}}), runs, 0)
	require.Equal(t, 1, s.Running)
	require.Zero(t, s.Ran)
	s.follow(report(1105, negotiator.Scavenged{Back: []backfill.JobID{1}, Displaced: []backfill.JobID{1}}),
		[]negotiator.JobCheckpoint{{Job: job}}, 1)
	require.EqualValues(t, 300, s.Ran)
	require.EqualValues(t, 300, s.Lost)
	require.Equal(t, 1, s.Displaced)
	require.Equal(t, 1, s.Waiting)
	runs[0].Start = 2000
	s.follow(report(2000, negotiator.Scavenged{}), runs, 0)
	s.follow(report(2010, negotiator.Scavenged{Completed: []backfill.JobID{1}}), nil, 0)
	require.EqualValues(t, 330, s.Ran)
	require.EqualValues(t, 300, s.Lost)
	require.Zero(t, s.Waiting+s.Running)
}
