package backfill

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
)

// Why is the kind of a [Reason].
type Why uint8

// Every job is in one of these situations.
const (
	// Runs: it has started.
	Runs Why = iota + 1
	// Reserved: its start is planned.
	Reserved
	// Waits: no start is planned; as things stand it would fit at a time, behind
	// the job at the head of the queue.
	Waits
	// HeldBack: it is out of the queue.
	HeldBack
)

var whyNames = [...]string{"", "runs", "reserved", "waits", "held"}

func (w Why) String() string { return nameOf(whyNames[:], int(w)) }

// Reason is why a job is where it is, and when it may be expected to start. It
// is derived from the state on demand.
type Reason struct {
	Why Why
	// At is the start: actual, planned, or the earliest that the plan leaves.
	At        Time
	Placement Placement
	// Latest is the guarantee, if Promised.
	Latest   Time
	Promised bool
	// Behind is the job at the head of the queue, if it is another: Waits.
	Behind *Job
	// Text is what whoever held the job said: HeldBack.
	Text string
}

// Reason says why a job is where it is; false if there is no such job.
func (s *State) Reason(id JobID) (Reason, bool) {
	r := s.jobs.Find(id)
	if r == nil {
		return Reason{}, false
	}
	return s.reason(r, s.earliest), true
}

// Reasons walks all jobs, by ID, each with why it is where it is. It asks far fewer
// questions than as many times Reason: once for all jobs that wait for the same for
// the same time, and not at all where a shorter and a longer job could start at the
// same instant. Such a one is told where the longer one would fit.
func (s *State) Reasons() iter.Seq2[*Job, Reason] {
	return func(yield func(*Job, Reason) bool) {
		fits := s.fits()
		earliest := func(j *Job) fit { return fits[wishOf(j)][j.Estimate] }
		s.jobs.Scan(func(_ JobID, r *record) bool { return yield(r.job, s.reason(r, earliest)) })
	}
}

// wish is what jobs may wait for alike. Those of one autocluster share the vector of
// their request.
type wish struct {
	request           *int64
	nodes, candidates int
	whole             bool
}

func wishOf(j *Job) wish { return wish{&j.Request[0], j.Nodes, j.Candidates, j.Whole} }

// fit is where the plan leaves room; without a placement: nowhere.
type fit struct {
	at        Time
	placement Placement
}

// fits is where the plan leaves room for the waiting jobs without a place, by what
// they wait for and for how long.
func (s *State) fits() map[wish]map[Time]fit {
	jobs := map[wish]map[Time]*Job{} // one of each
	s.queue.Scan(func(q queued) bool {
		if s.jobs.Find(q.job.ID).placement == nil {
			w := wishOf(q.job)
			if jobs[w] == nil {
				jobs[w] = map[Time]*Job{}
			}
			jobs[w][q.job.Estimate] = q.job
		}
		return true
	})
	all := make(map[wish]map[Time]fit, len(jobs))
	for w, jobs := range jobs {
		fits := make(map[Time]fit, len(jobs))
		estimates := slices.Sorted(maps.Keys(jobs))
		ask := func(i int) { fits[estimates[i]] = s.earliest(jobs[estimates[i]]) }
		ask(0)
		ask(len(estimates) - 1)
		// A job fits no earlier than a shorter one, so between equals all are equal.
		var between func(low, high int)
		between = func(low, high int) {
			if high-low < 2 {
				return
			}
			short, long := fits[estimates[low]], fits[estimates[high]]
			if short.at == long.at && (short.placement == nil) == (long.placement == nil) {
				for _, e := range estimates[low+1 : high] {
					fits[e] = long
				}
				return
			}
			mid := (low + high) / 2
			ask(mid)
			between(low, mid)
			between(mid, high)
		}
		between(0, len(estimates)-1)
		all[w] = fits
	}
	return all
}

// earliest is where the plan leaves room for a job that has no place.
func (s *State) earliest(j *Job) (f fit) {
	f.at, f.placement, _ = s.profile.EarliestFit(s.request(j), s.now)
	return f
}

func (s *State) reason(r *record, earliest func(*Job) fit) Reason {
	reason := Reason{At: r.start, Placement: r.placement, Latest: r.guarantee, Promised: r.promised}
	switch {
	case r.phase == running:
		reason.Why = Runs
	case r.phase == held:
		reason.Why, reason.Text = HeldBack, r.hold
	case r.placement != nil:
		reason.Why = Reserved
	default:
		reason.Why = Waits
		f := earliest(r.job)
		reason.At, reason.Placement = f.at, f.placement
		if first, waits := s.queue.Min(); waits && first.job != r.job {
			reason.Behind = first.job
		}
	}
	return reason
}

// Describe puts a reason into words. Name is how the caller calls a job.
func (s *State) Describe(r Reason, name func(*Job) string) string {
	switch r.Why {
	case Runs:
		return fmt.Sprintf("runs since %d on %s", r.At, s.DescribePlacement(r.Placement))
	case Reserved:
		text := fmt.Sprintf("reserved, expected start %d on %s", r.At, s.DescribePlacement(r.Placement))
		if r.Promised {
			text += fmt.Sprintf(", guaranteed by %d", r.Latest)
		}
		return text
	case HeldBack:
		return "held: " + r.Text
	default:
		if r.Placement == nil {
			return "waits for slots that are not there"
		}
		text := fmt.Sprintf("waits for %s, free for it from %d", s.DescribePlacement(r.Placement), r.At)
		if r.Behind != nil {
			text += ", behind job " + name(r.Behind)
		}
		return text
	}
}

// DescribePlacement lists a placement as name×chunks, or names the bundle that it is.
func (s *State) DescribePlacement(at Placement) string {
	if id, ok := s.profile.BundleAt(at); ok {
		return s.bundles[id].Name
	}
	parts := make([]string, len(at))
	for i, c := range at {
		parts[i] = fmt.Sprintf("%s×%d", s.slots[c.Slot].Name, c.Count)
	}
	return strings.Join(parts, " ")
}
