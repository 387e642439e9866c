package negotiator

import (
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
)

// newPriorities is an expression with one job: 2 chunks of 3 cpus and 500 MiB for 10 s, submitted
// at 100.
func newPriorities(tb testing.TB, expression, more string) (*priorities, *backfill.Job) {
	tb.Helper()
	order, err := OrderNamed("expr:" + expression)
	require.NoError(tb, err)
	job := newJob(tb, 1, 3, "QDate = 100; RequestMemory = 500; MinHosts = 2; "+more)
	_, p := order.of(func(backfill.JobID) *Job { return job }, twoResources().Resources, 0, World{})
	return p, &backfill.Job{
		ID: 1, Submit: job.Submit, Nodes: job.Nodes, Request: backfill.Vector{3, 500}, Estimate: job.Estimate,
		Labels: job.Labels,
	}
}

// at is a moment for orders that do not ask for the pool's capacity.
func at(now backfill.Time) backfill.Moment { return backfill.Moment{Now: now} }

func TestExpressions(t *testing.T) {
	last := math.Inf(1)
	for _, tt := range []struct {
		expression string
		want       float64 // the key at 130
		moves      bool
	}{
		{"7", -7, false},
		{"-2.5", 2.5, false},
		{"true", -1, false},
		{"false", 0, false},
		{"undefined", last, false},
		{"error", last, false},
		{"Missing", last, false},
		{"TARGET.Cpus", last, false},
		{"MY.Owner", last, false}, // a text
		{"{ 1 }", last, false},
		{"random()", last, false},
		{`real("NaN")`, last, false},
		{`real("-INF")`, math.MaxFloat64, false},
		{`real("INF")`, math.Inf(-1), false},
		{"1/0", last, false},
		{"QDate", -100, false},
		{"Width", -6, false},
		{"MinHosts", -2, false},
		{"RequestCpus * 1000 + RequestMemory", -3500, false},
		{"EstimatedRunTime", -10, false},
		{"JobPrio", -4, false},
		{`Owner == "alice"`, -1, false},
		{"WaitTime", -30, true},
		{"MY.WaitTime / EstimatedRunTime", -3, true},
		{"CurrentTime", -130, true},
		{"time() - QDate", -30, true},
		{"Nice", -31, true}, // the job's own expression
		{"JobPrio > 3 ? JobPrio : WaitTime", -4, false},
		{"JobPrio < 3 ? JobPrio : WaitTime", -30, true},
		{"WaitTime > 60 ? undefined : 1", -1, true},
	} {
		p, j := newPriorities(t, tt.expression, `Owner = "alice"; JobPrio = 4; Nice = CurrentTime - 99`)
		key, moves := p.key(j, at(130))
		require.InDelta(t, keyNumber(tt.want), keyNumber(key), 0, tt.expression)
		require.Equal(t, tt.moves, moves == backfill.Moves{WithTime: true}, tt.expression)
	}
}

// keyNumber makes infinity comparable.
func keyNumber(key float64) float64 {
	if math.IsInf(key, 0) {
		return math.Copysign(1e308, key)
	}
	return key
}

// The planned values count, whatever the ad says.
func TestAdsCannotLie(t *testing.T) {
	p, j := newPriorities(t, "WaitTime * 1000 + Width", "WaitTime = 1000000; Width = 77; CurrentTime = 5000")
	key, _ := p.key(j, at(130))
	require.InDelta(t, -30_006, key, 0)
	key, _ = p.key(j, at(90))
	require.InDelta(t, -6, key, 0, "clocks that disagree")

	p, j = newPriorities(t, "EstimatedRunTime", "")
	j.Estimate = 55 // as for a job without an estimate
	key, _ = p.key(j, at(130))
	require.InDelta(t, -55, key, 0)
}

// TestOncePerJob counts evaluations by how often they read the clock.
func TestOncePerJob(t *testing.T) {
	p, j := newPriorities(t, "time() % 7", "")
	looks := 0
	clock := p.host.Now
	p.host.Now = func() int64 { looks++; return clock() }
	for range 3 {
		_, _ = p.key(j, at(130))
	}
	require.Equal(t, 1, looks, "once an instant")
	_, _ = p.key(j, at(131))
	require.Equal(t, 2, looks)
	changed := *j
	changed.Estimate++
	_, _ = p.key(&changed, at(131))
	require.Equal(t, 3, looks, "it is another job now")

	p, j = newPriorities(t, "Width", "")
	_, _ = p.key(j, at(130))
	require.Nil(t, p.known[1].ad, "it will not be evaluated again")
	key, moves := p.key(j, at(999))
	require.InDelta(t, -6, key, 0)
	require.Zero(t, moves)
	p.forget(1)
	require.Empty(t, p.known)
	(*priorities)(nil).forget(1)
}

// TestUnordered evaluates expressions with and without numbers.
func TestUnordered(t *testing.T) {
	p, j := newPriorities(t, "CurrentTime > 130 ? 1 : undefined", "")
	require.False(t, p.unordered(), "nobody was asked")
	_, _ = p.key(j, at(130))
	require.True(t, p.unordered())
	p.forget(1)
	require.True(t, p.unordered())
	_, _ = p.key(j, at(131))
	require.False(t, p.unordered())
	_, _ = p.key(j, at(130))
	require.False(t, p.unordered(), "it had a number once")
	require.False(t, (*priorities)(nil).unordered())
}

func TestOrderNamed(t *testing.T) {
	_, err := OrderNamed("tallest")
	require.EqualError(t, err, `unknown order "tallest", did you mean widest?: choose one of area, fcfs, fifo, `+
		`ljf, narrowest, sjf, wfp, wfp-wide, widest, xfactor, fairshare or expr:EXPRESSION`)
	_, err = OrderNamed(FairShare)
	require.ErrorContains(t, err, "follows from the account of users, which nobody keeps here")
	require.Contains(t, OrderHelp(), "\n  fairshare ")
	_, err = OrderNamed("expr:1 +* 2")
	_, isSyntax := errors.AsType[*classad.SyntaxError](err)
	require.True(t, isSyntax)
	require.ErrorContains(t, err, "\n1 +* 2\n   ^")
	for _, o := range backfill.Orders() {
		_, err = OrderNamed(o.Name)
		require.NoError(t, err)
		require.Contains(t, OrderHelp(), "\n  "+o.Name+" ")
	}
}

// TestNegotiatorByExpression: jobs start in the order of an expression, and the value of a job that
// is gone is dropped.
func TestNegotiatorByExpression(t *testing.T) {
	order, err := OrderNamed("expr:JobPrio * WaitTime")
	require.NoError(t, err)
	n, err := New(Config{Schema: twoResources(), Order: order, Policy: linked(t, "fcfs"), Fallback: linked(t, "easy")})
	require.NoError(t, err)
	d := Delta{SlotsUp: []*Slot{newSlot(t, "a", 1, "")}}
	for i, prio := range []string{"JobPrio = 0", "", "JobPrio = -1", "JobPrio = 2", "JobPrio = 3; QDate = 5"} {
		d.Submitted = append(d.Submitted, newJob(t, i, 1, prio))
	}
	late := d.Submitted[4]
	d.Submitted = d.Submitted[:4]
	require.Equal(t, []string{"1.0@a×1"}, started(cycle(t, n, d)), "none has waited")
	require.Equal(t, "[2 3 1]", waitingJobs(n))
	_ = cycle(t, n, Delta{Now: 5, Submitted: []*Job{late}})
	require.Equal(t, "[3 4 2 1]", waitingJobs(n))
	_ = cycle(t, n, Delta{Now: 30, StartFailed: []backfill.JobID{0}})
	require.Equal(t, "[3 0 2 1]", waitingJobs(n), "job 4 was started; job 0 is back")
	require.Len(t, n.priorities.known, 5)
	_ = cycle(t, n, Delta{Now: 31, Completed: []backfill.JobID{4}, Removed: []backfill.JobID{1}})
	require.Len(t, n.priorities.known, 3)
}

func waitingJobs(n *Negotiator) string {
	var queue []backfill.JobID
	for _, j := range n.State().FirstWaiting(99) {
		queue = append(queue, j.ID)
	}
	return fmt.Sprint(queue)
}

// TestSameAsTheCore: expressions of the core's orders give the same keys, to the last bit.
func TestSameAsTheCore(t *testing.T) {
	for name, expression := range map[string]string{
		"sjf": "-EstimatedRunTime", "ljf": "EstimatedRunTime", "widest": "Width",
		"narrowest": "-(RequestCpus * MinHosts)",
		"xfactor":   "1.0 * (WaitTime + EstimatedRunTime) / EstimatedRunTime",
		"wfp": "(1.0*WaitTime/EstimatedRunTime) * (1.0*WaitTime/EstimatedRunTime) " +
			"* (1.0*WaitTime/EstimatedRunTime) * Width",
	} {
		core, err := backfill.OrderNamed(name)
		require.NoError(t, err)
		order, err := OrderNamed("expr:" + expression)
		require.NoError(t, err)
		job := newJob(t, 1, 1, "")
		rapid.Check(t, func(rt *rapid.T) {
			j := &backfill.Job{
				ID: 1, Submit: backfill.Time(rapid.Int64Range(0, 1<<40).Draw(rt, "submit")),
				Nodes:    rapid.IntRange(1, 1000).Draw(rt, "nodes"),
				Request:  backfill.Vector{rapid.Int64Range(0, 1<<30).Draw(rt, "cpus"), 1},
				Estimate: backfill.Time(rapid.Int64Range(1, 1<<40).Draw(rt, "estimate")),
			}
			now := backfill.Time(rapid.Int64Range(0, 1<<41).Draw(rt, "now"))
			_, p := order.of(func(backfill.JobID) *Job { return job }, twoResources().Resources, 0, World{})
			want, _ := core(j, at(now))
			got, _ := p.key(j, at(now))
			require.InDelta(rt, want, got, 0, name)
		})
	}
}

// TestExpressionsAtAnInstantOfTheWorld checks that an expression sees Unix times and the zone, however the
// pool counts.
func TestExpressionsAtAnInstantOfTheWorld(t *testing.T) {
	paris := time.FixedZone("CET", 3600)
	for expression, want := range map[string]float64{
		"CurrentTime":                        1_000_000_130,
		"time()":                             1_000_000_130,
		"QDate":                              1_000_000_100,
		"WaitTime":                           30,
		"CurrentTime - QDate":                30,
		`int(formatTime(CurrentTime, "%H"))`: 2, // 01:48:50 UTC
	} {
		order, err := OrderNamed("expr:" + expression)
		require.NoError(t, err)
		job := newJob(t, 1, 1, "")
		key := order.Of(map[backfill.JobID]*Job{1: job}, twoResources().Resources, 0,
			World{Start: 1_000_000_000, Zone: paris})
		got, _ := key(&backfill.Job{ID: 1, Submit: 100, Nodes: 1, Request: backfill.Vector{1, 1}, Estimate: 10}, at(130))
		require.InDelta(t, -want, got, 0, expression)
	}
}

// BenchmarkExpression is one job's key: evaluated at each instant, or known.
func BenchmarkExpression(b *testing.B) {
	for _, expression := range []string{
		"-EstimatedRunTime", "WaitTime * Width",
		"pow(1.0 * WaitTime / EstimatedRunTime, 3) * Width",
	} {
		b.Run(expression, func(b *testing.B) {
			p, j := newPriorities(b, expression, "")
			now := backfill.Time(100)
			for b.Loop() {
				_, _ = p.key(j, at(now))
				now++
			}
		})
	}
	b.Run("a new job", func(b *testing.B) {
		p, j := newPriorities(b, "-EstimatedRunTime", "")
		for b.Loop() {
			p.forget(1)
			_, _ = p.key(j, at(100))
		}
	})
}

// A job whose own attributes make the order too expensive comes last, is named once, and does not
// cost the same again at the next instant.
func TestExpensiveOrder(t *testing.T) {
	p, j := newPriorities(t, "Costly + CurrentTime", `Costly = regexp("(a+)+$", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaab")`)
	key, moves := p.key(j, at(130))
	require.True(t, math.IsInf(key, 1))
	require.Zero(t, moves)
	require.Nil(t, p.known[1].ad, "it will not be evaluated again")
	require.Len(t, p.takeExpensive(), 1)
	_, _ = p.key(j, at(131))
	require.Empty(t, p.takeExpensive())
	require.Empty(t, (*priorities)(nil).takeExpensive())
}
