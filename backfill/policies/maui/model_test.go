package maui_test

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// model is an executable specification of maui. It works second by second and does not care about
// speed. It shares no code with the policy.
type model struct {
	rule     profile.Rule
	capacity []backfill.Vector // by slot; slots are named in their order
	sets     []backfill.Candidates
	shortest bool // the queue's order is sjf
	site     site

	now     backfill.Time
	jobs    []*modelJob // waiting or running, in no order
	lots    [][][]lot   // by slot and resource: what is idle, the oldest amount first
	blocked bool        // a large job was blocked in this pass
	wake    backfill.Time
}

// site holds the options that a site sets.
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
	qos   []string // empty: all jobs
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

// lot is an amount that was given back at an instant and has been idle since.
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

// free returns what is free of a resource on a slot at an instant, without counting one of the
// jobs.
func (m *model) free(slot, k int, t backfill.Time, without *modelJob) int64 {
	n := m.capacity[slot][k]
	for _, j := range m.jobs {
		if j != without && (j.running || j.reserved) && j.start <= t && t < j.end {
			n -= int64(j.at[slot]) * j.Request[k]
		}
	}
	return n
}

// place finds a place for a job from start on. Its own reservation does not count. What is kept now
// is not free.
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
			if total := m.capacity[h.slot][k]; total > 0 {
				if left := big.NewRat(least-need, total); left.Cmp(h.left) < 0 {
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

// fitsNow returns a job's place from now on: the reserved one, if the reservation is due.
func (m *model) fitsNow(j *modelJob) (map[int]int, bool) {
	if j.reserved && j.start == m.now {
		return j.at, true
	}
	return m.place(j, m.now, nothing)
}

// queue returns the waiting jobs, in the queue's order.
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

// allowed reports whether a job and the running jobs together stay within all limits that concern
// it.
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

// begin starts a job. It takes what has been idle for longest.
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

// end removes a job that has ended, and notes what it gives back.
func (m *model) end(j *modelJob) {
	for slot, chunks := range j.at {
		for k, need := range j.Request {
			m.lots[slot][k] = append(m.lots[slot][k], lot{at: m.now, n: need * int64(chunks)})
		}
	}
	m.jobs = slices.DeleteFunc(m.jobs, func(o *modelJob) bool { return o == j })
}

// reserve plans a job for its earliest start. If it has a reservation that is no later, it keeps
// that.
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

// isBlocked is called for a blocked job. It starts chunking if the job is large.
func (m *model) isBlocked(j *modelJob) {
	if m.site.policy == "FIRSTFIT" && m.site.chunkSize > 0 && m.site.chunkDuration > 0 &&
		j.Width() >= m.site.chunkSize {
		m.blocked = true
	}
}

// decide is one iteration of maui. It returns the jobs that start.
func (m *model) decide() (started []*modelJob) {
	m.blocked, m.wake = false, backfill.Forever
	known := m.jobs
	m.jobs = nil // so allowed sees no running jobs, and a job over a limit by itself is dropped
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

// priority goes through the queue, starts jobs and reserves for the first blocked ones. The jobs in
// had keep a reservation.
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

// windows fills one window after the other. It tries every job in every window.
func (m *model) windows(jobs []*modelJob, hard bool) (started []*modelJob) {
	for last := backfill.Time(0); last < backfill.Forever; {
		last = m.nextWindow(last)
		started = append(started, m.fill(jobs, last, hard)...)
	}
	return started
}

// nextWindow returns the length of the next window: the shortest time, longer than last, for which
// some idle part of a slot stays idle.
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

// room reports whether a window lasts long enough for a job and has room for its chunks.
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

// fill starts jobs in one window, within the soft or the hard limits.
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

// kept returns what was given back within the last chunk duration and is still idle.
func (m *model) kept(slot, k int) (n int64) {
	for _, l := range m.lots[slot][k] {
		if l.at+m.site.chunkDuration > m.now {
			n += l.n
		}
	}
	return n
}

// nextFree returns when the next part of what is kept is released.
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

// worth returns a job's value by the site's metric.
func (m *model) worth(j *modelJob) int64 {
	return map[string]int64{
		"PROCS": j.Width(), "PROCSECONDS": j.Width() * int64(j.Estimate),
		"SECONDS": int64(j.Estimate),
	}[m.site.metric]
}

// bestCombination tries every set of jobs, placed one after the other in the queue's order. Of
// those that fit it returns the one with the largest sum of the metric.
func (m *model) bestCombination(jobs []*modelJob, within backfill.Time, hard bool) (best []*modelJob) {
	jobs = slices.DeleteFunc(jobs, func(j *modelJob) bool {
		_, fits := m.fitsNow(j)
		return !fits || !m.room(j, within)
	})
	most := int64(-1)
	for mask := range 1 << len(jobs) {
		// Earlier jobs are higher bits, so of sets with equal sums the last has the earlier jobs.
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

// told describes what is compared: which jobs started and where, and all reservations.
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

// tell describes the policy's decision in the same way.
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
