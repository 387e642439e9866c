package picture

import (
	"reflect"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// Difference is what differs from an earlier picture. A viewer who has that one makes the later one of it.
type Difference struct {
	Head      Head              `json:"head"`
	Slots     []Slot            `json:"slots,omitempty"`      // new ones, and those that changed
	SlotsGone []backfill.SlotID `json:"slots_gone,omitempty"` //
	Jobs      []Bar             `json:"jobs,omitempty"`       // new ones, and those that changed
	JobsGone  []backfill.JobID  `json:"jobs_gone,omitempty"`
}

// Since returns what differs from an earlier picture, in the order of the later one.
func (p *Picture) Since(before *Picture) Difference {
	d := Difference{Head: p.Head}
	d.Slots, d.SlotsGone = differ(before.Slots, p.Slots, func(s *Slot) backfill.SlotID { return s.ID }, sameSlot)
	d.Jobs, d.JobsGone = differ(bars(before.Jobs), bars(p.Jobs), func(b *Bar) backfill.JobID { return b.ID }, sameBar)
	return d
}

// Bars returns the jobs that are drawn: all that have a place.
func (p *Picture) Bars() []Bar { return bars(p.Jobs) }

func bars(jobs []Job) []Bar {
	all := make([]Bar, 0, len(jobs))
	for i := range jobs {
		if len(jobs[i].At) > 0 {
			all = append(all, jobs[i].Bar)
		}
	}
	return all
}

// differ returns what of a list is new or differs from what it was, and the keys of what is gone,
// ascending.
func differ[T any, K backfill.SlotID | backfill.JobID](old, now []T, key func(*T) K, same func(a, b *T) bool) (news []T, gone []K) {
	left := make(map[K]*T, len(old))
	for i := range old {
		left[key(&old[i])] = &old[i]
	}
	for i := range now {
		k := key(&now[i])
		if before, known := left[k]; !known || !same(before, &now[i]) {
			news = append(news, now[i])
		}
		delete(left, k)
	}
	for k := range left {
		gone = append(gone, k)
	}
	slices.Sort(gone)
	return news, gone
}

func sameSlot(a, b *Slot) bool {
	return a.Name == b.Name && a.Down == b.Down && a.End == b.End && slices.Equal(a.Capacity, b.Capacity) &&
		reflect.DeepEqual(a.Drain, b.Drain)
}

func sameBar(a, b *Bar) bool {
	return a.Name == b.Name && a.Owner == b.Owner && a.Group == b.Group && a.Situation == b.Situation &&
		a.Cpus == b.Cpus && a.Submit == b.Submit && a.Start == b.Start && a.End == b.End && a.Likely == b.Likely &&
		a.Reserved == b.Reserved && a.Low == b.Low && a.High == b.High && a.Guarantee == b.Guarantee && slices.Equal(a.At, b.At)
}
