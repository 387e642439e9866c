package conformance

import (
	"maps"
	"reflect"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// original is what belongs to the state and is handed to the policy, with copies of it from before a
// round.
type original struct {
	jobs  map[*backfill.Job]backfill.Job
	slots []slotCopy
}

type slotCopy struct {
	name      string
	now, then backfill.Vector
}

// originalOf copies the jobs and slots of a state, and those of the events of a round.
func originalOf(s *backfill.State, round backfill.Round) original {
	o := original{jobs: map[*backfill.Job]backfill.Job{}}
	for _, j := range s.Snapshot().Jobs {
		o.job(j.Job)
	}
	for _, slot := range s.Slots() {
		o.slot(slot)
	}
	for _, e := range round.Events {
		o.job(e.Job)
		o.slot(e.Slot)
	}
	return o
}

func (o *original) job(j *backfill.Job) {
	if j == nil {
		return
	}
	c := *j
	c.Request, c.Takes, c.Labels = slices.Clone(j.Request), slices.Clone(j.Takes), maps.Clone(j.Labels)
	o.jobs[j] = c
}

func (o *original) slot(s backfill.Slot) {
	o.slots = append(o.slots, slotCopy{s.Name, s.Capacity, slices.Clone(s.Capacity)})
}

// touched reports jobs and slots that the policy has changed: they belong to the state.
func (r *Run) touched(o original, at backfill.Time) {
	for _, j := range slices.SortedFunc(maps.Keys(o.jobs), backfill.Compare) {
		found, before := reflect.ValueOf(*j), reflect.ValueOf(o.jobs[j])
		for i := range found.NumField() {
			now, then := found.Field(i).Interface(), before.Field(i).Interface()
			if id := o.jobs[j].ID; !reflect.DeepEqual(now, then) {
				r.note(Untouched, at, &id, "the policy changed the %s of job %d from %v to %v", found.Type().Field(i).Name, id,
					then, now)
			}
		}
	}
	for _, s := range o.slots {
		if !slices.Equal(s.now, s.then) {
			r.note(Untouched, at, nil, "the policy changed the Capacity of slot %s from %v to %v", s.name, s.then, s.now)
		}
	}
}
