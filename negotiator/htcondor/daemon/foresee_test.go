package daemon

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/negotiator/outlook"
)

// learned is estimators that predict nothing, and have learned that alice's jobs run for a tenth to
// all of what they request.
func learned(t *testing.T) *estimate.Set {
	t.Helper()
	history := estimate.NewHistory(0)
	for tenths := range backfill.Time(10) {
		history.Add(estimate.Ended{
			Job: estimate.Job{Requested: 100, Labels: map[string]string{"owner": "alice"}}, Ran: 10 * (tenths + 1), At: tenths,
		})
	}
	set, err := estimate.New(estimate.Settings{}, history, true, false, nil)
	require.NoError(t, err)
	return set
}

// TestRanges checks what is told of starts in several futures. Job 1 runs for up to 100 s.
func TestRanges(t *testing.T) {
	for _, policy := range []string{"easy", "conservative"} {
		w := newWorld()
		first := w.begin()
		first.Submitted = append(first.Submitted, w.job(3, 4, 10))
		o := w.options(policy)
		o.Negotiator.Estimates, o.Futures = learned(t), 32
		d := once(t, w, o, first)
		plan, err := d.Forecast()
		require.NoError(t, err)
		for _, id := range []backfill.JobID{2, 3} {
			j, known := plan.Find(id)
			require.True(t, known)
			require.Less(t, *j.P10, *j.P50, policy)
			require.Less(t, *j.P50, *j.P90, policy)
			require.Equal(t, *j.P50, *j.Start)
			require.GreaterOrEqual(t, *j.P10, int64(1000))
			if j.Guarantee != nil {
				require.LessOrEqual(t, *j.P90, *j.Guarantee)
			}
			read := ReadJobForecast(j.Ad(plan.Now), time.UTC)
			require.Equal(t, []*int64{j.P10, j.P50, j.P90}, []*int64{read.P10, read.P50, read.P90})
			require.Regexp(t, `expected start \d\d:\d\d–\d\d:\d\d UTC \(80 %\), most likely \d\d:\d\d UTC, on slot1@a`, read.Reason)
			require.Regexp(t, `^1970-01-01 |^\d\d:\d\d:\d\d–\d\d:\d\d:\d\d$`, read.Span(time.UTC))
		}
		o.Futures = 1
		plan, err = once(t, w, o, w.begin()).Forecast()
		require.NoError(t, err)
		second, _ := plan.Find(2)
		require.Nil(t, second.P10)
		require.EqualValues(t, 1100, *second.Start, "all run for as long as requested")
	}
}

// TestPlaysEndWithTheDaemon: what has been found is told.
func TestPlaysEndWithTheDaemon(t *testing.T) {
	w := newWorld()
	d := once(t, w, w.options("easy"), w.begin())
	require.Len(t, d.player(0).starts(outlook.New(d.n)), 1)
	d.endPlays(errOff)
	require.Empty(t, d.player(0).starts(outlook.New(d.n)))
	require.False(t, d.mute.Load(), "that is no fault of the policy")
}

// onlyOne is a policy of which there is only one.
type onlyOne struct{ backfill.Decider }

// TestAPolicyThatCannotBePlayed: the plan alone is told, and the log says why.
func TestAPolicyThatCannotBePlayed(t *testing.T) {
	w, log := newWorld(), &buffer{}
	o := w.options("conservative")
	o.Logger = logTo(log)
	o.Negotiator.Policy = onlyOne{o.Negotiator.Policy}
	d := once(t, w, o, w.begin())
	plan, err := d.Forecast()
	require.NoError(t, err)
	second, _ := plan.Find(2)
	require.EqualValues(t, 1100, *second.Start, "its reservation")
	require.Contains(t, log.String(), cannotLookText)
	require.Contains(t, log.String(), "there cannot be more than one of policy conservative")
}

// TestWhySlotsEnd: whatever the policy, a job that no slot can run before it ends is told so, and when
// the last of them closes.
func TestWhySlotsEnd(t *testing.T) {
	for _, policy := range []string{"easy", "conservative", "slack"} {
		w := newWorld()
		first := w.begin()
		w.slot.End = 1500
		first.Submitted = append(first.Submitted[:1], w.job(3, 4, 600))
		d := once(t, w, w.options(policy), first)
		plan, err := d.Forecast()
		require.NoError(t, err)
		j, known := plan.Find(3)
		require.True(t, known)
		require.Nil(t, j.Start)
		require.Regexp(t, "^all slots that it may use end before it would, 1 of 1 even if idle now; the last of them closes at .+:25 ",
			j.Reason, policy)
	}
}
