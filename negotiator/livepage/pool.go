package livepage

import (
	"cmp"
	"net/http"
	"slices"
	"sync"

	"github.com/condor-backfill/condor-backfill/negotiator/livepage/picture"
)

// Pool is how a pool is doing, besides what pictures show.
type Pool struct {
	Policy   Policy   `json:"policy"`
	Plugins  []Plugin `json:"plugins"`
	Cycles   []Cycle  `json:"cycles"` // the last ones, the newest first
	Problems []string `json:"problems"`
	// Shares are what users deserve, as far as that is known, by user.
	Shares map[string]Share `json:"-"`
}

// Policy is who decides.
type Policy struct {
	Name       string `json:"name"`
	Order      string `json:"order"`
	Guarantees bool   `json:"guarantees"`
	Fallback   string `json:"fallback,omitempty"` // decides instead
	Why        string `json:"why,omitempty"`      // the policy was chosen, or given up
	Text       string `json:"text,omitempty"`     // about it and its options, lines
}

// Plugin is a policy in a process of its own.
type Plugin struct {
	Name  string `json:"name"`
	State string `json:"state"`
}

// Cycle is how long the parts of a cycle took, in seconds.
type Cycle struct {
	Number  int                `json:"number"`
	Began   float64            `json:"began"` // Unix time
	Took    float64            `json:"took"`
	Phases  map[string]float64 `json:"phases"`
	Started int                `json:"started"`
}

// Share is what a user deserves.
type Share struct {
	Priority float64 `json:"priority,omitempty"` // lower is better
	Deserved float64 `json:"deserved,omitempty"` // cpus, by priority
}

// poolAnswer is what the page shows of the pool.
type poolAnswer struct {
	Now       int64      `json:"now"`
	Resources []resource `json:"resources"`
	Users     []user     `json:"users"`
	History   []sample   `json:"history"`
	// Queue is what waiting jobs want of slots by shape, and Idle what of the slots is idle.
	Queue []wanted `json:"queue"`
	Idle  idle     `json:"idle"`
	// QueueEnds is when the last of the waiting jobs that are told a start is expected to end, as in the
	// chart.
	QueueEnds picture.Moment `json:"queue_ends,omitzero"`
	Pool
}

// wanted is a shape, rounded up; see [shapes.Wanted].
type wanted struct {
	Cpus      int64          `json:"cpus"`
	Memory    int64          `json:"memory"` // MiB
	Gpus      int64          `json:"gpus,omitempty"`
	Other     bool           `json:"other,omitempty"` // all other shapes
	Jobs      int            `json:"jobs"`
	Slots     int64          `json:"slots"`
	Chunks    int            `json:"chunks"` // the most that one job wants
	Unmatched int            `json:"unmatched,omitempty"`
	Places    int64          `json:"places"` // how many more would fit now
	First     picture.Moment `json:"first,omitzero"`
}

// idle is what is idle, in cpus; see [shapes.Idle].
type idle struct {
	Cpus     int64 `json:"cpus"`
	Reserved int64 `json:"reserved"`
	Usable   int64 `json:"usable"`
	Largest  int64 `json:"largest"`
	Slots    int   `json:"slots"` // that are idle as a whole
}

type resource struct {
	Name         string `json:"name"`
	Capacity     int64  `json:"capacity"`
	Use          int64  `json:"use"`
	ReservedIdle int64  `json:"reserved_idle,omitempty"`
}

type user struct {
	User    string `json:"user"`
	Group   string `json:"group,omitempty"`
	Cpus    int64  `json:"cpus"`
	Running int    `json:"running"`
	Waiting int    `json:"waiting"`
	Wanted  int64  `json:"wanted"` // cpus of those that wait
	Used    int64  `json:"used"`   // cpu seconds since the first picture
	Share
}

// sample is how much was in use once.
type sample struct {
	At      int64   `json:"at"`
	Use     []int64 `json:"use"`
	Waiting int     `json:"waiting"`
	Running int     `json:"running"`
}

// pool says how the pool is used.
func (s *Server) pool(out http.ResponseWriter, r *http.Request) {
	s.answerOnce(out, r, func(seen *sight) any { return s.poolOf(seen) })
}

// poolOf says how the pool is used, as far as a viewer may see it.
func (s *Server) poolOf(seen *sight) *poolAnswer {
	last := seen.clear
	a := poolAnswer{Now: last.Head.Now, Pool: s.source.Pool(), Users: s.used.fill(users(last)), History: s.history.all()}
	for i, name := range last.Head.Resources {
		one := resource{Name: name, Capacity: last.Head.Capacity[i], Use: last.Head.Use[i]}
		if i == 0 {
			one.ReservedIdle = last.Head.ReservedIdle
		}
		a.Resources = append(a.Resources, one)
	}
	a.count(last)
	for i := range a.Users {
		a.Users[i].Share = a.Shares[a.Users[i].User]
	}
	maskPool(&a, seen.Lens)
	return &a
}

// count fills in what jobs want and what is idle.
func (a *poolAnswer) count(p *picture.Picture) {
	a.Queue = []wanted{}
	if p.Counts == nil {
		return
	}
	c := p.Counts()
	for _, w := range c.Wanted {
		one := wanted{
			Cpus: w.CPUs, Memory: w.Memory, Gpus: w.GPUs, Other: w.Other, Jobs: w.Jobs, Slots: w.Slots, Chunks: w.Chunks,
			Unmatched: w.Unmatched, Places: w.Places,
		}
		if w.Foreseen {
			one.First = picture.At(w.First)
		}
		a.Queue = append(a.Queue, one)
	}
	a.Idle = idle{c.Idle.CPUs, c.Idle.Reserved, c.Idle.Usable, c.Idle.Largest, c.Idle.Slots}
	for i := range p.Jobs {
		if j := &p.Jobs[i]; j.Waits() && j.Start.Known && j.End.Known && j.End.At > a.QueueEnds.At {
			a.QueueEnds = j.End
		}
	}
}

// users lists who has jobs, those with most cpus first.
func users(p *picture.Picture) []user {
	index, all := map[string]int{}, []user{}
	for i := range p.Jobs {
		j := &p.Jobs[i]
		at, known := index[j.Owner]
		if !known {
			at = len(all)
			index[j.Owner] = at
			all = append(all, user{User: j.Owner, Group: j.Group})
		}
		if u := &all[at]; j.Waits() {
			u.Waiting++
			u.Wanted += j.Cpus
		} else {
			u.Running++
			u.Cpus += j.Cpus
		}
	}
	slices.SortFunc(all, func(a, b user) int { return cmp.Or(cmp.Compare(b.Cpus, a.Cpus), cmp.Compare(a.User, b.User)) })
	return all
}

// history is how the pool was used so far. If it gets long, every other sample is forgotten.
type history struct {
	mu      sync.Mutex
	samples []sample
	every   int64 // seconds between two samples, at least
}

const mostSamples = 1024

func (h *history) add(head *picture.Head) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if n := len(h.samples); n > 0 && head.Now < h.samples[n-1].At+h.every {
		return
	}
	h.samples = append(h.samples, sample{head.Now, head.Use, head.Waiting, head.Running})
	if len(h.samples) < mostSamples {
		return
	}
	half := h.samples[:0]
	for i := 0; i < len(h.samples); i += 2 {
		half = append(half, h.samples[i])
	}
	h.samples = half
	h.every = max(1, (half[len(half)-1].At-half[0].At)/int64(len(half)))
}

func (h *history) all() []sample {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]sample{}, h.samples...)
}
