package backfill

import (
	"fmt"
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
	r, ok := s.jobs.Get(id)
	if !ok {
		return Reason{}, false
	}
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
		reason.At, reason.Placement, _ = s.profile.EarliestFit(s.request(r.job), s.now)
		if first, waits := s.queue.Min(); waits && first.job != r.job {
			reason.Behind = first.job
		}
	}
	return reason, true
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

// DescribePlacement lists a placement as name×chunks.
func (s *State) DescribePlacement(at Placement) string {
	parts := make([]string, len(at))
	for i, c := range at {
		parts[i] = fmt.Sprintf("%s×%d", s.slots[c.Slot].Name, c.Count)
	}
	return strings.Join(parts, " ")
}
