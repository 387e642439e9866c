package track

import (
	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
	"github.com/condor-backfill/condor-backfill/negotiator/preempt"
)

// SavedTakeover is whose places a job is to have that was on its way, see [Takeover].
type SavedTakeover struct {
	Victims []observe.JobKey `json:"victims"`
	Slots   []string         `json:"slots"`
	At      backfill.Time    `json:"at"`
}

// SavedExchange is two jobs that changed places, or one that was displaced for priority if both are
// the same.
type SavedExchange struct {
	Job observe.JobKey `json:"job"`
	By  observe.JobKey `json:"by"`
	At  backfill.Time  `json:"at"`
}

// SavedDisplaced is a job that makes way for another, or has and waits again: by whom, on which slot, why,
// when that was decided, and when it was to have left; see [preempt.Displaced].
type SavedDisplaced struct {
	Job     observe.JobKey `json:"job"`
	By      observe.JobKey `json:"by,omitzero"` // zero: it has left its queue
	Name    string         `json:"name"`        // By's
	User    string         `json:"user,omitempty"`
	Slot    string         `json:"slot"`
	Reason  preempt.Reason `json:"reason"`
	Decided backfill.Time  `json:"decided"`
	End     backfill.Time  `json:"end"`
}

// savedTakeover returns what is saved of a job that takes over; nil if it does not.
func (b *Belief) savedTakeover(id backfill.JobID) *SavedTakeover {
	t := b.takeovers.byJob[id]
	if t == nil {
		return nil
	}
	saved := &SavedTakeover{At: t.At}
	for i, id := range t.Victims {
		if j := b.byID[id]; j != nil {
			saved.Victims, saved.Slots = append(saved.Victims, j.Key), append(saved.Slots, t.Slots[i])
		}
	}
	if len(saved.Victims) < len(t.Victims) {
		return nil // one of them is a place that another job holds, and is not saved
	}
	return saved
}

// savedExchanges returns who changed places, of the jobs that are still there.
func (b *Belief) savedExchanges(all []preempt.Exchange) (saved []SavedExchange) {
	for _, e := range all {
		if j, other := b.byID[e.Job], b.byID[e.By]; j != nil && other != nil {
			saved = append(saved, SavedExchange{j.Key, other.Key, e.At})
		}
	}
	return saved
}

// restoreExchanges returns them for the negotiator that goes on.
func (b *Belief) restoreExchanges(saved []SavedExchange) (all []preempt.Exchange) {
	for _, e := range saved {
		if j, other := b.jobs[e.Job], b.jobs[e.By]; j != nil && other != nil && e.At >= 0 && e.At <= b.now.Now {
			all = append(all, preempt.Exchange{Job: j.ID, By: other.ID, At: e.At})
		}
	}
	return all
}

// savedDisplaced returns who was displaced, of the jobs that are still there.
func (b *Belief) savedDisplaced(all []preempt.Displaced) (saved []SavedDisplaced) {
	for _, d := range all {
		victim := b.byID[d.Victim]
		if victim == nil {
			continue
		}
		s := SavedDisplaced{
			Job: victim.Key, Name: d.Name, User: d.User, Slot: d.Slot, Reason: d.Reason, Decided: d.Decided, End: d.End,
		}
		if heir := b.byID[d.By]; heir != nil {
			s.By = heir.Key
		}
		saved = append(saved, s)
	}
	return saved
}

// restoreDisplaced returns them for the negotiator that goes on, by a clock that was put back by so much.
func (b *Belief) restoreDisplaced(saved []SavedDisplaced, back backfill.Time) (all []preempt.Displaced) {
	var known backfill.JobSet
	for _, s := range saved {
		victim := b.jobs[s.Job]
		if victim == nil || victim.Group == nil || s.Reason != preempt.StartdRank && s.Reason != preempt.UserPriority || !known.Add(victim.ID) {
			continue
		}
		d := preempt.Displaced{
			Victim: victim.ID, Name: s.Name, User: s.User, Slot: s.Slot, Reason: s.Reason,
			Decided: shift(s.Decided, back), End: shift(s.End, back),
		}
		if heir := b.jobs[s.By]; heir != nil {
			d.By = heir.ID
		}
		all = append(all, d)
	}
	return all
}

// restoreTakeovers finds the victims of the jobs that were about to take over, once all jobs are
// there again. A job whose victims are gone waits again if it is not found to run.
func (b *Belief) restoreTakeovers(saved []SavedJob) {
	for _, former := range saved {
		j := b.jobs[former.key()]
		if former.Over == nil || j == nil || j.Phase != Running || len(j.Places) != 1 ||
			len(former.Over.Slots) != len(former.Over.Victims) || len(former.Over.Slots) == 0 {
			continue
		}
		t := &Takeover{Host: j.Places[0].Slot, At: min(former.Over.At, 2*backfill.MaxTime)}
		for i, key := range former.Over.Victims {
			victim := b.jobs[key]
			if victim == nil || victim.Phase != Running {
				continue
			}
			t.Victims, t.Slots = append(t.Victims, victim.ID), append(t.Slots, former.Over.Slots[i])
			b.takeovers.byVictim[victim.ID] = j.ID
		}
		if len(t.Victims) > 0 {
			b.takeovers.byJob[j.ID] = t
		}
	}
}

// Waits tells whether startds say, in a look, that a claim waits for all slots of a takeover.
func (t *Takeover) Waits(s *observe.Snapshot) bool {
	for _, name := range t.Slots {
		if !WaitsAt(s.Slots[name]) {
			return false
		}
	}
	return len(t.Slots) > 0
}
