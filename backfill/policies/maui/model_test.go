package maui_test

import (
	"cmp"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// model is the specification of maui, second by second and without a thought for
// speed. It shares nothing with the policy but the jobs.
type model struct {
	rule     profile.Rule
	capacity []backfill.Vector // by slot; slots are named in their order
	sets     []backfill.Candidates
	shortest bool // the queue's order is sjf
	site     site

	now     backfill.Time
	jobs    []*modelJob // known and not ended, in no order
	lots    [][][]lot   // by slot and resource: what is idle, the oldest first
	blocked bool        // a large job was blocked in this pass
	wake    backfill.Time
}

// site is what a site can set.
type site struct {
	policy, metric, reservations string
	depth                        int
	stacks                       []modelStack
	chunkSize                    int64
	chunkDuration                backfill.Time
	limits                       []modelLimit
}

type modelStack struct {
	depth int
	qos   []string // none: all
}

type modelLimit struct {
	label, name, kind string
	soft, hard        int64
}

type modelJob struct {
	*backfill.Job
	running, reserved bool
	start, end        backfill.Time
	at                map[int]int // chunks by slot
}

// lot is an amount that was given back at an instant.
type lot struct {
	at backfill.Time
	n  int64
}

func newModel(rule profile.Rule, capacity []backfill.Vector, sets []backfill.Candidates, shortest bool, s site) *model {
	m := &model{rule: rule, capacity: capacity, sets: sets, shortest: shortest, site: s}
	for _, c := range capacity {
		var lots [][]lot
		for _, n := range c {
			lots = append(lots, []lot{{at: -1000, n: n}})
		}
		m.lots = append(m.lots, lots)
	}
	return m
}

// free is what is free of a resource on a slot at an instant, leaving one job out.
func (m *model) free(slot, k int, t backfill.Time, without *modelJob) int64 {
	n := m.capacity[slot][k]
	for _, j := range m.jobs {
		if j != without && (j.running || j.reserved) && j.start <= t && t < j.end {
			n -= int64(j.at[slot]) * j.Request[k]
		}
	}
	return n
}

// place finds a place for a job from start on, leaving out its own and what is
// kept now.
func (m *model) place(j *modelJob, start backfill.Time, kept func(slot, k int) int64) (map[int]int, bool) {
	type host struct {
		slot, chunks int
		rank         int32
		left         *big.Rat
	}
	var hosts []host
	total := 0
	set := m.sets[j.Candidates]
	for i, s := range set.Slots {
		h := host{slot: int(s), chunks: j.Nodes, left: big.NewRat(1, 1)}
		if set.Rank != nil {
			h.rank = set.Rank[i]
		}
		for k, need := range j.Request {
			least := int64(1 << 40)
			for t := start; t < start+j.Estimate; t++ {
				n := m.free(h.slot, k, t, j)
				if t == m.now {
					n -= kept(h.slot, k)
				}
				least = min(least, n)
			}
			if need > 0 {
				h.chunks = min(h.chunks, int(max(0, least)/need))
			}
			if of := m.capacity[h.slot][k]; of > 0 {
				if left := big.NewRat(least-need, of); left.Cmp(h.left) < 0 {
					h.left = left
				}
			}
		}
		if h.chunks > 0 {
			hosts = append(hosts, h)
			total += h.chunks
		}
	}
	if total < j.Nodes {
		return nil, false
	}
	slices.SortFunc(hosts, func(a, b host) int {
		left, rank := a.left.Cmp(b.left), cmp.Compare(b.rank, a.rank)
		if m.rule != profile.ByRank {
			rank = 0
		}
		if m.rule == profile.Spread {
			left = -left
		}
		return cmp.Or(rank, left, cmp.Compare(a.slot, b.slot))
	})
	at := map[int]int{}
	for placed := 0; placed < j.Nodes; {
		for i := range hosts {
			for placed < j.Nodes && at[hosts[i].slot] < hosts[i].chunks {
				at[hosts[i].slot]++
				placed++
				if m.rule == profile.Spread {
					break
				}
			}
		}
	}
	return at, true
}

func nothing(int, int) int64 { return 0 }

// fitsNow is a job's place from now on; its reserved one when that has come.
func (m *model) fitsNow(j *modelJob) (map[int]int, bool) {
	if j.reserved && j.start == m.now {
		return j.at, true
	}
	return m.place(j, m.now, nothing)
}

// queue is who waits, in the queue's order.
func (m *model) queue() (waiting []*modelJob) {
	for _, j := range m.jobs {
		if !j.running {
			waiting = append(waiting, j)
		}
	}
	slices.SortFunc(waiting, func(a, b *modelJob) int {
		key := 0
		if m.shortest {
			key = cmp.Compare(a.Estimate, b.Estimate)
		}
		return cmp.Or(key, cmp.Compare(a.Submit, b.Submit), cmp.Compare(a.ID, b.ID))
	})
	return waiting
}

// allowed adds up what runs, for each limit that concerns a job.
func (m *model) allowed(j *modelJob, hard bool) bool {
	cost := func(j *modelJob, kind string) int64 {
		return map[string]int64{"MAXJOB": 1, "MAXPROC": j.Width(), "MAXPS": j.Width() * int64(j.Estimate)}[kind]
	}
	for _, label := range []string{"owner", "group", "account", "qos"} {
		for _, kind := range []string{"MAXJOB", "MAXPROC", "MAXPS"} {
			limit, found := modelLimit{}, false
			for _, name := range []string{"DEFAULT", j.Labels[label]} {
				for _, l := range m.site.limits {
					if l.label == label && l.name == name && l.kind == kind {
						limit, found = l, true
					}
				}
			}
			if !found || j.Labels[label] == "" {
				continue
			}
			sum := cost(j, kind)
			for _, r := range m.jobs {
				if r.running && r.Labels[label] == j.Labels[label] {
					sum += cost(r, kind)
				}
			}
			if hard && sum > limit.hard || !hard && sum > min(limit.soft, limit.hard) {
				return false
			}
		}
	}
	return true
}

func (m *model) begin(j *modelJob, at map[int]int) {
	j.running, j.reserved, j.at, j.start, j.end = true, false, at, m.now, m.now+j.Estimate
	for slot, chunks := range at {
		for k, need := range j.Request {
			take := need * int64(chunks)
			for i := range m.lots[slot][k] {
				l := &m.lots[slot][k][i]
				n := min(l.n, take)
				l.n, take = l.n-n, take-n
			}
		}
	}
}

func (m *model) end(j *modelJob) {
	for slot, chunks := range j.at {
		for k, need := range j.Request {
			m.lots[slot][k] = append(m.lots[slot][k], lot{at: m.now, n: need * int64(chunks)})
		}
	}
	m.jobs = slices.DeleteFunc(m.jobs, func(o *modelJob) bool { return o == j })
}

// reserve gives a job its earliest place, or leaves it where it is.
func (m *model) reserve(j *modelJob) {
	horizon := m.now
	for _, o := range m.jobs {
		horizon = max(horizon, o.end)
	}
	for s := m.now; s <= horizon; s++ {
		if j.reserved && s >= j.start {
			return
		}
		if at, fits := m.place(j, s, nothing); fits {
			j.reserved, j.at, j.start, j.end = true, at, s, s+j.Estimate
			return
		}
	}
}

// isBlocked starts chunking if the job is large.
func (m *model) isBlocked(j *modelJob) {
	if m.site.policy == "FIRSTFIT" && m.site.chunkSize > 0 && m.site.chunkDuration > 0 && j.Width() >= m.site.chunkSize {
		m.blocked = true
	}
}

// decide is one iteration.
func (m *model) decide() (started []*modelJob) {
	m.blocked, m.wake = false, backfill.Forever
	known := m.jobs
	m.jobs = nil // who is over a hard limit even alone is out
	m.jobs = slices.DeleteFunc(known, func(j *modelJob) bool { return !j.running && !m.allowed(j, true) })
	had := map[*modelJob]bool{}
	for _, j := range m.jobs {
		if j.reserved && m.site.reservations == "HIGHEST" {
			had[j] = true
		} else {
			j.reserved = false
		}
	}
	started = m.priority(had, false)
	if m.site.policy == "NONE" {
		room := m.site.stacks
		m.site.stacks = nil
		started = append(started, m.priority(map[*modelJob]bool{}, true)...)
		m.site.stacks = room
		return started
	}
	var jobs []*modelJob
	for _, j := range m.queue() {
		if !j.reserved && m.allowed(j, true) && (m.site.depth == 0 || len(jobs) < m.site.depth) {
			jobs = append(jobs, j)
		}
	}
	for _, hard := range []bool{false, true} {
		started = append(started, m.windows(jobs, hard)...)
	}
	return started
}

// priority starts jobs in order and reserves for the first blocked ones.
func (m *model) priority(had map[*modelJob]bool, hard bool) (started []*modelJob) {
	room := slices.Clone(m.site.stacks)
	if m.site.reservations == "NEVER" {
		room = nil
	}
	left := func() bool { return slices.ContainsFunc(room, func(s modelStack) bool { return s.depth > 0 }) }
	anyBlocked := false
	for _, j := range m.queue() {
		due := had[j] && j.start == m.now
		at, fits := m.fitsNow(j)
		switch {
		case had[j] && !m.allowed(j, true):
			if due {
				j.reserved = false
			}
			continue
		case !had[j] && !m.allowed(j, hard):
			continue
		case !had[j] && anyBlocked && !left():
			continue
		case fits && m.site.policy == "NONE" && anyBlocked && !due:
			continue
		case fits:
			m.begin(j, at)
			started = append(started, j)
			continue
		}
		anyBlocked = true
		m.isBlocked(j)
		gets := had[j]
		for i, s := range room {
			if s.depth > 0 && (len(s.qos) == 0 || slices.Contains(s.qos, j.Labels["qos"])) {
				room[i].depth--
				gets = true
				break
			}
		}
		if gets {
			m.reserve(j)
		}
	}
	return started
}

// windows fills one window after the other. It looks at each job in each window.
func (m *model) windows(jobs []*modelJob, hard bool) (started []*modelJob) {
	for last := backfill.Time(0); last < backfill.Forever; {
		last = m.nextWindow(last)
		started = append(started, m.fill(jobs, last, hard)...)
	}
	return started
}

// nextWindow is the shortest time, longer than the last one, for which some idle
// part of a slot stays idle.
func (m *model) nextWindow(last backfill.Time) backfill.Time {
	next := backfill.Forever
	for slot := range m.capacity {
		idle := make([]int64, len(m.capacity[slot]))
		for k := range idle {
			idle[k] = m.free(slot, k, m.now, nil)
		}
		for t := backfill.Time(1); t < 200 && idle[0] > 0; t++ {
			fell := false
			for k := range idle {
				if now := m.free(slot, k, m.now+t, nil); idle[k] > 0 && now < idle[k] {
					idle[k], fell = now, true
				}
			}
			if fell && t > last {
				next = min(next, t)
				break
			}
		}
	}
	return next
}

// room says whether the window has the chunks of a job.
func (m *model) room(j *modelJob, within backfill.Time) bool {
	chunks := 0
	for _, slot := range m.sets[j.Candidates].Slots {
		n := j.Nodes
		for k, need := range j.Request {
			for t := backfill.Time(0); t < min(within, 200) && need > 0; t++ {
				n = min(n, int(max(0, m.free(int(slot), k, m.now+t, nil))/need))
			}
		}
		chunks += n
	}
	return chunks >= j.Nodes && j.Estimate <= within
}

// fill starts jobs in one window.
func (m *model) fill(jobs []*modelJob, within backfill.Time, hard bool) (started []*modelJob) {
	start := func(j *modelJob, at map[int]int) {
		m.begin(j, at)
		started = append(started, j)
	}
	waiting := func() []*modelJob {
		return slices.DeleteFunc(slices.Clone(jobs), func(j *modelJob) bool { return j.running || !m.allowed(j, hard) })
	}
	if m.site.policy == "GREEDY" {
		for _, j := range m.bestCombination(waiting(), within, hard) {
			at, _ := m.place(j, m.now, nothing)
			start(j, at)
		}
	}
	for again := true; again; {
		again = false
		candidates := waiting()
		if m.site.policy == "BESTFIT" {
			slices.SortStableFunc(candidates, func(a, b *modelJob) int { return cmp.Compare(m.worth(b), m.worth(a)) })
		}
		for _, j := range candidates {
			if _, fits := m.fitsNow(j); !fits {
				m.isBlocked(j)
				continue
			}
			if !m.room(j, within) {
				continue
			}
			kept := nothing
			if m.blocked && j.Width() < m.site.chunkSize {
				kept = m.kept
			}
			at, fits := m.place(j, m.now, kept)
			if !fits {
				m.wake = min(m.wake, m.nextFree())
				continue
			}
			start(j, at)
			again = true
			break
		}
	}
	return started
}

// kept is what was given back of late and is still idle.
func (m *model) kept(slot, k int) (n int64) {
	for _, l := range m.lots[slot][k] {
		if l.at+m.site.chunkDuration > m.now {
			n += l.n
		}
	}
	return n
}

// nextFree is when some of what is kept is given free.
func (m *model) nextFree() backfill.Time {
	next := backfill.Forever
	for _, slot := range m.lots {
		for _, lots := range slot {
			for _, l := range lots {
				if until := l.at + m.site.chunkDuration; until > m.now && l.n > 0 {
					next = min(next, until)
				}
			}
		}
	}
	return next
}

func (m *model) worth(j *modelJob) int64 {
	return map[string]int64{"PROCS": j.Width(), "PROCSECONDS": j.Width() * int64(j.Estimate), "SECONDS": int64(j.Estimate)}[m.site.metric]
}

// bestCombination tries every set of jobs that fit, placed in the queue's order.
func (m *model) bestCombination(jobs []*modelJob, within backfill.Time, hard bool) (best []*modelJob) {
	jobs = slices.DeleteFunc(jobs, func(j *modelJob) bool {
		_, fits := m.fitsNow(j)
		return !fits || !m.room(j, within)
	})
	most := int64(-1)
	for mask := range 1 << len(jobs) {
		// Earlier jobs are higher bits, so that of equal sums the last one has them.
		var set []*modelJob
		for i, j := range jobs {
			if mask>>(len(jobs)-1-i)&1 == 1 {
				set = append(set, j)
			}
		}
		sum, fits := int64(0), true
		for i, j := range set {
			at, ok := m.place(j, m.now, nothing)
			if fits = ok && m.allowed(j, hard); !fits {
				set = set[:i]
				break
			}
			j.running, j.at, j.start, j.end = true, at, m.now, m.now+j.Estimate
			sum += m.worth(j)
		}
		for _, j := range set {
			j.running, j.at = false, nil
		}
		if fits && sum >= most {
			best, most = set, sum
		}
	}
	return best
}

// told is what there is to compare: who started where, and who is reserved for.
func (m *model) told(started []*modelJob) string {
	var text strings.Builder
	for _, j := range started {
		fmt.Fprintf(&text, "start %d on %v\n", j.ID, j.at)
	}
	slices.SortFunc(m.jobs, func(a, b *modelJob) int { return cmp.Compare(a.ID, b.ID) })
	for _, j := range m.jobs {
		if j.reserved {
			fmt.Fprintf(&text, "plan %d at %d on %v\n", j.ID, j.start, j.at)
		}
	}
	return text.String()
}

// tell is the same of the policy.
func tell(d backfill.Decision, s *backfill.State) string {
	var text strings.Builder
	on := func(at backfill.Placement) map[int]int {
		chunks := map[int]int{}
		for _, c := range at {
			chunks[int(c.Slot)] = c.Count
		}
		return chunks
	}
	for _, started := range d.Started {
		fmt.Fprintf(&text, "start %d on %v\n", started.Job.ID, on(started.Placement))
	}
	for _, j := range s.Snapshot().Jobs {
		if start, at, ok := s.Planned(j.Job.ID); ok {
			fmt.Fprintf(&text, "plan %d at %d on %v\n", j.Job.ID, start, on(at))
		}
	}
	return text.String()
}

// drawSite makes up what else a site sets, for the model and as options.
func drawSite(t *rapid.T, s site) (site, options) {
	s.metric = rapid.SampledFrom([]string{"PROCS", "PROCSECONDS", "SECONDS"}).Draw(t, "metric")
	s.depth = rapid.SampledFrom([]int{0, 0, 1, 3}).Draw(t, "depth")
	opt := with("backfillpolicy", s.policy, "backfillmetric", s.metric, "reservationpolicy", s.reservations,
		"backfilldepth", strconv.Itoa(s.depth), "backfillmaxschedules", "1000000")
	if rapid.Bool().Draw(t, "chunking") {
		s.chunkSize, s.chunkDuration = rapid.Int64Range(2, 6).Draw(t, "size"), backfill.Time(rapid.IntRange(1, 12).Draw(t, "duration"))
		opt["bfchunksize"], opt["bfchunkduration"] = strconv.FormatInt(s.chunkSize, 10), fmt.Sprintf("0:%02d", s.chunkDuration)
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
	for _, by := range [][2]string{{"owner", "usercfg"}, {"group", "groupcfg"}, {"account", "accountcfg"}, {"qos", "qoscfg"}} {
		if rapid.IntRange(0, 3).Draw(t, by[1]) > 0 {
			continue
		}
		for _, name := range []string{"DEFAULT", "low", "fred"}[:rapid.IntRange(1, 3).Draw(t, "names")] {
			opt[by[1]] += " [" + name + "]"
			for i, kind := range []string{"MAXJOB", "MAXPROC", "MAXPS"} {
				if i > 0 && rapid.Bool().Draw(t, "skip") {
					continue
				}
				l := modelLimit{label: by[0], name: name, kind: kind}
				most := []int64{3, 8, 80}[i]
				l.soft, l.hard = rapid.Int64Range(1, most).Draw(t, "soft"), rapid.Int64Range(1, 2*most).Draw(t, "hard")
				s.limits = append(s.limits, l)
				opt[by[1]] += fmt.Sprintf(" %s=%d,%d", kind, l.soft, l.hard)
			}
		}
	}
	return s, opt
}

// TestModel runs random workloads on random pools under random settings, and
// requires that the policy decides as the specification does, each time.
func TestModel(t *testing.T) {
	for _, policy := range []string{"FIRSTFIT", "BESTFIT", "GREEDY", "NONE"} {
		for _, reservations := range []string{"CURRENTHIGHEST", "HIGHEST", "NEVER"} {
			t.Run(policy+" "+reservations, func(t *testing.T) {
				t.Parallel()
				rapid.Check(t, func(t *rapid.T) { compareWithModel(t, site{policy: policy, reservations: reservations}) })
			})
		}
	}
}

func compareWithModel(t *rapid.T, s site) {
	s, opt := drawSite(t, s)
	m, r := drawPool(t, s)
	h := newHost(t, backfill.NewState([]string{"cpus", "memory", "gpus"}[:len(m.capacity[0])], m.rule), opt, map[bool]string{false: "fcfs", true: "sjf"}[m.shortest])
	_, err := h.Decide(t.Context(), r)
	require.NoError(t, err)

	next := id(0)
	ends := map[id]backfill.Time{} // actual
	for range 40 {
		// The next instant: the host's wake, an actual end, or a bit later.
		m.now = min(m.now+backfill.Time(rapid.IntRange(0, 6).Draw(t, "step")), h.State.NextWake())
		for _, end := range ends {
			m.now = min(m.now, end)
		}
		r = backfill.Round{Now: m.now}
		for _, job := range slices.Sorted(maps.Keys(ends)) {
			if ends[job] == m.now {
				r.Events = append(r.Events, backfill.Event{Kind: backfill.Completed, Job: job})
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
				r.Events = append(r.Events, backfill.Event{Kind: backfill.Submitted, Spec: j})
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

// drawPool makes up slots and candidate sets, and the round in which they come.
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

// drawJob makes up a job; nil if it would not fit an empty pool.
func drawJob(t *rapid.T, next id, m *model) *backfill.Job {
	j := &backfill.Job{
		ID: next, Submit: m.now, Place: backfill.Place{Cluster: int64(next)},
		Nodes: rapid.SampledFrom([]int{1, 1, 1, 2, 3}).Draw(t, "nodes"), Request: make(backfill.Vector, len(m.capacity[0])),
		Estimate: backfill.Time(rapid.IntRange(1, 15).Draw(t, "estimate")), Candidates: rapid.IntRange(0, len(m.sets)-1).Draw(t, "set"),
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
