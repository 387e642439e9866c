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

// The kinds of reasons. Every job has exactly one.
const (
	// Runs: the job has started.
	Runs Why = iota + 1
	// Reserved: the job waits and has a reservation.
	Reserved
	// Waits: the job has no reservation. The plan may leave room for it from some instant on, but
	// jobs before it in the queue come first.
	Waits
	// HeldBack: the job is held, out of the queue.
	HeldBack
	// Unpromised: the job waits beyond the depth of the plan.
	Unpromised
)

var whyNames = [...]string{"", "runs", "reserved", "waits", "held", "waits"}

func (w Why) String() string { return nameOf(whyNames[:], int(w)) }

// Reason says why a job runs or does not, and when it is expected to start. It is computed from the
// state on demand.
type Reason struct {
	Why Why
	// At is the actual start (Runs), the planned one (Reserved), or the earliest that fits (Waits).
	At        Time
	Placement Placement
	// Latest is the guaranteed latest start; it is valid only if Promised.
	Latest   Time
	Promised bool
	// Behind is set for Waits: the job at the head of the queue, or nil if it is this job.
	Behind *Job
	// Text is set for HeldBack, as the reason given when the job was held, and for Unpromised.
	Text string
}

// Reason returns why a job runs or does not; the second result is false if there is no such job.
func (s *State) Reason(id JobID) (Reason, bool) {
	r := s.jobs.Find(id)
	if r == nil {
		return Reason{}, false
	}
	return s.reason(r, s.earliest, s.ahead), true
}

// Reasons iterates over all jobs by ID, each with its reason. It searches the profile far less
// often than one call of Reason per job would: once for all waiting jobs with the same request and
// estimate. If the shortest and the longest of several estimates can start at the same instant, the
// ones between are not searched; those jobs get the placement found for the longest.
func (s *State) Reasons() iter.Seq2[*Job, Reason] {
	return func(yield func(*Job, Reason) bool) {
		fits := s.fits()
		earliest := func(j *Job) fit { return fits[s.queue.find(j, j.shapeHash())][j.Estimate] }
		before := s.allAhead()
		ahead := func(r *record) int { return before[r.job] }
		s.jobs.Scan(func(_ JobID, r *record) bool { return yield(r.job, s.reason(r, earliest, ahead)) })
	}
}

// fit is the earliest start that the plan leaves for a job. A nil placement means that it fits
// nowhere.
type fit struct {
	at        Time
	placement Placement
}

// fits returns the earliest fit of all waiting jobs without a reservation, by shape and estimate;
// none if these jobs are beyond the depth of the plan.
func (s *State) fits() []map[Time]fit {
	if s.limited() {
		return nil
	}
	all := make([]map[Time]fit, len(s.queue.shapes))
	for i := range all {
		jobs := map[Time]*Job{} // one of each estimate
		of := &s.queue.shapes[i].jobs
		for next, more := of.next(nil, Forever); more; next, more = of.next(&next.queued, Forever) {
			jobs[next.length] = next.job
		}
		all[i] = s.fitsOf(jobs)
	}
	return all
}

// fitsOf returns the earliest fits of jobs of one shape, which are given by estimate.
func (s *State) fitsOf(jobs map[Time]*Job) map[Time]fit {
	fits := make(map[Time]fit, len(jobs))
	estimates := slices.Sorted(maps.Keys(jobs))
	ask := func(i int) fit {
		f, asked := fits[estimates[i]]
		if !asked {
			f = s.earliest(jobs[estimates[i]])
			fits[estimates[i]] = f
		}
		return f
	}
	// A longer job fits no earlier than a shorter one. So if two estimates give the same start, all
	// estimates between them do.
	var between func(low, high int)
	between = func(low, high int) {
		switch short, long := ask(low), ask(high); {
		case high-low < 2:
		case short.at == long.at && (short.placement == nil) == (long.placement == nil):
			for _, e := range estimates[low+1 : high] {
				fits[e] = long
			}
		default:
			middle := (low + high) / 2
			between(low, middle)
			between(middle, high)
		}
	}
	if len(estimates) > 0 {
		between(0, len(estimates)-1)
	}
	return fits
}

// earliest searches the plan for the earliest start of a job that has no reservation.
func (s *State) earliest(j *Job) (f fit) {
	f.at, f.placement, _ = s.profile.EarliestFit(s.request(j), s.now)
	return f
}

// reason makes a reason. The callbacks return where a job without a reservation fits first, and how
// many jobs enter the plan before one beyond its depth.
func (s *State) reason(r *record, earliest func(*Job) fit, ahead func(*record) int) Reason {
	reason := Reason{At: r.start, Placement: r.placement, Latest: r.guarantee, Promised: r.promised}
	switch {
	case r.phase == running:
		reason.Why = Runs
	case r.phase == held:
		reason.Why, reason.Text = HeldBack, r.hold
	case r.placement != nil:
		reason.Why = Reserved
	case s.limited():
		reason.Why, reason.Text = Unpromised, noPromise(ahead(r), s.planning.Depth)
	default:
		reason.Why = Waits
		f := earliest(r.job)
		reason.At, reason.Placement = f.at, f.placement
		if first := s.queue.order.first(); first != nil && first.job != r.job {
			reason.Behind = first.job
		}
	}
	return reason
}

// Describe returns a reason as text. The callback returns the name under which the text mentions a
// job.
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
	case Unpromised:
		return r.Text
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

// DescribePlacement formats a placement as a list of slot×chunks, or as the name of the bundle that
// it occupies.
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
