package track

import (
	"fmt"
	"testing"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// sent is a flight of which one claim was handed over, and all with that.
var sent = Flight{Handed: true, Sent: true, Claims: 1}

// waiting is the step with which a job begins that waits: it was submitted.
var waiting = step{do: func(p *pool) { p.job(1) }, want: "submitted 1.0=#1"}

// runsOnA are the steps with which a job begins that was started on slot a and runs there.
func runsOnA(more ...step) []step {
	return append([]step{waiting, {after: 5, do: func(p *pool) {
		p.start(1, sent, "a")
		p.runs(1, "a")
	}, want: "arrived #1"}}, more...)
}

// TestWaitingJobs says what is reported of jobs that wait: that they arrive, were edited, and
// leave.
func TestWaitingJobs(t *testing.T) {
	followAll(t, begun, map[string][]step{
		"nothing is new": {waiting, {after: 1}, {after: 1}},
		"two schedds name their jobs apart": {{do: func(p *pool) {
			p.schedd("z")
			p.jobOf(observe.JobKey{Schedd: "z", Cluster: 1})
			p.job(1)
		}, want: "submitted 1.0@s=#1, submitted 1.0@z=#2"}},
		"edited": {
			waiting, {after: 1, do: func(p *pool) { p.job(1, is("another job")) }, want: "changed #1"}, {after: 1},
		},
		"edited without effect": {
			waiting, {after: 1, do: func(p *pool) { p.job(1, is("a job"), func(g *observe.Group) { g.Prio = 7 }) }},
		},
		"submitted at another time": {waiting, {after: 1, do: func(p *pool) {
			p.job(1, func(g *observe.Group) { g.Submit++ })
		}, want: "changed #1"}},
		"edited so that it cannot be planned with": {
			waiting,
			{
				after: 1, do: func(p *pool) { p.job(1, wrong("it asks for too much")) },
				want: "removed #1, unplanned 1.0 cannot be planned with: it asks for too much",
			},
			{after: 1, want: "unplanned 1.0 cannot be planned with: it asks for too much"},
			{after: 1, do: func(p *pool) { p.job(1, is("a job")) }, want: "submitted 1.0=#1"},
		},
		"removed": {waiting, {after: 1, do: func(p *pool) { p.leaves(1) }, want: "removed #1"}, {after: 1}},
		"submitted again": {
			waiting,
			{after: 1, do: func(p *pool) { p.leaves(1) }, want: "removed #1"},
			{after: 1, do: func(p *pool) { p.job(1) }, want: "submitted 1.0=#2"},
		},
		"the queue is not read": {
			waiting,
			{after: 1, do: func(p *pool) {
				p.silent["s"] = true
				p.leaves(1)
				p.job(2)
			}},
			{after: 1, do: func(p *pool) { p.silent["s"] = false }, want: "submitted 2.0=#2, removed #1"},
		},
		"the schedd is gone": {
			waiting,
			{after: 1, do: func(p *pool) { delete(p.schedds, "s") }, want: "removed #1"},
			{after: 1, do: func(p *pool) { p.schedd("s") }, want: "submitted 1.0=#2"},
		},
		"the schedd has another name": {waiting, {after: 1, do: func(p *pool) {
			p.schedd("s", func(s *observe.Schedd) { s.Moved = true })
			p.schedd("t")
			p.jobOf(observe.JobKey{Schedd: "t", Cluster: 1})
		}, want: "submitted 1.0@t=#2, removed #1"}},
	})
}

// TestJobsThatStart says what is reported of jobs that begin to run, where they were sent or not.
func TestJobsThatStart(t *testing.T) {
	start := func(p *pool) { p.start(1, sent, "a") }
	followAll(t, begun, map[string][]step{
		"where it was sent": runsOnA(step{after: 1}),
		"where it was sent, in part": {waiting, {after: 5, do: func(p *pool) {
			p.start(1, Flight{Handed: true}, "a")
			p.runs(1, "a")
		}, want: "over #1"}},
		"where is not known yet": {
			waiting,
			{after: 5, do: func(p *pool) {
				start(p)
				p.runs(1)
			}},
			{after: 1, do: func(p *pool) { p.runs(1, "a") }, want: "arrived #1"},
		},
		"later than planned": {
			waiting,
			{after: 5, do: start},
			{after: startSlack - 5, do: func(p *pool) { p.runs(1, "a") }, want: "arrived #1, proven a×1 for s"},
			{after: 1, want: "proven a×1 for s"},
		},
		"so late that its end moves": {
			waiting,
			{after: 5, do: start},
			{
				after: startSlack - 4, do: func(p *pool) { p.runs(1, "a") },
				want: "#1 ends 721, arrived #1, proven a×1 for s", // 61 + 600 + 60
			},
			{after: 1},
		},
		"elsewhere": {
			waiting,
			{after: 5, do: func(p *pool) {
				start(p)
				p.runs(1, "b")
			}, want: "found 1.0=#1 on b×1 since 5, over #1"},
			{after: 1},
		},
		"on a part of the slot": {waiting, {after: 5, do: func(p *pool) {
			start(p)
			p.runs(1, "slot1_3@a")
		}, want: "arrived #1"}},
		"where nobody knows": {
			waiting,
			{after: 5, do: func(p *pool) {
				start(p)
				p.runs(1, "elsewhere")
			}, want: "completed #1 ran ?, elsewhere #1, over #1"},
			{after: 1},
			{after: 1, do: func(p *pool) { p.idles(1) }, want: "submitted 1.0=#1"},
		},
		"on more slots than it asks for": {waiting, {after: 5, do: func(p *pool) {
			start(p)
			p.runs(1, "a", "b")
		}, want: "completed #1 ran ?, over #1"}},
		"started by another": {
			waiting, {after: 5, do: func(p *pool) { p.runs(1, "a") }, want: "found 1.0=#1 on a×1 since 5"},
		},
		"started by another, nobody knows": {
			waiting, {after: 5, do: func(p *pool) { p.runs(1, "z") }, want: "removed #1, elsewhere #1"}, {after: 1},
		},
		"it runs already": {
			{do: func(p *pool) { p.runs(1, "a") }, want: "found 1.0=#1 on a×1 since 0"}, {after: 1},
		},
		"it runs already, where nobody does": {{do: func(p *pool) { p.runs(1, "z") }}},
		"it runs already and cannot be planned with": {{do: func(p *pool) {
			p.job(1, wrong("it asks for too much"))
			p.runs(1, "a")
		}}},
		"it began in the future, by its schedd's clock": {{do: func(p *pool) {
			p.runs(1, "a")
			p.job(1, func(g *observe.Group) { g.Started += 100 })
		}, want: "found 1.0=#1 on a×1 since 0"}},
		"a gang": {
			{do: func(p *pool) { p.job(1, gang(3)) }, want: "submitted 1.0=#1"},
			{after: 5, do: func(p *pool) {
				p.start(1, Flight{Handed: true, Sent: true, Claims: 3}, "a", "b")
				p.belief.Job(1).Places[0].Chunks = 2
				p.runs(1, "slot1_1@a", "slot1_2@a", "slot1_1@b")
			}, want: "arrived #1"},
		},
	})
}

// TestRunningJobs says what is reported of jobs that run: edits, and how long they ran once they
// left.
func TestRunningJobs(t *testing.T) {
	states := func(estimate backfill.Time) func(*observe.Group) {
		return is(fmt.Sprint(estimate), func(s *observe.Spec) { s.Estimate = estimate })
	}
	stopped := func(p *pool) {
		p.leaves(1)
		p.schedd("s", func(s *observe.Schedd) { s.Stopped = []observe.JobKey{key(1)} })
	}
	followAll(t, begun, map[string][]step{
		"nothing is new": runsOnA(step{after: 1}, step{after: 1}),
		"its estimate is edited": runsOnA(
			step{after: 5, do: func(p *pool) {
				p.job(1, is("longer", func(s *observe.Spec) { s.Estimate = 1200 }))
			}, want: "#1 ends 1265"}, // 5 + 1200 + 60
			step{after: 1},
		),
		"its estimate is taken away": runsOnA(step{after: 5, do: func(p *pool) {
			p.job(1, states(0))
		}}),
		"it runs on less than it asks for": {
			{do: func(p *pool) { p.claim("slot1_1@b", "b", key(1)) }, want: ""},
			{after: 5, do: func(p *pool) {
				p.job(1, is("large", func(s *observe.Spec) { s.Request = backfill.Vector{4, 128, 1} }))
				p.runs(1, "slot1_1@b")
			}, want: ""},
			{after: 10, want: "found 1.0@s=#2 on b×1 since 0"}, // its claim
		},
		"it states to end soon, and then not, again and again": runsOnA(
			step{after: 5, do: func(p *pool) { p.job(1, states(60)) }},
			step{after: 5, do: func(p *pool) { p.job(1, states(9000)) }, want: "#1 ends 1265"}, // 5 + 2*600 + 60
			step{after: 5, do: func(p *pool) { p.job(1, states(60)) }},
			step{after: 5, do: func(p *pool) { p.job(1, states(9000)) }}),
		"it stated nothing, and does so to and fro": {
			{do: func(p *pool) { p.job(1, states(0)) }, want: "submitted 1.0=#1"},
			{after: 5, do: func(p *pool) {
				p.start(1, sent, "a")
				p.runs(1, "a")
			}, want: "arrived #1"},
			{after: 5, do: func(p *pool) { p.job(1, states(60)) }},
			{after: 5, do: func(p *pool) { p.job(1, states(9000)) }},
		},
		"its new estimate is over": runsOnA(
			step{after: 500, want: "proven a×1 for s"},
			step{after: 1, do: func(p *pool) {
				p.job(1, is("shorter", func(s *observe.Spec) { s.Estimate = 9 }))
			}, want: "proven a×1 for s"},
		),
		"something else is edited": runsOnA(step{after: 5, do: func(p *pool) {
			p.job(1, is("larger", func(s *observe.Spec) { s.Request = backfill.Vector{2, 128, 1} }))
		}}),
		"its start comes off well": runsOnA(step{after: 24}, step{after: 1, want: "proven a×1 for s"}),
		"it completes": runsOnA(
			step{after: 50, do: func(p *pool) { p.leaves(1) }, want: "completed #1 ran 50, proven a×1 for s"},
			step{after: 1},
		),
		"it completes between two looks": {
			waiting,
			{after: 5, do: func(p *pool) {
				p.start(1, sent, "a")
				p.leaves(1)
			}, want: "completed #1 ran ?, over #1"},
		},
		"it is stopped": runsOnA(step{after: 50, do: stopped, want: "completed #1 ran ?"}),
		"it used all and was stopped": runsOnA(
			step{after: 600, do: stopped, want: "completed #1 ran 600, proven a×1 for s"},
		),
		"it was stopped before, and ran again": runsOnA(
			step{after: 1, do: func(p *pool) {
				p.schedd("s", func(s *observe.Schedd) { s.Stopped = []observe.JobKey{key(1)} })
			}},
			step{after: 49, do: func(p *pool) {
				p.schedd("s", func(s *observe.Schedd) { s.Stopped = nil })
				p.leaves(1)
			}, want: "completed #1 ran 50, proven a×1 for s"},
		),
		"it is not asked for any more": runsOnA(step{after: 50, do: func(p *pool) {
			p.schedd("s", func(s *observe.Schedd) { s.AskedSince = p.number + 1 })
			p.leaves(1)
		}, want: "completed #1 ran ?"}),
		"the constraint changed earlier": runsOnA(
			step{after: 1, do: func(p *pool) {
				p.schedd("s", func(s *observe.Schedd) { s.AskedSince = p.number + 1 })
			}},
			step{after: 49, do: func(p *pool) { p.leaves(1) }, want: "completed #1 ran 50, proven a×1 for s"},
		),
		"the queue is not read": runsOnA(
			step{after: 1, do: func(p *pool) {
				p.silent["s"] = true
				p.leaves(1)
			}},
			step{after: 1, do: func(p *pool) { p.silent["s"] = false }, want: "completed #1 ran 2, proven a×1 for s"},
		),
		"the schedd is gone": runsOnA(step{after: 50, do: func(p *pool) {
			delete(p.schedds, "s")
		}, want: "completed #1 ran ?, proven a×1 for s"}),
		"the schedd has another name": runsOnA(
			step{after: 50, do: func(p *pool) {
				p.schedd("s", func(s *observe.Schedd) { s.Moved = true })
				p.schedd("t")
				other := observe.JobKey{Schedd: "t", Cluster: 1}
				p.jobOf(other, func(g *observe.Group) { *g = *p.jobs[key(1)] })
				p.jobOf(other, func(g *observe.Group) { g.Jobs = []observe.JobKey{other} })
				p.name(1, "a")
			}, want: "found 1.0@t=#2 on a×1 since 5, completed #1 ran ?, proven a×1 for s"},
		),
		"it moves": runsOnA(
			step{after: 50, do: func(p *pool) {
				p.runs(1, "b")
				p.name(1, "b")
			}, want: "found 1.0=#1 on b×1 since 55"},
		),
		"a gang ends": {
			{do: func(p *pool) { p.job(1, gang(2)) }, want: "submitted 1.0=#1"},
			{after: 5, do: func(p *pool) { p.runs(1, "a", "b") }, want: "found 1.0=#1 on a×1 b×1 since 5"},
			{
				after: 50, do: func(p *pool) { p.leaves(1) },
				want: "completed #1 ran 50, ended gang #1 of s on a×1 b×1, proven a×1 b×1 for s",
			},
		},
		"a gang comes back": {
			{do: func(p *pool) { p.job(1, gang(2)) }, want: "submitted 1.0=#1"},
			{after: 5, do: func(p *pool) { p.runs(1, "a", "b") }, want: "found 1.0=#1 on a×1 b×1 since 5"},
			{after: 50, do: func(p *pool) { p.idles(1) }, want: "back #1, ended gang #1 of s on a×1 b×1"},
		},
	})
}

// TestJobsThatAreIdleThoughStarted says when a start has failed, and what becomes of the job.
func TestJobsThatAreIdleThoughStarted(t *testing.T) {
	for name, c := range map[string]struct {
		f       Flight
		leftOut map[string]LeftOut
		edited  bool
		want    string
	}{
		"on its way":          {f: sent},
		"not handed over yet": {},
		"overdue": {
			f: Flight{Handed: true, Sent: true, Overdue: true}, want: "back #1, failed #1, unstarted 1",
		},
		"overdue, never handed over":     {f: Flight{Overdue: true}, want: "back #1, failed #1, unstarted 1"},
		"its schedd is full":             {f: Flight{Full: true}, want: "back #1, failed #1"},
		"its schedd is full, but has it": {f: Flight{Full: true, Handed: true}},
		"its slot is left out": {
			leftOut: map[string]LeftOut{"slot1@a": {Of: "s"}},
			want:    "up a where (true) && TARGET.BackfillSchedd isnt \"s\", back #1, failed #1",
		},
		"its slot is left out for all": {
			leftOut: map[string]LeftOut{"slot1@a": {}}, want: "up a closed, back #1, failed #1",
		},
		"its slot is left out for others": {
			leftOut: map[string]LeftOut{"slot1@a": {Of: "z"}},
			want:    "up a where (true) && TARGET.BackfillSchedd isnt \"z\"",
		},
		"its slot is left out, but asked": {
			f: sent, leftOut: map[string]LeftOut{"slot1@a": {}}, want: "up a closed",
		},
		"another slot is left out":       {leftOut: map[string]LeftOut{"slot1@b": {}}, want: "up b closed"},
		"edited":                         {edited: true, want: "submitted 1.0=#2, removed #1, failed #1"},
		"edited once it was handed over": {f: sent, edited: true},
		"edited and overdue": {
			f: Flight{Handed: true, Overdue: true}, edited: true,
			want: "submitted 1.0=#2, removed #1, failed #1, unstarted 1",
		},
		"edited, and its schedd is full too": {
			f: Flight{Full: true}, edited: true, want: "submitted 1.0=#2, removed #1, failed #1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := begun(t)
			p.follow([]step{waiting, {after: 5, do: func(p *pool) {
				p.start(1, c.f, "a")
				if p.dispatched.LeftOut = c.leftOut; c.edited {
					p.job(1, is("another job"))
				}
			}, want: c.want}})
		})
	}
}

// TestJobsThatComeBack says that a job which ran and is idle again was no failed start.
func TestJobsThatComeBack(t *testing.T) {
	followAll(t, begun, map[string][]step{
		"as it was": runsOnA(step{after: 5, do: func(p *pool) { p.idles(1) }, want: "back #1"}, step{after: 1}),
		"edited": runsOnA(step{after: 5, do: func(p *pool) {
			p.idles(1)
			p.job(1, is("another job"))
		}, want: "submitted 1.0=#2, removed #1"}),
		"its startd shuts down, and refuses jobs meanwhile": runsOnA(step{after: 5, do: func(p *pool) {
			p.slot("a", func(s *observe.Slot) { s.Ad = slotAd("slot1@a", "false") })
			p.idles(1)
		}, want: "up a closed, back #1, whose slot ended"}),
		"its startd has shut down": runsOnA(step{after: 5, do: func(p *pool) {
			p.miss("a")
			p.idles(1)
		}, want: "back #1, whose slot ended"}),
		"its schedd says that the startd shut down": runsOnA(step{after: 5, do: func(p *pool) {
			p.idles(1)
			p.job(1, func(g *observe.Group) { g.Vacated = 1013 })
		}, want: "back #1, whose slot ended"}),
		"its schedd says that its user vacated it": runsOnA(step{after: 5, do: func(p *pool) {
			p.idles(1)
			p.job(1, func(g *observe.Group) { g.Vacated = 1004 })
		}, want: "back #1"}),
		"it has just begun to run, and its startd shuts down": {waiting, {after: 1, do: func(p *pool) {
			p.start(1, Flight{Handed: true, Sent: true, CameBack: true}, "a")
			p.miss("a")
		}, want: "back #1, whose slot ended, failed #1"}},
		"it was on its way, and its startd has shut down": {waiting, {after: 5, do: func(p *pool) {
			p.start(1, Flight{Handed: true, Sent: true, Overdue: true}, "a")
			p.miss("a")
		}, want: "back #1, failed #1, unstarted 1"}},
	})
}

// TestObserve says that what the negotiator starts does not come about where it only observes: it
// is told so at the next look, and no start has failed.
func TestObserve(t *testing.T) {
	p := begun(t, func(s *Settings) { s.Observe = true })
	p.follow([]step{
		waiting,
		{after: 5, do: func(p *pool) { p.start(1, Flight{Overdue: true}, "a") }, want: "back #1, over #1"},
		{after: 5, do: func(p *pool) {
			p.start(1, Flight{}, "a")
			p.job(1, is("another job"))
		}, want: "submitted 1.0=#2, removed #1, over #1"},
		{after: 5, do: func(p *pool) {
			p.start(2, Flight{}, "a")
			p.runs(1, "b")
		}, want: "found 1.0=#2 on b×1 since 15, over #2"},
		{after: int64(patience / time.Second), want: "proven b×1 for s"},
	})
}
