package maui_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
	"github.com/condor-backfill/condor-backfill/integration/thorough"
)

// drawSite draws the other options of a site. It returns all of them, for the model and for the
// policy.
func drawSite(t *rapid.T, s site) (site, options) {
	s.metric = rapid.SampledFrom([]string{"PROCS", "PROCSECONDS", "SECONDS"}).Draw(t, "metric")
	s.depth = rapid.SampledFrom([]int{0, 0, 1, 3}).Draw(t, "depth")
	opt := with("backfillpolicy", s.policy, "backfillmetric", s.metric, "reservationpolicy", s.reservations,
		"backfilldepth", strconv.Itoa(s.depth), "backfillmaxschedules", "1000000")
	if rapid.Bool().Draw(t, "chunking") {
		s.chunkSize, s.chunkDuration = rapid.Int64Range(2, 6).Draw(t,
			"size"), backfill.Time(rapid.IntRange(1, 12).Draw(t, "duration"))
		opt["bfchunksize"], opt["bfchunkduration"] = strconv.FormatInt(s.chunkSize, 10), fmt.Sprintf("0:%02d",
			s.chunkDuration)
	}
	switch rapid.IntRange(0, 3).Draw(t, "stacks") {
	case 0:
		s.stacks = []modelStack{{depth: 1}}
	case 1:
		n := rapid.IntRange(0, 3).Draw(t, "reservation depth")
		s.stacks, opt["reservationdepth"] = []modelStack{{depth: n}}, strconv.Itoa(n)
	case 2:
		s.stacks = []modelStack{{depth: 2, qos: []string{"high"}}, {depth: 1, qos: []string{"low", "high"}}}
		opt["reservationqoslist"], opt["reservationdepth"] = "[0] high [1] low,high", "[0] 2"
	case 3:
		s.stacks = []modelStack{{depth: 1}, {depth: 1}, {depth: 2, qos: []string{"low"}}}
		opt["reservationqoslist"], opt["reservationdepth"] = "[0] all [3] low", "[1] 1 [3] 2"
	}
	for _, pair := range [][2]string{
		{"owner", "usercfg"},
		{"group", "groupcfg"},
		{"account", "accountcfg"},
		{"qos", "qoscfg"},
	} {
		if rapid.IntRange(0, 3).Draw(t, pair[1]) > 0 {
			continue
		}
		for _, name := range []string{"DEFAULT", "low", "fred"}[:rapid.IntRange(1, 3).Draw(t, "names")] {
			opt[pair[1]] += " [" + name + "]"
			for i, kind := range []string{"MAXJOB", "MAXPROC", "MAXPS"} {
				if i > 0 && rapid.Bool().Draw(t, "skip") {
					continue
				}
				l := modelLimit{label: pair[0], name: name, kind: kind}
				most := []int64{3, 8, 80}[i]
				l.soft, l.hard = rapid.Int64Range(1, most).Draw(t, "soft"), rapid.Int64Range(1, 2*most).Draw(t, "hard")
				s.limits = append(s.limits, l)
				opt[pair[1]] += fmt.Sprintf(" %s=%d,%d", kind, l.soft, l.hard)
			}
		}
	}
	return s, opt
}

func init() { thorough.Properties(30) }

// TestModel checks that the policy decides every round as the model does, for random jobs on random
// pools under random options.
func TestModel(t *testing.T) {
	for _, policy := range []string{"FIRSTFIT", "BESTFIT", "GREEDY", "NONE"} {
		for _, reservations := range []string{"CURRENTHIGHEST", "HIGHEST", "NEVER"} {
			t.Run(policy+" "+reservations, func(t *testing.T) {
				t.Parallel()
				rapid.Check(t, func(t *rapid.T) {
					compareWithModel(t,
						site{policy: policy, reservations: reservations})
				})
			})
		}
	}
}

func compareWithModel(t *rapid.T, s site) {
	s, opt := drawSite(t, s)
	m, r := drawPool(t, s)
	h := newHost(t, backfill.NewState([]string{"cpus", "memory", "gpus"}[:len(m.capacity[0])], m.rule), opt,
		map[bool]string{false: "fcfs", true: "sjf"}[m.shortest])
	_, err := h.Decide(t.Context(), r)
	require.NoError(t, err)

	next := id(0)
	ends := map[id]backfill.Time{} // actual
	for range 40 {
		// The next instant is up to 6 s later, but not after the host's wake or an actual end.
		m.now = min(m.now+backfill.Time(rapid.IntRange(0, 6).Draw(t, "step")), h.State.NextWake())
		for _, end := range ends {
			m.now = min(m.now, end)
		}
		r = backfill.Round{Now: m.now}
		for _, job := range slices.Sorted(maps.Keys(ends)) {
			if ends[job] == m.now {
				r.Events = append(r.Events, backfill.Event{Kind: backfill.Completed, JobID: job})
				m.end(m.jobs[slices.IndexFunc(m.jobs, func(j *modelJob) bool { return j.ID == job })])
				delete(ends, job)
			}
		}
		most := 3
		if s.policy == "GREEDY" && len(m.queue()) > 9 { // the model tries every combination
			most = 0
		}
		for range rapid.IntRange(0, most).Draw(t, "arrivals") {
			if j := drawJob(t, next, m); j != nil {
				m.jobs = append(m.jobs, &modelJob{Job: j})
				r.Events = append(r.Events, backfill.Event{Kind: backfill.Submitted, Job: j})
			}
			next++
		}
		d, err := h.Decide(t.Context(), r)
		require.NoError(t, err)
		started := m.decide()
		require.Equal(t, m.told(started), tell(d, h.State), "at %d, under %v", m.now, opt)
		require.Equal(t, len(m.queue()), h.State.Waiting(), "at %d, under %v", m.now, opt)
		require.LessOrEqual(t, h.State.NextWake(), m.wake, "at %d, under %v", m.now, opt)
		for _, j := range started {
			ends[j.ID] = m.now + backfill.Time(rapid.IntRange(1, int(j.Estimate)).Draw(t, "run"))
		}
	}
}

// drawPool draws slots and candidate sets, and returns the model and the round that adds them.
func drawPool(t *rapid.T, s site) (*model, backfill.Round) {
	var r backfill.Round
	var capacity []backfill.Vector
	all := backfill.Candidates{}
	resources := rapid.IntRange(1, 3).Draw(t, "resources")
	for i := range rapid.SampledFrom([]int{1, 1, 2, 3}).Draw(t, "slots") {
		c := make(backfill.Vector, resources)
		for k := range c {
			c[k] = rapid.Int64Range(1, 8).Draw(t, "capacity")
		}
		capacity = append(capacity, c)
		slot := backfill.Slot{ID: backfill.SlotID(i), Name: string(rune('a' + i)), Capacity: c}
		all.Slots = append(all.Slots, slot.ID)
		r.Events = append(r.Events, backfill.Event{Kind: backfill.SlotAdded, Slot: slot})
	}
	sets := []backfill.Candidates{all, {Slots: all.Slots[:1]}, {Slots: all.Slots}}
	for range all.Slots {
		sets[2].Rank = append(sets[2].Rank, int32(rapid.IntRange(0, 2).Draw(t, "rank")))
	}
	for i, set := range sets {
		r.Candidates = append(r.Candidates, backfill.CandidateSet{ID: i, Candidates: set})
	}
	rule := profile.Rule(rapid.IntRange(0, 2).Draw(t, "rule"))
	return newModel(rule, capacity, sets, rapid.Bool().Draw(t, "sjf"), s), r
}

// drawJob draws a job. It returns nil if the job would not fit an empty pool.
func drawJob(t *rapid.T, next id, m *model) *backfill.Job {
	j := &backfill.Job{
		ID: next, Submit: m.now, Position: backfill.QueuePosition{Cluster: int64(next)},
		Nodes: rapid.SampledFrom([]int{1, 1, 1, 2, 3}).Draw(t, "nodes"), Request: make(backfill.Vector,
			len(m.capacity[0])),
		Estimate: backfill.Time(rapid.IntRange(1, 15).Draw(t, "estimate")), Candidates: rapid.IntRange(0,
			len(m.sets)-1).Draw(t, "set"),
		Labels: map[string]string{
			"owner": rapid.SampledFrom([]string{"fred", "eve", ""}).Draw(t, "owner"),
			"qos":   rapid.SampledFrom([]string{"high", "low", "other"}).Draw(t, "qos"),
			"group": rapid.SampledFrom([]string{"low", "high"}).Draw(t, "group"),
		},
	}
	if rapid.Bool().Draw(t, "account") {
		j.Labels["account"] = "fred"
	}
	for k := range j.Request {
		j.Request[k] = rapid.Int64Range(map[bool]int64{true: 1}[k == 0], 6).Draw(t, "request")
	}
	chunks := 0
	for _, slot := range m.sets[j.Candidates].Slots {
		n := int64(j.Nodes)
		for k, need := range j.Request {
			if need > 0 {
				n = min(n, m.capacity[slot][k]/need)
			}
		}
		chunks += int(n)
	}
	if chunks < j.Nodes {
		return nil
	}
	return j
}
