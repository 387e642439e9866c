package host

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// scenario generates the events of a pool, round by round. They depend only on the seed and the
// state.
type scenario struct {
	random *rand.Rand
	now    backfill.Time
	jobs   backfill.JobID
	sets   int
	// bundles are the bundles of a partitioned pool, in which each job takes one.
	bundles [][]backfill.SlotID
}

// partitioned is the first seed of partitioned pools.
const partitioned = 1000

func newScenario(seed uint64) *scenario {
	g := &scenario{random: rand.New(rand.NewPCG(seed, 1))}
	if seed >= partitioned {
		g.bundles = [][]backfill.SlotID{{0, 1, 2, 3}, {0}, {1}, {2, 3}}
	}
	return g
}

const poolSlots = 4

func newPool() *backfill.State {
	return backfill.NewState([]string{"cpus", "memory"}, profile.ByRank)
}

// next returns the next round of a pool in this state.
func (g *scenario) next(s *backfill.State) backfill.Round {
	if g.sets == 0 {
		return g.first()
	}
	g.pass(s)
	r := backfill.Round{Now: g.now}
	if g.bundles != nil && g.one(15) {
		r.Bundles = g.another()
	}
	if g.one(20) {
		r.Candidates = append(r.Candidates, g.candidates())
	}
	snapshot := s.Snapshot()
	if g.one(20) { // a known set changes
		changed := g.candidates()
		g.sets--
		changed.ID = g.random.IntN(len(snapshot.Candidates))
		r.Candidates = append([]backfill.CandidateSet{changed}, r.Candidates...)
	}
	if g.one(20) {
		for _, j := range snapshot.Jobs {
			r.Keys = append(r.Keys, backfill.JobKey{Job: j.Job.ID, Key: float64(g.random.IntN(5))})
		}
	}
	for _, slot := range snapshot.Slots {
		switch {
		case !slot.Up && g.one(4):
			r.Events = append(r.Events, backfill.Event{Kind: backfill.SlotAdded, Slot: slot.Slot})
		case slot.Up && g.one(60):
			r.Events = append(r.Events, backfill.Event{Kind: backfill.SlotLost, Slot: slot.Slot})
		case slot.Up && g.bundles == nil && g.one(60):
			slot.Capacity = backfill.Vector{int64(4 + g.random.IntN(8)), int64(40 + g.random.IntN(80))}
			r.Events = append(r.Events, backfill.Event{Kind: backfill.SlotChanged, Slot: slot.Slot})
		}
	}
	for _, j := range snapshot.Jobs {
		if e, happens := g.concerning(j); happens {
			r.Events = append(r.Events, e)
		}
	}
	for range g.random.IntN(4) {
		g.jobs++
		r.Events = append(r.Events, backfill.Event{Kind: backfill.Submitted, Job: g.job(g.jobs)})
	}
	return r
}

// first returns the first round.
func (g *scenario) first() backfill.Round {
	g.now = 1000
	r := backfill.Round{Now: g.now, Candidates: []backfill.CandidateSet{g.candidates()}}
	for i := range g.bundles {
		r.Bundles = append(r.Bundles, g.bundle(i))
	}
	for i := range poolSlots {
		r.Events = append(r.Events, backfill.Event{Kind: backfill.SlotAdded, Slot: backfill.Slot{
			ID: backfill.SlotID(i), Name: fmt.Sprintf("slot%d", (i+2)%poolSlots), Capacity: backfill.Vector{8, 80},
		}})
	}
	return r
}

// another returns one more bundle, unless the slots that come up form a known one.
func (g *scenario) another() []backfill.Bundle {
	var slots []backfill.SlotID
	for id := range backfill.SlotID(poolSlots) {
		if g.one(2) {
			slots = append(slots, id)
		}
	}
	if len(slots) == 0 || slices.ContainsFunc(g.bundles,
		func(known []backfill.SlotID) bool { return slices.Equal(known, slots) }) {
		return nil
	}
	g.bundles = append(g.bundles, slots)
	return []backfill.Bundle{g.bundle(len(g.bundles) - 1)}
}

func (g *scenario) bundle(i int) backfill.Bundle {
	return backfill.Bundle{ID: backfill.BundleID(i), Name: fmt.Sprintf("part%d", (i*7)%10), Slots: g.bundles[i]}
}

// pass advances the time, usually to the next wake, which is sometimes missed.
func (g *scenario) pass(s *backfill.State) {
	step := backfill.Time(g.random.IntN(40))
	if wake := s.NextWake(); g.now+step > wake && !g.one(15) {
		step = max(0, wake-g.now)
	}
	g.now += step
}

// concerning generates an event about a job, or none.
func (g *scenario) concerning(j backfill.JobState) (backfill.Event, bool) {
	id := j.Job.ID
	switch {
	case j.Running && (j.End <= g.now && !g.one(10) || g.one(12)):
		return backfill.Event{Kind: backfill.Completed, JobID: id}, true
	case j.Running && g.one(60):
		return backfill.Event{Kind: backfill.StartFailed, JobID: id}, true
	case j.Running && g.one(40):
		return backfill.Event{
			Kind: backfill.EstimateChanged, JobID: id,
			End: g.now + 1 + backfill.Time(g.random.IntN(100)),
		}, true
	case g.one(60):
		return backfill.Event{Kind: backfill.Removed, JobID: id}, true
	case !j.Running && g.one(60):
		return backfill.Event{Kind: backfill.Changed, Job: g.job(id)}, true
	}
	return backfill.Event{}, false
}

func (g *scenario) job(id backfill.JobID) *backfill.Job {
	estimate := backfill.Time(1 + g.random.IntN(100))
	nodes := 1 + g.random.IntN(3)
	if g.bundles != nil {
		nodes = 1
	}
	return &backfill.Job{
		ID: id, Submit: g.now, Position: backfill.QueuePosition{Queue: "schedd", Cluster: int64(id)},
		Nodes: nodes, Whole: g.bundles != nil,
		Request:    backfill.Vector{int64(1 + g.random.IntN(6)), int64(g.random.IntN(60))},
		Estimate:   estimate,
		Limit:      estimate * backfill.Time(g.random.IntN(3)),
		Running:    backfill.Time(g.random.IntN(100) * g.random.IntN(2)),
		Candidates: g.random.IntN(g.sets),
		Labels:     map[string]string{"owner": fmt.Sprint("user", g.random.IntN(3))},
	}
}

func (g *scenario) candidates() backfill.CandidateSet {
	set := backfill.CandidateSet{ID: g.sets}
	from := poolSlots
	if g.bundles != nil {
		from = len(g.bundles)
	}
	for id := range from {
		if g.sets == 0 || g.one(2) || id == 0 {
			if g.bundles != nil {
				set.Candidates.Bundles = append(set.Candidates.Bundles, backfill.BundleID(id))
			} else {
				set.Candidates.Slots = append(set.Candidates.Slots, backfill.SlotID(id))
			}
			set.Candidates.Rank = append(set.Candidates.Rank, int32(g.random.IntN(3)))
		}
	}
	if g.one(2) {
		set.Candidates.Rank = nil
	}
	g.sets++
	return set
}

// one returns true once in n times.
func (g *scenario) one(n int) bool { return g.random.IntN(n) == 0 }

// copyOf returns a copy of a round for another host, because hosts sort and complete rounds.
func copyOf(r backfill.Round) backfill.Round {
	r.Events = slices.Clone(r.Events)
	return r
}
