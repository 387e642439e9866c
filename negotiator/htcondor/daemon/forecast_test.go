package daemon

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/track"
)

// once runs one cycle of a daemon, with a delta.
func once(t *testing.T, w *world, o Options, delta negotiator.Delta) *Daemon {
	t.Helper()
	w.deltas <- delta
	o.Once = true
	d := New(o)
	require.NoError(t, d.Run(t.Context()))
	return d
}

// TestACluster asks for clusters: several jobs are listed, and a single one is explained.
func TestACluster(t *testing.T) {
	w := newWorld()
	w.unplanned = []track.Unplanned{{ID: 9, Job: "3.7", Schedd: "b", Owner: "carol", Why: "is on its own"}}
	first := w.begin()
	many := w.job(3, 4, 10)
	first.Submitted = append(first.Submitted, many)
	d := once(t, w, w.options("conservative"), first)
	for question, want := range map[string][]string{
		"1": {"1.0"}, "3": {"3.0", "3.7"}, "3@a": {"3.0"}, "3@b": {"3.7"}, "3@c": nil, "33": nil, "0": nil,
	} {
		ads, err := d.Plans(t.Context(), question)
		require.NoError(t, err)
		var jobs []string
		for _, ad := range ads.All() {
			jobs = append(jobs, ReadJobForecast(ad, time.UTC).Job)
		}
		require.Equal(t, want, jobs, question)
	}
	ads, err := d.Plans(t.Context(), "1")
	require.NoError(t, err)
	_, known := ads.All()[0].Int("SlotsMatching")
	require.True(t, known)
}

// TestForecast checks the expected starts of jobs for which the policy reserves nothing.
func TestForecast(t *testing.T) {
	w := newWorld()
	first := w.begin()
	first.Submitted = append(first.Submitted, w.job(3, 4, 10))
	d := once(t, w, w.options("first-fit"), first)
	plan, err := d.Forecast()
	require.NoError(t, err)
	second, known := plan.Find(2)
	require.True(t, known)
	require.EqualValues(t, 1100, *second.Start)
	third, _ := plan.Find(3)
	require.EqualValues(t, 1150, *third.Start, "behind the second")
	require.Equal(t, "2.0", third.Behind)
}

// TestMatched checks that a job which was matched is not said to run before its schedd has started it.
func TestMatched(t *testing.T) {
	for name, c := range map[string]struct {
		earlier, observe bool
		matched          []backfill.JobID
		want             string
	}{
		"in this cycle":                       {want: "matched"},
		"in an earlier one":                   {earlier: true, matched: []backfill.JobID{1}, want: "matched"},
		"in an earlier one, and it runs":      {earlier: true, want: "runs"},
		"nothing is matched where we observe": {observe: true, want: "runs"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.matched = c.matched
			o := w.options("conservative")
			o.Observe = c.observe
			delta := w.begin()
			if c.earlier {
				delta.Found = []negotiator.Running{{
					Job: delta.Submitted[0], Placement: negotiator.Placement{{Slot: w.slot, Count: 1}}, Start: 1000,
				}}
				delta.Submitted = delta.Submitted[1:]
			}
			d := once(t, w, o, delta)
			plan, err := d.Forecast()
			require.NoError(t, err)
			first, _ := plan.Find(1)
			require.Equal(t, c.want, first.Situation)
			ads, err := d.Plans(t.Context(), "1")
			require.NoError(t, err)
			words := map[string]string{"matched": "^matched at .*, waits for its schedd", "runs": "^runs since"}
			require.Regexp(t, words[c.want], ReadJobForecast(ads.All()[0], time.UTC).Reason)
		})
	}
}

// TestForecastOfAnEarliestStart checks what is said of a job that may not start yet: with a
// reservation, with a start that is only expected, and to a reader of its ad.
func TestForecastOfAnEarliestStart(t *testing.T) {
	for policy, want := range map[string]string{
		"first-fit":    "waits, expected start 00:26 UTC on slot1@a, may not start before 00:26 UTC",
		"conservative": "reserved, expected start 00:26 UTC on slot1@a, guaranteed by 00:26 UTC, may not start before 00:26 UTC",
	} {
		w := newWorld()
		first := w.begin()
		late := w.job(3, 4, 10)
		late.Release = 1600
		first.Submitted = append(first.Submitted, late, w.job(4, 4, 10))
		d := once(t, w, w.options(policy), first)
		plan, err := d.Forecast()
		require.NoError(t, err)
		third, known := plan.Find(3)
		require.True(t, known)
		require.EqualValues(t, 1600, *third.Start)
		require.EqualValues(t, 1600, *third.NotBefore)
		require.Empty(t, third.Behind)
		read := ReadJobForecast(third.Ad(plan.Now), time.UTC)
		require.Equal(t, want, read.Reason, policy)
		require.Equal(t, "may not start before 1970-01-01 00:26:40 UTC", read.Why(time.UTC))
		fourth, _ := plan.Find(4)
		require.Nil(t, fourth.NotBefore)
		third.Start = nil
		require.Equal(t, "may not start before 00:26 UTC", third.describe(plan.Now, time.UTC))
	}
}

// farBehind runs a cycle with a queue that is longer by so many jobs than what is foreseen. It returns
// the forecast, the list of jobs, and what is said of the last one.
func farBehind(t *testing.T, further int, policy string, depth int) (*Forecast, []*classad.ClassAd, string) {
	t.Helper()
	w := newWorld()
	first := w.begin()
	for id := range mostForeseen + further {
		first.Submitted = append(first.Submitted, w.job(backfill.JobID(3+id), 4, 10))
	}
	last := first.Submitted[len(first.Submitted)-1]
	o := w.options(policy)
	o.Negotiator.Planning.Depth = depth
	d := once(t, w, o, first)
	plan, err := d.Forecast()
	require.NoError(t, err)
	listed, err := d.Plans(t.Context(), "")
	require.NoError(t, err)
	explained, err := d.Plans(t.Context(), last.Name)
	require.NoError(t, err)
	return plan, listed.All(), ReadJobForecast(explained.All()[0], time.UTC).Reason
}

// TestFarBehind checks that a long queue is forecast up to a depth: what is behind is not listed, and
// explained without a start.
func TestFarBehind(t *testing.T) {
	const behind = 5
	plan, listed, why := farBehind(t, behind, "easy", 0)
	require.Equal(t, behind, plan.Further)
	farthest := plan.Jobs[mostForeseen]
	require.Equal(t, backfill.JobID(mostForeseen+2), farthest.ID)
	require.NotNil(t, farthest.Start)
	require.Equal(t, "2.0", farthest.Behind, "the one with a reservation")
	require.Len(t, listed, mostForeseen+1)
	require.Equal(t, "waits behind more than 10000 jobs: no start is foreseen yet", why)
}

// TestFarBeyondTheDepth checks that a job that is not listed is told how far behind the plan it is.
func TestFarBeyondTheDepth(t *testing.T) {
	plan, listed, why := farBehind(t, 5, "conservative", 1)
	require.Equal(t, 6, plan.Further)
	require.Len(t, listed, mostForeseen)
	require.Equal(t, "no promise yet: 10,005 jobs before it in the plan's order, which reaches 1", why)
}

// TestBeyondTheDepth checks what is said of jobs that the plan does not reach: a start without a
// promise, and their number in the log, the ad and the metrics.
func TestBeyondTheDepth(t *testing.T) {
	w, log := newWorld(), &buffer{}
	o := w.options("conservative")
	o.Logger, o.Negotiator.Planning.Depth = logTo(log), 1
	first := w.begin()
	first.Submitted = append(first.Submitted, w.job(3, 4, 10))
	d := once(t, w, o, first)
	plan, err := d.Forecast()
	require.NoError(t, err)
	for id, want := range map[backfill.JobID]struct {
		start int64
		why   string
	}{
		2: {1100, "no promise yet: next in the plan's order, which reaches 1"},
		3: {1150, "no promise yet: 1 job before it in the plan's order, which reaches 1"},
	} {
		j, known := plan.Find(id)
		require.True(t, known)
		require.Equal(t, want.start, *j.Start)
		require.Nil(t, j.Guarantee)
		read := ReadJobForecast(j.Ad(plan.Now), time.UTC)
		require.Equal(t, []string{"waits", want.why}, []string{read.Situation, read.Why(time.UTC)})
		require.Regexp(t, "^waits, expected start .* on slot1@a; "+want.why+"$", read.Reason)
	}
	require.Regexp(t, `cycle 1: .* idle=2 running=1 started=1 beyond_depth=2 rss=`, log.String())
	n, _ := d.Ad().Int("BackfillBeyondDepth")
	require.EqualValues(t, 2, n)
	registry := prometheus.NewRegistry()
	registry.MustRegister(metrics{d})
	families, err := registry.Gather()
	require.NoError(t, err)
	jobs := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			if family.GetName() == "backfill_jobs" {
				jobs[m.GetLabel()[0].GetValue()] = m.GetGauge().GetValue()
			}
		}
	}
	require.Equal(t, map[string]float64{"idle": 2, "running": 1, "reserved": 0, "beyond_depth": 2, "unplanned": 0}, jobs)
}

// TestLeftOut checks that jobs that are left out of the plan are listed last, with their reason.
func TestLeftOut(t *testing.T) {
	w := newWorld()
	w.unplanned = []track.Unplanned{
		{ID: 9, Job: "9.0", Schedd: "s", Owner: "carol", Why: "1 of 1 in use, 1 wanted: concurrency limit matlab reached"},
	}
	w.jobs[9] = &negotiator.Job{ID: 9, Name: "9.0"}
	d := once(t, w, w.options("conservative"), w.begin())
	for question, want := range map[string][]string{"": {"2.0", "9.0"}, "9.0": {"9.0"}} {
		ads, err := d.Plans(t.Context(), question)
		require.NoError(t, err)
		var jobs []string
		for _, ad := range ads.All() {
			jobs = append(jobs, ReadJobForecast(ad, time.UTC).Job)
		}
		require.Equal(t, want, jobs)
		last := ReadJobForecast(ads.All()[len(ads.All())-1], time.UTC)
		require.Equal(t, []string{"carol", "s", "waits", w.unplanned[0].Why},
			[]string{last.Owner, last.Schedd, last.Situation, last.Why(time.UTC)})
		require.Nil(t, last.Start)
	}
}

// TestForecastOfALimit: who waits for a limit has a start and is told which limit it is, at the end of
// the reason, as programs expect.
func TestForecastOfALimit(t *testing.T) {
	const why = "2 of 2 in use, 1 wanted: concurrency limit sw reached"
	for _, policy := range []string{"conservative", "easy"} {
		w := newWorld()
		w.lacking = map[backfill.JobID]string{2: why}
		d := once(t, w, w.options(policy), w.begin())
		ads, err := d.Plans(t.Context(), "2.0")
		require.NoError(t, err)
		j := ReadJobForecast(ads.All()[0], time.UTC)
		require.Equal(t, why, j.Why(time.UTC))
		require.True(t, strings.HasSuffix(j.Reason, why), j.Reason)
	}
}

// TestMatchesNothing checks that the reason of a job that matches no slot names the clause that
// fails, and not its size.
func TestMatchesNothing(t *testing.T) {
	w := newWorld()
	picky := w.job(3, 1, 10)
	require.NoError(t, picky.Ad.SetExpr("Requirements", "TARGET.HasDocker"))
	first := w.begin()
	first.Submitted = append(first.Submitted, picky, w.job(4, 5, 10))
	d := once(t, w, w.options("conservative"), first)
	for question, want := range map[string][]string{
		"": {
			"reserved", "cannot run in this pool: matches no slot",
			"cannot run in this pool: fits on no slot of the pool, even an empty one",
		},
		"3.0": {"cannot run in this pool: matches no slot: true on none of 1: TARGET.HasDocker"},
	} {
		ads, err := d.Plans(t.Context(), question)
		require.NoError(t, err)
		var whys []string
		for _, ad := range ads.All() {
			whys = append(whys, ReadJobForecast(ad, time.UTC).Why(time.UTC))
		}
		require.Equal(t, want, whys)
	}
}

// TestJobsThatWaitForAMachineToWakeUp checks what is said of jobs that would start on a machine that
// sleeps: of one that may start elsewhere, and of one that may not.
func TestJobsThatWaitForAMachineToWakeUp(t *testing.T) {
	w := newWorld()
	ad := classad.New()
	ad.SetString("Name", "slot1@n3")
	ad.SetInt("Big", 1)
	ad.SetBool("Requirements", true)
	w.asleep = []*negotiator.Slot{{Name: "slot1@n3", Capacity: backfill.Vector{8}, Ad: ad}}
	closed := ad.Clone()
	closed.SetBool("Requirements", false)
	closed.SetString(negotiator.WhyClosed, "asleep")
	first := w.begin()
	first.SlotsUp = append(first.SlotsUp, &negotiator.Slot{Name: "slot1@n3", Capacity: backfill.Vector{8}, Ad: closed})
	picky := w.job(3, 4, 10)
	require.NoError(t, picky.Ad.SetExpr("Requirements", "TARGET.Big =?= 1"))
	first.Submitted = append(first.Submitted, picky)
	d := once(t, w, w.options("conservative"), first)
	plan, err := d.Forecast()
	require.NoError(t, err)
	reasons := map[string]string{}
	for _, j := range plan.Jobs {
		reasons[j.Job] = j.Reason
		ad := j.Ad(plan.Now)
		require.Equal(t, j.Asleep, ReadJobForecast(ad, time.UTC).Asleep)
	}
	require.Equal(t, "waits for slot1@n3 to wake up", reasons["3.0"])
	require.Regexp(t, "^reserved, expected start .* on slot1@a, .*; waits for slot1@n3 to wake up$", reasons["2.0"])
	require.NotContains(t, reasons["1.0"], "wake")
	ads, err := d.Plans(t.Context(), "3.0")
	require.NoError(t, err)
	require.Equal(t, "waits for slot1@n3 to wake up", ReadJobForecast(ads.All()[0], time.UTC).Reason)
	require.Len(t, w.roused, 2)
}

// TestClosedSlots checks that the reason of a job whose slots are all closed for a while says why they
// are, in the list of start times and in explanations.
func TestClosedSlots(t *testing.T) {
	w := newWorld()
	first := w.begin()
	draining, paused := *w.slot, *w.slot
	draining.Name, draining.Ad = "b", w.slot.Ad.Clone()
	draining.Ad.SetBool("Requirements", false)
	draining.Ad.SetString(negotiator.WhyClosed, "draining")
	paused.Name, paused.Ad = "c", draining.Ad.Clone()
	paused.Ad.SetString(negotiator.WhyClosed, "left out (starts fail there)")
	paused.Ad.SetInt(negotiator.ClosedUntil, 1_700_000_000)
	picky := w.job(3, 1, 10)
	for name, slot := range map[string]*negotiator.Slot{"b": &draining, "c": &paused} {
		slot.Ad.SetString("Name", name)
	}
	require.NoError(t, picky.Ad.SetExpr("Requirements", `TARGET.Name == "b" || TARGET.Name == "c"`))
	first.SlotsUp = append(first.SlotsUp, &draining, &paused)
	first.Submitted = append(first.Submitted, picky)
	d := once(t, w, w.options("conservative"), first)
	want := "cannot run now: of 3 slots 1 is draining, 1 is left out (starts fail there) until " +
		time.Unix(1_700_000_000, 0).Format("15:04:05 MST")
	for _, question := range []string{"", "3.0"} {
		ads, err := d.Plans(t.Context(), question)
		require.NoError(t, err)
		last := ads.All()[len(ads.All())-1]
		require.Equal(t, want, ReadJobForecast(last, time.UTC).Why(time.UTC), question)
	}
}

// TestZones checks that times are in the reader's time zone, not in the negotiator's.
func TestZones(t *testing.T) {
	at := func(clock string) *int64 {
		when, err := time.Parse(time.DateTime, "2026-11-22 "+clock)
		require.NoError(t, err)
		return new(when.Unix())
	}
	full := JobForecast{
		Job: "1.0", Situation: "reserved", Start: at("15:04:00"), Guarantee: at("16:00:00"),
		Reserved: at("15:30:00"), Slots: "a",
	}
	late := JobForecast{Job: "2.0", Situation: "waits", Start: at("15:04:00"), Slots: "a ×2", Behind: "1.0"}
	runs := JobForecast{Job: "3.0", Situation: "runs", Start: at("15:00:00"), Slots: "a"}
	flies := JobForecast{Job: "4.0", Situation: "matched", Start: at("15:00:00"), Slots: "a"}
	now := backfill.Time(*at("15:01:00"))
	for _, zone := range []struct {
		at   *time.Location
		want []string
	}{
		{time.UTC, []string{
			"reserved for 15:30 UTC, expected start 15:04 UTC on a, guaranteed by 16:00 UTC",
			"reserved for 2026-11-22 15:30:00 UTC",
			"waits, expected start 15:04 UTC on a ×2, behind job 1.0",
			"behind job 1.0", "runs since 15:00 UTC on a", "runs",
			"matched at 15:00 UTC, waits for its schedd to start it on a", "matched, waits for its schedd",
		}},
		{time.FixedZone("EST", -5*3600), []string{
			"reserved for 10:30 EST, expected start 10:04 EST on a, guaranteed by 11:00 EST",
			"reserved for 2026-11-22 10:30:00 EST",
			"waits, expected start 10:04 EST on a ×2, behind job 1.0",
			"behind job 1.0", "runs since 10:00 EST on a", "runs",
			"matched at 10:00 EST, waits for its schedd to start it on a", "matched, waits for its schedd",
		}},
	} {
		var got []string
		for _, plan := range []JobForecast{full, late, runs, flies} {
			read := ReadJobForecast(plan.Ad(now), zone.at)
			got = append(got, read.Reason, read.Why(zone.at))
		}
		require.Equal(t, zone.want, got)
	}
}
