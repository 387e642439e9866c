package negotiator

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/preempt"
)

// scavengerOf is a scavenger of a user that runs for long.
func scavengerOf(tb testing.TB, id, cpus int, user string) *Job {
	tb.Helper()
	j := newJob(tb, id, cpus, "")
	j.Scavenger, j.User, j.Estimate = true, user, 100_000
	return j
}

// matched lists matches as job@placement, with who makes way.
func matched(all []Match) (texts []string) {
	for _, m := range all {
		text := fmt.Sprintf("%d@%v", m.Job.ID, m.Placement)
		if len(m.Displaces) > 0 || m.At != 0 {
			text += fmt.Sprintf(" for %v at %d", m.Displaces, m.At)
		}
		texts = append(texts, text)
	}
	return texts
}

func TestScavengersFillWhatIsReserved(t *testing.T) {
	n := newNegotiator(t)
	one, two := newSlot(t, "one", 4, ""), newSlot(t, "two", 4, "")
	wide := newJob(t, 2, 4, "")
	wide.Nodes = 2
	first := newJob(t, 1, 2, "")
	r := cycle(t, n, Delta{
		Now: 0, SlotsUp: []*Slot{one, two},
		Submitted: []*Job{first, wide, scavengerOf(t, 3, 4, "a"), scavengerOf(t, 4, 2, "b"), scavengerOf(t, 5, 1, "c")},
	})
	require.Equal(t, []string{"1@one×1", "3@two×1", "4@one×1"}, matched(r.Matches), "the job that ends at 10 runs beside one")
	require.Len(t, r.Scavengers.Matches, 2)
	require.Contains(t, n.WhyScavenger(5, nil), "as soon as something is idle")
	require.Equal(t, "a scavenger: it runs on two×1 until any other job needs its place", n.WhyScavenger(3, nil))
	require.Nil(t, n.State().Job(3), "no policy sees it")

	r = cycle(t, n, Delta{Now: 7, Completed: []backfill.JobID{1}})
	require.Equal(t, []string{"2@one×1 two×1 for [4 3] at 7"}, matched(r.Matches), "nobody runs where some have yet to leave")
	require.True(t, n.State().IsRunning(2))
	require.Contains(t, n.WhyScavenger(3, nil), "displaced by 1.2")
	r = cycle(t, n, Delta{
		Now: 8, StartFailed: []backfill.JobID{3, 4}, Displaced: []backfill.JobID{3, 4}, Began: []Began{{Job: 2, At: 8}},
	})
	require.Empty(t, r.Matches)
	require.Empty(t, r.Decision.By, "the policy is not asked: it has the job run since it was started")
	require.EqualValues(t, 8, n.Began(2))
	require.Equal(t, []backfill.JobID{3, 4}, r.Scavengers.Displaced)
	require.Empty(t, r.Delta.StartFailed, "sinks see the others alone")
	r = cycle(t, n, Delta{Now: 18, Completed: []backfill.JobID{2}})
	require.Equal(t, []string{"3@one×1", "4@two×1", "5@two×1"}, matched(r.Matches))
	r = cycle(t, n, Delta{Now: 20, Completed: []backfill.JobID{3, 5}, Removed: []backfill.JobID{4}})
	require.Zero(t, n.scavengers.book.Len())
	require.Empty(t, r.Matches)
	require.Empty(t, n.WhyScavenger(3, nil))
}

func TestScavengersMakeWayForLimits(t *testing.T) {
	n := newNegotiator(t)
	slot := newSlot(t, "one", 8, "")
	licence := func(j *Job) *Job {
		j.Takes = []Take{{Limit: "licence", Amount: LimitUnit}}
		return j
	}
	r := cycle(t, n, Delta{
		SlotsUp: []*Slot{slot}, Limits: []Limit{{Name: "licence", Height: 2 * LimitUnit}},
		Submitted: []*Job{licence(scavengerOf(t, 1, 1, "a")), licence(scavengerOf(t, 2, 1, "a")), licence(scavengerOf(t, 3, 1, "a"))},
	})
	require.Equal(t, []string{"1@one×1", "2@one×1"}, matched(r.Matches))
	r = cycle(t, n, Delta{Now: 1, Submitted: []*Job{licence(newJob(t, 4, 1, ""))}})
	require.Equal(t, []string{"4@one×1 for [2] at 1"}, matched(r.Matches))
}

func TestWhoSharesAPlaceWaitsForIt(t *testing.T) {
	n := newNegotiator(t)
	cycle(t, n, Delta{SlotsUp: []*Slot{newSlot(t, "one", 4, "")}, Submitted: []*Job{scavengerOf(t, 1, 4, "a")}})
	r := cycle(t, n, Delta{Now: 1, Submitted: []*Job{newJob(t, 2, 1, "")}})
	require.Equal(t, []string{"2@one×1 for [1] at 1"}, matched(r.Matches))
	r = cycle(t, n, Delta{Now: 2, Submitted: []*Job{newJob(t, 3, 1, ""), scavengerOf(t, 4, 1, "b")}})
	require.Equal(t, []string{"3@one×1 for [] at 2"}, matched(r.Matches), "the scavenger is still there")
	r = cycle(t, n, Delta{Now: 3, StartFailed: []backfill.JobID{1}, Displaced: []backfill.JobID{1}})
	require.Equal(t, []string{"4@one×1"}, matched(r.Matches))
}

func TestNobodyLeavesInVain(t *testing.T) {
	n := newNegotiator(t)
	r := cycle(t, n, Delta{SlotsUp: []*Slot{newSlot(t, "one", 6, "")}, Submitted: []*Job{scavengerOf(t, 1, 4, "a"), scavengerOf(t, 2, 1, "b")}})
	require.Equal(t, []string{"1@one×1", "2@one×1"}, matched(r.Matches))
	claims := &claimed{claims: map[backfill.JobID]preempt.Claim{1: {Vacate: 7}, 2: {Vacate: 5}}}
	r = cycle(t, n, Delta{Now: 1, Submitted: []*Job{newJob(t, 3, 2, ""), newJob(t, 4, 2, "")}, Claims: claims})
	require.Equal(t, []string{"3@one×1 for [] at 8", "4@one×1 for [1] at 8"}, matched(r.Matches), "2 would do for 3, but not for both")
	require.Equal(t, []MadeWay{{Job: 3, Scavengers: []backfill.JobID{}, At: 8}, {Job: 4, Scavengers: []backfill.JobID{1}, At: 8}}, r.Scavengers.MadeWay)
	require.NotContains(t, n.WhyScavenger(2, nil), "makes way")
	r = cycle(t, n, Delta{Now: 2, StartFailed: []backfill.JobID{1}, Displaced: []backfill.JobID{1}})
	require.Empty(t, r.Matches)
	require.Contains(t, n.WhyScavenger(2, nil), "it runs on one×1")
}

func TestClassesOfWaitingJobsChange(t *testing.T) {
	n := newNegotiator(t)
	cycle(t, n, Delta{SlotsUp: []*Slot{newSlot(t, "one", 4, "")}, Submitted: []*Job{newJob(t, 1, 4, ""), newJob(t, 2, 4, ""), scavengerOf(t, 3, 1, "a")}})
	cycle(t, n, Delta{Now: 1, Changed: []*Job{scavengerOf(t, 2, 4, "a"), newJob(t, 3, 1, "")}})
	require.Nil(t, n.State().Job(2))
	require.True(t, n.State().IsWaiting(3))
	r := cycle(t, n, Delta{Now: 10, Completed: []backfill.JobID{1}})
	require.Equal(t, []string{"3@one×1"}, matched(r.Matches))
	r = cycle(t, n, Delta{Now: 20, Completed: []backfill.JobID{3}})
	require.Equal(t, []string{"2@one×1"}, matched(r.Matches))
	r = cycle(t, n, Delta{Now: 21, StartFailed: []backfill.JobID{2}, Changed: []*Job{newJob(t, 2, 4, "")}})
	require.Equal(t, []string{"2@one×1"}, matched(r.Matches))
	require.True(t, n.State().IsRunning(2))
}

func TestWhatCannotBeTrueOfScavengers(t *testing.T) {
	for name, d := range map[string]Delta{
		"submitted twice":       {Submitted: []*Job{scavengerOf(t, 1, 1, "a")}},
		"did not run":           {Completed: []backfill.JobID{2}},
		"does not wait":         {Changed: []*Job{scavengerOf(t, 1, 1, "a")}},
		"did not come back":     {Displaced: []backfill.JobID{1}},
		"slot nowhere is not":   {Found: []Running{{Job: scavengerOf(t, 2, 1, "a"), Placement: Placement{{Slot: &Slot{Name: "nowhere"}, Count: 1}}}}},
		"1 of its 2 chunks are": {Found: []Running{{Job: func() *Job { j := scavengerOf(t, 2, 1, "a"); j.Nodes = 2; return j }(), Placement: Placement{{Slot: newSlot(t, "one", 1, ""), Count: 1}}}}},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNegotiator(t)
			cycle(t, n, Delta{SlotsUp: []*Slot{newSlot(t, "one", 1, "")}, Submitted: []*Job{scavengerOf(t, 1, 1, "a"), scavengerOf(t, 2, 1, "a")}})
			d.Now = 1
			_, err := n.RunCycle(t.Context(), d)
			require.ErrorContains(t, err, name)
			cycle(t, n, Delta{Now: 1, Completed: []backfill.JobID{1}})
		})
	}
}

// scavenged is a pool in which jobs come and end at random, some of them scavengers, which leave a cycle after
// they are told to.
type scavenged struct {
	n        *Negotiator
	now      backfill.Time
	slots    []*Slot
	jobs     map[backfill.JobID]*Job
	at       map[backfill.JobID]Placement // who is there
	pledged  map[backfill.JobID]Placement // who is to come once others have left
	leaving  []backfill.JobID
	next     int
	outcomes []string // of the others
}

// TestScavengersDelayNobody plays the same pool with and without scavengers: the policy decides the same at
// the same instants. At no time is there more on a slot than it has; nobody is told to leave who need not.
func TestScavengersDelayNobody(t *testing.T) {
	tb := t
	rapid.Check(t, func(t *rapid.T) {
		policy := rapid.SampledFrom([]string{"easy", "conservative", "slack", "fcfs", "ibb"}).Draw(t, "policy")
		with, without := newScavenged(tb, policy), newScavenged(tb, policy)
		for range rapid.IntRange(2, 25).Draw(t, "cycles") {
			step := rapid.IntRange(0, 5).Draw(t, "step")
			with.now, without.now = with.now+backfill.Time(step), without.now+backfill.Time(step)
			d := Delta{Now: with.now}
			for range rapid.IntRange(0, 3).Draw(t, "jobs") {
				with.next++
				j := newJob(tb, with.next, rapid.IntRange(1, 4).Draw(t, "cpus"), "")
				j.Nodes = rapid.SampledFrom([]int{1, 1, 1, 2}).Draw(t, "nodes")
				j.Submit, j.Estimate = with.now, backfill.Time(rapid.IntRange(1, 30).Draw(t, "estimate"))
				if j.Scavenger = rapid.Bool().Draw(t, "scavenger"); j.Scavenger {
					j.User = rapid.SampledFrom([]string{"a", "b"}).Draw(t, "user")
				}
				with.jobs[j.ID] = j
				d.Submitted = append(d.Submitted, j)
			}
			for _, id := range slices.Sorted(maps.Keys(with.at)) {
				if !slices.Contains(with.leaving, id) && rapid.IntRange(0, 3).Draw(t, "ends") == 0 {
					d.Completed = append(d.Completed, id)
				}
			}
			plain := Delta{Now: d.Now}
			plain.Submitted, _ = split(d.Submitted, func(j *Job) bool { return !j.Scavenger })
			plain.Completed, _ = split(d.Completed, func(id backfill.JobID) bool { return !with.jobs[id].Scavenger })
			without.jobs = with.jobs
			with.cycle(t, d)
			if len(plain.Submitted)+len(plain.Completed) > 0 || with.n.State().Now() == d.Now {
				without.cycle(t, plain)
			}
			require.Equal(t, without.outcomes, with.outcomes)
		}
	})
}

func newScavenged(tb testing.TB, policy string) *scavenged {
	tb.Helper()
	n, err := New(Config{Schema: twoResources(), Policy: linked(tb, policy), Fallback: linked(tb, policy)})
	require.NoError(tb, err)
	s := &scavenged{n: n, jobs: map[backfill.JobID]*Job{}, at: map[backfill.JobID]Placement{}, pledged: map[backfill.JobID]Placement{}}
	for i, cpus := range []int{4, 4, 2} {
		s.slots = append(s.slots, newSlot(tb, fmt.Sprintf("s%d", i), cpus, ""))
	}
	_, err = n.RunCycle(tb.Context(), Delta{SlotsUp: s.slots})
	require.NoError(tb, err)
	return s
}

// cycle has those leave who were told to in the last one, and those begin for whom they left.
func (s *scavenged) cycle(tb rapid.TB, d Delta) {
	for _, id := range d.Completed {
		delete(s.at, id)
	}
	for _, id := range s.leaving {
		delete(s.at, id)
		d.StartFailed, d.Displaced = append(d.StartFailed, id), append(d.Displaced, id)
	}
	s.leaving = nil
	for id, at := range s.pledged {
		s.at[id] = at
		d.Began = append(d.Began, Began{Job: id, At: d.Now})
	}
	slices.SortFunc(d.Began, func(a, b Began) int { return int(a.Job - b.Job) })
	clear(s.pledged)
	s.fits(tb)
	r, err := s.n.RunCycle(context.Background(), d)
	require.NoError(tb, err)
	for _, m := range r.Matches {
		if !m.Job.Scavenger {
			s.outcomes = append(s.outcomes, fmt.Sprintf("%d: %d on %v", d.Now, m.Job.ID, m.Placement))
		}
		if len(m.Displaces) > 0 || m.At != 0 {
			s.pledged[m.Job.ID] = m.Placement
			s.needed(tb, m)
		} else {
			s.at[m.Job.ID] = m.Placement
		}
		s.leaving = append(s.leaving, m.Displaces...)
	}
	s.fits(tb)
}

// use is what jobs take of each slot.
func (s *scavenged) use(at map[backfill.JobID]Placement, but ...backfill.JobID) map[string]int64 {
	use := map[string]int64{}
	for id, placement := range at {
		for _, on := range placement {
			if !slices.Contains(but, id) {
				cpus, _ := s.jobs[id].Ad.Int("RequestCpus")
				use[on.Slot.Name] += cpus * int64(on.Count)
			}
		}
	}
	return use
}

// fits fails the test if more is on a slot than it has.
func (s *scavenged) fits(tb rapid.TB) {
	use := s.use(s.at)
	for _, slot := range s.slots {
		require.LessOrEqual(tb, use[slot.Name], slot.Capacity[0], "on %s at %d: %v", slot.Name, s.now, s.at)
	}
}

// needed fails the test if one of those who are told to leave for a job could have been left.
func (s *scavenged) needed(tb rapid.TB, m Match) {
	there, coming := s.at, s.use(s.pledged)
	for _, victim := range m.Displaces {
		require.True(tb, s.jobs[victim].Scavenger)
		others := slices.DeleteFunc(slices.Concat(s.leaving, m.Displaces), func(id backfill.JobID) bool { return id == victim })
		staying := s.use(there, others...)
		require.True(tb, slices.ContainsFunc(s.at[victim], func(on Chunks) bool {
			return staying[on.Slot.Name]+coming[on.Slot.Name] > on.Slot.Capacity[0]
		}), "%d could have been left", victim)
	}
}

func TestScavengersAreRestored(t *testing.T) {
	n := newNegotiator(t)
	cycle(t, n, Delta{
		SlotsUp: []*Slot{newSlot(t, "one", 4, "")}, Submitted: []*Job{scavengerOf(t, 1, 3, "a"), scavengerOf(t, 2, 4, "a"), scavengerOf(t, 3, 1, "b")},
	})
	cycle(t, n, Delta{Now: 1, Submitted: []*Job{newJob(t, 4, 2, "")}})
	saved := n.Checkpoint()
	require.Len(t, saved.Jobs, 4)
	again, err := Restore(Config{Schema: twoResources(), Policy: linked(t, "easy"), Fallback: linked(t, "easy")}, saved)
	require.NoError(t, err)
	require.Equal(t, saved.Jobs, again.Checkpoint().Jobs)
	r, err := again.RunCycle(t.Context(), Delta{Now: 2, StartFailed: []backfill.JobID{1}, Displaced: []backfill.JobID{1}, Began: []Began{{4, 2}}})
	require.NoError(t, err)
	require.Empty(t, r.Matches)
	require.Empty(t, n.Settled().Jobs[0].Job.Scavenger)
}

// TestScavengersMakeWayForTakeOvers: a job that takes over from another needs what a scavenger has, too, and
// until it begins no other scavenger comes into its way.
func TestScavengersMakeWayForTakeOvers(t *testing.T) {
	n := negotiatorOf(t, "easy", preempt.Rules{Several: true})
	slot := newSlot(t, "n1", 4, `Rank = Owner == "bob"`)
	alices, bobs := long(t, 1, 2, 1000, `Owner = "alice"`), long(t, 3, 4, 50, `Owner = "bob"; WantPslotPreemption = true`)
	cycle(t, n, Delta{Now: 5, SlotsUp: []*Slot{slot}, Submitted: []*Job{alices, scavengerOf(t, 2, 2, "a")}})
	claims := newClaims()
	claims.claim(slot, 1, "alice", 2, 0)
	claims.claim(slot, 2, "a", 2, 0)
	claims.users[3] = "bob"
	r := cycle(t, n, Delta{Now: 10, Submitted: []*Job{bobs, scavengerOf(t, 4, 1, "b")}, Claims: claims})
	require.Equal(t, []string{"3@n1×1 for [1 2] at 20"}, matched(r.Matches))
	require.Equal(t, []MadeWay{{Job: 3, Scavengers: []backfill.JobID{2}, At: 20}}, r.Scavengers.MadeWay)
	r = cycle(t, n, Delta{
		Now: 12, StartFailed: []backfill.JobID{1, 2}, Displaced: []backfill.JobID{1, 2},
		Found: []Running{{Job: bobs, Placement: Placement{{Slot: slot, Count: 1}}, Start: 12}}, Claims: claims,
	})
	require.Empty(t, r.Matches)
	require.Equal(t, "displaced by 1.3 of bob: the machine prefers it", n.WhyPreemption(1, nil))
	require.Contains(t, n.WhyScavenger(2, nil), "displaced by 1.3 of bob: scavengers make way for any other job")
	r = cycle(t, n, Delta{Now: 62, Completed: []backfill.JobID{3}})
	require.Equal(t, []string{"1@n1×1", "2@n1×1"}, matched(r.Matches))
}

// TestChangesWaitForOtherJobs: a change that was asked for is made when it would have been made without
// scavengers.
func TestChangesWaitForOtherJobs(t *testing.T) {
	n := newNegotiator(t)
	cycle(t, n, Delta{SlotsUp: []*Slot{newSlot(t, "one", 4, "")}, Submitted: []*Job{newJob(t, 1, 4, ""), scavengerOf(t, 2, 1, "a")}})
	n.ChangeNext(Change{Policy: linked(t, "fcfs"), Fallback: linked(t, "fcfs")})
	r, err := Decide(t.Context(), n, Delta{Now: 1, Removed: []backfill.JobID{2}})
	require.NoError(t, err)
	require.True(t, r.Quiet)
	require.False(t, r.Changed)
	r, err = Decide(t.Context(), n, Delta{Now: 2, Submitted: []*Job{newJob(t, 3, 4, "")}})
	require.NoError(t, err)
	require.True(t, r.Changed)
	policy, _ := r.State.Policy()
	require.Equal(t, "fcfs", policy)
}
