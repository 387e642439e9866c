package maui_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// TestLimits checks which jobs start when they arrive together at an idle slot of 10 cpus. Those
// inside their soft limits start first, in the queue's order; then those inside their hard ones.
func TestLimits(t *testing.T) {
	fred := func(cpus int64, estimate backfill.Time) backfill.Job { return job(cpus, estimate, "owner", "fred") }
	eve := func(cpus int64, estimate backfill.Time) backfill.Job { return job(cpus, estimate, "owner", "eve") }
	four := []backfill.Job{fred(1, 5), fred(1, 5), fred(1, 5), eve(1, 5)}
	for _, tt := range []struct {
		name    string
		options options
		jobs    []backfill.Job
		started []id
		waiting int
	}{
		{"soft, then hard", with("usercfg", "[fred] MAXJOB=1,2"), four, ids(1, 4, 2), 1},
		{"one value is both limits", with("usercfg", "[fred] MAXJOB=1"), four, ids(1, 4), 2},
		{"a soft limit above the hard one", with("usercfg", "[fred] MAXJOB=3,2"), four, ids(1, 2, 4), 1},
		{"another user's limit", with("usercfg", "[bob] MAXJOB=1"), four, ids(1, 2, 3, 4), 0},
		{"the default limit", with("usercfg", "[DEFAULT] MAXJOB=1"), append(four[:4:4], eve(1, 5)), ids(1, 4), 3},
		{
			"a limit of one's own replaces the default",
			with("usercfg", "[DEFAULT] MAXJOB=1 [fred] MAXJOB=3"), append(four[:4:4], eve(1, 5)),
			ids(1, 2, 3, 4), 1,
		},
		{
			"it replaces only the default of the same name",
			with("usercfg", "[DEFAULT] MAXPROC=2 [fred] MAXJOB=9"), append(four[:4:4], eve(1, 5)),
			ids(1, 2, 4, 5), 1,
		},
		{
			"the default does not concern jobs without an owner", with("usercfg", "[DEFAULT] MAXJOB=1"),
			[]backfill.Job{job(1, 5), job(1, 5, "owner", ""), fred(1, 5), fred(1, 5)},
			ids(1, 2, 3), 1,
		},
		{
			"cpus", with("usercfg", "[fred] MAXPROC=3,5"),
			[]backfill.Job{fred(2, 5), fred(2, 5), fred(1, 5), fred(1, 5)},
			ids(1, 3, 2), 1,
		},
		{
			"cpus of all chunks", with("usercfg", "[fred] MAXPROC=4"),
			[]backfill.Job{gang(3, 1, 5, "owner", "fred"), gang(2, 1, 5, "owner", "fred"), fred(1, 5)},
			ids(1, 3), 1,
		},
		{
			"processor seconds", with("usercfg", "[fred] MAXPS=30,40"),
			[]backfill.Job{fred(2, 10), fred(2, 6), fred(1, 10), fred(1, 9)},
			ids(1, 3, 4), 1,
		},
		{
			"groups", with("groupcfg", "[a] MAXJOB=1"),
			[]backfill.Job{
				job(1, 5, "group", "a"), job(1, 5, "group", "b"),
				job(1, 5, "group", "a", "owner", "fred"),
			},
			ids(1, 2), 1,
		},
		{
			"accounts", with("accountcfg", "[a] MAXJOB=1"),
			[]backfill.Job{job(1, 5, "account", "a"), job(1, 5, "account", "b"), job(1, 5, "account", "a")},
			ids(1,
				2), 1,
		},
		{"qualities of service", with("qoscfg", "[a] MAXJOB=1"), []backfill.Job{
			job(1, 5, "qos", "a"), job(1, 5, "qos", "b"),
			job(1, 5, "qos", "a"),
		}, ids(1, 2), 1},
		{
			"all limits of a job count", with("usercfg", "[fred] MAXJOB=2", "qoscfg", "[a] MAXPROC=1"),
			[]backfill.Job{
				job(1, 5, "owner", "fred", "qos", "a"), job(1, 5, "owner", "fred", "qos", "a"), fred(1, 5),
				fred(1, 5),
			},
			ids(1, 3), 2,
		},
		{
			"a job over a limit blocks no other", with("usercfg", "[fred] MAXJOB=1", "backfillpolicy", "NONE"), four,
			ids(1, 4), 2,
		},
		{
			"soft, then hard, without backfill",
			with("usercfg", "[fred] MAXJOB=1,2", "backfillpolicy", "NONE"), four, ids(1, 4, 2),
			1,
		},
		{
			"without backfill a blocked job stops the pass",
			with("usercfg", "[fred] MAXJOB=1,2", "backfillpolicy", "NONE"),
			[]backfill.Job{fred(1, 5), fred(9, 5), fred(10, 5), eve(10, 5), fred(1, 5)},
			ids(1, 2), 3,
		},
		{
			"the best inside the limits", with("usercfg", "[fred] MAXJOB=1", "backfillpolicy", "BESTFIT"),
			[]backfill.Job{eve(7, 10), eve(9, 10), fred(1, 5), fred(2, 5), eve(1, 5)},
			ids(1, 4, 5), 2,
		},
		{
			"the best combination inside the limits", with("usercfg", "[fred] MAXPROC=2", "backfillpolicy", "GREEDY"),
			[]backfill.Job{eve(7, 10), eve(9, 10), fred(1, 5), fred(2, 5), eve(1, 5)},
			ids(1, 4, 5), 2,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPool(t, tt.options, 10)
			require.Equal(t, tt.started, p.at(0, nil, tt.jobs...))
			require.Equal(t, tt.waiting, p.host.State.Waiting())
		})
	}
}

// TestLimitsAndReservations checks that a job over a soft limit gets no reservation.
func TestLimitsAndReservations(t *testing.T) {
	p := newPool(t, with("usercfg", "[fred] MAXJOB=1,2"), 4)
	p.at(0, nil, job(3, 10, "owner", "fred"), job(4, 10, "owner", "fred"), job(4, 10, "owner", "eve"))
	require.Equal(t, plan{3: 10}, p.plan())
	require.Equal(t, ids(4), p.at(1, nil, job(1, 5, "owner", "fred")), "inside the hard limit")
	require.Empty(t, p.at(6, ids(4)))
	require.Equal(t, ids(2), p.at(8, ids(1)), "no job of fred's runs, so job 2 is inside its soft limit")
	require.Equal(t, plan{3: 18}, p.plan())
}

// TestKeptReservationsAndLimits checks that a job loses its kept reservation if it comes due while
// its owner is at the hard limit.
func TestKeptReservationsAndLimits(t *testing.T) {
	p := newPoolOrdered(t, with("usercfg", "[fred] MAXJOB=1,1", "reservationpolicy", "HIGHEST"), "sjf", 4)
	require.Equal(t, ids(1), p.at(0, nil, job(3, 10, "owner", "eve")))
	require.Empty(t, p.at(1, nil, job(4, 10, "owner", "fred")))
	require.Equal(t, plan{2: 10}, p.plan())
	require.Equal(t, ids(3), p.at(2, nil, job(1, 8, "owner", "fred")))
	require.Equal(t, plan{2: 10}, p.plan(), "job 2 keeps its reservation until it is due")
	p.decide(backfill.Round{Now: 10, Events: []backfill.Event{
		{Kind: backfill.Completed, JobID: 1},
		{Kind: backfill.EstimateChanged, JobID: 3, End: 12},
	}})
	require.Equal(t, plan{}, p.plan())
	require.Equal(t, ids(2), p.at(12, ids(3)))
}

// TestOverALimitAlone checks that a job that exceeds a hard limit by itself is held, with the limit
// as the reason, because it could never start.
func TestOverALimitAlone(t *testing.T) {
	for _, tt := range []struct {
		options options
		reason  string
	}{
		{with("usercfg", "[fred] MAXPROC=2"), "needs more by itself than owner fred may use: MAXPROC=2"},
		{with("usercfg", "[DEFAULT] MAXPS=1,29"), "needs more by itself than owner fred may use: MAXPS=29"},
		{with("qoscfg", "[DEFAULT] MAXPROC=1,2"), "needs more by itself than qos low may use: MAXPROC=2"},
		{with("usercfg", "[fred] MAXPROC=1,3 MAXPS=1,30 MAXJOB=1"), ""},
	} {
		p := newPool(t, tt.options, 4)
		started := p.at(0, nil, job(3, 10, "owner", "fred", "qos", "low"))
		require.Equal(t, tt.reason, p.host.State.Snapshot().Jobs[0].Held)
		if tt.reason == "" {
			require.Equal(t, ids(1), started)
		}
	}
}
