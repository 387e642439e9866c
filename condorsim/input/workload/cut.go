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
	read := func(name, text string) (int64, error) {
		if text == "" || text == "0" {
			return 0, nil
		}
		at, wrong := clock.Read(text)
		if wrong != nil {
			return 0, fmt.Errorf("%s: %s: %w", name, text, wrong)
		}
		return at, nil
	}
	if x.From, err = read("from", c.From); err != nil {
		return x, nil, err
	}
	if x.Until, err = read("until", c.Until); err != nil {
		return x, nil, err
	}
	until := c.Until != "" && c.Until != "0"
	switch {
	case until && x.Until <= x.From:
		return x, nil, fmt.Errorf("until: %s, read as %s: must be later than from, %s", c.Until, clock.Text(x.Until), clock.Text(x.From))
	case len(t.Jobs) == 0:
	case x.From > clock.Last:
		return x, nil, fmt.Errorf("from: %s", clock.Outside(c.From, x.From))
	case until && x.Until <= clock.First:
		return x, nil, fmt.Errorf("until: %s was read as %s: must be later than the first job is submitted, %s", c.Until,
			clock.Text(x.Until), clock.Text(clock.First))
	case until && x.Until > clock.Last:
		notes = append(notes, "until: "+clock.Outside(c.Until, x.Until))
	}
	if x.From < 0 {
		notes = append(notes, "from: "+clock.Outside(c.From, x.From))
		x.From = 0
	}
	return x, notes, nil
}
