package condorsim_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// TestAuditOfScavengers runs on pools in which scavengers leave before they have to, too late or for no reason, end
// early, or are still there when the job begins that they were to make way for.
func TestAuditOfScavengers(t *testing.T) {
	text := one + "scavengers: {users: [ann], vacate: 10}\n"
	jobs := []workload.Job{
		{Run: 1000, Procs: 4, User: "ann"}, {Submit: 250, Run: 50, Procs: 4, User: "bob"}, {Submit: 252, Run: 50, Procs: 4, User: "bob"},
	}
	for _, c := range []struct {
		name, want string
		vacate     backfill.Time
		fault      func(*negotiator.Delta)
	}{
		{"nothing", "", 10, func(*negotiator.Delta) {}},
		{"early", "job 1: made way, but had until 0 00:04:20", 5, func(*negotiator.Delta) {}},
		{"late", "job 2: is to begin at 0 00:04:30, which is later than scavengers need to leave", 20, func(*negotiator.Delta) {}},
		{"stays", "job 1: scavenges on, but was to leave by 0 00:04:20", 10, func(d *negotiator.Delta) {
			if d.Now == 260 {
				d.StartFailed, d.Displaced, d.Began = nil, nil, nil
			}
		}},
		{"waits", "job 2: was started at 0 00:04:10, but has not begun by 0 00:04:20", 10, func(d *negotiator.Delta) {
			if d.Now == 260 {
				d.Began = nil
			}
		}},
		{"for no reason", "job 1: made way, but nobody was to have its place", 10, func(d *negotiator.Delta) {
			if d.Now == 250 {
				d.StartFailed, d.Displaced = []backfill.JobID{0}, []backfill.JobID{0}
			}
		}},
		{"lost", "job 1: lost its place, but its slots are there", 10, func(d *negotiator.Delta) {
			if d.Now == 250 {
				d.StartFailed = []backfill.JobID{0}
			}
		}},
		{"ends", "job 1: ended after 250 s, but was to run for 1000 s", 10, func(d *negotiator.Delta) {
			if d.Now == 250 {
				d.Completed = []backfill.JobID{0}
			}
		}},
		{"beside", "[8] is in use on slot node1 with scavengers, and [4] there", 10, func(d *negotiator.Delta) {
			if d.Now == 252 {
				d.Began = []negotiator.Began{{Job: 1, At: 252}}
			}
		}},
		{"begins twice", "job 2: began, but was not started, or had begun before", 10, func(d *negotiator.Delta) {
			if d.Now == 260 {
				d.Began = append(d.Began, d.Began...)
			}
		}},
		{"before", "job 2: began at 0 00:04:09, but was started at 0 00:04:10", 10, func(d *negotiator.Delta) {
			if d.Now == 260 {
				d.Began[0].At = 249
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, other := onDescribed(t, text, jobs...), onDescribed(t, text, jobs...)
			other.Scavengers.Vacate = c.vacate
			_, err := condorsim.RunOn(t.Context(), w, link(t, "easy", nil), &wrongPool{condorsim.NewPool(other, nil), c.fault})
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.want)
		})
	}
}

// TestScavengersBesidePreemption: a job for which another one and a scavenger make way begins once both have left,
// and RANK displaces nobody in a pool without preemption.
func TestScavengersBesidePreemption(t *testing.T) {
	jobs := []workload.Job{
		{Run: 1000, Procs: 2, User: "ann", Queue: "spare"},
		{Run: 1000, Procs: 2, User: "sue", Queue: "spare"},
		{Submit: 250, Run: 50, Procs: 4, User: "bob", Queue: "main"},
	}
	const rules = "preemption: {rank: 'TARGET.Queue =!= \"spare\"', vacate: 60, several: true}\n"
	w := onDescribed(t, one+rules+"scavengers: {users: [sue], vacate: 10}\n", jobs...)
	r := simulate(t, w, link(t, "easy", nil), func(*negotiator.Report) {})
	require.EqualValues(t, 310, r.Outcomes[2].Start, "ann's job needs a minute to make way, sue's ten seconds")
	require.Equal(t, 1, r.Displacements)
	require.Equal(t, 1, r.Outcomes[1].Displacements)
	require.InDelta(t, 1, r.Measures()["displaced_jobs"], 0)
	require.InDelta(t, 1, r.Measures()["scavengers_displaced"], 0)

	// Without preemption a RANK displaces nobody, though the pool tells of claims.
	ranked := "classes: [{name: node, cpus: 4, attributes: {Rank: 'TARGET.Queue =!= \"spare\"'}}]\npack: {chunk_cpus: 4}\n"
	w = onDescribed(t, ranked+"scavengers: {users: [sue], vacate: 0}\n", jobs...)
	r = simulate(t, w, link(t, "easy", nil), func(*negotiator.Report) {})
	require.EqualValues(t, 1000, r.Outcomes[2].Start)
	require.Zero(t, r.Displacements)
}
