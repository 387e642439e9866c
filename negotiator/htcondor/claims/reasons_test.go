package claims

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/track"
)

// TestExplainAdd says which jobs are told why they wait: those whose reason is new and was not told
// lately, and whose schedd can be told.
func TestExplainAdd(t *testing.T) {
	for name, c := range map[string]struct {
		before reason
		ago    time.Duration // that it was told
		change func(d *desk, e *explanation)
		phase  track.Phase
		told   bool
	}{
		"never told":      {phase: track.Waiting, told: true},
		"the same reason": {before: reason{text: "because"}, ago: time.Hour, phase: track.Waiting},
		"another reason":  {before: reason{text: "why"}, ago: TellEvery, phase: track.Waiting, told: true},
		"another reason, but so soon": {
			before: reason{text: "why"}, ago: TellEvery - time.Second, phase: track.Waiting,
		},
		"does not wait": {phase: track.Unknown},
		"its schedd was told enough": {
			change: func(_ *desk, e *explanation) { e.count["s"] = maxReasons }, phase: track.Waiting,
		},
		"its schedd was told almost enough": {
			change: func(_ *desk, e *explanation) { e.count["s"] = maxReasons - 1 }, phase: track.Waiting, told: true,
		},
		"its submitter is not advertised": {
			change: func(d *desk, _ *explanation) { d.schedd.Submitters = nil; d.look() }, phase: track.Waiting,
		},
		"it is another negotiator's submitter": {
			change: func(d *desk, _ *explanation) {
				d.schedd.Submitters = map[string]observe.Submitter{"": {Idle: 1, Excluded: true}}
				d.look()
			},
			phase: track.Waiting,
		},
		"its submitter asks to be left out": {
			change: func(d *desk, _ *explanation) {
				d.schedd.Submitters = map[string]observe.Submitter{"": {Idle: 1, Skipped: true}}
				d.look()
			},
			phase: track.Waiting,
		},
		"its schedd does not answer": {
			change: func(d *desk, _ *explanation) {
				d.schedd.Failed = errors.New("it is dead")
				d.look()
			},
			phase: track.Waiting,
		},
		"its schedd is late": {
			change: func(d *desk, _ *explanation) { d.schedd.Late = true; d.look() }, phase: track.Waiting,
		},
		"its schedd is told of matches": {
			change: func(d *desk, _ *explanation) { d.telling["s"] = []Grant{{}} }, phase: track.Waiting,
		},
		"its schedd was slow": {
			change: func(_ *desk, e *explanation) { e.mute = func(string) bool { return true } }, phase: track.Waiting,
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, "a")
			d.schedd.Submitters = map[string]observe.Submitter{"": {Idle: 1}}
			id := d.submit(1, specOf(t, 1, "true"))
			if c.before.text != "" {
				d.reasons[id] = reason{c.before.text, d.now.Add(-c.ago)}
			}
			reasonBefore := d.reasons[id]
			e := explanation{
				c: d.State, mute: func(string) bool { return false }, bySchedd: map[string]map[string][]Reason{},
				count: map[string]int{},
			}
			if c.change != nil {
				c.change(d, &e)
			}
			before := e.count["s"]
			e.add(id, c.phase, func(backfill.JobID) string { return "because" })
			if !c.told {
				require.Empty(t, e.bySchedd)
				require.Equal(t, reasonBefore, d.reasons[id])
				require.Equal(t, before, e.count["s"])
				return
			}
			require.Equal(t, []Reason{{observe.JobKey{Schedd: "s", Cluster: 1}, "", "because"}}, e.bySchedd["s"][""])
			require.Equal(t, reason{"because", d.now}, d.reasons[id])
			require.Equal(t, before+1, e.count["s"])
		})
	}
}

// TestReasons says that jobs which wait or are kept out of the plan are told why, that those which
// have left are forgotten, and that who only observes tells nobody.
func TestReasons(t *testing.T) {
	d := newDesk(t, "a")
	d.schedd.Submitters = map[string]observe.Submitter{"": {Idle: 1}}
	waits := d.submit(1, specOf(t, 1, "true"))
	wrong := specOf(t, 1, "false")
	wrong.Wrong = errors.New("it asks for too much")
	unplanned := d.submit(2, wrong)
	d.reasons[99] = reason{"because", d.now}
	reasons := func() map[string]map[string][]Reason {
		why := func(backfill.JobID) string { return "because" }
		return d.Reasons(d.now, []backfill.JobID{waits}, why, func(string) bool { return false })
	}
	d.s.Observe = true
	require.Empty(t, reasons())
	require.Contains(t, d.reasons, backfill.JobID(99))
	d.s.Observe = false
	require.Len(t, reasons()["s"][""], 2)
	require.Empty(t, reasons(), "nothing is new")
	require.NotContains(t, d.reasons, backfill.JobID(99))
	require.Equal(t, "because", d.reasons[waits].text)
	require.Contains(t, d.reasons[unplanned].text, "it asks for too much")
}
