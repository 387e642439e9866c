package track

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// restarts has a slot's startd start anew, without claims.
func (p *pool) restarts(name string) {
	p.slot(name, func(s *observe.Slot) {
		s.Restarted, s.Changed, s.Claimed, s.Runs = p.now, p.now, false, observe.JobKey{}
	})
}

// updates has a slot's ad come anew; claimed by a job, or unclaimed if the key is zero.
func (p *pool) updates(name string, job observe.JobKey) {
	p.slot(name, func(s *observe.Slot) { s.Changed, s.Claimed, s.Runs = p.now, job != observe.JobKey{}, job })
}

// lists has a partitionable slot's new ad list its dynamic slots.
func (p *pool) lists(name string, parts ...string) {
	p.slot(name, func(s *observe.Slot) {
		s.Changed, s.Parts = p.now, map[string]bool{}
		for _, part := range parts {
			s.Parts[part] = true
		}
	})
}

const (
	restarted = ", whose startd has restarted since, and waits until its schedd gives that run up"
	notSo     = ", which does not say so, and waits until its schedd gives that run up"
	freeAgain = ", which is free again, and waits until its schedd gives that run up"
)

// TestAdrift says what is reported of jobs that their schedds call running after their slots have lost
// them.
func TestAdrift(t *testing.T) {
	restart := step{after: 60, do: func(p *pool) { p.restarts("a") }, want: "completed #1 ran ?, unplanned 1.0 ran on a" + restarted}
	unclaimed := func(p *pool) { p.updates("a", observe.JobKey{}) }
	earlier := func(p *pool) { p.job(1, func(g *observe.Group) { g.Started-- }) }
	proven := "proven a×1 for s"
	newcomer := func(p *pool) {
		p.schedd("t")
		p.jobOf(observe.JobKey{Schedd: "t", Cluster: 1}, func(g *observe.Group) {
			g.Status, g.Started, g.Hosts = observe.Running, p.unix(), []string{"slot1@a"}
		})
	}
	followAll(t, newPool, map[string][]step{
		"it was there at the first look": {
			{do: newcomer, want: "up a, up b, found 1.0@t=#1 on a×1 since 0"},
			{after: 60, do: unclaimed, want: "proven a×1 for t"},
			{after: 10, want: "completed #1 ran ?, unplanned 1.0@t ran on a" + freeAgain},
		},
	})
	followAll(t, begun, map[string][]step{
		"the startd has restarted": runsOnA(restart,
			step{after: 600, want: "unplanned 1.0 ran on a" + restarted},
			step{after: 1800, do: func(p *pool) { p.idles(1) }, want: "submitted 1.0=#1"},
			step{after: 5, do: func(p *pool) {
				p.start(1, sent, "a")
				p.runs(1, "a")
			}, want: "arrived #1"},
			step{after: 5}),
		"another job has the slot meanwhile": runsOnA(restart,
			step{after: 5, do: func(p *pool) { p.job(2) }, want: "submitted 2.0=#2, unplanned 1.0 ran on a" + restarted},
			step{after: 5, do: func(p *pool) {
				p.start(2, sent, "a")
				p.runs(2, "a")
				p.updates("a", key(2))
			}, want: "arrived #2, unplanned 1.0 ran on a" + restarted},
			step{after: 5, do: func(p *pool) { p.leaves(1) }}),
		"the slot has the job again": runsOnA(restart,
			step{after: 60, do: func(p *pool) { p.updates("a", key(1)) }, want: "found 1.0=#1 on a×1 since 5"},
			step{after: 5, want: proven}),
		"the schedd starts it elsewhere at once": runsOnA(restart,
			step{after: 60, do: func(p *pool) { p.runs(1, "b") }, want: "found 1.0=#1 on b×1 since 125"}),
		"the startd has restarted before the run": {
			waiting,
			{after: 5, do: func(p *pool) {
				p.start(1, sent, "a")
				p.restarts("a")
				p.runs(1, "a")
			}, want: "arrived #1"},
			{after: 1},
			{after: 60, want: proven},
		},
		"the startd has restarted, and the schedd does not answer": runsOnA(
			step{after: 60, do: func(p *pool) {
				p.silent["s"] = true
				p.restarts("a")
			}, want: "completed #1 ran ?, unplanned 1.0 ran on a" + restarted},
			step{after: 60, want: "unplanned 1.0 ran on a" + restarted}),
		"unclaimed, by an ad that is newer than the run": runsOnA(
			step{after: 60, do: unclaimed, want: proven},
			step{after: 9, want: proven},
			step{after: 1, want: "completed #1 ran ?, unplanned 1.0 ran on a" + freeAgain},
			step{after: 60, want: "unplanned 1.0 ran on a" + freeAgain},
			step{after: 1, do: func(p *pool) { p.idles(1) }, want: "submitted 1.0=#1"}),
		"unclaimed, and claimed in the next ad": runsOnA(
			step{after: 60, do: unclaimed, want: proven},
			step{after: 9, do: func(p *pool) { p.updates("a", key(1)) }, want: proven},
			step{after: 60, want: proven},
			step{after: 9, do: unclaimed, want: proven},
			step{after: 9, want: proven}),
		"unclaimed, by an ad that may be older than the run": runsOnA(
			step{after: 4, do: unclaimed}, step{after: 20}, step{after: 60, want: proven}),
		"unclaimed while its match is on its way": {
			waiting,
			{after: 5, do: func(p *pool) { p.start(1, sent, "a") }},
			{after: 10, do: unclaimed},
			{after: 10, do: func(p *pool) { p.runs(1, "a") }, want: "arrived #1"},
			{after: 1},
		},
		"it ends some moments after its slot": runsOnA(
			step{after: 60, do: unclaimed, want: proven},
			step{after: 2, do: func(p *pool) { p.leaves(1) }, want: "completed #1 ran 62, " + proven}),
		"its slot has another job": runsOnA(
			step{after: 60, do: func(p *pool) {
				p.job(2)
				p.runs(2, "a")
				p.updates("a", key(2))
			}, want: "found 2.0=#2 on a×1 since 65, " + proven},
			step{after: 10, want: "completed #1 ran ?, unplanned 1.0 ran on a, which has another job by now, and waits until its " +
				"schedd gives that run up"}),
		"its user writes another slot and time, again and again": runsOnA(
			step{after: 60, do: func(p *pool) {
				p.updates("b", observe.JobKey{})
				p.says(1, "b")
			}, want: "completed #1 ran ?, unplanned 1.0 is said to run on b" + notSo},
			step{after: 5, do: earlier, want: "unplanned 1.0 is said to run on b" + notSo},
			step{after: 60, do: func(p *pool) { p.runs(1, "b") }, want: "found 1.0=#1 on b×1 since 4"}),
		"another starts it, and its slot's ad is late": {
			waiting,
			{after: 5, do: func(p *pool) {
				p.runs(1, "a")
				p.unname(1)
			}, want: "removed #1, unplanned 1.0 is said to run on a" + notSo},
			{after: 1, do: func(p *pool) { p.name(1, "a") }, want: "found 1.0=#1 on a×1 since 5"},
			{after: 60, want: proven},
		},
		"its queue is new, and no slot names it": {
			{do: newcomer, want: "unplanned 1.0@t is said to run on a" + notSo},
			{after: 60, do: unclaimed, want: "unplanned 1.0@t is said to run on a" + notSo},
			{after: 1, do: func(p *pool) { p.updates("a", observe.JobKey{Schedd: "t", Cluster: 1}) }, want: "found 1.0@t=#1 on a×1 since 0"},
		},
		"its slots run another job of its cluster": {
			{do: func(p *pool) { p.runs(1, "a") }, want: "found 1.0=#1 on a×1 since 0"},
			{after: 5, do: func(p *pool) {
				other := observe.JobKey{Schedd: "s", Cluster: 1, Proc: 1}
				p.jobOf(other, gang(1), func(g *observe.Group) { g.Status, g.Hosts = observe.Running, []string{"slot1@a"} })
			}, want: "unplanned 1.1 is said to run on a" + notSo},
		},
		"its user writes other slots, and its own names it": runsOnA(
			step{after: 60, do: func(p *pool) {
				p.updates("a", key(1))
				p.says(1, "b")
			}, want: proven},
			step{after: 5, do: func(p *pool) { p.says(1, "b", "c") }, want: proven}),
		"its user writes another slot into a gang, whose own name it": {
			{after: 5, do: func(p *pool) { p.slot("c"); p.job(1, gang(2)) }, want: "up c, submitted 1.0=#1"},
			{after: 5, do: func(p *pool) {
				p.start(1, Flight{Handed: true, Sent: true, Claims: 2}, "a", "b")
				p.runs(1, "a", "b")
			}, want: "arrived #1"},
			{after: 60, do: func(p *pool) {
				p.updates("a", key(1))
				p.says(1, "a", "c")
				p.updates("b", key(1))
			}, want: "proven a×1 b×1 for s"},
		},
		"it runs elsewhere, and its former slot names it still": runsOnA(
			step{after: 60, do: func(p *pool) {
				p.runs(1, "b")
				p.updates("a", key(1))
			}, want: "#1 ends 725, " + proven},
			step{after: 5, do: func(p *pool) { p.updates("b", key(1)) }, want: "found 1.0=#1 on b×1 since 65"}),
		"a slot that is missing": runsOnA(
			step{after: 60, do: func(p *pool) { p.miss("a") }, want: proven},
			step{after: 60, want: "up a closed, " + proven}),
		"a slot that comes back from a restart": runsOnA(
			step{after: 60, do: func(p *pool) { p.miss("a") }, want: proven},
			step{after: 60, want: "up a closed, " + proven},
			step{after: 60, do: func(p *pool) {
				p.back("a")
				p.restarts("a")
			}, want: "up a, completed #1 ran ?, unplanned 1.0 ran on a" + restarted}),
	})
}

// TestAdriftOnDynamicSlots does the same for parts of partitionable slots, whose ads the collector may
// keep, or lack.
func TestAdriftOnDynamicSlots(t *testing.T) {
	starts := func(p *pool) {
		p.slot("a", func(s *observe.Slot) { s.Static = false })
		p.start(1, sent, "a")
		p.runs(1, "slot1_1@a")
	}
	cut := func(p *pool) {
		p.claim("slot1_1@a", "a", key(1))
		p.lists("a", "slot1_1@a")
	}
	proven := "proven a×1 for s"
	followAll(t, begun, map[string][]step{
		"the startd has restarted": {
			waiting,
			{after: 5, do: starts, want: "arrived #1"},
			{after: 1, do: cut},
			{after: 60, do: func(p *pool) {
				p.restarts("a")
				p.slot("slot1_1@a", func(s *observe.Slot) { s.Missing, s.Outlived = p.now, p.now })
			}, want: "completed #1 ran ?, unplanned 1.0 ran on slot1_1@a" + restarted},
		},
		"its user writes a slot that is cut into parts": {
			waiting,
			{after: 5, do: starts, want: "arrived #1"},
			{after: 60, do: func(p *pool) {
				p.updates("a", observe.JobKey{})
				p.says(1, "a")
			}, want: proven},
			{after: 10, want: "completed #1 ran ?, unplanned 1.0 is said to run on a, which runs no job itself, and waits until " +
				"its schedd gives that run up"},
		},
		"the slot is no part of its parent any more": {
			waiting,
			{after: 5, do: starts, want: "arrived #1"},
			{after: 1, do: cut},
			{after: 60, do: func(p *pool) {
				p.lists("a")
				p.miss("slot1_1@a")
			}, want: proven + ", dropped slot1_1@a"},
			{after: 10, want: "completed #1 ran ?, unplanned 1.0 ran on slot1_1@a" + freeAgain},
		},
		"the collector has lost the slot's ad alone": {
			waiting,
			{after: 5, do: starts, want: "arrived #1"},
			{after: 1, do: cut},
			{after: 60, do: func(p *pool) {
				p.lists("a", "slot1_1@a")
				p.miss("slot1_1@a")
			}, want: proven + ", dropped slot1_1@a"},
			{after: 60, want: proven},
		},
		"the slot's ad does not say which parts it has": {
			waiting,
			{after: 5, do: starts, want: "arrived #1"},
			{after: 60, do: func(p *pool) { p.updates("a", observe.JobKey{}) }, want: proven},
			{after: 60, want: proven},
		},
	})
}

// TestAdriftIsJudgedInTime checks that the next look comes when a slot that is free is believed.
func TestAdriftIsJudgedInTime(t *testing.T) {
	p := begun(t)
	p.follow(runsOnA(step{after: 60, do: func(p *pool) { p.updates("a", observe.JobKey{}) }, want: "proven a×1 for s"}))
	require.Equal(t, p.unix()+backfill.Time(adriftAfter/time.Second)+1, p.belief.View().Due)
}

// TestAdriftUnderLease checks that lent claims are over when their startd has restarted, whether the job
// that stands for one runs on it or another.
func TestAdriftUnderLease(t *testing.T) {
	p := on(t, 3)
	p.then(
		step{after: 1, do: func(p *pool) { p.lent(1, "slot1_1@a"); p.lent(2, "slot1_2@a") }, want: "arrived #1, over #2"},
		step{
			after: 5, do: func(p *pool) { p.leaves(1); p.lent(3, "slot1_1@a") },
			want: "removed #3, proven a×1 for s, unplanned 3.0 runs on a claim that slot a has lent to ",
		},
		step{after: 60, do: func(p *pool) {
			p.restarts("a")
			p.miss("slot1_1@a")
			p.miss("slot1_2@a")
		}, want: "completed #1 ran ?, completed #2 ran ?, unplanned 2.0 ran on slot1_2@a" + restarted +
			", unplanned 3.0 ran on slot1_1@a" + restarted},
	)
}
