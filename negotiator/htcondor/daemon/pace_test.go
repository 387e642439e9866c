package daemon

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// stopwatch is a clock that goes on when it is told to.
type stopwatch struct{ at time.Time }

func newStopwatch() *stopwatch { return &stopwatch{time.Unix(1000, 0)} }

func (s *stopwatch) now() time.Time { return s.at }

func (s *stopwatch) pass(d time.Duration) { s.at = s.at.Add(d) }

// TestPace: work takes its share in the long run, whether there is much of it at once or a little
// again and again, and what was saved lasts for a while.
func TestPace(t *testing.T) {
	for _, took := range []time.Duration{time.Millisecond, 300 * time.Millisecond, 5 * time.Second} {
		for _, processors := range []int{1, 8} {
			clock := newStopwatch()
			p := pace{share: 0.1, now: clock.now}
			var busy time.Duration
			began := clock.at
			for clock.at.Sub(began) < time.Hour {
				if !p.do(processors, func() { clock.pass(took) }) {
					require.Positive(t, p.wait())
					clock.pass(min(p.wait(), time.Second)) // a cycle
					continue
				}
				busy += took * time.Duration(processors)
			}
			saved := time.Duration(0.1 * float64(mostSaved))
			most := time.Duration(0.1*float64(time.Hour)) + saved + took*time.Duration(processors)
			require.LessOrEqual(t, busy, most, "%v on %d", took, processors)
			require.Greater(t, busy, most/2, "%v on %d", took, processors)
		}
	}
	clock := newStopwatch()
	p := pace{share: 0.1, now: clock.now}
	require.True(t, p.do(1, func() {
		require.False(t, p.do(1, func() { t.Error("it is done already") }))
		require.Equal(t, retry, p.wait())
		clock.pass(10 * time.Second)
	}))
	require.Equal(t, 100*time.Second-mostSaved-10*time.Second, p.wait())
}

// driven is a daemon whose cycles and clock a test drives.
type driven struct {
	*Daemon
	w      *world
	cycles *cycles
	clock  *stopwatch
	now    backfill.Time
	t      *testing.T
}

func drive(t *testing.T, policy string) *driven {
	t.Helper()
	w, clock := newWorld(), newStopwatch()
	o := w.options(policy)
	o.Negotiator.Estimates, o.Futures = learned(t), 8
	d := New(o)
	t.Cleanup(d.twins.Close)
	d.starting.now, d.ranging.now = clock.now, clock.now
	var err error
	d.n, err = negotiator.New(d.o.Negotiator)
	require.NoError(t, err)
	return &driven{d, w, &cycles{d: d, pool: w, soft: t.Context()}, clock, 1000, t}
}

// cycle runs a cycle so many seconds after the last one.
func (d *driven) cycle(later backfill.Time, delta negotiator.Delta) {
	d.t.Helper()
	d.now += later
	d.clock.pass(time.Duration(later) * time.Second)
	delta.Now = d.now
	d.w.deltas <- delta
	delta, err := d.cycles.fetch()
	require.NoError(d.t, err)
	require.NoError(d.t, d.cycles.step(d.t.Context(), delta))
}

// of returns the forecast of a job that is told to those who ask.
func (d *driven) of(id backfill.JobID) JobForecast {
	d.t.Helper()
	plan, err := d.Forecast()
	require.NoError(d.t, err)
	j, known := plan.Find(id)
	require.True(d.t, known)
	return j
}

// spend makes the plays for starts and ranges take so long that none is due for an hour.
func (d *driven) spend() {
	for _, p := range []*pace{&d.starting, &d.ranging} {
		p.do(1, func() { p.due = d.clock.at.Add(time.Hour) })
	}
}

// TestPlaysAreBounded: what earlier plays have found is told with its age while none is due, and
// not for ever; it never contradicts what is known since.
func TestPlaysAreBounded(t *testing.T) {
	for _, policy := range []string{"easy", "conservative"} {
		t.Run(policy, func(t *testing.T) {
			d := drive(t, policy)
			first := d.w.begin()
			first.Submitted = append(first.Submitted, d.w.job(3, 4, 10))
			d.cycle(0, first)
			fresh, later := d.lastCycle.Load().Widen()
			require.Zero(t, later)
			third, _ := fresh.Find(3)
			require.NotNil(t, third.P10)
			require.Nil(t, third.AsOf)
			require.NotContains(t, third.Reason, "as of")

			d.spend()
			d.cycle(5, negotiator.Delta{Submitted: []*negotiator.Job{d.w.job(4, 4, 10)}})
			again, later := d.lastCycle.Load().Widen()
			require.InDelta(t, time.Hour, later, float64(time.Minute))
			old, _ := again.Find(3)
			require.EqualValues(t, 1000, *old.AsOf)
			require.Equal(t, []*int64{third.Start, third.P50, third.P90}, []*int64{old.Start, old.P50, old.P90})
			require.GreaterOrEqual(t, *old.P10, int64(1005))
			require.Contains(t, old.Reason, "as of "+zoned(1000, 1005, time.Local))
			require.Contains(t, old.Why(time.UTC), "as of 1970-01-01 00:16:40")
			read := ReadJobForecast(old.Ad(again.Now), time.Local)
			require.Equal(t, old.AsOf, read.AsOf)
			require.Equal(t, old.Reason, read.Reason)
			require.Nil(t, d.of(4).AsOf, "it is new: nothing was foreseen of it")
			require.Nil(t, d.of(1).AsOf, "it runs")

			d.cycle(mostForeseenAge-5, negotiator.Delta{})
			require.NotContains(t, d.of(3).Reason, "–", "its range has passed")
			d.cycle(1, negotiator.Delta{})
			require.Nil(t, d.of(3).AsOf, "it is too old")
			require.Nil(t, d.of(3).P10)

			d.clock.pass(2 * time.Hour)
			d.cycle(1, negotiator.Delta{})
			last, later := d.lastCycle.Load().Widen()
			require.Zero(t, later)
			third, _ = last.Find(3)
			require.Nil(t, third.AsOf)
			require.NotNil(t, third.P10, "plays are due again")
		})
	}
}

// TestFreshStartsBesideOldRanges: a job is told its range, although a start was played since. One
// that has no range is told that start.
func TestFreshStartsBesideOldRanges(t *testing.T) {
	d := drive(t, "easy")
	d.cycle(0, d.w.begin())
	d.lastCycle.Load().Widen()
	before := d.of(2)
	d.ranging.due = d.clock.at.Add(time.Hour)
	d.cycle(5, negotiator.Delta{Submitted: []*negotiator.Job{d.w.job(3, 4, 10)}})
	_, later := d.lastCycle.Load().Widen()
	require.Equal(t, time.Hour-5*time.Second, later)
	second, third := d.of(2), d.of(3)
	require.Equal(t, before.P50, second.Start)
	require.EqualValues(t, 1000, *second.AsOf)
	require.NotNil(t, third.Start)
	require.Nil(t, third.AsOf)
	require.Nil(t, third.P10)
	d.starting.due = d.clock.at.Add(time.Minute)
	d.cycle(5, negotiator.Delta{})
	_, later = d.lastCycle.Load().Widen()
	require.Equal(t, time.Minute-5*time.Second, later, "starts do not wait for ranges")
}

// TestFreshnessOfHonestPools: with hundreds of jobs that wait, whose plays take some tenths of a
// second, everything that is told is of the last cycle.
func TestFreshnessOfHonestPools(t *testing.T) {
	clock := newStopwatch()
	share := besideShare()
	starting, ranging := pace{share: share / 3, now: clock.now}, pace{share: share * 2 / 3, now: clock.now}
	for cycle := range 100 {
		fresh := starting.do(1, func() { clock.pass(20 * time.Millisecond) }) &&
			ranging.do(2, func() { clock.pass(500 * time.Millisecond) })
		require.True(t, fresh, fmt.Sprint("cycle ", cycle))
		clock.pass(20 * time.Second)
	}
}
