package backfill

import (
	"fmt"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill/profile"
)

// Why is the kind of a [Reason].
type Why uint8

// The kinds of reasons. Every job has exactly one.
const (
	// Runs: the job has started.
	Runs Why = iota + 1
	// Reserved: the job waits and has a reservation.
	Reserved
	// Waits: the job has no reservation. Package ahead finds out when it may start.
	Waits
	// HeldBack: the job is held, out of the queue.
	HeldBack
	// Unpromised: the job waits beyond the depth of the plan.
	Unpromised
	// Early: the job has no reservation, and may not start yet.
	Early
	// NoStart: when the policy last looked at the job, all slots that it may use were to close or end before
	// it could begin or end there. It starts in any round in which it fits.
	NoStart
	// TakesOver: the job starts, at At as far as is known, once others have made way for it.
	TakesOver
)

var whyNames = [...]string{"", "runs", "reserved", "waits", "held", "waits", "waits", "waits", "takes over"}

func (w Why) String() string { return nameOf(whyNames[:], int(w)) }

// Reason says why a job runs or does not. It is computed from the state on demand.
type Reason struct {
	Why Why
	// At is the actual start (Runs) or the planned one (Reserved, TakesOver).
	At        Time
	Placement Placement
	// Yields says that the job runs until it has made way for another.
	Yields bool
	// Latest is the guaranteed latest start; it is valid only if Promised.
	Latest   Time
	Promised bool
	// Behind is set for Waits: the first job of the queue that may start, or nil if it is this job.
	Behind *Job
	// NotBefore is the job's earliest start while that is in the future, else 0. It does not depend on
	// the kind.
	NotBefore Time
	// Closes is set for NoStart: the instant from which on none of the slots that the job may use takes it
	// any more. It is 0 if there is no such instant.
	Closes Time
	// Limit is set for a job that waits while one of the limits that it takes of has no room for it. It
	// does not depend on the kind.
	Limit *Limit
	// Text is set for HeldBack, as the reason given when the job was held, and for Unpromised and
	// NoStart.
	Text string
}

// noStart fills in why a job's candidates offer it no start.
func (r *Reason) noStart(s *State, j *Job) {
	closing := s.profile.Ends().Closes(s.Request(j), j.NotBefore(s.now))
	r.Why, r.Text = NoStart, s.noStartText(j, closing)
	if closing.Last != Forever && closing.Last > Unforeseen().To {
		r.Closes = closing.Last
	}
}

// noStartText is the text of a job whose candidates, which close so, offer it no start.
func (s *State) noStartText(j *Job, closing profile.Closing) string {
	text := "all slots that it may use end before it would"
	switch windows := s.candidates[j.Candidates].Windows != nil; {
	case s.awaitsState(j):
		return "the slots that it may use are open only in another state, as when their owner is " +
			"away, little of them is free or a limit has room"
	case closing.Places == 0:
		return "no slot that it may use is open when it could begin there"
	case windows:
		text = "all slots that it may use close or end before it could begin or end there"
	case j.Unestimated:
		return "all slots that it may use end before it could begin there"
	}
	return fmt.Sprintf("%s, %d of %d even if idle now", text, closing.Soon, closing.Places)
}

// awaitsState reports whether of all of a job's candidates nobody can tell when they open.
func (s *State) awaitsState(j *Job) bool {
	if s.windowed == 0 {
		return false
	}
	windows := s.candidates[j.Candidates].Windows
	return windows != nil && !slices.ContainsFunc(windows, func(all []Window) bool {
		return len(all) != 1 || all[0] != Unforeseen()
	})
}

// Reason returns why a job runs or does not; the second result is false if there is no such job.
func (s *State) Reason(id JobID) (Reason, bool) {
	r := s.jobs.Find(id)
	if r == nil {
		return Reason{}, false
	}
	return s.reason(r), true
}

// reason makes a reason.
func (s *State) reason(r *record) Reason {
	reason := Reason{At: r.start, Placement: r.placement, Latest: r.guarantee, Promised: r.promised, Yields: r.yields}
	if r.early {
		reason.NotBefore = r.job.Release
	}
	if r.phase == waiting {
		reason.Limit = s.limit(r.job)
	}
	switch {
	case r.pinned:
		reason.Why = TakesOver
	case r.phase == running:
		reason.Why = Runs
	case r.phase == held:
		reason.Why, reason.Text = HeldBack, r.hold
	case r.placement != nil:
		reason.Why = Reserved
	case s.knownStartless(r), s.awaitsState(r.job), s.guarantees && !s.limited() && s.closingShape(r) != nil:
		reason.noStart(s, r.job)
	case s.limited():
		reason.Why, reason.Text = Unpromised, s.noPromise(r)
	case r.early:
		reason.Why = Early
	default:
		reason.Why = Waits
		if first := s.firstReleased(); first != nil && first.job != r.job {
			reason.Behind = first.job
		}
	}
	return reason
}

// Describe returns a reason as text. The callback returns the name under which the text mentions a
// job.
func (s *State) Describe(r Reason, name func(*Job) string) string {
	return s.DescribeIn(r, name, func(t Time) string { return fmt.Sprint(t) })
}

// DescribeIn is Describe with a callback that writes instants.
func (s *State) DescribeIn(r Reason, name func(*Job) string, at func(Time) string) string {
	switch r.Why {
	case Runs:
		return fmt.Sprintf("runs since %s on %s", at(r.At), s.DescribePlacement(r.Placement))
	case TakesOver:
		return fmt.Sprintf("takes over %s, expected start %s, once others have made way", s.DescribePlacement(r.Placement), at(r.At))
	case Reserved:
		text := fmt.Sprintf("reserved, expected start %s on %s", at(r.At), s.DescribePlacement(r.Placement))
		if r.Promised {
			text += ", guaranteed by " + at(r.Latest)
		}
		return text + r.notBefore("; ", at) + r.atLimit("; ")
	case Early:
		return r.notBefore("", at)
	case HeldBack:
		return "held: " + r.Text
	case Unpromised:
		return r.Text + r.notBefore("; ", at) + r.atLimit("; ")
	case NoStart:
		return r.WhyNoStart(at) + r.notBefore("; ", at)
	default:
		if r.Limit != nil {
			return r.atLimit("")
		}
		if r.Behind != nil {
			return "waits behind job " + name(r.Behind)
		}
		return "waits"
	}
}

// WhyNoStart returns the text of a reason, and when the slots of a job that has no start close; the callback
// writes instants.
func (r Reason) WhyNoStart(at func(Time) string) string {
	if r.Closes == 0 {
		return r.Text
	}
	return r.Text + "; the last of them closes at " + at(r.Closes)
}

// notBefore returns the job's earliest start as text, behind what comes before it; "" if the job may
// start.
func (r Reason) notBefore(before string, at func(Time) string) string {
	if r.NotBefore == 0 {
		return ""
	}
	return before + "may not start before " + at(r.NotBefore)
}

// atLimit returns the limit that has no room for the job as text, behind what comes before it; "" if
// there is none.
func (r Reason) atLimit(before string) string {
	if r.Limit == nil {
		return ""
	}
	return before + "waits for " + r.Limit.String()
}

// DescribePlacement formats a placement as a list of slot×chunks, or as the name of the bundle that
// it occupies.
func (s *State) DescribePlacement(at Placement) string {
	if id, ok := s.profile.BundleAt(at); ok {
		return s.bundles[id].Name
	}
	return s.Places(at).String()
}
