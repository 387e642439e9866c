package replay

import (
	"fmt"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// Difference is a round that is decided otherwise than it was.
type Difference struct {
	*backfill.Different
	At     backfill.Time
	Number int // of the round, counted from 1
	Policy string
	// State is what the policy saw before the round, and Round what had happened.
	State backfill.Snapshot
	Round backfill.Round
	// Names are the names of the jobs by their IDs.
	Names map[backfill.JobID]string
}

// Error says which round differs, and how.
func (d *Difference) Error() string {
	return fmt.Sprintf("round %d, at %d, policy %s: %v", d.Number, d.At, d.Policy, d.Different)
}

// Unwrap returns the error of the state.
func (d *Difference) Unwrap() error { return d.Different }

// Actions returns actions in words, one for each.
func (d *Difference) Actions(actions []backfill.Action) []string {
	lines := make([]string, len(actions))
	for i, a := range actions {
		lines[i] = d.action(&a)
	}
	return lines
}

func (d *Difference) action(a *backfill.Action) string {
	name := d.Names[a.Job]
	if name == "" {
		name = fmt.Sprint(a.Job)
	}
	switch a.Kind {
	case backfill.ActStart:
		return fmt.Sprintf("start %s on %s", name, d.places(a.Placement))
	case backfill.ActReserve:
		return fmt.Sprintf("reserve for %s at %d on %s", name, a.At, d.places(a.Placement))
	case backfill.ActRelease:
		return "give up the reservation of " + name
	case backfill.ActGuarantee:
		return fmt.Sprintf("promise %s a start by %d", name, a.At)
	case backfill.ActHold:
		return fmt.Sprintf("hold %s: %s", name, backfill.Printable(a.Reason, 200))
	case backfill.ActWake:
		return fmt.Sprintf("wake at %d", a.At)
	case backfill.ActKeepFreed:
		return fmt.Sprintf("remember for %d s what is freed", a.At)
	default:
		return fmt.Sprintf("action of kind %d", a.Kind)
	}
}

// places names the slots of a placement.
func (d *Difference) places(p backfill.Placement) string {
	var places backfill.Places
	for _, at := range p {
		name := fmt.Sprintf("slot %d", at.Slot)
		if i := int(at.Slot); i >= 0 && i < len(d.State.Slots) {
			name = d.State.Slots[i].Name
		}
		for _, e := range d.Round.Events {
			if e.Slot.ID == at.Slot && (e.Kind == backfill.SlotAdded || e.Kind == backfill.SlotChanged) {
				name = e.Slot.Name
			}
		}
		places = append(places, backfill.Place{Slot: name, Chunks: at.Count})
	}
	return places.String()
}
