package ask

import (
	"fmt"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/daemon"
	"github.com/condor-backfill/condor-backfill/negotiator/instant"
	"github.com/condor-backfill/condor-backfill/negotiator/whatif"
)

// Answer is what is answered to a what-if: by the negotiator that would start a job first, if there
// are several; of anything else, by the first by name that it concerns.
type Answer struct {
	*whatif.Answer
	// Negotiator is who answers; "": there is no other.
	Negotiator string `json:"negotiator,omitempty"`
	// Bad is why it cannot answer.
	Bad string `json:"bad_question,omitempty"`
	// Others are the answers of the others. They are not added up: a job that two of them plan would
	// count twice.
	Others []Answer `json:"others,omitempty"`
}

// Accuracy is how true the start times of a negotiator were.
type Accuracy struct {
	daemon.Accuracy
	// Negotiator is whose; "": there is no other.
	Negotiator string `json:"negotiator,omitempty"`
}

// mergeAnswers puts the answer first that counts, and has the others with it. A question is bad if
// nobody can answer it: to each of several, some slots are strange.
func mergeAnswers(told []answered[Answer]) *Answer {
	var all []Answer
	for _, t := range told {
		a := t.items[0]
		a.Negotiator = t.name
		all = append(all, a)
	}
	slices.SortStableFunc(all, func(a, b Answer) int { return sooner(a.forecast(), b.forecast()) })
	first := all[0]
	if len(all) > 1 {
		first.Others = all[1:]
	}
	return &first
}

// forecast is the answer to compare it by: when it says that a job starts, if it knows.
func (a Answer) forecast() (j daemon.JobForecast) {
	switch {
	case a.Bad != "":
		j.Situation = "held"
	case a.Job != nil && a.Job.ToldBy == whatif.ByMedian:
		j.Start = a.Job.Mid
	case a.Job != nil:
		j.Start = a.Job.Start
	}
	return j
}

// Describe puts an answer into words, with instants as the clock writes them.
func (a *Answer) Describe(clock instant.Clock) string {
	if a.Negotiator == "" {
		return Describe(a.Answer, clock)
	}
	var text strings.Builder
	about, plans := a.Job != nil, 1
	fmt.Fprintf(&text, "On the slots of %s:\n%s", bare(a.Negotiator), Describe(a.Answer, clock))
	for _, o := range a.Others {
		p := &printed{a: o.Answer, clock: clock}
		switch start := o.forecast().Start; {
		case o.Bad != "":
			p.say(fmt.Sprintf("%s cannot tell: %s.", bare(o.Negotiator), o.Bad))
		case about && start == nil:
			p.say(fmt.Sprintf("On those of %s it would start never.", bare(o.Negotiator)))
		case about:
			p.say(fmt.Sprintf("On those of %s it would start %s.", bare(o.Negotiator), p.expected(start, o.Job.ToldBy)))
		default:
			plans++
			fmt.Fprintf(&text, "\nOn the slots of %s:\n%s", bare(o.Negotiator), Describe(o.Answer, clock))
		}
		text.WriteString(p.String())
	}
	if plans > 1 {
		p := &printed{}
		p.say("A job that several negotiators plan is in the answer of each.")
		text.WriteString("\n" + p.String())
	}
	return text.String()
}
