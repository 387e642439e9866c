package maui_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/backfilltest"
	"github.com/condor-backfill/condor-backfill/backfill/conformance"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/backfill/policies/maui"
	"github.com/condor-backfill/condor-backfill/integration/thorough"
)

// settings are sets of options. Each of them exercises another part of the policy.
var settings = map[string]options{
	"default":         nil,
	"bestfit":         with("backfillpolicy", "BESTFIT", "backfillmetric", "PROCSECONDS"),
	"greedy":          with("backfillpolicy", "GREEDY", "backfillmaxschedules", "30"),
	"none":            with("backfillpolicy", "NONE", "reservationdepth", "3"),
	"never":           with("reservationpolicy", "NEVER"),
	"deep":            with("reservationdepth", "4", "backfilldepth", "3"),
	"lists":           with("reservationqoslist", "[0] low [1] high", "reservationdepth", "[0] 1 [1] 2"),
	"chunking":        with("bfchunksize", "3", "bfchunkduration", "7"),
	"highest":         with("reservationpolicy", "HIGHEST", "reservationdepth", "2"),
	"highest, greedy": with("reservationpolicy", "HIGHEST", "backfillpolicy", "GREEDY"),
	"highest, none":   with("reservationpolicy", "HIGHEST", "backfillpolicy", "NONE"),
	"limits":          with("usercfg", "[DEFAULT] MAXJOB=1,3 MAXPROC=4,9 MAXPS=40,90", "qoscfg", "[low] MAXJOB=1"),
	"limits, none":    with("usercfg", "[DEFAULT] MAXJOB=1,2", "backfillpolicy", "NONE"),
	"everything at once": with("reservationpolicy", "HIGHEST", "reservationdepth", "2", "bfchunksize", "3",
		"bfchunkduration", "7", "backfilldepth", "9", "usercfg", "[DEFAULT] MAXJOB=2,3 MAXPS=60"),
}

// idles are the settings under which the head of the queue may have to wait although it would fit:
// because another job keeps a reservation, or because of a limit.
var idles = []string{"highest", "highest, greedy", "highest, none", "limits", "limits, none", "everything at once"}

// wild is a random pool whose jobs have labels. Every other seed gives a pool full of mishaps.
type wild struct {
	*conformance.Driver
	host *backfill.Host
}

func newWild(t *testing.T, seed uint64, spec backfill.PolicySpec, opt options) *wild {
	t.Helper()
	w := &wild{Driver: conformance.NewDriver(seed)}
	w.Calm, w.Predicted = seed%2 == 0, seed%5 < 2
	main, err := backfill.Link(spec, opt)
	require.NoError(t, err)
	w.host = backfilltest.NewHost(t, w.Driver, main) // fails on a refusal
	return w
}

// round decides the driver's next round, after giving the jobs in it labels.
func (w *wild) round(t *testing.T) (backfill.Round, backfill.Decision) {
	t.Helper()
	r := w.Round(w.host.State)
	for i := range r.Events {
		if j := r.Events[i].Job; j != nil {
			labelled := *j
			labelled.Labels = map[string]string{
				"owner": []string{"fred", "eve", "bob"}[j.ID%3],
				"qos":   []string{"high", "low"}[j.ID/3%2],
			}
			r.Events[i].Job = &labelled
		}
	}
	d, err := w.host.Decide(t.Context(), r)
	require.NoError(t, err)
	d.Actions, d.Started = slices.Clone(d.Actions), slices.Clone(d.Started) // valid until the next round
	return r, d
}

// TestConforms runs the conformance suite for policies on each setting except those in idles.
func TestConforms(t *testing.T) {
	for name, opt := range settings {
		if slices.Contains(idles, name) {
			continue // the suite requires that the head of the queue starts if it fits
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			decider := func(t *testing.T) backfill.Decider {
				t.Helper()
				d, err := backfill.Link(maui.Spec(), opt)
				require.NoError(t, err)
				return d
			}
			backfilltest.ConformOn(t, backfilltest.Plain, 6, 100, decider)
			backfilltest.ConformOn(t, backfilltest.Partitioned, 6, 100, decider)
			backfilltest.ConformOn(t, backfilltest.Windowed, 6, 100, decider)
			backfilltest.ConformOn(t, backfilltest.Ending, 6, 100, decider)
		})
	}
}

// TestNothingIsOversubscribedOrLost checks after each round that what runs and what is planned fits
// the slots at every instant of the next minute, and that every job that has arrived is known.
func TestNothingIsOversubscribedOrLost(t *testing.T) {
	for name, opt := range settings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range thorough.Seeds(5, 10) {
				w := newWild(t, seed, maui.Spec(), opt)
				here := map[id]bool{}
				for range 80 {
					r, _ := w.round(t)
					for _, e := range r.Events {
						switch e.Kind {
						case backfill.Submitted, backfill.Found:
							here[e.Job.ID] = true
						case backfill.Completed, backfill.Removed:
							delete(here, e.JobID)
						default:
						}
					}
					snap := w.host.State.Snapshot()
					require.Len(t, snap.Jobs, len(here))
					if !w.Calm { // a slot may have less than its running jobs use
						continue
					}
					for at := snap.Now; at < snap.Now+60; at++ {
						for _, slot := range snap.Slots {
							use := make(backfill.Vector, len(slot.Capacity))
							for _, j := range snap.Jobs {
								for _, c := range j.Placement {
									if c.Slot == slot.ID && j.Start <= at && at < j.End {
										use.AddScaled(j.Job.Request, int64(c.Count))
									}
								}
							}
							require.True(t, use.Within(slot.Capacity), "%v of %v on %s at %d", use, slot.Capacity,
								slot.Name, at)
						}
					}
				}
			}
		})
	}
}

// TestHardLimitsHold checks, for each job that starts, that the running jobs of its owner and QOS
// are within their hard limits. Other owners are not checked, because jobs that were found running
// may be over a limit.
func TestHardLimitsHold(t *testing.T) {
	for seed := range thorough.Seeds(10, 30) {
		w := newWild(t, seed, maui.Spec(), settings["limits"])
		for range 80 {
			_, d := w.round(t)
			jobs, cpus, area, low := map[string]int{}, map[string]int64{}, map[string]int64{}, 0
			for _, j := range w.host.State.Snapshot().Jobs {
				if j.Running {
					owner := j.Job.Labels["owner"]
					jobs[owner]++
					cpus[owner] += j.Job.Width()
					area[owner] += j.Job.Width() * int64(j.Job.Estimate)
					if j.Job.Labels["qos"] == "low" {
						low++
					}
				}
			}
			for _, s := range d.Started {
				owner := s.Job.Labels["owner"]
				require.LessOrEqual(t, jobs[owner], 3)
				require.LessOrEqual(t, cpus[owner], int64(9))
				require.LessOrEqual(t, area[owner], int64(90))
				if s.Job.Labels["qos"] == "low" {
					require.Equal(t, 1, low)
				}
			}
		}
	}
}

// TestReservationsAreRespected checks, on calm pools, that reservations do not move back. A kept
// one never does. The one of the first waiting job does not as long as no job comes before it. Jobs
// are expected to run exactly as long as they are placed for: a longer prediction could delay a
// reservation.
func TestReservationsAreRespected(t *testing.T) {
	for _, name := range []string{"highest", "highest, greedy", "highest, none"} {
		for seed := uint64(0); seed < thorough.Cases[uint64](12, 40); seed += 2 {
			w := newWild(t, seed, maui.Spec(), settings[name])
			w.Predicted = false
			planned := map[id]backfill.Time{}
			for range 80 {
				_, d := w.round(t)
				for _, s := range d.Started {
					if latest, ok := planned[s.Job.ID]; ok {
						require.LessOrEqual(t, d.Now, latest)
					}
					delete(planned, s.Job.ID)
				}
				for _, j := range w.host.State.Snapshot().Jobs {
					start, _, ok := w.host.State.Planned(j.Job.ID)
					if latest, had := planned[j.Job.ID]; had {
						require.True(t, ok, "job %d keeps its reservation", j.Job.ID)
						require.LessOrEqual(t, start, latest)
					}
					if ok {
						planned[j.Job.ID] = start
					}
				}
			}
		}
	}
	for _, name := range []string{"default", "bestfit", "greedy", "none", "chunking", "lists"} {
		for seed := uint64(0); seed < thorough.Cases[uint64](12, 40); seed += 2 {
			w := newWild(t, seed, maui.Spec(), settings[name])
			w.Predicted = false
			var first id
			var latest backfill.Time
			for range 80 {
				_, d := w.round(t)
				head := w.host.State.FirstWaiting(1)
				if len(head) == 0 {
					continue
				}
				start, _, ok := w.host.State.Planned(head[0].ID)
				before := slices.ContainsFunc(d.Started,
					func(s backfill.Started) bool { return s.How != backfill.ByBackfill })
				if ok && head[0].ID == first && !before {
					require.LessOrEqual(t, start, latest, "%s, seed %d: job %d moved back", name, seed, first)
				}
				if first = -1; ok {
					first, latest = head[0].ID, start
				}
			}
		}
	}
}

// TestDeterminism checks that the decisions are the same in a second run, in a run with a state
// that is restored from its snapshot before each round, and in one with a new policy for each
// round.
func TestDeterminism(t *testing.T) {
	for name, opt := range settings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range thorough.Seeds(4, 6) {
				run := func(spec backfill.PolicySpec, restored bool) (all []backfill.Decision) {
					w := newWild(t, seed, spec, opt)
					for range 80 {
						if restored {
							again, err := backfill.Restore(w.host.State.Snapshot())
							require.NoError(t, err)
							w.host.State = again
						}
						_, d := w.round(t)
						all = append(all, d)
					}
					return all
				}
				want := run(maui.Spec(), false)
				require.Equal(t, want, run(maui.Spec(), false), "seed %d: again", seed)
				require.Equal(t, want, run(maui.Spec(), true), "seed %d: restored", seed)
				afresh := maui.Spec()
				afresh.New = func(v backfill.Values) (backfill.Policy, error) {
					return backfill.PolicyFunc(func(c *backfill.Cycle) {
						p, err := maui.Spec().New(v)
						require.NoError(t, err)
						p.Decide(c)
					}), nil
				}
				require.Equal(t, want, run(afresh, false), "seed %d: without memory", seed)
			}
		})
	}
}

// TestSameAsOthers checks that with the right options maui decides the same as another policy. It
// is the same as EASY, of any depth, only if all jobs have the same length: otherwise it fills the
// windows one after the other, so short jobs start before long ones.
func TestSameAsOthers(t *testing.T) {
	for _, tt := range []struct {
		other         string
		others, mauis options
		same          bool // all jobs get the same length
	}{
		{"fcfs", nil, with("backfillpolicy", "NONE"), false},
		{"first-fit", nil, with("reservationpolicy", "NEVER"), false},
		{"first-fit", nil, with("reservationdepth", "0"), false},
		{"best-fit", nil, with("reservationpolicy", "NEVER", "backfillpolicy", "BESTFIT"), false},
		{"easy", nil, nil, true},
		{"easy", with("depth", "2"), with("reservationdepth", "2"), true},
		{"easy", with("depth", "5"), with("reservationdepth", "5"), true},
		{"easy", with("depth", "1000"), with("reservationdepth", "1000"), false}, // nothing is left to backfill
	} {
		t.Run(fmt.Sprint(tt.other, tt.mauis), func(t *testing.T) {
			other, err := policies.Named(tt.other)
			require.NoError(t, err)
			for seed := range thorough.Seeds(10, 30) {
				run := func(spec backfill.PolicySpec, opt options) (told []string) {
					w := newWild(t, seed, spec, opt)
					for range 100 {
						r := w.Round(w.host.State)
						for i, e := range r.Events {
							if e.Job != nil && tt.same {
								j := *e.Job
								j.Estimate = 10
								r.Events[i].Job = &j
							}
						}
						d, err := w.host.Decide(t.Context(), r)
						require.NoError(t, err)
						told = append(told, tell(d, w.host.State))
					}
					return told
				}
				require.Equal(t, run(other, tt.others), run(maui.Spec(), tt.mauis), "seed %d", seed)
			}
		})
	}
}

// TestNotEasy checks a case in which maui and EASY differ: the short job 4 starts, although the
// long job 3 is before it in the queue and fits as well.
func TestNotEasy(t *testing.T) {
	p := newPool(t, nil, 10)
	require.Equal(t, ids(1, 4), p.at(0, nil, job(6, 10), job(8, 10), job(2, 50), job(4, 10)))
}

// TestGreedy checks that GREEDY finds the best of all combinations of the jobs behind a blocked
// one. On one slot a combination fits if the sum of its requests does.
func TestGreedy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		worth := map[string]func(j backfill.Job) int64{
			"PROCS":       func(j backfill.Job) int64 { return j.Request[0] },
			"PROCSECONDS": func(j backfill.Job) int64 { return j.Request[0] * int64(j.Estimate) },
			"SECONDS":     func(j backfill.Job) int64 { return int64(j.Estimate) },
		}
		metric := rapid.SampledFrom(slices.Sorted(maps.Keys(worth))).Draw(t, "metric")
		resources := rapid.IntRange(1, 3).Draw(t, "resources")
		idle := make(backfill.Vector, resources)
		for k := range idle {
			idle[k] = rapid.Int64Range(1, 12).Draw(t, "idle")
		}
		jobs := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) backfill.Job {
			j := backfill.Job{
				Nodes: 1, Request: make(backfill.Vector, resources),
				Estimate: backfill.Time(rapid.IntRange(1, 20).Draw(t, "estimate")),
			}
			for k := range j.Request {
				j.Request[k] = rapid.Int64Range(0, 8).Draw(t, "request")
			}
			if j.Request.Zero() {
				j.Request[0] = 1
			}
			return j
		}), 0, 9).Draw(t, "jobs")

		// Job 0 runs on one more cpu than those that are idle. Job 1 needs all cpus and is blocked.
		capacity := slices.Clone(idle)
		capacity[0]++
		first, blocked := make(backfill.Vector, resources), make(backfill.Vector, resources)
		first[0], blocked[0] = 1, capacity[0]
		all := append([]backfill.Job{
			{Nodes: 1, Request: first, Estimate: 100},
			{Nodes: 1, Request: blocked, Estimate: 1},
		}, jobs...)
		sum := func(started []id) (n int64) {
			for _, j := range started {
				if j >= 2 {
					n += worth[metric](all[j])
				}
			}
			return n
		}
		run := func(opt options) (started []id) {
			h := newHost(t, backfill.NewState([]string{"cpus", "memory", "gpus"}[:resources], 0), opt, "fcfs")
			r := backfill.Round{
				Candidates: []backfill.CandidateSet{{Candidates: backfill.Candidates{Slots: []backfill.SlotID{0}}}},
				Events: []backfill.Event{{
					Kind: backfill.SlotAdded,
					Slot: backfill.Slot{Name: "a", Capacity: capacity},
				}},
			}
			for i := range all {
				j := all[i]
				j.ID, j.Position.Cluster = id(i), int64(i)
				r.Events = append(r.Events, backfill.Event{Kind: backfill.Submitted, Job: &j})
			}
			d, err := h.Decide(t.Context(), r)
			require.NoError(t, err)
			for _, s := range d.Started {
				started = append(started, s.Job.ID)
			}
			return started
		}
		most := int64(0)
		for mask := range 1 << len(jobs) {
			use, n := make(backfill.Vector, resources), int64(0)
			for i, j := range jobs {
				if mask>>i&1 == 1 {
					use.AddScaled(j.Request, 1)
					n += worth[metric](j)
				}
			}
			if use.Within(idle) {
				most = max(most, n)
			}
		}
		greedy := with("backfillpolicy", "GREEDY", "backfillmetric", metric, "reservationpolicy", "NEVER",
			"backfillmaxschedules", "100000")
		require.Equal(t, most, sum(run(greedy)))

		// With a bound on the attempts the sum is never less than FIRSTFIT's, and a larger bound
		// never makes it smaller.
		least := sum(run(with("reservationpolicy", "NEVER")))
		for _, bound := range []string{"1", "3", "10", "30"} {
			greedy["backfillmaxschedules"] = bound
			n := sum(run(greedy))
			require.GreaterOrEqual(t, n, least)
			least = n
		}
		require.LessOrEqual(t, least, most)
	})
}
