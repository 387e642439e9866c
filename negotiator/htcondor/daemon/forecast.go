package daemon

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/ahead"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/instant"
	"github.com/condor-backfill/condor-backfill/negotiator/livepage/picture"
	"github.com/condor-backfill/condor-backfill/negotiator/matchmaker"
)

// Forecast says where and when jobs run, as of the end of a cycle: all but those that wait without
// a reservation far behind in the queue. Waiting jobs are told the start that comes if all jobs run
// for as long as they are taken to, nobody else arrives, and nothing fails. A forecast does not
// change, and may be read concurrently.
type Forecast struct {
	Now  backfill.Time
	Jobs []JobForecast // waiting jobs in the order of the queue, then the others
	// Further counts the waiting jobs behind them.
	Further int
	byID    map[backfill.JobID]int
}

// JobForecast is a job's expected or actual start, and why. Times are seconds since 1970.
type JobForecast struct {
	ID        backfill.JobID `json:"-"`
	Job       string         `json:"job"`
	Schedd    string         `json:"schedd,omitempty"`
	Owner     string         `json:"owner,omitempty"`
	Situation string         `json:"situation"` // runs, takes over, matched, reserved, waits, held
	// Start is the actual or expected start; nil if there is none. Of ten futures the job starts
	// before P10 in one, before P50, the expected start, in five, and before P90 in nine; nil if they
	// are not known, P90 also if it is beyond what was played.
	Start *int64 `json:"start"`
	P10   *int64 `json:"p10,omitempty"`
	P50   *int64 `json:"p50,omitempty"`
	P90   *int64 `json:"p90,omitempty"`
	// AsOf is when the start or its range was foreseen, if that was before the last cycle; else nil.
	AsOf *int64 `json:"as_of,omitempty"`
	// Guarantee is the latest start that was promised; nil if none was.
	Guarantee *int64 `json:"guarantee"`
	// Reserved is the start of the reservation, if the job is expected to start at another time.
	Reserved *int64 `json:"reserved,omitempty"`
	// NotBefore is the earliest start of a waiting job, while that is in the future; else nil.
	NotBefore *int64 `json:"not_before,omitempty"`
	// Early is why it may not start before that.
	Early string `json:"early,omitempty"`
	// Unpromised is why a waiting job is promised no start yet, if the policy gives guarantees.
	Unpromised string `json:"unpromised,omitempty"`
	// Stretched is why a waiting job is planned with another run time than the one that it states.
	Stretched string `json:"stretched,omitempty"`
	// Limit is which limit has no room for a waiting job now.
	Limit string `json:"limit,omitempty"`
	// Preemption is by whom the job is or was displaced, or whom it could displace later.
	Preemption string `json:"preemption,omitempty"`
	// Drained is the first slot that a waiting job may use and that is drained before it would end.
	Drained string `json:"drained,omitempty"`
	// Scavenger says of a scavenger what it does, or why it waits; it is told no start.
	Scavenger string `json:"scavenger,omitempty"`
	Slots     string `json:"slots,omitempty"`
	// Asleep are slots on which a waiting job would start if their machines were awake, which
	// whoever wakes machines was told.
	Asleep string `json:"asleep,omitempty"`
	Behind string `json:"behind,omitempty"` // the job at the head of the queue
	Reason string `json:"reason"`
	// Requested and Predicted are run times in seconds; nil unless a prediction differs from what
	// the job requests.
	Requested *int64 `json:"requested_seconds,omitempty"`
	Predicted *int64 `json:"predicted_seconds,omitempty"`
}

// whyUnmatched returns why a held job has no candidates; "" if it has some.
func whyUnmatched(c negotiator.JobCheckpoint) string {
	switch {
	case !c.Unmatched || c.Unknown != "":
		return c.Unknown
	case c.Closed != nil:
		return cannotRunNow(*c.Closed, time.Local)
	default:
		return cannotRun + "matches no slot"
	}
}

// cannotRunNow says of a job that matches no slot which slots would do if they were not closed for
// a while. Times are in the given zone.
func cannotRunNow(f matchmaker.Fit, zone *time.Location) string {
	return "cannot run now: " + f.DescribeClosed(func(unix int64) string {
		return time.Unix(unix, 0).In(zone).Format("15:04:05 MST")
	})
}

// matched is the situation of a job that the schedule counts as running since its match, and that
// its schedd has not started yet.
const matched = picture.Matched

// started tells whether the schedule has started the job: it runs, or is on its way.
func (j JobForecast) started() bool {
	return j.Situation == backfill.Runs.String() || j.Situation == matched
}

// add adds the forecast of a job as the schedule has it: when it started, its reservation, or why
// it has none. Started is the situation of one that the schedule has started.
func (p *Forecast) add(c negotiator.JobCheckpoint, started string) {
	job := c.Job
	one := JobForecast{ID: job.ID, Job: job.Name, Schedd: job.Position.Queue, Owner: job.Labels["owner"]}
	why := backfill.Waits
	switch {
	case c.Running:
		why = backfill.Runs
	case backfill.OverLimit(c.Held):
		why, one.Reason = backfill.HeldBack, c.Held
	case c.Held != "":
		why = backfill.HeldBack
		one.Reason = cmp.Or(whyUnmatched(c), cannotRun+c.Held)
	case c.Placement != nil:
		why = backfill.Reserved
	default:
		one.Reason = noStart
	}
	one.Situation = why.String()
	if c.Running {
		one.Situation = started
	}
	if c.Placement != nil {
		one.Start, one.Slots = seconds(c.Start), c.Placement.Places().Short()
	}
	if job.Release != 0 && job.Release > p.Now && (why == backfill.Waits || why == backfill.Reserved) {
		one.NotBefore, one.Early = seconds(job.Release), job.Early
	}
	if c.Promised {
		one.Guarantee = seconds(c.Guarantee)
	}
	one.Reason = one.describe(p.Now, time.Local)
	p.byID[job.ID] = len(p.Jobs)
	p.Jobs = append(p.Jobs, one)
}

// rouse notes that a job would start on slots of machines that sleep.
func (j *JobForecast) rouse(slots string, now backfill.Time) {
	j.Asleep = slots
	if j.Start == nil {
		j.Reason = j.awaits()
	} else {
		j.Reason = j.describe(now, time.Local)
	}
}

// awaits says for which machine a job waits that sleeps.
func (j JobForecast) awaits() string { return "waits for " + j.Asleep + " to wake up" }

// expect sets the expected start of a waiting job to the one that was played.
func (j *JobForecast) expect(b beginning) {
	if j.Start != nil && *j.Start != int64(b.at) {
		j.Reserved = j.Start
	}
	j.Start = seconds(b.at)
	if j.Reserved != nil || j.Slots == "" {
		j.Slots = b.slots
	}
}

// cannotRun begins the reasons of jobs that are held.
const cannotRun = "cannot run in this pool: "

// describe puts the forecast into words. Times name their zone, since the text may be read in
// another one.
func (j JobForecast) describe(now backfill.Time, zone *time.Location) string {
	at := func(t *int64) string { return zoned(backfill.Time(*t), now, zone) }
	switch {
	case j.Scavenger != "" && j.Situation == matched:
		return fmt.Sprintf("a scavenger: matched at %s, waits for its schedd to start it on %s", at(j.Start), j.Slots)
	case j.Scavenger != "":
		return j.Scavenger
	case j.Start == nil && j.NotBefore != nil:
		return j.early(at(j.NotBefore)) + after("; ", j.Preemption)
	case j.Start == nil:
		return j.Reason
	case j.Situation == backfill.Runs.String():
		return fmt.Sprintf("runs since %s on %s", at(j.Start), j.Slots) + after("; is to make way, ", j.Preemption)
	case j.Situation == takesOver:
		return fmt.Sprintf("takes over %s, expected start %s, %s", j.Slots, at(j.Start), madeWay)
	case j.Situation == matched:
		return fmt.Sprintf("matched at %s, waits for its schedd to start it on %s", at(j.Start), j.Slots)
	}
	text := j.Situation
	if j.Reserved != nil {
		text += " for " + at(j.Reserved)
	}
	text += fmt.Sprintf(", expected start %s on %s", j.when(now, zone), j.Slots)
	if j.AsOf != nil {
		text += ", as of " + at(j.AsOf)
	}
	if j.Behind != "" {
		text += ", behind job " + j.Behind
	}
	if j.Guarantee != nil {
		text += ", guaranteed by " + at(j.Guarantee)
	}
	if j.NotBefore != nil {
		text += ", " + j.early(at(j.NotBefore))
	}
	if j.Unpromised != "" {
		text += "; " + j.Unpromised
	}
	if j.Stretched != "" {
		text += "; " + j.Stretched
	}
	text += after("; ", j.Preemption)
	if j.Drained != "" {
		text += "; " + j.Drained
	}
	if j.Asleep != "" {
		text += "; " + j.awaits()
	}
	if j.Limit != "" { // last, as it ends as programs expect
		text += "; " + j.Limit
	}
	return text
}

// after returns a text behind what comes before it; "" if there is none.
func after(before, text string) string {
	if text == "" {
		return ""
	}
	return before + text
}

// early says why the job may not start before a time.
func (j JobForecast) early(at string) string { return cmp.Or(j.Early, "may not start before "+at) }

// when puts the expected start into words, with its range.
func (j JobForecast) when(now backfill.Time, zone *time.Location) string {
	most := zoned(backfill.Time(*j.Start), now, zone)
	switch {
	case j.P10 == nil:
		return most
	case j.P90 == nil:
		return fmt.Sprintf("%s or later (80 %%), most likely %s,", zoned(backfill.Time(*j.P10), now, zone), most)
	}
	return fmt.Sprintf("%s–%s (80 %%), most likely %s,", clock(backfill.Time(*j.P10), now, zone),
		zoned(backfill.Time(*j.P90), now, zone), most)
}

// Span returns the range in which the job starts in eight of ten futures, in the given zone; "" if
// it is not known.
func (j JobForecast) Span(zone *time.Location) string {
	if j.P10 == nil {
		return ""
	}
	if j.P90 == nil {
		return dated(j.P10, zone) + " or later"
	}
	return instant.OfPool(zone).Span(*j.P10, *j.P90)
}

// with returns a copy of the forecast that tells what plays have found of jobs that still wait.
func (p *Forecast) with(f *foreseen) *Forecast {
	told := *p
	told.Jobs = slices.Clone(p.Jobs)
	for i := range told.Jobs {
		j := &told.Jobs[i]
		if j.Situation != backfill.Waits.String() && j.Situation != backfill.Reserved.String() {
			continue
		}
		at := p.Now
		if begins, known := f.starts.all[j.ID]; known && p.tells(begins.at, f.starts.at) {
			j.expect(begins)
			at = f.starts.at
		}
		if r, known := f.ranges.all[j.ID]; known && p.tells(r.Mid, f.ranges.at) && j.Start != nil {
			j.widen(r)
			at = f.ranges.at
		}
		if at < p.Now {
			j.AsOf = seconds(at)
			j.bound(p.Now)
		}
		if j.Start != nil {
			j.Reason = j.describe(p.Now, time.Local)
		}
	}
	return &told
}

// tells reports whether a start that was foreseen at an instant is to be told. One that has passed,
// or is too old, says nothing.
func (p *Forecast) tells(start, at backfill.Time) bool {
	return start < backfill.Forever && (at >= p.Now || p.Now-at <= mostForeseenAge && start >= p.Now)
}

// widen tells the range of a start, and as the expected start the middle of the futures, even if a
// start was played since: that one has all jobs run for as long as they are taken to, which is
// often longer than they do. A job without a middle, as it did not start in half of the futures, is
// told no range.
func (j *JobForecast) widen(r ahead.Range) {
	if j.Reserved == nil && j.Situation == backfill.Reserved.String() && int64(r.Mid) != *j.Start {
		j.Reserved = j.Start
	}
	j.Start, j.P10, j.P50, j.P90 = seconds(r.Mid), seconds(r.Low), seconds(r.Mid), nil
	if r.High < backfill.Forever {
		j.P90 = seconds(r.High)
	}
}

// bound keeps what was foreseen earlier from contradicting what is known since: it is not before
// now, and not after what is guaranteed.
func (j *JobForecast) bound(now backfill.Time) {
	for _, t := range []**int64{&j.Start, &j.P10, &j.P50, &j.P90} {
		if *t == nil {
			continue
		}
		at := max(**t, int64(now))
		if j.Guarantee != nil {
			at = min(at, max(*j.Guarantee, int64(now)))
		}
		*t = &at
	}
}

// Why returns the reason for a table that has columns for start, guarantee and slots. Times are in
// the given zone.
func (j JobForecast) Why(zone *time.Location) string {
	if j.AsOf != nil {
		return j.why(zone) + ", as of " + dated(j.AsOf, zone)
	}
	return j.why(zone)
}

func (j JobForecast) why(zone *time.Location) string {
	switch {
	case j.Start == nil:
		return j.Reason
	case j.Scavenger != "":
		return j.Scavenger
	case j.Early != "":
		return j.Early
	case j.Reserved != nil:
		return j.Situation + " for " + dated(j.Reserved, zone)
	case j.Asleep != "":
		return j.awaits()
	case j.NotBefore != nil:
		return j.early(dated(j.NotBefore, zone))
	case j.Limit != "":
		return j.Limit
	case j.Preemption != "":
		return j.Preemption
	case j.Unpromised != "":
		return j.Unpromised
	case j.Behind != "":
		return "behind job " + j.Behind
	case j.Situation == matched:
		return "matched, waits for its schedd"
	case j.Situation == takesOver:
		return takesOver + ", " + madeWay
	default:
		return j.Situation
	}
}

// Find returns a job's forecast; the second result is false if there is none.
func (p *Forecast) Find(id backfill.JobID) (JobForecast, bool) {
	i, known := p.byID[id]
	if !known {
		return JobForecast{}, false
	}
	return p.Jobs[i], true
}

func seconds(t backfill.Time) *int64 {
	n := int64(t)
	return &n
}

// clock formats a time in a zone, without the year or day that it shares with now.
func clock(t, now backfill.Time, zone *time.Location) string {
	at, today := time.Unix(int64(t), 0).In(zone), time.Unix(int64(now), 0).In(zone)
	switch {
	case t >= backfill.Forever:
		return "the end of time"
	case at.Format(time.DateOnly) == today.Format(time.DateOnly):
		return at.Format("15:04")
	case at.Year() == today.Year():
		return at.Format("Jan 2 15:04")
	default:
		return at.Format("2006-01-02 15:04")
	}
}

// dated formats a time in full, with its zone.
func dated(t *int64, zone *time.Location) string {
	c := instant.OfPool(zone)
	return c.Text(*t)
}

// zoned formats a time as clock does and adds the name of the zone, for users who may be elsewhere.
func zoned(t, now backfill.Time, zone *time.Location) string {
	if t >= backfill.Forever {
		return clock(t, now, zone)
	}
	return clock(t, now, zone) + time.Unix(int64(t), 0).In(zone).Format(" MST")
}
