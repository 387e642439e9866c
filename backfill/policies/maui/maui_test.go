package maui_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
)

// TestWorkedExample checks the worked example of the Maui administrator's guide, with hours as the
// unit of time. There are two processors, as one slot or as two. A has an estimate of 4 hours and
// runs for 2; B needs both processors for one hour; C needs one for two hours.
func TestWorkedExample(t *testing.T) {
	const b, c = 2, 3
	for _, slots := range [][]int64{{2}, {1, 1}} {
		for _, policy := range []string{"FIRSTFIT", "BESTFIT", "GREEDY", "NONE"} {
			t.Run(fmt.Sprint(policy, slots), func(t *testing.T) {
				p := newPool(t, with("backfillpolicy", policy), slots...)
				require.Equal(t, ids(1), p.at(0, nil, gang(1, 1, 4)))
				started := p.at(1, nil, gang(2, 1, 1), gang(1, 1, 2))
				require.Equal(t, plan{b: 4}, p.plan())
				if policy == "NONE" {
					require.Empty(t, started)
					require.Equal(t, ids(b), p.at(2, ids(1)), "B starts as A ends")
					require.Equal(t, plan{c: 3}, p.plan())
					return
				}
				require.Equal(t, ids(c), started, "C ends before B can start")
				require.Empty(t, p.at(2, ids(1)))
				require.Equal(t, plan{b: 3}, p.plan(), "B waits for C now")
				require.Equal(t, ids(b), p.at(3, ids(c)))
			})
		}
	}
}

// TestFilling checks which jobs fill the windows when all arrive together at a slot of 10 cpus. Job
// 1 takes 6 cpus, and job 2 has a reservation of 8 at 10: 4 cpus are idle for 10 s, and 2 of them
// for longer.
//
//	cpus 10 │ . . . . . . . . . . │ . . . .
//	      8 │ . . . . . . . . . . │ 2 2 2 2
//	      6 │ 1 1 1 1 1 1 1 1 1 1 │ 2 2 2 2
//	        0                    10
func TestFilling(t *testing.T) {
	blocked := []backfill.Job{job(6, 10), job(8, 10)}
	jobs := append(blocked[:2:2], job(1, 50), job(2, 10), job(3, 5), job(1, 10), job(1, 20)) // 3, 4, 5, 6, 7
	// Job 3 is first in the queue, but lasts longer than the widest window.
	widest := append(blocked[:2:2], job(2, 50), job(4, 10))
	// Jobs 3 and 4 last a second longer than the widest window and are too wide for the next. Jobs
	// 5 and 6 each fit, but not together.
	edge := append(blocked[:2:2], job(3, 11), job(4, 11), job(4, 10), job(2, 11))
	for _, tt := range []struct {
		name    string
		jobs    []backfill.Job
		options options
		started []id
		plan    plan
	}{
		{"the widest window first", widest, nil, ids(1, 4), plan{2: 10}},
		{"windows overlap", jobs, nil, ids(1, 4, 6, 3), plan{2: 10}},
		{"a window lasts until the reservation", edge, nil, ids(1, 5), plan{2: 10}},
		{"what lasts longer belongs to the next window", append(edge[:4:4], edge[5]), nil, ids(1, 5), plan{2: 10}},
		{
			"words in lower case", jobs, with("backfillpolicy", "firstfit", "reservationpolicy", "CurrentHighest"),
			ids(1, 4, 6, 3),
			plan{2: 10},
		},

		{"none", jobs, with("backfillpolicy", "NONE"), ids(1), plan{2: 10}},
		{
			"none, with a depth of 2 and one blocked", jobs, with("backfillpolicy", "NONE", "reservationdepth", "2"),
			ids(1),
			plan{2: 10},
		},
		{
			"none, with a depth of 2 and three blocked", append(blocked[:2:2], job(1, 5), job(5, 5), job(9, 1)),
			with("backfillpolicy", "NONE", "reservationdepth", "2"), ids(1),
			plan{2: 10, 4: 20},
		},

		{"best fit", jobs, with("backfillpolicy", "BESTFIT"), ids(1, 5, 6), plan{2: 10}},
		{
			"best fit by area", jobs, with("backfillpolicy", "BESTFIT", "backfillmetric", "PROCSECONDS"), ids(1, 4, 6, 3),
			plan{2: 10},
		},
		{
			"best fit by time", jobs, with("backfillpolicy", "BESTFIT", "backfillmetric", "SECONDS"), ids(1, 4, 6, 3),
			plan{2: 10},
		},
		{
			"best fit, equal ones in order", append(blocked[:2:2], job(1, 9), job(2, 9), job(2, 8), job(2, 7)),
			with("backfillpolicy", "BESTFIT"), ids(1, 4, 5),
			plan{2: 10},
		},

		{
			"greedy", append(blocked[:2:2], job(3, 5), job(2, 5), job(2, 5)), with("backfillpolicy", "GREEDY"),
			ids(1, 4, 5),
			plan{2: 10},
		},
		{
			"greedy, bounded", append(blocked[:2:2], job(3, 5), job(2, 5), job(2, 5)),
			with("backfillpolicy", "GREEDY", "backfillmaxschedules", "1"), ids(1, 3),
			plan{2: 10},
		},
		{
			"greedy, equal ones in order", append(blocked[:2:2], job(2, 5), job(2, 5), job(4, 5)),
			with("backfillpolicy", "GREEDY"), ids(1, 3, 4),
			plan{2: 10},
		},
		{
			"greedy by area", append(blocked[:2:2], job(3, 9), job(2, 5), job(2, 5)),
			with("backfillpolicy", "GREEDY", "backfillmetric", "PROCSECONDS"), ids(1, 3),
			plan{2: 10},
		},
		{
			"greedy by time", append(blocked[:2:2], job(3, 9), job(2, 5), job(2, 5)),
			with("backfillpolicy", "GREEDY", "backfillmetric", "SECONDS"), ids(1, 4, 5),
			plan{2: 10},
		},
		{
			"greedy, window by window", jobs, with("backfillpolicy", "GREEDY", "backfillmetric", "PROCSECONDS"),
			ids(1, 4, 6, 3),
			plan{2: 10},
		},

		{"depth of 1", jobs, with("backfilldepth", "1"), ids(1, 3), plan{2: 10}},
		{"depth of 2", jobs, with("backfilldepth", "2"), ids(1, 4, 3), plan{2: 10}},
		{
			"depth counts those that do not fit", append(blocked[:2:2], job(5, 5), job(1, 5)), with("backfilldepth", "1"),
			ids(1),
			plan{2: 10},
		},

		{"two reservations", jobs, with("reservationdepth", "2"), ids(1, 3, 4, 6), plan{2: 10, 5: 20}},
		{"reservations for all", jobs, with("reservationdepth", "99"), ids(1, 3, 4, 6), plan{2: 10, 5: 20, 7: 10}},
		{"no reservations", jobs, with("reservationdepth", "0"), ids(1, 3, 4, 6), plan{}},
		{
			"never a reservation", jobs, with("reservationpolicy", "NEVER", "reservationdepth", "5"), ids(1, 3, 4, 6),
			plan{},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPool(t, tt.options, 10)
			require.Equal(t, tt.started, p.at(0, nil, tt.jobs...))
			require.Equal(t, tt.plan, p.plan())
		})
	}
}

// TestManySlots checks windows that consist of parts of several slots: 2 cpus are idle on a and 1
// on b, until the reservation of job 3, a gang, takes all of both slots at 20.
func TestManySlots(t *testing.T) {
	busy := []backfill.Job{job(2, 10), job(3, 20), gang(2, 4, 5)} // on a, on b, and on both from 20 on
	for _, tt := range []struct {
		name    string
		options options
		jobs    []backfill.Job
		started []id
	}{
		{"until both are needed", nil, []backfill.Job{job(2, 21), job(2, 20)}, ids(1, 2, 5)},
		{"gangs", nil, []backfill.Job{gang(2, 2, 5), gang(3, 1, 20), gang(2, 1, 5)}, ids(1, 2, 5)},
		{
			"the best", with("backfillpolicy", "BESTFIT"),
			[]backfill.Job{job(1, 5), gang(3, 1, 5), job(2, 5)},
			ids(1, 2, 5),
		},
		{
			"the best together", with("backfillpolicy", "GREEDY", "backfillmetric", "PROCSECONDS"),
			[]backfill.Job{gang(2, 1, 5), job(2, 9), job(1, 5)},
			ids(1, 2, 5, 6),
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPool(t, tt.options, 4, 4)
			require.Equal(t, tt.started, p.at(0, nil, append(busy[:3:3], tt.jobs...)...))
			require.Equal(t, plan{3: 20}, p.plan())
		})
	}
}

// TestReservationPolicies checks which job has a reservation after one of higher priority has
// arrived: job 2 has a reservation, and job 3 is shorter, so it is first under sjf.
func TestReservationPolicies(t *testing.T) {
	for _, tt := range []struct {
		policy    string
		arrival   plan // after job 3 has arrived
		early     []id // the jobs that start if job 1 ends at 5
		after     plan
		scheduled []id // the jobs that start if it ends at 10
	}{
		{"CURRENTHIGHEST", plan{3: 10}, ids(3), plan{2: 13}, ids(3)},
		{"HIGHEST", plan{2: 10, 3: 20}, ids(2), plan{3: 20}, ids(2)}, // job 3 is tried before job 2 starts
		{"NEVER", plan{}, ids(3), plan{}, ids(3)},
	} {
		for _, backfilling := range []string{"FIRSTFIT", "NONE"} {
			t.Run(tt.policy+" "+backfilling, func(t *testing.T) {
				story := func() *pool {
					p := newPoolOrdered(t, with("reservationpolicy", tt.policy, "backfillpolicy", backfilling), "sjf",
						4)
					require.Equal(t, ids(1), p.at(0, nil, job(4, 10)))
					p.at(1, nil, job(4, 10))
					p.at(2, nil, job(4, 8))
					require.Equal(t, tt.arrival, p.plan())
					return p
				}
				p := story()
				if backfilling == "NONE" && tt.policy == "HIGHEST" {
					require.Empty(t, p.at(5, ids(1)), "before 10, when job 2 is due, it does not overtake job 3")
				} else {
					require.Equal(t, tt.early, p.at(5, ids(1)))
					require.Equal(t, tt.after, p.plan())
				}
				require.Equal(t, tt.scheduled, story().at(10, ids(1)))
			})
		}
	}
}

// TestWhoKeepsAReservation checks what happens to a reservation under HIGHEST after an edit, after
// a displacement and after a change of policy. Job 2 has a reservation behind job 1 and keeps it
// when job 3 arrives, which is shorter.
func TestWhoKeepsAReservation(t *testing.T) {
	story := func(t *testing.T, slots ...int64) *pool {
		t.Helper()
		p := newPoolOrdered(t, with("reservationpolicy", "HIGHEST"), "sjf", slots...)
		require.Equal(t, ids(1), p.at(0, nil, job(4, 10)))
		p.at(1, nil, job(4, 9))
		p.at(2, nil, job(4, 8))
		require.Equal(t, plan{2: 10, 3: 19}, p.plan())
		return p
	}
	t.Run("edited", func(t *testing.T) {
		p := story(t, 4)
		edited := job(4, 9)
		edited.ID, edited.Submit, edited.Position.Cluster = 2, 1, 2
		p.decide(backfill.Round{Now: 3, Events: []backfill.Event{{Kind: backfill.Changed, Job: &edited}}})
		require.Equal(t, plan{3: 10}, p.plan())
	})
	t.Run("displaced", func(t *testing.T) {
		p := story(t, 4)
		p.decide(backfill.Round{Now: 10, Events: []backfill.Event{{Kind: backfill.EstimateChanged, JobID: 1, End: 12}}})
		require.Equal(t, plan{2: 20, 3: 12}, p.plan(), "job 3 is first, and job 2 gets another reservation")
		require.Equal(t, ids(3), p.at(11, ids(1)))
		require.Equal(t, plan{2: 19}, p.plan())
	})
	t.Run("planned by another policy", func(t *testing.T) {
		p := story(t, 4)
		conservative, err := policies.Named("conservative")
		require.NoError(t, err)
		main, err := backfill.Link(conservative, nil)
		require.NoError(t, err)
		h, err := backfill.NewHost(p.host.State, nil, main, main, nil)
		require.NoError(t, err)
		_, err = h.Decide(t.Context(), backfill.Round{Now: 3})
		require.NoError(t, err)
		require.Len(t, p.plan(), 2)
		p.host = newHost(t, p.host.State, with("reservationpolicy", "HIGHEST"), "sjf")
		p.at(4, nil)
		require.Equal(t, plan{3: 10}, p.plan())
	})
}
