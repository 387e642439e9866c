package matchmaker

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
)

// at is the candidates of an autocluster that are open at an instant.
func (p *pool) at(now backfill.Time, id int) []backfill.SlotID {
	_, _ = p.Match(context.Background(), now)
	return p.clusters[id].candidates.OpenAt(now).Slots
}

// windows are when an autocluster's jobs may begin on its first candidate.
func (p *pool) windows(id int) []backfill.Window {
	if all := p.clusters[id].candidates.Windows; all != nil {
		return all[0]
	}
	return nil
}

// A pilot takes jobs until it retires, and each job for which there is time.
func TestClockInRequirements(t *testing.T) {
	p := newPool()
	start := `Requirements = START; START = CurrentTime < ToRetire && ToRetire - time() >= TARGET.Length; `
	p.add(slotAd(t, "n1", 8, start+"ToRetire = 1000"), slotAd(t, "n2", 8, start+"ToRetire = 2000"), slotAd(t, "n3", 8, ""))
	short, long := p.clusterOf(t, jobAd(t, "Length = 10")), p.clusterOf(t, jobAd(t, "Length = 900"))
	aged := p.clusterOf(t, jobAd(t, "Length = 10; QDate = 300; Requirements = time() - QDate > 200"))
	for _, c := range []struct {
		now               backfill.Time
		short, long, aged []backfill.SlotID
	}{
		{0, []backfill.SlotID{0, 1, 2}, []backfill.SlotID{0, 1, 2}, nil},
		{100, []backfill.SlotID{0, 1, 2}, []backfill.SlotID{0, 1, 2}, nil},
		{101, []backfill.SlotID{0, 1, 2}, []backfill.SlotID{1, 2}, nil},
		{500, []backfill.SlotID{0, 1, 2}, []backfill.SlotID{1, 2}, nil},
		{501, []backfill.SlotID{0, 1, 2}, []backfill.SlotID{1, 2}, []backfill.SlotID{0, 1, 2}},
		{990, []backfill.SlotID{0, 1, 2}, []backfill.SlotID{1, 2}, []backfill.SlotID{0, 1, 2}},
		{991, []backfill.SlotID{1, 2}, []backfill.SlotID{1, 2}, []backfill.SlotID{1, 2}},
		{3000, []backfill.SlotID{2}, []backfill.SlotID{2}, []backfill.SlotID{2}},
	} {
		require.Equal(t, c.short, p.at(c.now, short), "short at %d", c.now)
		require.Equal(t, c.long, p.at(c.now, long), "long at %d", c.now)
		require.Equal(t, c.aged, p.at(c.now, aged), "aged at %d", c.now)
	}
	require.Equal(t, backfill.Forever, p.Wake(), "all pilots have retired")
	require.Nil(t, p.clusters[aged].candidates.Windows, "who is still there takes jobs at any time")
}

// Start windows are known for a week, also those that cannot be solved for the time, to the second.
func TestStartWindows(t *testing.T) {
	const day, hour = 24 * 3600, 3600
	zone := time.FixedZone("", 3600)
	start := time.Date(2023, 11, 14, 23, 0, 0, 0, zone).Unix() // a Tuesday
	night := []backfill.Window{{From: hour, To: 9 * hour}}
	for i := range backfill.Time(6) {
		night = append(night, backfill.Window{From: hour + (i+1)*day, To: 9*hour + (i+1)*day})
	}
	friday := []backfill.Window{{From: 2*day + hour, To: 3*day + hour}}
	thursday := []backfill.Window{{From: 37*hour + 34*60 + 56, To: 2*day + hour}}
	for _, c := range []struct {
		requirements string
		want         []backfill.Window
	}{
		{"time() < 4000000000", nil}, // beyond the horizon
		{"time() >= 1000", nil},
		{"time() >= 4000000000", nil},
		{"ClockMin < 8 * 60", night},
		{"ClockMin / 60 < 8", night},
		{"ClockDay == 5", friday},
		{`formatTime(time(), "%H") < "08"`, night},
		{`formatTime(time(), "%T") < "08:00:00" && time() > 1000`, night},
		{`formatTime(time(), "%a %T") >= "Thu 12:34:56" && formatTime(time(), "%a") == "Thu"`, thursday},
	} {
		p := newPool()
		p.SetWorld(World{Start: start, Zone: zone})
		slot := slotAd(t, "n1", 8, "ClockMin = (time() + 3600) % 86400 / 60; ClockDay = (time() + 3600 + 4 * 86400) % 604800 / 86400;"+
			"Requirements = "+c.requirements)
		p.add(slot)
		id := p.clusterOf(t, jobAd(t, ""))
		p.at(0, id)
		got := p.windows(id)
		require.Equal(t, c.want, got, c.requirements)
		pairs := p.clusters[id].pairs
		p.at(hour-1, id)
		require.Equal(t, pairs, p.clusters[id].pairs, "nothing is evaluated anew before it may change")
	}
}

// What is drawn depends on the instant, the job and the slot, and on nothing else.
func TestRandomInRequirements(t *testing.T) {
	draws := func(more int) (all [][]backfill.SlotID) {
		p := newPool()
		for i := range 40 {
			p.add(slotAd(t, fmt.Sprint("n", i), 8, "Requirements = random() < 0.5"))
		}
		for range more {
			p.clusterOf(t, jobAd(t, "Other = true"))
		}
		id := p.clusterOf(t, jobAd(t, "ClusterId = 7; ProcId = 0"))
		other := p.clusterOf(t, jobAd(t, "ClusterId = 8; ProcId = 0; RequestCpus = 2"))
		for now := range backfill.Time(3) {
			all = append(all, p.at(now, id), p.at(now, other))
		}
		require.Equal(t, backfill.Time(62), p.Wake(), "it is drawn again in a minute")
		return all
	}
	first := draws(0)
	require.Equal(t, first, draws(3))
	for i, a := range first {
		require.Greater(t, len(a), 5)
		require.Less(t, len(a), 35)
		for _, b := range first[:i] {
			require.NotEqual(t, a, b)
		}
	}
}

// No cycle is due for what never comes about, or a simulation would not end: a job that no open slot
// takes, and one that may not fit although draws let it in.
func TestNoEndlessWakes(t *testing.T) {
	p := newPool()
	p.add(slotAd(t, "n1", 8, "Requirements = time() / 3600 % 24 < 8"), slotAd(t, "n2", 8, "Requirements = random() < 0.5"))
	p.clusterOf(t, jobAd(t, `Requirements = TARGET.Name == "n3"`))
	p.clusterOf(t, jobAd(t, `RequestCpus = 1000`))
	wakes := 0
	for now := backfill.Time(0); now < backfill.Forever; now = p.Wake() {
		_, _ = p.Match(context.Background(), now)
		require.Greater(t, p.Wake(), now)
		wakes++
	}
	require.Less(t, wakes, 30_000)
}

// Neither a START that flips all the time nor one that cannot be solved makes a Match long, or is told
// to match nothing before it was looked at; and the Match is due again later than now.
func TestClockIsBounded(t *testing.T) {
	for _, start := range []string{
		"time() % 2 != 5", "time() % 1 == 5", "time() % 2 == 0", `int(time()) % 2 == 5`, `formatTime(time(), "%H") < "08"`,
	} {
		p := newLimitedPool(StrangersLimits())
		for i := range 8 {
			p.add(slotAd(t, fmt.Sprint("n", i), 8, fmt.Sprintf("K = %d; Requirements = K >= 0 && %s", i, start)))
		}
		ids := []int{p.clusterOf(t, jobAd(t, "Requirements = TARGET.K >= 0")), p.clusterFor(t, "bob", jobAd(t, "Requirements = TARGET.K < 99"))}
		for now := backfill.Time(12 * 3600); now < 12*3600+20; now++ {
			_, err := p.Match(t.Context(), now)
			require.NoError(t, err)
			require.LessOrEqual(t, p.looks, mostLooks+10, start)
			require.Greater(t, p.Wake(), now, start)
			for _, id := range ids {
				require.False(t, p.MatchesNone(id) && p.clusters[id].later, start)
			}
		}
	}
}

// Numbers that are drawn only from some instant on are drawn then.
func TestDrawnLater(t *testing.T) {
	for start, want := range map[string][2]int{
		"time() > 100 && random() < 0.5": {0, 1}, "time() < 100 || random() < 0.5": {1, 1},
	} {
		open := [2]map[int]bool{{}, {}}
		p := newPool()
		for i := range 20 {
			p.add(slotAd(t, fmt.Sprint("n", i), 8, "Requirements = "+start))
		}
		id := p.clusterOf(t, jobAd(t, ""))
		for now := backfill.Time(0); now < 200; now += 10 {
			i := int(now / 101)
			open[i][len(p.at(now, id))] = true
		}
		require.Equal(t, want[0] > 0, open[0][20], start)
		require.Greater(t, len(open[1]), 3, start)
	}
}

// A rank that asks for the clock is that of the Match.
func TestClockInRank(t *testing.T) {
	p := newPool()
	p.add(slotAd(t, "n1", 8, "Opened = 100"), slotAd(t, "n2", 8, "Opened = 300"))
	id := p.clusterOf(t, jobAd(t, "Rank = (time() < 200) == (TARGET.Opened < 200)"))
	p.at(150, id)
	require.Equal(t, []int32{1, 0}, p.clusters[id].candidates.Rank)
	p.at(250, id)
	require.Equal(t, []int32{0, 1}, p.clusters[id].candidates.Rank)
}

// At every instant the candidates that are open are those of a naive reading, which evaluates the
// Requirements then; and the windows that were told before say the same. Slots come meanwhile.
func TestClockIsNaive(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		starts := []string{
			"true", "time() < Until", "CurrentTime >= Until && TARGET.Size < 3", "time() % 5000 < 2000",
			`formatTime(time(), "%H") % 2 == 0`, "Until - time() > 1000 * TARGET.Size", "time() / 701 % 3 == TARGET.Size",
		}
		slot := func(i int) *classad.ClassAd {
			return slotAd(t, fmt.Sprint("n", i), 8, fmt.Sprintf("Until = %d; Requirements = %s",
				rapid.IntRange(0, 20000).Draw(rt, "until"), rapid.SampledFrom(starts).Draw(rt, "start")))
		}
		var slots, jobs []*classad.ClassAd
		for i := range rapid.IntRange(1, 5).Draw(rt, "slots") {
			slots = append(slots, slot(i))
		}
		for i := range 3 {
			jobs = append(jobs, jobAd(t, fmt.Sprintf("Size = %d; Requirements = %s", i,
				rapid.SampledFrom([]string{"true", "time() > 3000", "TARGET.Until > time()"}).Draw(rt, "job"))))
		}
		naive := func(now backfill.Time, job *classad.ClassAd) (open []backfill.SlotID) {
			host := &classad.Host{Now: func() int64 { return int64(now) }}
			for id, slot := range slots {
				if (classad.Pair{Left: job, Right: slot, Host: host}).Match() {
					open = append(open, backfill.SlotID(id))
				}
			}
			return open
		}
		p := newPool()
		p.add(slots...)
		told := make([]backfill.Candidates, len(jobs))
		for now := backfill.Time(0); now < 20000; now += backfill.Time(rapid.IntRange(1, 900).Draw(rt, "step")) {
			came := rapid.IntRange(0, 20).Draw(rt, "comes") == 0
			if came {
				i := rapid.IntRange(0, len(slots)).Draw(rt, "which")
				if i == len(slots) {
					slots = append(slots, nil)
				}
				slots[i] = slot(i)
				p.add(slots[i])
			}
			for i, job := range jobs {
				id := p.clusterOf(t, job)
				want := naive(now, job)
				require.Equal(rt, want, p.at(now, id), "at %d", now)
				if now > 0 && !came {
					require.Equal(rt, want, told[i].OpenAt(now).Slots, "told before %d", now)
				}
				told[i] = p.clusters[id].candidates
			}
		}
	})
}

// Slots that are only asked about have windows, too, as have the jobs.
func TestWindowsOfWhatIsAsked(t *testing.T) {
	const retires = "Requirements = time() < 500"
	for _, c := range []struct{ there, further string }{{retires, ""}, {"", retires}, {retires, retires}} {
		p := newPool()
		p.add(slotAd(t, "n1", 8, c.there))
		id := p.clusterOf(t, jobAd(t, ""))
		p.at(0, id)
		sets, _, err := p.Copy().Enlarge(t.Context(), slotAd(t, "n2", 8, c.further), []backfill.SlotID{1, 2}, 1<<20)
		require.NoError(t, err)
		require.Len(t, sets, 1)
		windows := func(text string) []backfill.Window {
			if text == "" {
				return nil
			}
			return []backfill.Window{{From: 0, To: 500}}
		}
		require.Equal(t, [][]backfill.Window{windows(c.there), windows(c.further), windows(c.further)}, sets[0].Candidates.Windows)
		suited, err := p.Copy().Suit(t.Context(), jobAd(t, "RequestCpus = 2"))
		require.NoError(t, err)
		if c.there != "" {
			require.Equal(t, [][]backfill.Window{windows(c.there)}, suited.Candidates.Windows)
		}
	}
}

// Where nothing asks for the clock, it costs nothing that it goes on.
func TestNoClockNoCost(t *testing.T) {
	p := newPool()
	p.add(slotAd(t, "n1", 8, "Requirements = TARGET.RequestCpus <= Cpus"))
	id := p.clusterOf(t, jobAd(t, "RequestCpus = 2"))
	require.Len(t, p.at(0, id), 1)
	require.Equal(t, int64(math.MaxInt64), p.expires)
	require.Equal(t, backfill.Forever, p.Wake())
	require.Empty(t, p.clusters[id].holds)
}

// BenchmarkPilots is a cycle of a pool of 2,000 pilots that retire at different times, with 100 kinds
// of jobs: the first, and the next, in which a few retire.
func BenchmarkPilots(b *testing.B) {
	p := newPool()
	for i := range 2000 {
		p.add(slotAd(b, fmt.Sprint("n", i), 8, fmt.Sprintf("ToRetire = %d; Requirements = START; "+
			`START = (CurrentTime < ToRetire) && (TARGET.Length =!= "long" || ToRetire - CurrentTime > 144000)`, 1000+10*i)))
	}
	join := func() {
		for i := range 100 {
			p.clusterOf(b, jobAd(b, fmt.Sprintf("RequestCpus = 1; RequestMemory = %d", i)))
		}
	}
	b.Run("first", func(b *testing.B) {
		for b.Loop() {
			p.clusterAnew()
			join()
			_, err := p.Match(context.Background(), 0)
			require.NoError(b, err)
		}
	})
	now := backfill.Time(0)
	b.Run("next", func(b *testing.B) {
		for b.Loop() {
			now += 60
			_, err := p.Match(context.Background(), now)
			require.NoError(b, err)
		}
	})
}
