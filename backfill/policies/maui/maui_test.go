package maui_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
)

// TestWorkedExample is the one of the Maui administrator's guide, in hours, on
// two processors, as one slot and as two: A may run for 4 hours and runs for 2; B
// wants both processors for one hour; C wants one for two hours.
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

// TestFilling lets jobs arrive at a slot of 10 cpus. Job 1 takes 6, and job 2 is
// reserved for at 10 with 8: 4 cpus are idle for 10 s, and 2 of them for longer.
//
//	cpus 10 │ . . . . . . . . . . │ . . . .
//	      8 │ . . . . . . . . . . │ 2 2 2 2
//	      6 │ 1 1 1 1 1 1 1 1 1 1 │ 2 2 2 2
//	        0                    10
func TestFilling(t *testing.T) {
	blocked := []backfill.Job{job(6, 10), job(8, 10)}
	jobs := append(blocked[:2:2], job(1, 50), job(2, 10), job(3, 5), job(1, 10), job(1, 20)) // 3, 4, 5, 6, 7
	// The one that comes first lasts longer than the widest window.
	widest := append(blocked[:2:2], job(2, 50), job(4, 10))
	// Each fits by itself, no two together.
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
		{"without that one", append(edge[:4:4], edge[5]), nil, ids(1, 5), plan{2: 10}},
		{
			"words in lower case", jobs, with("backfillpolicy", "firstfit", "reservationpolicy", "CurrentHighest"),
			ids(1, 4, 6, 3),
			plan{2: 10},
		},

		{"none", jobs, with("backfillpolicy", "NONE"), ids(1), plan{2: 10}},
		{"none, deeper", jobs, with("backfillpolicy", "NONE", "reservationdepth", "2"), ids(1), plan{2: 10}},
		{
			"none, and three blocked", append(blocked[:2:2], job(1, 5), job(5, 5), job(9, 1)),
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

// TestManySlots has windows of parts of several slots: 2 cpus are idle on a and 1
// on b. Job 3 is a gang and reserved for on both.
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

// TestReservationPolicies has a job of higher priority arrive behind one that has
// a reservation. The shortest comes first.
func TestReservationPolicies(t *testing.T) {
	for _, tt := range []struct {
		policy    string
		arrival   plan // when job 3 has come
		early     []id // who starts as job 1 ends at 5
		after     plan
		scheduled []id // who starts if it ends at 10 instead
	}{
		{"CURRENTHIGHEST", plan{3: 10}, ids(3), plan{2: 13}, ids(3)},
		{"HIGHEST", plan{2: 10, 3: 20}, ids(2), plan{3: 20}, ids(2)}, // 3 came before 2, and will move up the next time
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
					require.Empty(t, p.at(5, ids(1)), "job 2 is due at 10, and before that overtakes nobody")
				} else {
					require.Equal(t, tt.early, p.at(5, ids(1)))
					require.Equal(t, tt.after, p.plan())
				}
				require.Equal(t, tt.scheduled, story().at(10, ids(1)))
			})
		}
	}
}

// TestWhoKeepsAReservation has HIGHEST, and job 2 wait with a reservation behind
// job 1 while job 3 comes, which is shorter.
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
		require.Equal(t, plan{2: 20, 3: 12}, p.plan(), "3 comes first, and 2 is not left without")
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
