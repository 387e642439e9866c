package preempt_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/preempt"
)

// pool is claims of jobs on slots, and what is known of users.
type pool struct {
	claims  map[backfill.JobID]preempt.Claim
	stands  map[string]preempt.Standing
	users   map[backfill.JobID]string
	running []backfill.RunningJob
	slots   []*classad.ClassAd
	sizes   []backfill.Vector
	memory  preempt.Memory
	asked   int             // how often it was asked for the room of a share
	full    map[string]bool // by user: the share has none
}

func newPool(tb testing.TB, cpus ...int64) *pool {
	tb.Helper()
	p := &pool{claims: map[backfill.JobID]preempt.Claim{}, stands: map[string]preempt.Standing{}, users: map[backfill.JobID]string{}}
	for i, n := range cpus {
		p.slots = append(p.slots, ad(tb, fmt.Sprintf(`Name = "slot1@n%d"; Cpus = %d; Memory = 100; Requirements = true`, i, n)))
		p.sizes = append(p.sizes, backfill.Vector{n})
	}
	return p
}

// run has a job run on so many cpus of a slot, in a dynamic one with more in its ad.
func (p *pool) run(tb testing.TB, id backfill.JobID, user string, slot backfill.SlotID, cpus int64, more string) *preempt.Claim {
	tb.Helper()
	p.running = append(p.running, backfill.RunningJob{
		Job: &backfill.Job{ID: id, Nodes: 1, Request: backfill.Vector{cpus}}, End: 10_000,
		Placement: backfill.Placement{{Slot: slot, Count: 1}},
	})
	p.users[id] = user
	c := preempt.Claim{
		Slot: fmt.Sprintf("slot1_%d@n%d", id, slot), Host: fmt.Sprintf("slot1@n%d", slot), User: user, Partial: true, Vacate: 10,
		Ad: ad(tb, fmt.Sprintf(`Cpus = %d; Memory = 100; Requirements = true; Rank = 0; %s`, cpus, more)),
	}
	c.Rank, _ = c.Ad.Real("CurrentRank")
	p.claims[id] = c
	return &c
}

func (p *pool) Claim(id backfill.JobID) (preempt.Claim, bool) { c, ok := p.claims[id]; return c, ok }
func (p *pool) Submitter(id backfill.JobID) string            { return p.users[id] }
func (p *pool) Standing(user string) preempt.Standing         { return p.stands[user] }
func (p *pool) HasRoom(user string, _, _ float64) bool {
	p.asked++
	return !p.full[user]
}

func (p *pool) Slot(id backfill.SlotID) (string, *classad.ClassAd, backfill.Vector) {
	name, _ := p.slots[id].Text("Name")
	return name, p.slots[id], p.sizes[id]
}

// open begins a cycle of a search at 5000.
func (p *pool) open(rules preempt.Rules) *preempt.Search {
	s := preempt.NewSearch(rules, []string{"cpus"})
	s.Open(preempt.Pool{
		Now: 5000, Claims: p, Memory: &p.memory, Host: &classad.Host{Now: func() int64 { return 5000 }},
		Running: slices.Values(p.running), Slot: p.Slot,
	})
	return s
}

// waits makes a job that waits, of a user.
func (p *pool) waits(tb testing.TB, id backfill.JobID, user string, cpus int64, more string) preempt.Waiting {
	tb.Helper()
	p.users[id] = user
	w := preempt.Waiting{
		Job: &backfill.Job{ID: id, Nodes: 1, Request: backfill.Vector{cpus}, Candidates: int(id)}, Candidates: &backfill.Candidates{},
		Ad: ad(tb, fmt.Sprintf("RequestCpus = %d; Requirements = TARGET.Cpus >= RequestCpus; %s", cpus, more)),
	}
	for i := range p.slots {
		w.Candidates.Slots = append(w.Candidates.Slots, backfill.SlotID(i)) //nolint:gosec // they are few
	}
	return w
}

// victims lists who could make way for a job, best first.
func victims(s *preempt.Search, w preempt.Waiting) (all [][]backfill.JobID) {
	for p := range s.Candidates(w) {
		var jobs []backfill.JobID
		for _, v := range p.Victims {
			jobs = append(jobs, v.Job)
		}
		all = append(all, jobs)
	}
	return all
}

type ids = [][]backfill.JobID

// TestAFullShareIsAskedOnce: where a submitter's share has no room, no job of his looks at all claims again.
func TestAFullShareIsAskedOnce(t *testing.T) {
	p := newPool(t, 1000)
	p.full = map[string]bool{"bob": true}
	for i := range 100 {
		p.run(t, backfill.JobID(i), "alice", 0, 2, "")
	}
	s := p.open(preempt.Rules{Requirements: expr(t, "True")})
	for i := range 50 {
		w := p.waits(t, backfill.JobID(1000+i), "bob", 2, "")
		w.Job.Candidates = 1
		require.Empty(t, victims(s, w))
	}
	require.Equal(t, 1, p.asked)
	require.Len(t, victims(s, p.waits(t, 2000, "carol", 2, "")), 100, "others have room")
}

// TestWhichIsBest: the pre-job rank counts first, then the job's rank, the post-job rank, startd rank before
// user priority, and last PREEMPTION_RANK, by default the worst priority and then the shortest run.
func TestWhichIsBest(t *testing.T) {
	p := newPool(t, 40)
	p.stands["a"], p.stands["b"], p.stands["c"] = preempt.Standing{Prio: 5}, preempt.Standing{Prio: 9}, preempt.Standing{Prio: 1}
	p.run(t, 1, "a", 0, 2, `TotalJobRunTime = 900; Kind = 3`)
	p.run(t, 2, "b", 0, 2, `TotalJobRunTime = 900; Kind = 1`)
	p.run(t, 3, "b", 0, 2, `TotalJobRunTime = 100; Kind = 2`)
	p.run(t, 4, "a", 0, 3, `TotalJobRunTime = 900; Kind = 9`)
	p.run(t, 5, "a", 0, 2, `TotalJobRunTime = 900; Kind = 0; Rank = TARGET.Special =?= true`)
	p.run(t, 6, "c", 0, 2, `TotalJobRunTime = 0; Kind = 8`)
	p.run(t, 7, "a", 0, 1, `TotalJobRunTime = 0; Kind = 8`)
	all := preempt.Rules{Requirements: expr(t, "true")}
	require.Equal(t, ids{{3}, {2}, {1}, {5}, {4}}, victims(p.open(all), p.waits(t, 10, "c", 2, "")),
		"small slots first, then by priority and run time; its own user's and too small ones are none")
	require.Equal(t, ids{{5}, {3}, {2}, {1}, {4}}, victims(p.open(all), p.waits(t, 10, "c", 2, "Special = true")), "what the machine prefers")
	all.PreJobRank = expr(t, "0")
	require.Equal(t, ids{{4}, {1}, {3}, {2}, {5}}, victims(p.open(all), p.waits(t, 10, "c", 2, "Special = true; Rank = TARGET.Kind")))
	require.Equal(t, ids{{5}, {3}, {2}, {1}, {4}}, victims(p.open(all), p.waits(t, 10, "c", 2, "Special = true")), "the reason")
	all.PostJobRank = expr(t, "-MY.Kind")
	require.Equal(t, ids{{5}, {2}, {3}, {1}, {4}}, victims(p.open(all), p.waits(t, 10, "c", 2, "Special = true")))
	all.PostJobRank, all.Rank = nil, expr(t, "MY.Kind + TARGET.More")
	require.Equal(t, ids{{4}, {1}, {3}, {2}, {5}}, victims(p.open(all), p.waits(t, 10, "c", 2, "More = 5")))
	require.Equal(t, ids{{5}}, victims(p.open(preempt.Rules{}), p.waits(t, 10, "a", 2, "Special = true")), "of the same user, too")
}

// TestWhoIsNoCandidate: neither who is waited for, nor who retires, nor whom the machine prefers.
func TestWhoIsNoCandidate(t *testing.T) {
	p := newPool(t, 40)
	c := p.run(t, 1, "a", 0, 2, "")
	c.Waited = true
	p.claims[1] = *c
	c = p.run(t, 2, "a", 0, 2, "")
	c.Retirement = 100
	p.claims[2] = *c
	p.run(t, 3, "a", 0, 2, "CurrentRank = 1")
	p.run(t, 4, "b", 0, 2, `Requirements = TARGET.Good =?= true`)
	rules := preempt.Rules{Requirements: expr(t, "true")}
	s, w := p.open(rules), p.waits(t, 10, "c", 2, "")
	require.Empty(t, victims(s, w))
	blocked, ok := s.Blocked(w)
	require.True(t, ok)
	require.Equal(t, preempt.Blocked{Job: 10, Slot: "slot1@n0", Victims: 1, Until: 5100}, blocked)
	rules.Early = true
	for p := range p.open(rules).Candidates(w) {
		require.EqualValues(t, 5110, p.Start, "retirement and vacating")
	}
	require.Equal(t, ids{{2}}, victims(p.open(rules), w))
	require.Equal(t, ids{{4}}, victims(p.open(preempt.Rules{Requirements: rules.Requirements}), p.waits(t, 10, "c", 2, "Good = true")))
	p.memory.Note(&preempt.Preemption{Job: 10, Victims: []preempt.Victim{{Job: 2}}, Reason: preempt.StartdRank}, 4950)
	rules.Pause = 100
	require.Empty(t, victims(p.open(rules), w))
}

// TestExpressionsSeeUsers: who has the slot, who asks, their groups, and the other slots of the machine; what
// they use follows the matches of the cycle.
func TestExpressionsSeeUsers(t *testing.T) {
	p := newPool(t, 40)
	p.stands["g.a"] = preempt.Standing{Prio: 5, InUse: 4, Floor: 2, Group: "g", GroupInUse: 7, GroupQuota: 9}
	p.stands["b"] = preempt.Standing{
		Prio: 1, InUse: 3, Group: "h", GroupInUse: 8, GroupQuota: 10, NegotiatingGroup: "<none>", Autoregroup: true,
	}
	p.run(t, 1, "g.a", 0, 2, `slot2_RemoteUser = "b"`)
	p.run(t, 2, "g.a", 0, 2, `slot2_RemoteUser = "b"`)
	for text, allowed := range map[string]bool{
		"RemoteUserPrio == 5 && RemoteUserFloor == 2 && MY.RemoteUserResourcesInUse == 4":        true,
		`RemoteGroup == "g" && RemoteGroupResourcesInUse == 7 && RemoteGroupQuota == 9`:          true,
		"TARGET.SubmitterUserPrio == 1 && TARGET.SubmittorPrio == 1":                             true,
		"TARGET.SubmitterUserResourcesInUse == 3":                                                true,
		`TARGET.SubmitterGroup == "h" && TARGET.SubmitterGroupResourcesInUse == 8`:               true,
		`TARGET.SubmitterGroupQuota == 10 && TARGET.SubmitterNegotiatingGroup == "<none>"`:       true,
		"TARGET.SubmitterAutoregroup":                                                            true,
		"slot2_RemoteUserPrio == 1":                                                              false,
		"undefined":                                                                              false,
		"error":                                                                                  false,
		"RemoteUserPrio > TARGET.SubmitterUserPrio * 1.2 && time() - EnteredCurrentState > 3600": false,
	} {
		rules := preempt.Rules{Requirements: expr(t, text)}
		require.Equal(t, allowed, len(victims(p.open(rules), p.waits(t, 10, "b", 2, ""))) == 2, text)
	}
	rules := preempt.Rules{Requirements: expr(t, "slot2_RemoteUserPrio == 1 && slot2_RemoteGroupQuota == 10"), CrossSlotPrios: true}
	require.Len(t, victims(p.open(rules), p.waits(t, 10, "b", 2, "")), 2)

	rules = preempt.Rules{Requirements: expr(t, "RemoteUserResourcesInUse > TARGET.SubmitterUserResourcesInUse")}
	s := p.open(rules)
	w := p.waits(t, 10, "b", 2, "")
	for made := range s.Candidates(w) {
		require.EqualValues(t, 1, made.Victims[0].Job)
		s.Take(&made, w.Job)
		break
	}
	require.Empty(t, victims(s, p.waits(t, 11, "b", 2, "")), "2 and 5 are in use now")
	s = p.open(preempt.Rules{Requirements: expr(t, "true")})
	for made := range s.Candidates(w) {
		s.Take(&made, w.Job)
		break
	}
	require.Equal(t, ids{{2}}, victims(s, w), "the other one")
	s.Started("b", 2)
}

// TestSeveralMakeWay: dynamic slots of one machine make way together, the lowest rank first, no more than are
// needed, if that is allowed, and in HTCondor 25 only for jobs that ask for it.
func TestSeveralMakeWay(t *testing.T) {
	p := newPool(t, 8, 8)
	p.run(t, 1, "a", 0, 1, "CurrentRank = 1; Rank = 5")
	p.run(t, 2, "a", 0, 2, "CurrentRank = 2; Rank = 5")
	p.run(t, 3, "a", 0, 3, "CurrentRank = 3; Rank = 5")
	p.run(t, 4, "a", 0, 1, "CurrentRank = 9; Rank = 5")
	c := p.run(t, 5, "a", 1, 4, "Rank = 5")
	c.Retirement = 60
	p.claims[5] = *c
	p.run(t, 6, "a", 1, 2, "Rank = 5")
	rules := preempt.Rules{Several: true}
	wide := p.waits(t, 10, "b", 6, "")
	require.Equal(t, ids{{3, 2}}, sorted(victims(p.open(rules), wide)), "1 is free; 1 and 2 and 3 would be 7, without the first it is 6")
	require.Empty(t, victims(p.open(preempt.Rules{}), wide))
	require.Equal(t, ids{{1}, {2}, {3}, {6}, {6}}, each(victims(p.open(rules), p.waits(t, 10, "b", 2, ""))), "with what is free, or one alone")
	s := p.open(rules)
	more := p.waits(t, 10, "b", 8, "")
	require.Empty(t, victims(s, more), "the fourth is preferred")
	blocked, ok := s.Blocked(more)
	require.True(t, ok)
	require.Equal(t, preempt.Blocked{Job: 10, Slot: "slot1@n1", Victims: 2, Until: 5060}, blocked)
	rules.Asked = true
	require.Empty(t, victims(p.open(rules), wide))
	require.Len(t, victims(p.open(rules), p.waits(t, 10, "b", 6, "WantPslotPreemption = true")), 1)
}

// sorted sorts the victims of each.
func sorted(all ids) ids {
	for _, jobs := range all {
		slices.SortFunc(jobs, func(a, b backfill.JobID) int { return int(b - a) })
	}
	return all
}

// each sorts lists of one victim.
func each(all ids) ids {
	slices.SortFunc(all, func(a, b []backfill.JobID) int { return int(a[0] - b[0]) })
	return all
}
