package daemon

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// Plan says of every job where and when it runs, as the schedule stood after a
// cycle. It does not change, and may be read by anyone.
type Plan struct {
	Now  backfill.Time
	Jobs []JobPlan // those that wait, in the order of the queue, then the others
	byID map[backfill.JobID]int
}

// JobPlan is what a job has to expect. Times are seconds since 1970.
type JobPlan struct {
	ID        backfill.JobID `json:"-"`
	Job       string         `json:"job"`
	Schedd    string         `json:"schedd,omitempty"`
	Owner     string         `json:"owner,omitempty"`
	Situation string         `json:"situation"` // runs, reserved, waits, held
	// Start is the actual or expected start; nil if none can be expected.
	Start *int64 `json:"start"`
	// Guarantee is the latest start that was promised; nil if none was.
	Guarantee *int64 `json:"guarantee"`
	// Reserved is what is reserved, where the job is expected to start before that.
	Reserved *int64 `json:"reserved,omitempty"`
	Slots    string `json:"slots,omitempty"`
	Behind   string `json:"behind,omitempty"` // the job at the head of the queue
	Reason   string `json:"reason"`
	// Requested and Predicted are run times in seconds, where the job is expected to run
	// for another time than it requests.
	Requested *int64 `json:"requested_seconds,omitempty"`
	Predicted *int64 `json:"predicted_seconds,omitempty"`
}

// planner makes a plan of a schedule that stood still, when somebody first asks.
type planner struct {
	state       *backfill.State // a copy of its own
	jobs        []negotiator.Standing
	predictions negotiator.Predictions
	once        sync.Once
	plan        *Plan
}

// Plan has the plan made, if it is not yet.
func (p *planner) Plan() *Plan {
	p.once.Do(func() {
		p.plan = forecast(p.state, p.jobs, p.predictions)
		p.state, p.jobs, p.predictions = nil, nil, negotiator.Predictions{}
	})
	return p.plan
}

// forecast gives every waiting job a place, behind all reservations, in the order
// of the queue: nobody knows better when jobs start whose policy reserves nothing
// for them. Where the plan rests on what jobs request, and other run times are
// foretold, reserved jobs are expected when these let them start. The state is used up.
func forecast(s *backfill.State, standings []negotiator.Standing, predictions negotiator.Predictions) *Plan {
	names := make(map[backfill.JobID]*negotiator.Job, len(standings))
	unmatched := make(map[backfill.JobID]bool, len(standings))
	for _, st := range standings {
		names[st.Job.ID], unmatched[st.Job.ID] = st.Job, st.Unmatched
	}
	p := &Plan{Now: s.Now(), byID: make(map[backfill.JobID]int, len(names))}
	// Reasons first: they are about the schedule as it is.
	reasons := make(map[backfill.JobID]backfill.Reason, len(names))
	for j, r := range s.Reasons() {
		if r.Why == backfill.HeldBack && unmatched[j.ID] {
			r.Text = "matches no slot"
		}
		reasons[j.ID] = r
	}
	waiting := s.FirstWaiting(s.Waiting())
	for _, j := range waiting {
		p.add(s, names, j.ID, reasons[j.ID])
	}
	for _, st := range standings {
		if _, known := p.byID[st.Job.ID]; !known {
			p.add(s, names, st.Job.ID, reasons[st.Job.ID])
		}
	}
	for i := range p.Jobs {
		j := &p.Jobs[i]
		if times, foretold := predictions.Of(j.ID); foretold {
			j.Requested, j.Predicted = seconds(times.Requested), seconds(times.Predicted)
		}
	}
	if early := predictions.Forecast(s); early != nil {
		for i := range p.Jobs {
			j := &p.Jobs[i]
			if e, known := early[j.ID]; known && e.Start < reasons[j.ID].At {
				j.foresee(s, reasons[j.ID], e)
			}
		}
		return p // nobody is without a reservation
	}
	c, err := s.Open(backfill.Round{Now: s.Now()})
	if err != nil {
		return p
	}
	for _, j := range waiting {
		if _, _, reserved := c.Reservation(j); reserved {
			continue
		}
		if start, at, ok := c.Earliest(j, s.Now()); ok {
			c.Reserve(j, start, at)
			p.Jobs[p.byID[j.ID]].expect(s, start, at)
		}
	}
	return p
}

// add takes a job in, as the schedule has it.
func (p *Plan) add(s *backfill.State, names map[backfill.JobID]*negotiator.Job, id backfill.JobID, r backfill.Reason) {
	job := names[id]
	if r.Why == 0 || job == nil {
		return
	}
	one := JobPlan{ID: id, Job: job.Name, Schedd: job.Place.Queue, Owner: job.Labels["owner"], Situation: r.Why.String()}
	if r.Placement != nil {
		one.Start, one.Slots = seconds(r.At), slots(s, r.Placement)
	}
	if r.Promised {
		one.Guarantee = seconds(r.Latest)
	}
	if r.Behind != nil && names[r.Behind.ID] != nil {
		one.Behind = names[r.Behind.ID].Name
	}
	switch r.Why {
	case backfill.HeldBack:
		one.Reason = cannotRun + r.Text
	case backfill.Waits:
		one.Reason = "waits for slots that are not there"
	case backfill.Runs, backfill.Reserved:
	}
	one.Reason = one.describe(p.Now)
	p.byID[id] = len(p.Jobs)
	p.Jobs = append(p.Jobs, one)
}

// expect sets what a waiting job without a reservation has to expect.
func (j *JobPlan) expect(s *backfill.State, start backfill.Time, at backfill.Placement) {
	j.Start, j.Slots = seconds(start), slots(s, at)
	j.Reason = j.describe(s.Now())
}

// foresee sets what a job has to expect that will start earlier than planned if jobs
// run as foretold.
func (j *JobPlan) foresee(s *backfill.State, r backfill.Reason, e negotiator.Expected) {
	j.Start, j.Reserved, j.Slots = seconds(e.Start), seconds(r.At), slots(s, e.Placement)
	j.Reason = j.describe(s.Now())
}

// cannotRun begins the reasons of jobs that are out of the plan.
const cannotRun = "cannot run in this pool: "

// describe puts all that a job has to expect in words, with times in the zone of the
// process, which it names: the words may be read in another one.
func (j JobPlan) describe(now backfill.Time) string {
	at := func(t *int64) string { return zoned(backfill.Time(*t), now) }
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

// Why is the reason without what stands beside it in a table: start, guarantee and slots.
func (j JobPlan) Why() string {
	switch {
	case j.Start == nil:
		return j.Reason
	case j.Reserved != nil:
		return j.Situation + " for " + time.Unix(*j.Reserved, 0).Format(time.DateTime)
	case j.Behind != "":
		return "behind job " + j.Behind
	default:
		return j.Situation
	}
}

// Find is a job's plan.
func (p *Plan) Find(id backfill.JobID) (JobPlan, bool) {
	i, known := p.byID[id]
	if !known {
		return JobPlan{}, false
	}
	return p.Jobs[i], true
}

// Waiting are the plans of the jobs that do not run.
func (p *Plan) Waiting() []JobPlan {
	return slices.DeleteFunc(slices.Clone(p.Jobs), func(j JobPlan) bool { return j.Situation == backfill.Runs.String() })
}

func seconds(t backfill.Time) *int64 {
	n := int64(t)
	return &n
}

// slots lists where a job runs or is to run; more than a few are counted.
func slots(s *backfill.State, at backfill.Placement) string {
	const most = 4
	all := s.Slots()
	parts := make([]string, 0, most+1)
	for i, c := range at {
		if i == most {
			parts = append(parts, fmt.Sprintf("and %d more", len(at)-most))
			break
		}
		text := all[c.Slot].Name
		if c.Count > 1 {
			text += fmt.Sprintf(" ×%d", c.Count)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

// clock is a time as people say it: without what it has in common with now.
func clock(t, now backfill.Time) string {
	at, today := time.Unix(int64(t), 0), time.Unix(int64(now), 0)
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

// zoned is a time as people say it to others, who may live elsewhere.
func zoned(t, now backfill.Time) string {
	if t >= backfill.Forever {
		return clock(t, now)
	}
	return clock(t, now) + time.Unix(int64(t), 0).Format(" MST")
}

// JobPlanType is the MyType of ads with start times.
const JobPlanType = "JobPlan"

// Ad is the plan of a job for others to ask.
func (j JobPlan) Ad(now backfill.Time) *classad.ClassAd {
	ad := classad.New()
	ad.SetString("MyType", JobPlanType)
	ad.SetString("Name", j.Job)
	ad.SetInt("ServerTime", int64(now))
	for name, text := range map[string]string{
		"ScheddName": j.Schedd, "Owner": j.Owner, "Situation": j.Situation, "Slots": j.Slots, "Behind": j.Behind, "Reason": j.Reason,
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

// ReadJobPlan reads what Ad made. The reason is in the words of this process, whose time
// zone may be another.
func ReadJobPlan(ad *classad.ClassAd) JobPlan {
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
	j := JobPlan{
		Job: text("Name"), Schedd: text("ScheddName"), Owner: text("Owner"), Situation: text("Situation"), Slots: text("Slots"),
		Behind: text("Behind"), Reason: text("Reason"), Start: number("ExpectedStart"), Guarantee: number("Guarantee"),
		Reserved: number("ReservedStart"), Requested: number("RequestedRunTime"), Predicted: number("PredictedRunTime"),
	}
	now, _ := ad.Int("ServerTime")
	j.Reason = j.describe(backfill.Time(now))
	return j
}
