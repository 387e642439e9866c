package track

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

const part = "slot1_1@a"

// stranger is the key of a job that no queue shows.
var stranger = observe.JobKey{Schedd: "other", Cluster: 7}

// cut cuts a dynamic slot from slot a for a job.
func cut(job observe.JobKey) func(p *pool) { return func(p *pool) { p.claim(part, "a", job) } }

// TestClaims says after what time a claim of no known job is planned around, and until when.
func TestClaims(t *testing.T) {
	idle, ended := observe.JobKey{}, func(p *pool) { p.leaves(1) }
	gone := func(p *pool) { p.miss(part) }
	followAll(t, begun, map[string][]step{
		"it runs a job": {
			{do: cut(stranger)},
			{after: 9},
			{after: 1, want: "found 7.0@other=#1 on a×1 since 0"},
			{after: 100},
			{after: 1, do: gone, want: "completed #1"},
			{after: 1, want: "dropped " + part},
		},
		"it is idle": {
			{do: cut(idle)},
			{after: 29},
			{after: 1, want: "found claim of " + part + "=#1 on a×1 since 0"},
			{after: 1, do: gone, want: "completed #1"},
		},
		"it is idle, and another is on its way there": {
			waiting,
			{after: 1, do: func(p *pool) {
				cut(idle)(p)
				p.start(1, sent, "a")
			}},
			{after: 89},
			{after: 1, want: "found claim of " + part + "=#2 on a×1 since 1"},
		},
		"it is idle, and another is on its way elsewhere": {
			waiting,
			{after: 1, do: func(p *pool) {
				cut(idle)(p)
				p.start(1, sent, "b")
			}},
			{after: 29},
			{after: 1, want: "found claim of " + part + "=#2 on a×1 since 1"},
		},
		"it ends in time": {
			{do: cut(stranger)},
			{after: 9, do: gone, want: "dropped " + part},
			{after: 1, do: cut(stranger)},
			{after: 9},
			{after: 1, want: "found 7.0@other=#1 on a×1 since 10"},
		},
		"it belongs to a job that runs there": runsOnA(
			step{do: cut(key(1))}, step{after: 20}, step{after: 20, want: "proven a×1 for s"},
		),
		"its job becomes known": {
			{do: cut(key(1))},
			{after: 10, want: "found 1.0@s=#1 on a×1 since 0"},
			{after: 1, do: func(p *pool) { p.runs(1, "a") }, want: "found 1.0=#2 on a×1 since 0, completed #1"},
			{after: 1},
		},
		"its job is known to wait": {
			waiting,
			{do: cut(key(1))},
			{after: 10, want: "found 1.0@s=#2 on a×1 since 0"},
		},
		"its job runs elsewhere": {
			{do: func(p *pool) { p.runs(1, "b") }, want: "found 1.0=#1 on b×1 since 0"},
			{do: cut(key(1))},
			{after: 10, want: "found 1.0@s=#2 on a×1 since 0"},
		},
		"its job has ended": runsOnA(
			step{do: cut(key(1))},
			step{after: 20, do: ended, want: "completed #1 ran ?, proven a×1 for s"},
			step{after: 600},
		),
		"its job has ended, and its startd advertises it": runsOnA(
			step{do: cut(key(1))},
			step{after: 20, do: ended, want: "completed #1 ran ?, proven a×1 for s"},
			step{after: 1, do: func(p *pool) { p.slot(part, func(s *observe.Slot) { s.Changed = p.now }) }},
			step{after: 58},
			step{after: 1, want: "found 1.0=#2 on a×1 since 5"}, // whatever its queue says
			step{after: 60, do: func(p *pool) { delete(p.slots, part) }, want: "completed #2 ran 140, proven a×1 for s"},
		),
		"its job has ended long ago": runsOnA(
			step{do: cut(key(1))},
			step{after: 20, do: ended, want: "completed #1 ran ?, proven a×1 for s"},
			step{after: 15 * 60},
			step{after: 1}, // nobody knows the job any more, and the claim is watched from now on
			step{after: 9},
			step{after: 1, want: "found 1.0@s=#2 on a×1 since 5"},
		),
		"its job is not asked for any more": runsOnA(
			step{do: cut(key(1))},
			step{after: 20, do: func(p *pool) {
				p.schedd("s", func(s *observe.Schedd) { s.AskedSince = p.number + 1 })
				ended(p)
			}, want: "completed #1 ran ?"},
			step{after: 10, want: "found 1.0@s=#2 on a×1 since 5"},
		),
		"all of its machine is missing": {
			{do: cut(stranger)},
			{after: 5, do: func(p *pool) {
				p.miss("a")
				p.miss(part)
			}, want: "dropped " + part},
		},
		"the slot that it was cut from is not there": {
			{do: func(p *pool) { p.claim("slot1_1@c", "c", stranger) }, want: "up c"},
			{after: 1, do: func(p *pool) { delete(p.slots, "slot1@c") }},
			{after: 20},
		},
	})
}

// TestClaimsAtFirst says that a negotiator that begins is told at once of claims that run jobs, and
// of idle ones after the usual time.
func TestClaimsAtFirst(t *testing.T) {
	followAll(t, newPool, map[string][]step{
		"it runs a job": {
			{do: cut(stranger), want: "up a, up b, found 7.0@other=#1 on a×1 since 0"},
			{after: 60},
		},
		"it is idle": {
			{do: cut(observe.JobKey{}), want: "up a, up b"},
			{after: 29},
			{after: 1, want: "found claim of " + part + "=#1 on a×1 since 0"},
		},
		"it began before": {{do: func(p *pool) {
			p.claim(part, "a", stranger, func(s *observe.Slot) { s.ClaimedSince -= 100 })
		}, want: "up a, up b, found 7.0@other=#1 on a×1 since -100"}},
		"it begins in the future, by its startd's clock": {{do: func(p *pool) {
			p.claim(part, "a", stranger, func(s *observe.Slot) { s.ClaimedSince += 100 })
		}, want: "up a, up b, found 7.0@other=#1 on a×1 since 0"}},
		"a static slot": {
			{do: func(p *pool) {
				p.slot("a", func(s *observe.Slot) { s.Claimed, s.Runs, s.ClaimedSince = true, stranger, begin })
			}, want: "up a, up b, found 7.0@other=#1 on a×1 since 0"},
			{after: 1, do: func(p *pool) {
				p.slot("a", func(s *observe.Slot) { s.Claimed = false })
			}, want: "completed #1"},
		},
	})
}

// TestForeignJobs says what a claim takes as a job, and how long it is taken to last.
func TestForeignJobs(t *testing.T) {
	for name, c := range map[string]struct {
		change   func(s *observe.Slot)
		static   bool
		request  []int64
		estimate backfill.Time
	}{
		"a dynamic slot": {change: func(*observe.Slot) {}, request: []int64{2, 256, 1}},
		"it is idle": {
			change: func(s *observe.Slot) { s.Runs = observe.JobKey{} }, request: []int64{2, 256, 1},
			estimate: 600,
		},
		"it has no cpu": {
			change: func(s *observe.Slot) { s.Free = backfill.Vector{0, 256, 0} }, request: []int64{1, 256, 1},
		},
		"a static slot": {
			static: true, change: func(s *observe.Slot) { s.Free = backfill.Vector{0, 0, 0} },
			request: []int64{4, 4096, 1},
		},
		"a static, idle slot": {
			static: true, change: func(s *observe.Slot) { s.Runs = observe.JobKey{} },
			request: []int64{4, 4096, 1}, estimate: 600,
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := begun(t)
			slot := part
			if c.static {
				slot = "slot1@a"
				p.slot(slot, func(s *observe.Slot) { s.Claimed, s.Runs, s.Claimer = true, stranger, "eve@test" })
			} else {
				cut(stranger)(p)
			}
			p.slot(slot, c.change)
			require.Empty(t, p.look())
			p.now = p.now.Add(foreignIdleAfter)
			p.belief.See(p.snapshot())
			out := p.belief.Diff(p.dispatched)
			require.Len(t, out.Delta.Found, 1)
			found := out.Delta.Found[0]
			for i, resource := range p.belief.s.Schema.Resources {
				n, ok := found.Job.Ad.Int("Request" + negotiator.Attribute(resource))
				require.True(t, ok)
				require.Equal(t, c.request[i], n, resource)
			}
			require.True(t, classad.Match(found.Job.Ad, p.slots["slot1@a"].Ad.Ad))
			require.Equal(t, c.estimate, found.Job.Estimate)
			require.Equal(t, map[string]string{"owner": "eve@test"}, found.Job.Labels)
			require.Equal(t, backfill.QueuePosition{Queue: slot}, found.Job.Position)
			require.Equal(t, negotiator.Placement{{Slot: p.slots["slot1@a"].Ad, Count: 1}}, found.Placement)
			require.Equal(t, 1, p.belief.View().Foreign)
		})
	}
}

// TestClaimsThatEndSoon says for how long a claim is planned around whose job has ended, or which
// keeps data: not for a day, as that of an unknown job may be.
func TestClaimsThatEndSoon(t *testing.T) {
	cleans := func(p *pool) { p.slot(part, func(s *observe.Slot) { s.Changed, s.Cleaning = p.now, true }) }
	data := func(p *pool) {
		p.slot(part, func(s *observe.Slot) { s.Data, s.Free = true, backfill.Vector{0, 128, 0} })
	}
	gone := func(p *pool) { p.miss(part) }
	for name, c := range map[string]struct {
		steps    []step
		estimate backfill.Time // that it begins with
		cpus     int64
	}{
		"of a job that has ended, for long": {runsOnA(
			step{do: cut(key(1))},
			step{after: 60, do: func(p *pool) {
				p.leaves(1)
				cleans(p)
			}, want: "completed #1 ran 60, proven a×1 for s"},
			step{after: 1, do: cleans},
			step{after: 59, do: cleans},
			step{after: 1, do: cleans, want: "found 1.0@s=#2 on a×1 since 126"},
		), cleaningEstimate, 2},
		"of an unknown job that has ended": {[]step{
			{do: cut(stranger)},
			{after: 1, do: cleans},
			{after: 50, do: cleans},
			{after: 9, do: cleans, want: "found 7.0@other=#1 on a×1 since 60"},
		}, cleaningEstimate, 2},
		"data of an unknown job": {[]step{
			{do: func(p *pool) {
				cut(stranger)(p)
				data(p)
			}},
			{after: 10, want: "found 7.0@other=#1 on a×1 since 0"},
		}, idleEstimate, 0},
		"data of no job": {[]step{
			{do: func(p *pool) {
				cut(observe.JobKey{})(p)
				data(p)
			}},
			{after: 30, want: "found claim of " + part + "=#1 on a×1 since 0"},
		}, idleEstimate, 0},
	} {
		t.Run(name, func(t *testing.T) {
			p := begun(t)
			last := len(c.steps) - 1
			p.follow(c.steps[:last])
			p.now = p.now.Add(time.Duration(c.steps[last].after) * time.Second)
			if c.steps[last].do != nil {
				c.steps[last].do(p)
			}
			p.belief.See(p.snapshot())
			out := p.belief.Diff(p.dispatched)
			require.Equal(t, c.steps[last].want, text(out, p.belief))
			claim := out.Delta.Found[0].Job
			require.Equal(t, c.estimate, claim.Estimate)
			cpus, _ := claim.Ad.Int("RequestCpus")
			require.Equal(t, c.cpus, cpus)
			p.then(step{after: 1, do: gone, want: fmt.Sprintf("completed #%d", claim.ID)})
		})
	}
}
