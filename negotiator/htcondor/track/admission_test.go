package track

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/statefile"
)

// wrong has a job be one that cannot be planned.
func wrong(why string) func(*observe.Group) {
	return is(why, func(s *observe.Spec) { s.Wrong = errors.New(why) })
}

// TestUnplanned says which new jobs are not planned with, and why.
func TestUnplanned(t *testing.T) {
	second := observe.JobKey{Schedd: "s", Cluster: 1, Proc: 1}
	followAll(t, begun, map[string][]step{
		"wrong": {
			{do: func(p *pool) { p.job(1, wrong("one; two")) }, want: "unplanned 1.0 cannot be planned with: one; two"},
			{do: func(p *pool) { p.job(1, is("right")) }, want: "submitted 1.0=#1"},
		},
		"a gang of one kind": {{do: func(p *pool) { p.job(1, gang(2)) }, want: "submitted 1.0=#1"}},
		"jobs of one cluster that are no gang": {{do: func(p *pool) {
			p.job(1)
			p.jobOf(second)
		}, want: "submitted 1.0=#1, submitted 1.1=#2"}},
		"two gangs": {{do: func(p *pool) {
			p.job(1, gang(2))
			p.job(2, gang(2))
		}, want: "submitted 1.0=#1, submitted 2.0=#2"}},
	})
}

// advertises has the schedd s advertise a submitter, the one of all jobs.
func (p *pool) advertises(all map[string]observe.Submitter) {
	p.schedd("s", func(s *observe.Schedd) { s.Submitters = all })
}

// TestSubmitterConstraint says that jobs are planned only while the constraint is true of their
// submitter, and that a submitter whose ad is missing for a while costs no job its plan.
func TestSubmitterConstraint(t *testing.T) {
	const (
		unknown = "is of the submitter , whose ad is not there yet: NEGOTIATOR_SUBMITTER_CONSTRAINT must be true of it"
		refused = "is of the submitter , of which NEGOTIATOR_SUBMITTER_CONSTRAINT is not true"
	)
	admit := func(p *pool) { p.advertises(map[string]observe.Submitter{"": {}}) }
	exclude := func(p *pool) { p.advertises(map[string]observe.Submitter{"": {Excluded: true}}) }
	followAll(t, begun, map[string][]step{
		"there is none": {{do: func(p *pool) { p.job(1) }, want: "submitted 1.0=#1"}},
		"comes and goes": {
			{do: func(p *pool) { p.constrained = true; p.job(1) }, want: "unplanned 1.0 " + unknown},
			{do: exclude, want: "unplanned 1.0 " + refused},
			{do: admit, want: "submitted 1.0=#1"},
			{do: func(p *pool) { p.advertises(nil) }},
			{do: exclude, want: "removed #1, unplanned 1.0 " + refused},
			{want: "unplanned 1.0 " + refused},
			{do: func(p *pool) { p.constrained = false; admit(p) }, want: "submitted 1.0=#1"},
		},
		"of a job that runs": {
			{do: func(p *pool) { p.job(1) }, want: "submitted 1.0=#1"},
			{do: func(p *pool) { p.runs(1, "a") }, want: "found 1.0=#1 on a×1 since 0"},
			{do: func(p *pool) { p.constrained = true; exclude(p) }},
			{do: func(p *pool) { p.idles(1) }, want: "removed #1, unplanned 1.0 " + refused},
		},
	})
}

// TestUnadvertised says that a job comes into the plan once its schedd advertises its submitter, and
// stays there while the ad is missing, as long as it is the same one's.
func TestUnadvertised(t *testing.T) {
	const unknown = "is of the submitter , whom its schedd does not advertise for "
	nobody := func(p *pool) { p.advertises(map[string]observe.Submitter{}) }
	alices := func(p *pool) { p.advertises(map[string]observe.Submitter{"": {User: "alice"}}) }
	followAll(t, begun, map[string][]step{
		"a new user": {
			{do: func(p *pool) { nobody(p); p.job(1) }, want: "unplanned 1.0 " + unknown},
			{do: func(p *pool) { p.advertises(map[string]observe.Submitter{"": {}}) }, want: "submitted 1.0=#1"},
			{do: nobody},
		},
		"who advertises himself has no jobs of others": {
			{do: func(p *pool) { alices(p); p.job(1) }, want: "unplanned 1.0 " + unknown},
		},
		"a job that comes back": {
			{do: func(p *pool) { p.job(1) }, want: "submitted 1.0=#1"},
			{do: func(p *pool) { p.runs(1, "a") }, want: "found 1.0=#1 on a×1 since 0"},
			{do: nobody},
			{do: func(p *pool) { p.idles(1) }, want: "removed #1, unplanned 1.0 " + unknown},
		},
		"a gang of a schedd that advertises itself": {
			{do: func(p *pool) {
				nobody(p)
				p.schedd("s", func(s *observe.Schedd) { s.Own = true })
				p.job(1, gang(2))
			}, want: "submitted 1.0=#1"},
		},
		"a gang of another": {
			{do: func(p *pool) { nobody(p); p.job(1, gang(2)) }, want: "unplanned 1.0 is of the submitter DedicatedScheduler@s, " +
				"whom its schedd does not advertise for "},
		},
		"one that is said to run from the first": {
			{do: func(p *pool) {
				p.schedd("t", func(s *observe.Schedd) { s.Submitters = map[string]observe.Submitter{"": {}} })
				p.jobOf(observe.JobKey{Schedd: "t", Cluster: 1}, func(g *observe.Group) {
					g.Status, g.Started, g.Hosts = observe.Running, p.unix(), []string{"slot1@a"}
				})
			}, want: "unplanned 1.0@t is said to run on a, which does not say so, and waits until its schedd gives that run up"},
		},
	})
}

// accounted gives a pool an accountant, and a limit of two licenses.
func accounted(tb testing.TB, changes ...func(*Settings)) *pool {
	tb.Helper()
	lookup := func(name string) (string, bool) { return "2", strings.EqualFold(name, "SW_LIMIT") }
	settings, err := accountant.ParseSettings(lookup)
	require.NoError(tb, err)
	db, err := statefile.Open(filepath.Join(tb.TempDir(), "state"))
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, db.Close()) })
	a, err := accountant.Open(db, settings)
	require.NoError(tb, err)
	limited := func(s *Settings) {
		s.Accounting = Accounting{Accountant: a, Limits: accountant.NewLimits(lookup)}
	}
	return begun(tb, append([]func(*Settings){limited}, changes...)...)
}

// heldFor is why a job of accounted waits while the licenses are held for another job and a further
// one.
func heldFor(job string) string {
	return "0 of 2 in use, 2 held for " + job + " of alice, which waits, and 1 more, 1 wanted: concurrency limit sw reached"
}

// TestLimits says that no more jobs are planned with than concurrency limits and the room of
// schedds allow, in order of jobs, and that jobs which have waited for long do not keep the room.
func TestLimits(t *testing.T) {
	licensed := is("licensed", func(s *observe.Spec) { s.Limits, s.Limited = "sw", []accountant.Limit{{Name: "sw", Wanted: 1}} })
	p := accounted(t)
	p.follow([]step{
		{do: func(p *pool) {
			for cluster := range int64(4) {
				p.job(cluster+1, licensed)
			}
			p.job(5)
			p.job(3, func(g *observe.Group) { g.Submit-- }) // it was submitted first
		}, want: "submitted 1.0=#1, submitted 3.0=#3, submitted 5.0=#5, " +
			"unplanned 2.0 " + heldFor("3.0") + ", unplanned 4.0 " + heldFor("3.0")},
		{after: 1, do: func(p *pool) { p.leaves(1) }, want: "submitted 2.0=#2, removed #1, " +
			"unplanned 4.0 " + heldFor("3.0")},
	})
	why, out := p.belief.View().Why(4)
	require.True(t, out)
	require.Equal(t, Unplanned{
		ID: 4, Job: "4.0", Schedd: "s", Owner: "alice", Why: heldFor("3.0"),
	}, why)
	_, out = p.belief.View().Why(2)
	require.False(t, out)

	room, held := &accountant.Room{Jobs: 2}, ", 2 held for 1.0 of alice, which waits, and 1 more"
	const one = ", 1 held for 2.0 of alice, which waits"
	p = accounted(t)
	p.follow([]step{
		{do: func(p *pool) {
			p.schedd("s", func(s *observe.Schedd) { // for one user
				s.Room, s.Users = &accountant.Room{Jobs: 3}, map[string]*accountant.Room{"": room}
			})
			for cluster := range int64(4) {
				p.job(cluster + 1)
			}
		}, want: "submitted 1.0=#1, submitted 2.0=#2, unplanned 3.0 " + room.Full() + held + ", unplanned 4.0 " + room.Full() + held},
		{after: 1, do: func(p *pool) { p.runs(1, "a") }, want: "found 1.0=#1 on a×1 since 1, " +
			"unplanned 3.0 " + room.Full() + one + ", unplanned 4.0 " + room.Full() + one},
		{after: 59, want: "submitted 3.0=#3, proven a×1 for s, unplanned 4.0 " + room.Full() +
			", 1 held for 3.0 of alice, which waits"},
		{after: 1, do: func(p *pool) { p.leaves(1) }, want: "submitted 4.0=#4, completed #1 ran 60, proven a×1 for s"},
	})
}

// TestHopelessJobsYield says that jobs which no slot can run leave what they have of a limit to
// others that want it, and ask for it last until slots have changed or they were edited.
func TestHopelessJobsYield(t *testing.T) {
	const yields = "matches no slot, and leaves to others: "
	full := heldFor("1.0")
	licensed := is("licensed", func(s *observe.Spec) { s.Limits, s.Limited = "sw", []accountant.Limit{{Name: "sw", Wanted: 1}} })
	edited := is("edited", func(s *observe.Spec) { s.Limits, s.Limited = "sw", []accountant.Limit{{Name: "sw", Wanted: 1}} })
	submit := func(clusters ...int64) func(*pool) {
		return func(p *pool) {
			for _, cluster := range clusters {
				p.job(cluster, licensed)
			}
		}
	}
	plans := func(as negotiator.JobCheckpoint, ids ...backfill.JobID) func(*pool) {
		return func(p *pool) {
			var plan negotiator.Checkpoint
			for _, id := range ids {
				as.Job = &negotiator.Job{ID: id}
				plan.Jobs = append(plan.Jobs, as)
			}
			p.belief.TakePlan(plan)
		}
	}
	unmatched := func(ids ...backfill.JobID) func(*pool) {
		return plans(negotiator.JobCheckpoint{Standing: backfill.Standing{Held: "no slot"}, Unmatched: true}, ids...)
	}
	large := plans(negotiator.JobCheckpoint{Standing: backfill.Standing{Held: "is too large"}}, 1)
	unknown := plans(negotiator.JobCheckpoint{Standing: backfill.Standing{Held: "no slot"}, Unknown: "too expensive"}, 1)
	begins := step{do: submit(1, 2, 3), want: "submitted 1.0=#1, submitted 2.0=#2, unplanned 3.0 " + full}
	yielded := step{do: unmatched(1), want: "submitted 3.0=#3, removed #1, unplanned 1.0 " + yields + heldFor("2.0")}
	followAll(t, accounted, map[string][]step{
		"to others": {begins, yielded, {want: "unplanned 1.0 " + yields + heldFor("2.0")}},
		"of any reason": {begins, {
			do: large, want: "submitted 3.0=#3, removed #1, unplanned 1.0 is too large, and leaves to others: " + heldFor("2.0"),
		}},
		"not before it is known": {begins, {do: unknown, want: "unplanned 3.0 " + full}},
		"not once they only wait": {begins, {
			do: func(p *pool) { unmatched(1)(p); plans(negotiator.JobCheckpoint{})(p) }, want: "unplanned 3.0 " + full,
		}},
		"only to whoever asks": {begins, {do: func(p *pool) { unmatched(1)(p); p.leaves(3) }}},
		"only what others want": {begins, {
			do: unmatched(1, 2), want: "submitted 3.0=#3, removed #2, unplanned 2.0 " + yields + heldFor("3.0"),
		}},
		"and ask last": {begins, yielded, {
			do:   func(p *pool) { submit(4)(p); p.leaves(2) },
			want: "submitted 4.0=#4, removed #2, unplanned 1.0 " + yields + heldFor("3.0"),
		}},
		"and take what is left": {begins, yielded, {
			do: func(p *pool) { p.leaves(2) }, want: "submitted 1.0=#1, removed #2",
		}},
		"until slots have changed": {begins, yielded, {do: func(p *pool) {
			submit(4)(p)
			p.leaves(2)
			p.slot("d")
		}, want: "up d, submitted 1.0=#1, removed #2, unplanned 4.0 " + full}},
		"not as they are told of anew": {begins, {
			do:   func(p *pool) { unmatched(1)(p); p.job(1, licensed, func(g *observe.Group) { g.Submit-- }) },
			want: "changed #1, unplanned 3.0 " + full,
		}},
		"until they were edited": {begins, yielded, {do: func(p *pool) {
			p.job(1, edited)
			p.job(4, licensed)
			p.leaves(2)
		}, want: "submitted 1.0=#1, removed #2, unplanned 4.0 " + full}},
	})
}
