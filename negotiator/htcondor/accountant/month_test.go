package accountant_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/integration/thorough"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant/stockmodel"
)

// The month's half-life, the time between cycles, and a day, in seconds.
const (
	halfLife     = 86400
	cycleSeconds = 60
	daySeconds   = 86400
	days         = 30
)

// month is a month's load of a pool of slots that are alike: jobs take one of them each.
type month struct {
	stockmodel.Pool

	moods []float64 // of a user, by day
	loads []float64 // how many slots a user's jobs would keep busy on an average day
}

// chooser chooses in a cycle whose jobs start on the free slots, by index.
type chooser interface {
	Choose(free int, waiting, running []int) (starts []int)
}

// played is a month's usage by user and day, in slot days.
type played [][days]float64

// play has a month pass under a chooser. Users' jobs arrive at random, more on some days than on
// others, and take 20 minutes to two hours. The same seed gives the same jobs.
func (m *month) play(c chooser, seed uint64) played {
	type batch struct{ user, jobs int }
	used := make(played, len(m.Users))
	var random []*rand.Rand
	queues, running, waiting := make([][]int, len(m.Users)), make([]int, len(m.Users)), make([]int, len(m.Users))
	for i := range m.Users {
		random = append(random, rand.New(rand.NewPCG(seed, uint64(i)))) //nolint:gosec // a test
	}
	ends, busy := map[int][]batch{}, 0
	mood := make([]float64, len(m.Users))
	for cycle := range days * daySeconds / cycleSeconds {
		for _, b := range ends[cycle] {
			running[b.user] -= b.jobs
			busy -= b.jobs
		}
		delete(ends, cycle)
		for i := range m.Users {
			r := random[i]
			if cycle%(daySeconds/cycleSeconds) == 0 {
				if mood[i] = m.moods[r.IntN(len(m.moods))]; mood[i] == 0 {
					queues[i] = nil // he takes his jobs away
				}
			}
			for arriving := m.loads[i] * mood[i] / 70; r.Float64() < arriving; arriving-- { // 70 cycles on average
				queues[i] = append(queues[i], 20+r.IntN(101))
			}
			waiting[i] = len(queues[i])
		}
		for _, i := range c.Choose(m.Slots-busy, slices.Clone(waiting), slices.Clone(running)) {
			ends[cycle+queues[i][0]] = append(ends[cycle+queues[i][0]], batch{i, 1})
			queues[i] = queues[i][1:]
			running[i]++
			busy++
		}
		for i, n := range running {
			used[i][cycle*cycleSeconds/daySeconds] += float64(n) * cycleSeconds / daySeconds
		}
	}
	return used
}

// ours is the accountant under test as a chooser: what runs is charged, the pool is divided, and
// the waiting jobs start in the order of their shares, as far as quotas allow.
type ours struct {
	*accountant.Accountant

	limits *accountant.Limits
	m      *month
	now    time.Time
}

func newOurs(t *testing.T, m *month) *ours {
	t.Helper()
	s := accountant.DefaultSettings()
	s.HalfLife = halfLife
	for _, g := range m.Groups {
		s.Groups = append(s.Groups, accountant.Group{
			Name: g.Name, Quota: g.Static + g.Dynamic, Static: g.Static > 0, AcceptSurplus: g.Surplus,
		})
	}
	a, err := accountant.New(s)
	require.NoError(t, err)
	for i := range m.Users {
		require.NoError(t, a.SetFactor(m.Users[i].Submitter(), m.Users[i].Factor))
	}
	none := accountant.NewLimits(func(string) (string, bool) { return "", false })
	return &ours{a, none, m, time.Unix(1_700_000_000, 0)}
}

func (o *ours) Choose(free int, waiting, running []int) (starts []int) {
	use, wants := map[string]accountant.Use{}, map[string]float64{}
	bounds := o.Bounds(o.limits)
	var jobs []accountant.Waiting
	var owners []int
	for i := range o.m.Users {
		name := o.m.Users[i].Submitter()
		use[name] = accountant.Use{Slots: running[i], Weight: float64(running[i])}
		if waiting[i] > 0 {
			wants[name] = float64(waiting[i])
		}
		for range min(waiting[i], free) { // no more can start
			jobs = append(jobs, accountant.Waiting{ID: backfill.JobID(len(jobs)), Submitter: name, Weight: 1})
			owners = append(owners, i)
		}
	}
	if err := o.Update(o.now, use); err != nil {
		panic(err)
	}
	o.now = o.now.Add(cycleSeconds * time.Second)
	if err := o.Divide(float64(o.m.Slots), wants); err != nil {
		panic(err)
	}
	share := o.Share(jobs)
	want := make([][]accountant.Want, len(o.m.Users))
	for i := range o.m.Users {
		want[i] = bounds.Of(accountant.Candidate{Submitter: o.m.Users[i].Submitter(), Weight: 1})
		for _, w := range want[i] {
			w.Used += float64(running[i])
		}
	}
	slices.SortStableFunc(jobs, func(x, y accountant.Waiting) int {
		kx, _ := share.Key(x.ID)
		ky, _ := share.Key(y.ID)
		switch {
		case kx < ky:
			return -1
		case kx > ky:
			return 1
		}
		return 0
	})
	for _, j := range jobs {
		i := owners[j.ID]
		if len(starts) == free || accountant.Lacking(want[i]) != "" {
			continue
		}
		for _, w := range want[i] {
			w.Used++
		}
		starts = append(starts, i)
	}
	for _, i := range starts { // what starts counts from now on
		name := o.m.Users[i].Submitter()
		u := use[name]
		use[name] = accountant.Use{Slots: u.Slots + 1, Weight: u.Weight + 1}
	}
	if err := o.Update(o.now.Add(-cycleSeconds*time.Second), use); err != nil {
		panic(err)
	}
	return starts
}

// pool is a pool of three groups, one of them strict, and of eight users. On some days a user
// submits more than he can get, and takes back what has not started on a day when he submits
// nothing.
func pool() *month {
	return &month{
		Pool: stockmodel.Pool{
			Slots: 400, HalfLife: halfLife, Cycle: cycleSeconds,
			Groups: []stockmodel.Group{
				{Name: "strict", Static: 60},
				{Name: "physics", Dynamic: 0.5, Surplus: true},
				{Name: "biology", Dynamic: 0.3, Surplus: true},
			},
			Users: []stockmodel.User{
				{Group: "strict", Name: "ann", Factor: 1000},
				{Group: "strict", Name: "ben", Factor: 2000},
				{Group: "physics", Name: "cid", Factor: 1000},
				{Group: "physics", Name: "dan", Factor: 1000},
				{Group: "physics", Name: "eve", Factor: 3000},
				{Group: "biology", Name: "fay", Factor: 1000},
				{Group: "biology", Name: "gus", Factor: 500},
				{Name: "hal", Factor: 1000},
			},
		},
		moods: []float64{0, 3, 3, 3},
		loads: []float64{90, 90, 90, 60, 50, 70, 60, 50},
	}
}

// TestMonthOfFairShare compares a month of fair share with that of the stock negotiator, see
// [stockmodel.Negotiator]. It drives the accountant as track and a cycle do. Each user has as much
// of each day, within 2 %, also two of unequal priority in a strict group at its quota. Who has less
// than a tenth of the pool has as much within 2 % of that: a job more or less is not a tendency.
func TestMonthOfFairShare(t *testing.T) {
	for seed := range thorough.Seeds(1, 12) {
		m := pool()
		stock, own := m.play(stockmodel.New(&m.Pool), seed), m.play(newOurs(t, m), seed)
		both, near := 0, 0.02
		if seed > 0 { // one day of twelve months differs by 2.1 %
			near = 0.025
		}
		for i, u := range m.Users {
			all, ours := 0.0, 0.0
			for day, used := range stock[i] {
				require.InDelta(t, used, own[i][day], near*max(used, float64(m.Slots)/10), "%s on day %d", u.Name, day)
				all, ours = all+used, ours+own[i][day]
				if u.Name == "ben" && used > 20 && stock[i-1][day] > 30 { // beside ann
					both++
				}
			}
			require.InEpsilon(t, all, ours, 0.01, u.Name)
		}
		require.Greater(t, both, 5, "the strict group has two users on many days")
	}
}

// TestBesideContentUsers says where we differ, and by how much. While somebody of a group has all
// that he wants, HTCondor cuts the whole quota into slices for the others, also what he uses. The
// best priority comes first, and gets what that is too much. Here the others share what there is.
func TestBesideContentUsers(t *testing.T) {
	m := pool()
	m.moods = []float64{1}
	m.loads = []float64{0, 0, 200, 60, 200, 200, 200, 200} // cid and eve are hungry, of factors 1 to 3
	stock, own := m.play(stockmodel.New(&m.Pool), 1), m.play(newOurs(t, m), 1)
	const cid, dan, eve, day = 2, 3, 4, days - 1
	require.InEpsilon(t, stock[dan][day], own[dan][day], 0.02)
	require.InEpsilon(t, stock[cid][day]+stock[eve][day], own[cid][day]+own[eve][day], 0.02)
	require.InEpsilon(t, math.Sqrt(3), own[cid][day]/own[eve][day], 0.03)
	require.Greater(t, stock[cid][day]/stock[eve][day], 2.0)
	t.Logf("cid and eve have %.0f and %.0f slots under the stock negotiator, %.0f and %.0f here",
		stock[cid][day], stock[eve][day], own[cid][day], own[eve][day])
}
