package promises_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/livepage/picture"
	"github.com/condor-backfill/condor-backfill/negotiator/livepage/promises"
)

// bar returns a job of two cpus on a slot.
func bar(id backfill.JobID, owner, situation string, start, end int64, slot backfill.SlotID) picture.Job {
	return picture.Job{Bar: picture.Bar{
		ID: id, Name: fmt.Sprint(id, ".0"), Owner: owner, Situation: situation, Cpus: 2,
		Start: picture.Moment{At: start, Known: true}, End: picture.Moment{At: end, Known: true},
		At: []picture.Piece{{Slot: slot, Cpus: 2}},
	}}
}

func at(now int64, jobs ...picture.Job) *picture.Picture {
	return &picture.Picture{Head: picture.Head{Now: now, Slots: 2}, Jobs: jobs}
}

func guaranteed(j picture.Job, latest int64) picture.Job {
	j.Guarantee = picture.Moment{At: latest, Known: true}
	return j
}

func ranged(j picture.Job, low, high int64) picture.Job {
	j.Low, j.High = picture.Moment{At: low, Known: true}, picture.Moment{At: high, Known: true}
	return j
}

// TestHistory follows a job from its first told start to its start, and the errors of what it was told.
func TestHistory(t *testing.T) {
	l := promises.New()
	var told []int64
	l.Tell(func(when string, off int64) {
		require.Equal(t, "arrival", when)
		told = append(told, off)
	})
	l.See(at(0, ranged(bar(1, "ann", "reserved", 1000, 2000, 0), 900, 1200)))
	l.See(at(10, ranged(bar(1, "ann", "reserved", 1000, 2000, 0), 900, 1200))) // the same
	l.See(at(500, ranged(bar(1, "ann", "reserved", 800, 1800, 0), 700, 850)))
	l.See(at(790, bar(1, "ann", "runs", 790, 1790, 0)))
	l.See(at(800, bar(1, "ann", "runs", 790, 1790, 0)))
	all := l.History(1)
	require.Len(t, all, 3)
	require.Equal(t, int64(0), all[0].At)
	require.Equal(t, int64(500), all[1].At)
	require.Equal(t, promises.Entry{At: 790, Start: picture.At(790), Came: true}, all[2])
	require.Equal(t, []int64{-210}, told)

	r := l.Report(800)
	require.Equal(t, 1, r.Leads[0].Jobs, "told at 500 for 800")
	require.Equal(t, int64(10), r.Leads[0].Median)
	require.Equal(t, int64(-10), r.Leads[0].Bias)
	require.InDelta(t, 1, r.Leads[0].Minute, 0)
	require.InDelta(t, 1, r.Leads[0].Within, 0)
	require.Equal(t, 1, r.Leads[1].Jobs, "told at 0 for 1000")
	require.Equal(t, int64(210), r.Leads[1].Median)
	require.Zero(t, r.Leads[1].Minute)
	require.InDelta(t, 1, r.Leads[1].Ten, 0)
	require.Zero(t, r.Leads[1].Within, "it came before the range")
	require.Equal(t, []promises.Start{{Job: "1.0", Owner: "ann", At: 0, Told: 1000, Started: 790}}, r.Starts)
	require.Equal(t, []promises.Calibration{{Told: 0.1, Came: 0.5, Jobs: 2}, {Told: 0.5, Came: 1, Jobs: 2}, {Told: 0.9, Came: 1, Jobs: 2}},
		r.Calibration)
	require.Empty(t, l.History(2))
	l.See(at(2000))
	require.Equal(t, all, l.HistoryOf("1.0"), "it is remembered when it has ended")
	require.Empty(t, l.HistoryOf("2.0"))
}

// TestWhoDelays names who has the place of a job that was to start sooner.
func TestWhoDelays(t *testing.T) {
	for _, c := range []struct {
		name         string
		before       []picture.Job
		after        []picture.Job
		cause, owner string
	}{
		{
			"another job came before it",
			[]picture.Job{bar(1, "ann", "reserved", 1000, 2000, 0)},
			[]picture.Job{bar(2, "bob", "reserved", 900, 1900, 0), bar(1, "ann", "reserved", 1900, 2900, 0)},
			"job 2.0 of bob has the place", "bob",
		},
		{
			"another job was moved there",
			[]picture.Job{bar(1, "ann", "reserved", 1000, 2000, 0), bar(2, "bob", "reserved", 5000, 6000, 1)},
			[]picture.Job{bar(2, "bob", "runs", 100, 1100, 0), bar(1, "ann", "reserved", 1100, 2100, 0)},
			"job 2.0 of bob has the place", "bob",
		},
		{
			"a job runs longer",
			[]picture.Job{bar(3, "eve", "runs", 0, 1000, 0), bar(1, "ann", "reserved", 1000, 2000, 0)},
			[]picture.Job{bar(3, "eve", "runs", 0, 1500, 0), bar(1, "ann", "reserved", 1500, 2500, 0)},
			"job 3.0 of eve runs longer than it was expected to", "eve",
		},
		{
			"nobody is in its place",
			[]picture.Job{bar(1, "ann", "reserved", 1000, 2000, 0)},
			[]picture.Job{bar(2, "bob", "reserved", 900, 1900, 1), bar(1, "ann", "reserved", 1900, 2900, 0)},
			"", "",
		},
		{
			"by less than a minute",
			[]picture.Job{bar(3, "eve", "runs", 0, 1000, 0), bar(1, "ann", "reserved", 1000, 2000, 0)},
			[]picture.Job{bar(3, "eve", "runs", 0, 1050, 0), bar(1, "ann", "reserved", 1050, 2050, 0)},
			"", "",
		},
	} {
		l := promises.New()
		l.See(at(50, c.before...))
		l.See(at(100, c.after...))
		all := l.History(1)
		require.Len(t, all, 2, c.name)
		require.Equal(t, c.cause, all[1].Cause, c.name)
		delays := l.Report(100).Delays
		if c.owner == "" {
			require.Empty(t, delays, c.name)
			continue
		}
		moved := all[1].Start.At - all[0].Start.At
		require.Equal(t, []promises.Delay{{Delayed: "ann", By: c.owner, Seconds: moved, Jobs: 1}}, delays, c.name)
	}
}

// TestBroken counts guarantees that were broken, by cause, also of jobs of which only the name is known.
func TestBroken(t *testing.T) {
	l := promises.New()
	l.See(at(0, guaranteed(bar(1, "ann", "reserved", 10, 20, 0), 100), guaranteed(bar(2, "bob", "reserved", 10, 20, 1), 100)))
	l.Broke(promises.Broken{ID: 1, Job: "1.0", Owner: "ann", Promised: 100, Cause: "slot lost", At: 5})
	l.Broke(promises.Broken{ID: 1, Job: "1.0", Owner: "ann", Promised: 200, Cause: "slot lost", At: 6})
	l.Broke(promises.Broken{ID: promises.NoID, Job: "2.0", Promised: 100, Cause: "lease", At: 7})
	r := l.Report(10)
	require.Equal(t, promises.Guarantees{
		Given: 2, Broken: 2, Causes: []promises.Cause{{Cause: "slot lost", Jobs: 2}, {Cause: "lease", Jobs: 1}},
	}, r.Guarantees)
	require.Equal(t, "2.0", r.Broken[0].Job)
	require.Equal(t, "bob", r.Broken[0].Owner, "who is known by name")
	l.See(at(20, bar(1, "ann", "runs", 15, 25, 0)))
	require.Equal(t, 2, l.Report(20).Guarantees.Broken, "also once they are gone")
}

// TestElsewhere: what a job was told that another negotiator has started is neither kept nor broken, whatever
// it was here by then, and also if an older picture is shown later.
func TestElsewhere(t *testing.T) {
	reserved := guaranteed(bar(1, "ann", "reserved", 10, 20, 0), 100)
	matched := reserved
	matched.Situation = "matched"
	for name, pictures := range map[string][]*picture.Picture{
		"waits":                  {at(0, reserved)},
		"matched":                {at(0, reserved), at(3, matched)},
		"matched, and not there": {at(0, reserved), at(3, matched), at(2, reserved)},
	} {
		t.Run(name, func(t *testing.T) {
			l := promises.New()
			l.Tell(func(string, int64) { require.Fail(t, "it has not started here") })
			for _, p := range pictures {
				l.See(p)
			}
			l.Elsewhere(1, 5)
			l.Elsewhere(2, 5) // which was told nothing
			for _, p := range []*picture.Picture{at(4, matched), at(5)} {
				l.See(p)
				r := l.Report(5)
				require.Equal(t, promises.Guarantees{Given: 1, Elsewhere: 1, Causes: []promises.Cause{}}, r.Guarantees)
				require.Empty(t, r.Starts)
			}
			l.See(at(9, reserved)) // it came back
			require.Equal(t, promises.Guarantees{Given: 2, Elsewhere: 1, Open: 1, Causes: []promises.Cause{}}, l.Report(9).Guarantees)
		})
	}
}

// TestMatched: a job that was matched has not started; once it is gone, it has run between two pictures.
func TestMatched(t *testing.T) {
	l := promises.New()
	reserved := guaranteed(bar(1, "ann", "reserved", 10, 20, 0), 100)
	matched := guaranteed(bar(1, "ann", "matched", 3, 13, 0), 100)
	l.See(at(0, reserved))
	l.See(at(3, matched))
	require.Equal(t, 1, l.Report(3).Guarantees.Open)
	l.See(at(4, reserved)) // its start has failed
	require.Equal(t, promises.Guarantees{Given: 1, Open: 1, Causes: []promises.Cause{}}, l.Report(4).Guarantees)
	l.See(at(5, matched))
	l.See(at(9))
	require.Equal(t, promises.Guarantees{Given: 1, Kept: 1, Causes: []promises.Cause{}}, l.Report(9).Guarantees)
	require.Equal(t, int64(3), l.Report(9).Starts[0].Started)
}

// TestGuaranteesAddUp shows a ledger jobs that come, are moved, start, go and have their guarantees broken:
// those that were given and stood are kept, broken or open. What it remembers is bounded.
func TestGuaranteesAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := promises.New()
		live, next := map[backfill.JobID]picture.Job{}, backfill.JobID(1)
		for now := range int64(rapid.IntRange(1, 40).Draw(t, "cycles")) {
			for range rapid.IntRange(0, 3).Draw(t, "new") {
				j := bar(next, fmt.Sprint("u", next%3), "reserved", now+int64(next)*7, now+int64(next)*7+50, backfill.SlotID(next%2))
				if rapid.Bool().Draw(t, "promised") {
					j = guaranteed(j, now+1000)
				}
				live[next] = j
				next++
			}
			var jobs []picture.Job
			for id := range next {
				j, lives := live[id]
				if !lives {
					continue
				}
				switch rapid.IntRange(0, 9).Draw(t, "what") {
				case 0:
					delete(live, id)
					continue
				case 1, 2:
					j.Situation, j.Start.At, j.End.At = "runs", now, now+50
				case 6:
					if j.Situation == "reserved" {
						j.Situation = "matched"
					}
				case 7:
					if j.Situation != "runs" {
						l.Elsewhere(id, now)
						delete(live, id)
						continue
					}
				case 3, 4:
					if j.Situation == "reserved" {
						j.Start.At += 100
						j.End.At += 100
					}
				case 5:
					if j.Situation == "reserved" && j.Guarantee.Known {
						l.Broke(promises.Broken{ID: id, Job: j.Name, Owner: j.Owner, Promised: j.Guarantee.At, Cause: "test", At: now})
					}
				}
				live[id] = j
				jobs = append(jobs, j)
			}
			l.See(at(now, jobs...))
			g := l.Report(now).Guarantees
			require.Equal(t, g.Given, g.Kept+g.Broken+g.Elsewhere+g.Open)
			open := 0
			for _, j := range jobs {
				if j.Situation != "runs" && j.Guarantee.Known {
					open++
				}
			}
			require.LessOrEqual(t, g.Open, open)
		}
		for id := range next {
			require.LessOrEqual(t, len(l.History(id)), 49)
		}
	})
}

// TestLongHistories: of many entries the first and the last stay.
func TestLongHistories(t *testing.T) {
	l := promises.New()
	for i := range int64(1000) {
		l.See(at(i, bar(1, "ann", "reserved", 5000+100*i, 9000+100*i, 0)))
	}
	all := l.History(1)
	require.LessOrEqual(t, len(all), 48)
	require.Equal(t, int64(0), all[0].At)
	require.Equal(t, int64(999), all[len(all)-1].At)
	for i := 1; i < len(all); i++ {
		require.Less(t, all[i-1].At, all[i].At)
	}
}
