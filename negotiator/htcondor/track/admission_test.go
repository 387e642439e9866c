package track

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

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
		skipped = "is of the submitter , of which SkipMatchmaking is true"
	)
	admit := func(p *pool) { p.advertises(map[string]observe.Submitter{"": {}}) }
	exclude := func(p *pool) { p.advertises(map[string]observe.Submitter{"": {Excluded: true}}) }
	followAll(t, begun, map[string][]step{
		"there is none": {{do: func(p *pool) { p.job(1) }, want: "submitted 1.0=#1"}},
		"asks to be left out": {
			{do: func(p *pool) { p.job(1) }, want: "submitted 1.0=#1"},
			{
				do:   func(p *pool) { p.advertises(map[string]observe.Submitter{"": {Skipped: true}}) },
				want: "removed #1, unplanned 1.0 " + skipped,
			},
			{do: admit, want: "submitted 1.0=#1"},
		},
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
