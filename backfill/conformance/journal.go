package conformance

import (
	"context"
	"fmt"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// NextText is Next with the decision as text. Decisions that are refused all have the same text.
func (r *Run) NextText(ctx context.Context) (string, error) {
	refusals := r.refusals
	d, err := r.Next(ctx)
	switch {
	case err != nil:
		return "", err
	case r.refusals > refusals:
		return "no decision that counts", nil
	default:
		return journal(d), nil
	}
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
