package matchmaker

import (
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
)

// This file tells what the Requirements and ranks of slots take by their own fault from what they take
// by the fault of the job that they judge.

// own returns how many steps one of the Requirements and ranks of a slot or bundle takes for a usual
// job, or without a job, at most: that is the administrator's affair, and allowed on top of what jobs
// may cost. It returns false if the Requirements take too many, whatever the job.
func (m *Matchmaker) own(slot *classad.ClassAd) (steps int, bearable bool) {
	steps, known := m.ownSteps[slot]
	if !known {
		if steps = m.measure(slot); steps < 0 {
			m.unbearable++
		}
		m.ownSteps[slot] = steps
		m.fault -= int64(max(steps, -steps*m.limits.Evaluation))
	}
	return steps, steps >= 0
}

// measure returns the steps for own, or -1 if those of the Requirements are more than a job may cost.
func (m *Matchmaker) measure(slot *classad.ClassAd) (most int) {
	defer func(c clock) { m.clock = c }(m.clock) // what this asks for is not asked for by a pair
	for _, job := range []*classad.ClassAd{nil, usualJob()} {
		var meter classad.Meter
		p := classad.Pair{Left: job, Right: slot, Host: m.host, MaxSteps: m.limits.Evaluation, Meter: &meter}
		p.LeftMatchesRight()
		if meter.Exceeded() > 0 {
			return -1
		}
		most = max(most, int(meter.Steps()))
		if m.ranked {
			for _, rank := range []func(classad.Pair) float64{preJobRank, postJobRank} {
				before := meter.Steps()
				rank(p)
				most = max(most, int(meter.Steps()-before))
			}
		}
	}
	return most
}

// Unbearable returns slots whose own Requirements are too expensive, whatever the job: they get no
// jobs. Of slots that are alike it returns only one.
func (m *Matchmaker) Unbearable() (slots []backfill.SlotID) {
	if m.unbearable == 0 {
		return nil
	}
	for id := range m.slots {
		if steps, known := m.ownSteps[m.slots[id].ad]; known && steps < 0 {
			slots = append(slots, backfill.SlotID(id))
		}
	}
	return slots
}

// exclude has a slot count as unbearable.
func (m *Matchmaker) exclude(slot *classad.ClassAd) {
	m.ownSteps[slot] = -1
	m.unbearable++
}

// isDear reports whether the Requirements or ranks of an offer take so many steps in themselves that
// they are evaluated only while a Match has steps left for such offers.
func (o offer) isDear() bool {
	if o.m.limits.Evaluation == 0 {
		return false
	}
	steps, _ := o.m.own(o.ad)
	return steps > dearPair || slices.ContainsFunc(o.parts, func(slot backfill.SlotID) bool {
		steps, _ = o.m.own(o.m.slots[slot].ad)
		return steps > dearPair
	})
}

// settle divides what an expression of a slot took for a job between the two. What it takes for a
// usual job is the slot's own. If it took much more, it is what it takes for a job with the same plain
// values, in which nothing has to be evaluated. The slot then counts as dear from now on, but not as
// unbearable: another job may be no better a witness.
func (t *trial) settle(
	slot, job *classad.ClassAd, evaluate func(classad.Pair), own, took int64, exceeded int,
) {
	if took > own+dearPair {
		var meter classad.Meter
		limit := int(own) + t.m.limits.Evaluation
		evaluate(classad.Pair{Left: t.plainly(job), Right: slot, Host: t.supplier(), MaxSteps: limit, Meter: &meter})
		if t.m.fault -= meter.Steps(); meter.Steps() > own+dearPair {
			own = meter.Steps()
			t.m.ownSteps[slot] = min(int(own), t.m.limits.Evaluation)
		}
		if meter.Exceeded() > 0 {
			own = took
			t.excused += exceeded
		}
	}
	if own = min(own, took); own > dearPair {
		t.m.fault -= own
	}
	t.slotOwn += own
}

// longestPlain is the number of bytes up to which a text in a job's ad is a plain value: to search a
// longer one may be expensive by the fault of the job.
const longestPlain = 256

// plainly returns a job's ad without what has to be evaluated.
func (t *trial) plainly(job *classad.ClassAd) *classad.ClassAd {
	if t.job == job && t.plain != nil {
		return t.plain
	}
	t.job, t.plain = job, job.Values(longestPlain)
	return t.plain
}
