package workload

import (
	"fmt"

	"github.com/condor-backfill/condor-backfill/negotiator/instant"
)

// Clock returns what the seconds of the trace are in the time of people.
func (t *Trace) Clock() instant.Clock {
	zone, _ := t.Header.Zone()
	if len(t.Jobs) == 0 {
		return instant.OfJobs(t.Header.Start(), 0, 0, zone)
	}
	return instant.OfJobs(t.Header.Start(), t.Jobs[0].Submit, t.Jobs[len(t.Jobs)-1].Submit, zone)
}

// Cut is a part of a trace: the jobs submitted at From or later and before Until, instants as the trace's
// clock reads them. Without From it begins with the trace; without Until, or with 0, it ends with it.
type Cut struct{ From, Until string }

// CheckBound returns an error if a text can be the bound of no trace.
func CheckBound(text string) error {
	if text != "" && text[0] != '@' && (text[0] < '0' || text[0] > '9') {
		return fmt.Errorf("%s: must be a second of the trace, a Unix time, or a date such as 2026-03-01", text)
	}
	return nil
}

// Of returns a change with the bounds of the cut in a trace, and notes of those that are outside of it, as
// they were read. A cut without jobs is an error.
func (c Cut) Of(t *Trace, x Transform) (changed Transform, notes []string, err error) {
	clock := t.Clock()
	if x.From, err = readBound(clock, "from", c.From); err != nil {
		return x, nil, err
	}
	if c.Until != "0" {
		if x.Until, err = readBound(clock, "until", c.Until); err != nil {
			return x, nil, err
		}
	}
	from := min(clock.Origin, clock.First)
	if x.From != nil {
		from = *x.From
	}
	switch {
	case x.Until != nil && *x.Until <= from:
		return x, nil, fmt.Errorf("until: %s, read as %s: must be later than from, %s", c.Until, clock.Text(*x.Until), clock.Text(from))
	case len(t.Jobs) == 0:
	case from > clock.Last:
		return x, nil, fmt.Errorf("from: %s", clock.Outside(c.From, from))
	case x.Until != nil && *x.Until <= clock.First:
		return x, nil, fmt.Errorf("until: %s was read as %s: must be later than the first job is submitted, %s", c.Until,
			clock.Text(*x.Until), clock.Text(clock.First))
	case x.Until != nil:
		notes = append(notes, doubt("until: ", clock.Outside(c.Until, *x.Until))...)
	}
	if x.From != nil && (from < clock.Origin || from >= clock.First) { // the start of the trace is fine
		notes = append(notes, doubt("from: ", clock.Outside(c.From, from))...)
	}
	return x, notes, nil
}

func doubt(name, text string) []string {
	if text == "" {
		return nil
	}
	return []string{name + text}
}

// readBound reads a bound of a trace; nil: there is none.
func readBound(clock instant.Clock, name, text string) (*int64, error) {
	if text == "" {
		return nil, nil
	}
	at, err := clock.Read(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", name, text, err)
	}
	return &at, nil
}
