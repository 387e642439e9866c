package drains

import (
	"cmp"
	"fmt"
	"time"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// Drain is a slot that is to be empty from an instant on. Instants are in the pool's seconds, on a
// real pool since 1970.
type Drain struct {
	Slot string `json:"slot"`
	// By is when the slot is to be empty. No job starts there from then on.
	By int64 `json:"by"`
	// Until is when it takes jobs again; 0: when the drain is cancelled.
	Until int64 `json:"until,omitempty"`
	// AskedBy is who asked for the drain, and AskedAt when.
	AskedBy string `json:"asked_by,omitempty"`
	AskedAt int64  `json:"asked_at"`
	// Gone is since when the pool has no such slot; 0: it has it.
	Gone int64 `json:"gone,omitempty"`
}

// Closes tells whether no job may start on the slot at an instant.
func (d Drain) Closes(now backfill.Time) bool { return int64(now) >= d.By && !d.Over(now) }

// Over tells whether the drain has ended by itself.
func (d Drain) Over(now backfill.Time) bool { return d.Until != 0 && int64(now) >= d.Until }

// Why says why the slot takes no jobs, or only those that end in time; the text can stand behind
// "is". A zone is that of the clock; nil: times are of a simulation.
func (d Drain) Why(zone *time.Location) string {
	deadline := fmt.Sprint("second ", d.By)
	if zone != nil {
		deadline = clock(d.By, d.AskedAt, zone)
	}
	text := "drained by " + deadline
	if d.AskedBy != "" {
		text += " (asked by " + backfill.Printable(d.AskedBy, longestName) + ")"
	}
	return text
}

// clock formats an instant, without the day if that is the day of another instant.
func clock(unix, beside int64, zone *time.Location) string {
	at, other := time.Unix(unix, 0).In(zone), time.Unix(beside, 0).In(zone)
	layout := "2006-01-02 15:04"
	if at.Format(time.DateOnly) == other.Format(time.DateOnly) {
		layout = "15:04"
	}
	if at.Second() != 0 {
		layout += ":05"
	}
	return at.Format(layout)
}

// compare orders drains by time, then by slot.
func compare(a, b Drain) int { return cmp.Or(cmp.Compare(a.By, b.By), cmp.Compare(a.Slot, b.Slot)) }
