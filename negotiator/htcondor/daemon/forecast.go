package daemon

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/matchmaker"
)

// mostForeseen is for how many waiting jobs without a reservation, from the head of the queue, a start is
// foreseen: each takes a search, and what is foreseen for the last of a million means nothing.
const mostForeseen = 10_000

// Forecast says where and when jobs run, as of the end of a cycle: all but those that wait without a
// reservation far behind in the queue. It does not change, and may be read concurrently.
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
	Situation string         `json:"situation"` // runs, reserved, waits, held
	// Start is the actual or expected start; nil if there is none.
	Start *int64 `json:"start"`
	// Guarantee is the latest start that was promised; nil if none was.
	Guarantee *int64 `json:"guarantee"`
	// Reserved is the start of the reservation, if the job is expected to start before it.
	Reserved *int64 `json:"reserved,omitempty"`
	Slots    string `json:"slots,omitempty"`
	Behind   string `json:"behind,omitempty"` // the job at the head of the queue
	Reason   string `json:"reason"`
	// Requested and Predicted are run times in seconds; nil unless a prediction differs from what
	// the job requests.
	Requested *int64 `json:"requested_seconds,omitempty"`
	Predicted *int64 `json:"predicted_seconds,omitempty"`
}

// forecaster makes the forecast of one cycle's schedule, when it is first asked for.
type forecaster struct {
	state       *backfill.State            // a copy of its own
	jobs        []negotiator.JobCheckpoint // of those that run, have a reservation or are held, by ID
	waiting     []*negotiator.Job          // the first in the queue
	further     int                        // how many wait behind them
	predictions negotiator.Predictions
	once        sync.Once
	forecast    *Forecast
}

// Forecast returns the forecast, which the first call makes.
func (p *forecaster) Forecast() *Forecast {
	p.once.Do(func() {
		p.forecast = p.make()
		p.state, p.jobs, p.waiting, p.predictions = nil, nil, nil, negotiator.Predictions{}
	})
	return p.forecast
}

// make returns the forecast. A waiting job without a reservation gets the earliest place that delays no
// reservation, in the order of the queue: an estimate, as the policy reserves nothing for it. One beyond
// the depth of the plan gets a reason without a start, as it is promised one before. If the plan rests on
// requested run times and there are predictions, jobs with a reservation are expected to start as early
// as the predicted run times allow. The state must not be used afterwards.
func (p *forecaster) make() *Forecast {
	s := p.state
	beyond := s.BeyondDepth() > 0 // then all jobs without a reservation are
	f := &Forecast{Now: s.Now(), Further: p.further, byID: make(map[backfill.JobID]int, len(p.waiting)+len(p.jobs))}
	for i, job := range p.waiting {
		settled := negotiator.JobCheckpoint{Job: job} // it only waits
		if at, is := slices.BinarySearchFunc(p.jobs, job.ID, byID); is {
			settled = p.jobs[at]
		}
		f.add(settled)
		switch waits := settled.Placement == nil; {
		case waits && beyond:
			r, _ := s.Reason(job.ID)
			f.Jobs[i].Reason = r.Text
		case waits && i > 0:
			f.Jobs[i].Behind = p.waiting[0].Name
		}
	}
	for _, c := range p.jobs {
		if _, known := f.byID[c.Job.ID]; !known {
			f.add(c)
		}
	}
	for i := range f.Jobs {
		j := &f.Jobs[i]
		if times, predicted := p.predictions.Of(j.ID); predicted {
			j.Requested, j.Predicted = seconds(times.Requested), seconds(times.Predicted)
		}
	}
	if early := p.predictions.Forecast(s); early != nil {
		for i := range f.Jobs {
			j := &f.Jobs[i]
			if e, known := early[j.ID]; known && int64(e.Start) < *j.Start {
				j.foresee(s, e)
			}
		}
		return f // every job that is planned has a reservation
	}
	if !beyond {
		f.fit(s)
	}
	return f
}

func byID(c negotiator.JobCheckpoint, id backfill.JobID) int { return cmp.Compare(c.Job.ID, id) }

// fit finds the earliest places of the waiting jobs without a reservation, in the order of the queue.
func (p *Forecast) fit(s *backfill.State) {
	c, err := s.Open(backfill.Round{Now: s.Now()})
	if err != nil {
		return
	}
	for _, j := range s.FirstWaiting(len(p.Jobs)) {
		i, known := p.byID[j.ID]
		if _, _, reserved := c.Reservation(j); reserved || !known {
			continue
		}
		if start, at, ok := c.Earliest(j, s.Now()); ok {
			c.Reserve(j, start, at)
			p.Jobs[i].expect(s, start, at)
		}
	}
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

// cannotRunNow says of a job that matches no slot which slots would do if they were not closed for a
// while. Times are in the given zone.
func cannotRunNow(f matchmaker.Fit, zone *time.Location) string {
	return "cannot run now: " + f.DescribeClosed(func(unix int64) string {
		return time.Unix(unix, 0).In(zone).Format("15:04:05 MST")
	})
}

// add adds the forecast of a job as the schedule has it: when it started, its reservation, or why
// it has none.
func (p *Forecast) add(c negotiator.JobCheckpoint) {
	job := c.Job
	one := JobForecast{ID: job.ID, Job: job.Name, Schedd: job.Position.Queue, Owner: job.Labels["owner"]}
	why := backfill.Waits
	switch {
	case c.Running:
		why = backfill.Runs
	case c.Held != "":
		why = backfill.HeldBack
		one.Reason = cmp.Or(whyUnmatched(c), cannotRun+c.Held)
	case c.Placement != nil:
		why = backfill.Reserved
	default:
		one.Reason = "waits for slots that are not there"
	}
	one.Situation = why.String()
	if c.Placement != nil {
		one.Start, one.Slots = seconds(c.Start), slots(places(c.Placement))
	}
	if c.Promised {
		one.Guarantee = seconds(c.Guarantee)
	}
	one.Reason = one.describe(p.Now, time.Local)
	p.byID[job.ID] = len(p.Jobs)
	p.Jobs = append(p.Jobs, one)
}

// expect sets the expected start of a waiting job without a reservation.
func (j *JobForecast) expect(s *backfill.State, start backfill.Time, at backfill.Placement) {
	j.Start, j.Slots = seconds(start), slots(corePlaces(s, at))
	j.Reason = j.describe(s.Now(), time.Local)
}

// foresee sets the expected start of a reserved job that will start earlier than planned if the
// predictions are right.
func (j *JobForecast) foresee(s *backfill.State, e negotiator.Expected) {
	j.Start, j.Reserved, j.Slots = seconds(e.Start), j.Start, slots(corePlaces(s, e.Placement))
	j.Reason = j.describe(s.Now(), time.Local)
}

// cannotRun begins the reasons of jobs that are held.
const cannotRun = "cannot run in this pool: "

// describe puts the forecast into words. Times name their zone, since the text may be read in
// another one.
func (j JobForecast) describe(now backfill.Time, zone *time.Location) string {
	at := func(t *int64) string { return zoned(backfill.Time(*t), now, zone) }
	switch {
	case j.Start == nil:
		return j.Reason
	case j.Situation == backfill.Runs.String():
		return fmt.Sprintf("runs since %s on %s", at(j.Start), j.Slots)
	}
	text := j.Situation
	if j.Reserved != nil {
		text += " for " + at(j.Reserved)
	}
	text += fmt.Sprintf(", expected start %s on %s", at(j.Start), j.Slots)
	if j.Behind != "" {
		text += ", behind job " + j.Behind
	}
	if j.Guarantee != nil {
		text += ", guaranteed by " + at(j.Guarantee)
	}
	return text
}

// Why returns the reason for a table that has columns for start, guarantee and slots. Times are in
// the given zone.
func (j JobForecast) Why(zone *time.Location) string {
	switch {
	case j.Start == nil:
		return j.Reason
	case j.Reserved != nil:
		return j.Situation + " for " + time.Unix(*j.Reserved, 0).In(zone).Format(time.DateTime)
	case j.Behind != "":
		return "behind job " + j.Behind
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

// place is a number of chunks on a slot.
type place struct {
	slot   string
	chunks int
}

func places(at negotiator.Placement) (all []place) {
	for _, c := range at {
		for _, slot := range c.Slots() {
			all = append(all, place{slot, c.Count})
		}
	}
	return all
}

func corePlaces(s *backfill.State, at backfill.Placement) (all []place) {
	known := s.Slots()
	for _, c := range at {
		all = append(all, place{known[c.Slot].Name, c.Count})
	}
	return all
}

// slots lists the slots of a placement: the first four by name, and how many more.
func slots(at []place) string {
	const most = 4
	parts := make([]string, 0, most+1)
	for i, on := range at {
		if i == most {
			parts = append(parts, fmt.Sprintf("and %d more", len(at)-most))
			break
		}
		text := on.slot
		if on.chunks > 1 {
			text += fmt.Sprintf(" ×%d", on.chunks)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
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

// zoned formats a time as clock does and adds the name of the zone, for users who may be elsewhere.
func zoned(t, now backfill.Time, zone *time.Location) string {
	if t >= backfill.Forever {
		return clock(t, now, zone)
	}
	return clock(t, now, zone) + time.Unix(int64(t), 0).In(zone).Format(" MST")
}

// JobPlanType is the MyType of ads with start times.
const JobPlanType = "JobPlan"

// Ad returns the forecast as an ad, for clients.
func (j JobForecast) Ad(now backfill.Time) *classad.ClassAd {
	ad := classad.New()
	ad.SetString("MyType", JobPlanType)
	ad.SetString("Name", j.Job)
	ad.SetInt("ServerTime", int64(now))
	for name, text := range map[string]string{
		"ScheddName": j.Schedd, "Owner": j.Owner, "Situation": j.Situation,
		"Slots": j.Slots, "Behind": j.Behind, "Reason": j.Reason,
	} {
		if text != "" {
			ad.SetString(name, text)
		}
	}
	if j.Start != nil {
		ad.SetInt("ExpectedStart", *j.Start)
	}
	if j.Guarantee != nil {
		ad.SetInt("Guarantee", *j.Guarantee)
	}
	if j.Reserved != nil {
		ad.SetInt("ReservedStart", *j.Reserved)
	}
	if j.Predicted != nil {
		ad.SetInt("RequestedRunTime", *j.Requested)
		ad.SetInt("PredictedRunTime", *j.Predicted)
	}
	return ad
}

// ReadJobForecast reads an ad that Ad made. The reason is worded anew, with times in the given time
// zone.
func ReadJobForecast(ad *classad.ClassAd, zone *time.Location) JobForecast {
	text := func(name string) string {
		v, _ := ad.Text(name)
		return v
	}
	number := func(name string) *int64 {
		if v, ok := ad.Int(name); ok {
			return &v
		}
		return nil
	}
	j := JobForecast{
		Job: text("Name"), Schedd: text("ScheddName"), Owner: text("Owner"), Situation: text("Situation"),
		Slots: text("Slots"), Behind: text("Behind"), Reason: text("Reason"),
		Start: number("ExpectedStart"), Guarantee: number("Guarantee"), Reserved: number("ReservedStart"),
		Requested: number("RequestedRunTime"), Predicted: number("PredictedRunTime"),
	}
	now, _ := ad.Int("ServerTime")
	j.Reason = j.describe(backfill.Time(now), zone)
	return j
}
