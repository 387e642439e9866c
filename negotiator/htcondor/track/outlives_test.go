package track

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
)

// A job that runs on beyond what it stated when it was planned is reported, at first and each time
// after twice as long, whatever its user edits meanwhile.
func TestOutliving(t *testing.T) {
	p := begun(t, func(s *Settings) { s.StartSlack = 60 })
	p.job(1, is("lie", func(s *observe.Spec) { s.Estimate = 1 }))
	p.job(2)
	p.look()
	p.start(1, Flight{Handed: true, Sent: true, Claims: 1}, "a")
	p.start(2, Flight{Handed: true, Sent: true, Claims: 1}, "a")
	p.runs(1, "a")
	p.runs(2, "a")
	p.jobs[key(1)].Spec = specOf("lie", func(s *observe.Spec) { s.Estimate = 1 })
	began := p.now
	outliving := func(after int) (told []string) {
		p.now = began.Add(time.Duration(after) * time.Second)
		p.belief.See(p.snapshot())
		out := p.belief.Diff(p.dispatched)
		for _, id := range out.Arrived {
			delete(p.dispatched.Flights, id)
		}
		for _, run := range out.Delta.Outliving {
			told = append(told, fmt.Sprintf("%d states %d and runs for %d", run.Job.ID, run.Job.Estimate, run.Ran))
		}
		return told
	}
	require.Empty(t, outliving(1))
	require.Empty(t, outliving(61))
	require.Equal(t, []string{"1 states 1 and runs for 62"}, outliving(62))
	edited := *p.jobs[key(1)]
	edited.Spec = specOf("edited", func(s *observe.Spec) { s.Estimate = 100_000 })
	p.jobs[key(1)] = &edited
	require.Empty(t, outliving(123))
	require.Equal(t, []string{"1 states 1 and runs for 124"}, outliving(124))
	require.Equal(t, []string{"1 states 1 and runs for 700", "2 states 600 and runs for 700"}, outliving(700))
}

// A job that its user's edits have taken out of the plan is judged by what it was planned by and by
// when it was first seen to run, too, and its run is told to be over once.
func TestOutlivingOutOfThePlan(t *testing.T) {
	p := begun(t, func(s *Settings) { s.StartSlack = 60 })
	p.job(1, is("lie", func(s *observe.Spec) { s.Estimate = 1 }))
	p.look()
	p.start(1, Flight{Handed: true, Sent: true, Claims: 1}, "a")
	p.runs(1, "a")
	began := p.now
	outcome := func(after int) Outcome {
		p.now = began.Add(time.Duration(after) * time.Second)
		p.belief.See(p.snapshot())
		out := p.belief.Diff(p.dispatched)
		for _, id := range append(out.Arrived, out.Over...) {
			delete(p.dispatched.Flights, id)
		}
		return out
	}
	require.Empty(t, outcome(1).Delta.Outliving)
	p.job(1, is("edited", func(s *observe.Spec) { s.Estimate = 100_000 }), func(g *observe.Group) {
		g.Hosts, g.Deferral = []string{"slot1@nowhere"}, observe.Deferral{Time: 1 << 40}
	})
	require.Len(t, outcome(2).Delta.Completed, 1, "it is in no plan")
	runs := outcome(62).Delta.Outliving
	require.Len(t, runs, 1)
	require.EqualValues(t, 1, runs[0].Job.Estimate)
	require.EqualValues(t, 62, runs[0].Ran)
	p.leaves(1)
	require.Len(t, outcome(63).Delta.Taught, 1)
	require.Empty(t, outcome(64).Delta.Taught)
}
