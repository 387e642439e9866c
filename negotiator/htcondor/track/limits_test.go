package track

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// licensed has a job want one license.
func licensed(g *observe.Group) {
	is("licensed", func(s *observe.Spec) { s.Limits, s.Limited = "sw", []accountant.Limit{{Name: "sw", Wanted: 1}} })(g)
}

// promises takes in a plan with jobs that are promised a start in so many seconds.
func (p *pool) promises(starts map[backfill.JobID]backfill.Time) (broken []Broken) {
	var plan negotiator.Checkpoint
	for id := range backfill.JobID(10) {
		if in, planned := starts[id]; planned {
			plan.Jobs = append(plan.Jobs, negotiator.JobCheckpoint{
				Job:      &negotiator.Job{ID: id, Name: "a job"},
				Standing: backfill.Standing{Start: p.unix() + in, Promised: true, Guarantee: p.unix() + in},
			})
		}
	}
	return p.belief.TakePlan(plan)
}

// wants has a job want so many licenses.
func wants(n float64) func(*observe.Group) {
	return is(fmt.Sprint("licensed ", n), func(s *observe.Spec) {
		s.Limits, s.Limited = "sw", []accountant.Limit{{Name: "sw", Wanted: n}}
	})
}

// TestChargeOfAnAskedJob: a job that is only asked about takes of the limits that it names, also of those
// of which the negotiator was not told, as they bind nobody. Nothing is noted.
func TestChargeOfAnAskedJob(t *testing.T) {
	const sw = "concurrency limit sw"
	p := accounted(t)
	p.look()
	ask := func(limits string) ([]negotiator.Take, []negotiator.Limit, error) {
		j := &negotiator.Job{Ad: classad.New()}
		require.NoError(t, j.Ad.SetExpr("ConcurrencyLimits", limits))
		untold, err := p.belief.limits.Charge(j)
		return j.Takes, untold, err
	}
	for cluster := range int64(3) {
		p.job(cluster+1, licensed)
		p.look()
		takes, untold, err := ask(`"SW:2, other"`)
		require.NoError(t, err)
		require.Equal(t, negotiator.Take{Limit: sw, Amount: 2 * negotiator.LimitUnit}, takes[0])
		if cluster < 2 {
			require.Equal(t, negotiator.Limit{Name: sw, Height: 2 * negotiator.LimitUnit}, untold[0])
		} else {
			require.Len(t, untold, 1, "three cannot have it at once")
		}
		if cluster == 0 {
			p.runs(1, "a")
			p.look()
			_, untold, err = ask(`"sw"`)
			require.NoError(t, err)
			require.EqualValues(t, 2*negotiator.LimitUnit, untold[0].Height, "with what runs")
		}
	}
	for _, bound := range p.belief.limits.bounds.All() {
		require.NotEqual(t, "concurrency limit other", bound.Name)
	}
	for limits, why := range map[string]string{
		`"sw:3"`:            "can never start under concurrency limit sw: 3 wanted of 2",
		`TARGET.Cpus`:       "are undefined without a slot",
		`17`:                "must be a text",
		`undefined`:         "must be a text",
		`error`:             "must be a text",
		`strcat("sw",":3")`: "can never start",
	} {
		_, _, err := ask(limits)
		require.ErrorContains(t, err, why, limits)
	}
	untold, err := (*Limits)(nil).Charge(&negotiator.Job{Ad: classad.New()})
	require.NoError(t, err)
	require.Empty(t, untold)
}

// TestLimits: all jobs are planned with; the negotiator is told of a limit once not all who want it
// can have it, and of what is left of it for the jobs that it knows.
func TestLimits(t *testing.T) {
	followAll(t, accounted, map[string][]step{
		"one that cannot bind": {
			{do: func(p *pool) { p.job(1, licensed); p.job(2, licensed) }, want: "submitted 1.0=#1, submitted 2.0=#2"},
			{do: func(p *pool) { p.runs(1, "a") }, want: "found 1.0=#1 on a×1 since 0"},
		},
		"one that binds stays while it is named": {
			{do: func(p *pool) {
				for cluster := range int64(3) {
					p.job(cluster+1, licensed)
				}
			}, want: "limit concurrency limit sw is 2, submitted 1.0=#1, submitted 2.0=#2, submitted 3.0=#3"},
			{do: func(p *pool) { p.leaves(1); p.leaves(2) }, want: "removed #1, removed #2"},
			{do: func(p *pool) { p.leaves(3) }, want: "no limit concurrency limit sw, removed #3"},
		},
		"what cannot be planned with takes of its height": {
			{do: func(p *pool) {
				p.job(1, is("strange", func(s *observe.Spec) {
					s.Wrong, s.Limited = errors.New("strange"), []accountant.Limit{{Name: "sw", Wanted: 0.5}}
				}))
				p.job(2, licensed)
				p.runs(1, "a")
			}, want: "submitted 2.0=#2"},
			{do: func(p *pool) { p.job(3, licensed) }, want: "limit concurrency limit sw is 1.5, submitted 3.0=#3"},
			{do: func(p *pool) { p.runs(2, "b") }, want: "found 2.0=#2 on b×1 since 0"},
			{do: func(p *pool) { p.leaves(1) }, want: "limit concurrency limit sw is 2"},
		},
		"never": {
			{do: func(p *pool) { p.job(1, wants(3)); p.job(2, wants(2)) }, want: "submitted 2.0=#2, " +
				"unplanned 1.0 can never start under concurrency limit sw: 3 wanted of 2"},
			{do: func(p *pool) { p.job(2, wants(2.5)) }, want: "removed #2, " +
				"unplanned 1.0 can never start under concurrency limit sw: 3 wanted of 2, " +
				"unplanned 2.0 can never start under concurrency limit sw: 2.5 wanted of 2"},
		},
	})
}

// TestTakes: a job is told with all limits that may ever apply to it, in millionths that are rounded
// up; jobs that are alike share them.
func TestTakes(t *testing.T) {
	p := accounted(t)
	p.job(1, wants(0.1))
	p.job(2, wants(1.0/3))
	p.jobs[key(3)] = p.jobs[key(1)]
	p.job(3, func(g *observe.Group) { g.Jobs = []observe.JobKey{key(3)} })
	p.belief.See(p.snapshot())
	told := p.belief.Diff(p.dispatched).Delta.Submitted
	require.Equal(t, []negotiator.Take{
		{Limit: "concurrency limit sw", Amount: 100_000}, {Limit: "jobs of schedd s", Amount: negotiator.LimitUnit},
	}, told[0].Takes)
	require.Equal(t, int64(333_334), told[1].Takes[0].Amount)
	require.Same(t, &told[0].Takes[0], &told[2].Takes[0])
}

// TestRooms: how many jobs a schedd runs at once is a limit; those that run elsewhere count.
func TestRooms(t *testing.T) {
	p := accounted(t)
	p.schedd("s", func(s *observe.Schedd) { s.Room = &accountant.Room{Jobs: 2} })
	p.follow([]step{
		{do: func(p *pool) { p.job(1); p.job(2) }, want: "submitted 1.0=#1, submitted 2.0=#2"},
		{do: func(p *pool) { p.job(3) }, want: "limit jobs of schedd s is 2, submitted 3.0=#3"},
		{do: func(p *pool) { p.runs(1, "a") }, want: "found 1.0=#1 on a×1 since 0"},
		{do: func(p *pool) { p.runs(2, "elsewhere") }, want: "limit jobs of schedd s is 1, removed #2, elsewhere #2"},
		{
			do:   func(p *pool) { p.schedd("s", func(s *observe.Schedd) { s.Room = nil }) },
			want: "limit jobs of schedd s is 1e+09",
		},
	})
	require.Empty(t, p.belief.limits.Lacking(p.belief.Job(3)))
	p.schedd("s", func(s *observe.Schedd) { s.Room = &accountant.Room{Jobs: 2} })
	require.Equal(t, "limit jobs of schedd s is 1", p.look())
	require.Equal(t, "its schedd runs no more than 2 jobs at once", p.belief.limits.Lacking(p.belief.Job(3)))
	p.schedd("s", func(s *observe.Schedd) { s.Room = &accountant.Room{Why: "it is tired"} })
	require.Equal(t, "limit jobs of schedd s is 0", p.look())
	require.Equal(t, "it is tired", p.belief.limits.Lacking(p.belief.Job(3)))
	p.job(4)
	require.Equal(t, "submitted 4.0=#4", p.look())
	p.schedd("s", func(s *observe.Schedd) { s.Room = &accountant.Room{Jobs: 3} })
	require.Equal(t, "limit jobs of schedd s is 2", p.look())
}

// TestLacking: whoever waits is told which limit has no room for him now, in words that programs read.
func TestLacking(t *testing.T) {
	p := accounted(t)
	p.job(1, wants(2))
	p.runs(1, "a")
	for cluster := range int64(3) {
		p.job(cluster+2, licensed)
	}
	p.look()
	id := p.belief.Find("3.0")[0]
	const why = "2 of 2 in use, 3 jobs wait for it, 1 wanted: concurrency limit sw reached"
	require.Equal(t, why, p.belief.limits.Lacking(p.belief.Job(id)))
	n := 0
	for _, because := range p.belief.limits.Reached {
		limit, _ := accountant.Reached(because)
		require.Equal(t, "sw", limit)
		require.Equal(t, why, because)
		n++
	}
	require.Equal(t, 3, n)
	inUse := p.belief.s.Accounting.Accountant.LimitsInUse()
	require.Equal(t, []accountant.LimitUse{{Name: "sw", Height: 2, Used: 2, Wanted: 3, Waiting: 3}}, inUse)
	require.Equal(t, "sw: 2 of 2 in use, 3 wanted by 3 waiting", inUse[0].String())
}

// TestInventedLimits: a user who invents limits has few rows, and others have theirs.
func TestInventedLimits(t *testing.T) {
	p := accounted(t)
	lookup := func(string) (string, bool) { return "1", true }
	p.belief.s.Accounting.Limits = accountant.NewLimits(lookup)
	names := func(user, limit string) func(*observe.Group) {
		return func(g *observe.Group) {
			g.Spec = g.Spec.As(observe.Charged{User: user, Limits: limit}, g.Spec.Request, 1, p.belief.s.Schema.Resources)
		}
	}
	for i := range int64(6000) {
		p.job(i, names("eve@test", fmt.Sprint("l", i/2)))
	}
	p.job(6000, names("bob@test", "sw"))
	p.job(6001, names("bob@test", "sw"))
	p.belief.See(p.snapshot())
	out := p.belief.Diff(p.dispatched)
	require.Len(t, out.Delta.Limits, mostLimits/4+1)
	require.Len(t, out.Delta.Submitted, mostLimits/2+2)
	require.Equal(t, accountant.TooMany("eve@test"), p.belief.View().All()[0].Why)
}

// TestNoLimitIsExceeded: whatever runs in the plan and beside it, what a limit has left for the plan
// is no more than there is.
func TestNoLimitIsExceeded(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := accounted(t)
		number := func(label string, least, most int) int { return rapid.IntRange(least, most).Draw(rt, label) }
		there := func(do func(n int64)) func(*rapid.T) {
			return func(*rapid.T) {
				if n := int64(number("cluster", 1, 6)); p.jobs[key(n)] != nil {
					do(n)
				}
			}
		}
		heights := map[string]int64{}
		rt.Repeat(map[string]func(*rapid.T){
			"submit": func(*rapid.T) { p.job(int64(number("cluster", 1, 6)), wants(float64(number("wants", 1, 4))/2)) },
			"leave":  there(p.leaves),
			"vacate": there(p.idles),
			"run":    there(func(n int64) { p.runs(n, rapid.SampledFrom([]string{"a", "b", "elsewhere"}).Draw(rt, "slot")) }),
			"edit":   there(func(n int64) { p.job(n, wants(float64(number("wants", 1, 4))/2)) }),
			"": func(*rapid.T) {
				d := p.diff().Delta
				for _, l := range d.Limits {
					heights[l.Name] = l.Height
				}
				for _, name := range d.LimitsGone {
					require.Contains(rt, heights, name)
					delete(heights, name)
				}
				used, told, wanted := 0.0, 0.0, 0.0
				for _, j := range p.belief.all {
					one := j.charged().Limited[0].Wanted
					switch {
					case j.Phase == Running:
						used += one
						for _, take := range j.takes {
							if take.Limit == "concurrency limit sw" {
								told += float64(take.Amount) / negotiator.LimitUnit
							}
						}
					case p.belief.runsUnfit(j):
						used += one
					case j.Phase == Waiting:
						wanted += one
					}
				}
				if height, bound := heights["concurrency limit sw"]; bound {
					require.LessOrEqual(rt, used-told+float64(height)/negotiator.LimitUnit, max(2, used-told))
				} else {
					require.LessOrEqual(rt, used+wanted, 2.0)
				}
			},
		})
	})
}

// TestLimitsOutliveAProcess: the next negotiator has the limits that its checkpoint rests on.
func TestLimitsOutliveAProcess(t *testing.T) {
	p := accounted(t)
	for cluster := range int64(3) {
		p.job(cluster+1, licensed)
	}
	p.look()
	limit := negotiator.Limit{Name: "concurrency limit sw", Height: 2 * negotiator.LimitUnit}
	saved := p.belief.Save(negotiator.Checkpoint{Limits: []negotiator.Limit{limit}})
	saved.Limits = append(saved.Limits, SavedLimit{Name: "bad", Height: -1}, saved.Limits[0])
	m, _ := p.restore(saved)
	require.Equal(t, []negotiator.Limit{limit}, m.Limits)
	require.Equal(t, "up a, up b, submitted 1.0=#1, submitted 2.0=#2, submitted 3.0=#3", p.look())
	for cluster := range int64(3) {
		p.leaves(cluster + 1)
	}
	require.Equal(t, "no limit concurrency limit sw, removed #1, removed #2, removed #3", p.look())
}

// A job that leaves the plan for a limit is owed what it was promised: a later start breaks that by the
// limit.
func TestALimitBreaksWhatWasPromised(t *testing.T) {
	t.Parallel()
	plan := negotiator.JobCheckpoint{
		Job: &negotiator.Job{ID: 1, Name: "1.0"}, Standing: backfill.Standing{Start: 300, Promised: true, Guarantee: 300},
	}
	for promised, want := range map[backfill.Time][]Broken{
		200: {{"1.0", 200, 300, "limit"}},
		300: nil,
	} {
		j := Job{promised: promised, owed: true, yielded: true}
		require.Equal(t, want, j.promise(plan, 0))
		require.False(t, j.owed || j.yielded)
	}
	// So is one that the plan holds while the limit is too low for it.
	j := Job{promised: 200}
	held := negotiator.JobCheckpoint{
		Job: plan.Job, Standing: backfill.Standing{Held: "takes more of a limit than there is: 1 of a, which is 0"},
	}
	require.Nil(t, j.promise(held, 0))
	require.Equal(t, []Broken{{"1.0", 200, 300, "limit"}}, j.promise(plan, 0))
}
