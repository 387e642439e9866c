package check

import (
	"context"
	"fmt"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/conformance"
)

// next returns the policy's next decision as text. Decisions that are refused all have the same
// text, since their content does not matter.
func (c *checker) next(ctx context.Context, run *conformance.Run) (string, error) {
	refusals := run.Refusals()
	d, err := run.Next(ctx)
	if err != nil {
		return "", err
	}
	lost := run.Refusals() - refusals
	c.played.count(1, lost, refusal(run))
	if lost > 0 {
		return "no decision that counts", nil
	}
	return journal(d), nil
}

// refusal describes the first decision of a run that was refused; "" if there is none.
func refusal(run *conformance.Run) string {
	for _, f := range run.Findings() {
		if f.Rule == conformance.Accepted {
			return f.String()
		}
	}
	return ""
}

func journal(d backfill.Decision) string {
	if len(d.Actions) == 0 {
		return "nothing"
	}
	var text strings.Builder
	for i, a := range d.Actions {
		if i > 0 {
			text.WriteString(", ")
		}
		text.WriteString(action(a))
	}
	return text.String()
}

func action(a backfill.Action) string {
	switch a.Kind {
	case backfill.ActStart:
		return fmt.Sprintf("start job %d on %s", a.Job, place(a.Placement))
	case backfill.ActReserve:
		return fmt.Sprintf("reserve for job %d at %d on %s", a.Job, a.At, place(a.Placement))
	case backfill.ActRelease:
		return fmt.Sprintf("release job %d", a.Job)
	case backfill.ActGuarantee:
		return fmt.Sprintf("guarantee job %d by %d", a.Job, a.At)
	case backfill.ActHold:
		return fmt.Sprintf("hold job %d: %s", a.Job, a.Reason)
	case backfill.ActWake:
		return fmt.Sprintf("wake at %d", a.At)
	default:
		return fmt.Sprintf("keep for %d s what is freed", a.At)
	}
}

func place(at backfill.Placement) string {
	slots := make([]string, len(at))
	for i, c := range at {
		slots[i] = fmt.Sprintf("%d×slot %d", c.Count, c.Slot)
	}
	return strings.Join(slots, " + ")
}

// difference describes the first difference between two journals.
func difference(seed uint64, want, got []string) string {
	for i := range min(len(want), len(got)) {
		if want[i] != got[i] {
			return fmt.Sprintf("pool %d, round %d: %q in one run and %q in the other", seed, i+1, short(want[i]),
				short(got[i]))
		}
	}
	return fmt.Sprintf("pool %d: %d rounds in one run and %d in the other", seed, len(want), len(got))
}

// short cuts a text so that it fits into a line of the report.
func short(text string) string { return backfill.Printable(text, 100) }

// record lets a policy decide the rounds of a pool and returns its decisions as texts, one for each
// round. It calls the callback before each round.
func (c *checker) record(ctx context.Context, seed uint64, main backfill.Decider,
	before func(*conformance.Run, int) error,
) ([]string, error) {
	run, err := conformance.Start(seed, main)
	if err != nil {
		return nil, err
	}
	journals := make([]string, 0, c.scale.rounds)
	for round := range c.scale.rounds {
		if err = before(run, round); err != nil {
			return nil, err
		}
		text, err := c.next(ctx, run)
		if err != nil {
			return nil, err
		}
		journals = append(journals, text)
	}
	return journals, nil
}
