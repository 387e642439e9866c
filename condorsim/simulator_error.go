package condorsim

import (
	"errors"
	"fmt"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/inwords"
)

// SimulatorError is how far the starts of a simulation are from those of a record, whose policy it simulates with the
// same settings: what of a difference between policies may be the simulator's own error.
type SimulatorError struct {
	Policy string `json:"policy"` // of the record
	Jobs   int    `json:"jobs"`   // that started in both
	NotRun int    `json:"not_run,omitempty"`
	// Median, Most and Largest are of the amounts by which a start is earlier or later, in seconds: half of them, and 90 %
	// of them, are at most that.
	Median  backfill.Time `json:"median"`
	Most    backfill.Time `json:"p90"`
	Largest backfill.Time `json:"largest"`
	// Slack is the record's start slack, and Within how many jobs started no further from their starts than that.
	Slack  backfill.Time `json:"start_slack"`
	Within int           `json:"within_start_slack"`
	// Policies counts those that were in charge of the record, if there were several: then the first was simulated, and
	// the jobs that started before Until are compared, when the next took charge.
	Policies int           `json:"policies,omitempty"`
	Until    backfill.Time `json:"until,omitempty"`
}

// SimulatorError compares the starts of a run with those of the record of which its workload is. Jobs that ran when the
// record began are left out. It is an error if no job is left.
func (r *Result) SimulatorError() (*SimulatorError, error) {
	record := r.Workload.Recorded
	if record == nil {
		return nil, errors.New("only a record of a negotiator, which --record writes, says what its policy decided")
	}
	happened, err := Happened(r.Workload)
	if err != nil {
		return nil, err
	}
	e := &SimulatorError{Policy: record.Policy.Name, Slack: record.Slack}
	if record.Policies > 1 {
		e.Policies, e.Until = record.Policies, record.Until
	}
	var apart []backfill.Time
	for i, o := range r.Outcomes {
		before := happened.Outcomes[i]
		switch j := r.Workload.Jobs[i]; {
		case e.Until > 0 && before.Start >= e.Until:
		case !before.Started || j.runsAnyway() || j.Scavenger:
		case !o.Started:
			e.NotRun++
		default:
			d := max(o.Start-before.Start, before.Start-o.Start)
			apart = append(apart, d)
			if d <= e.Slack {
				e.Within++
			}
		}
	}
	if len(apart) == 0 {
		return nil, errors.New("no job of the record was started in it and ended, so there is nothing to compare")
	}
	slices.Sort(apart)
	e.Jobs = len(apart)
	e.Median, e.Most, e.Largest = apart[(e.Jobs-1)/2], apart[(9*e.Jobs+9)/10-1], apart[e.Jobs-1]
	return e, nil
}

// String says it in a sentence.
func (e *SimulatorError) String() string {
	text := fmt.Sprintf("the simulator's own error: under %s, as in the record, half of %s jobs start within %s s of what "+
		"happened, 90 %% within %s s, all within %s s", e.Policy, inwords.Whole(e.Jobs), inwords.Whole(int64(e.Median)),
		inwords.Whole(int64(e.Most)), inwords.Whole(int64(e.Largest)))
	if e.Slack > 0 {
		text += fmt.Sprintf("; %s within the start slack of %s s", inwords.Whole(e.Within), inwords.Whole(int64(e.Slack)))
	}
	if e.NotRun > 0 {
		text += fmt.Sprintf("; %s more did not run in the simulation", inwords.Whole(e.NotRun))
	}
	if e.Policies > 0 {
		text += fmt.Sprintf("; that is until another of its %d policies took charge", e.Policies)
	}
	return text
}
