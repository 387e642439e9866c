package recorded

import (
	"fmt"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/record/recordv1"
	"github.com/condor-backfill/condor-backfill/plugins/policyv1"
)

// begin takes in the state with which a file, or a run of a negotiator, begins.
func (r *reader) begin(b *recordv1.Begin) error {
	snapshot := new(policyv1.Snapshot)
	if err := snapshot.UnmarshalVT(b.GetSnapshot()); err != nil {
		return fmt.Errorf("its state: %w; the file is damaged", err)
	}
	if r.begun && !slices.Equal(r.resources, snapshot.GetResources()) {
		return fmt.Errorf("at %d the pool's resources become %v, and were %v: run the parts of the record alone", r.now,
			snapshot.GetResources(), r.resources)
	}
	first := !r.begun
	if first {
		record := r.record
		record.Pool, record.Start, record.Observing = b.GetPool(), b.GetUnixStart(), b.GetObserving()
		record.Program = b.GetProgram()
		record.Slack, record.Unstated = backfill.Time(b.GetStartSlack()), backfill.Time(b.GetDefaultEstimate())
		r.begun, r.resources = true, snapshot.GetResources()
		record.Description.Schema.Resources, record.Description.Schema.SlotEnds = r.resources, nil
	}
	r.again = !first
	r.decides(b.GetPolicy())
	if len(b.GetJobs()) > 0 || len(b.GetSlots()) > 0 { // else nothing has happened yet
		r.now = max(r.now, backfill.Time(b.GetNow()))
	}
	r.observing = b.GetObserving()
	if err := r.slotsBegin(b); err != nil {
		return err
	}
	return r.jobsBegin(b.GetJobs(), snapshot, first)
}

// jobsBegin takes in the jobs of a beginning. Those that it does not name have ended. If it
// names none the negotiator knows nothing yet, and the next cycle is told of those that are there.
func (r *reader) jobsBegin(jobs []*recordv1.Job, snapshot *policyv1.Snapshot, first bool) error {
	states := map[int64]*policyv1.JobState{}
	for _, s := range snapshot.GetJobs() {
		states[s.GetJob().GetId()] = s
	}
	named := map[string]*job{}
	for _, j := range r.live {
		named[j.job.Name] = j
	}
	former, ended := r.live, map[*job]bool{}
	for _, j := range former {
		ended[j] = true
	}
	r.live = map[int64]*job{}
	for _, told := range jobs {
		known := former[told.GetId()]
		if known == nil || known.job.Name != told.GetName() {
			known = named[told.GetName()]
		}
		if known != nil {
			r.live[told.GetId()] = known
			delete(ended, known)
		} else if err := r.submitted(told); err != nil {
			return err
		}
		j, state := r.live[told.GetId()], states[told.GetId()]
		switch {
		case state == nil || !state.GetRunning() || state.GetPinned() || j.running:
		case first:
			r.runsOn(j, state, snapshot)
		default:
			j.start(r.now)
		}
	}
	r.unsaid = map[string]*job{}
	for j := range ended {
		r.unsaid[j.job.Name] = j
	}
	if len(jobs) > 0 {
		r.forgetUnsaid()
	}
	return nil
}

// runsOn has a job run from the beginning on, with what is left of its time.
func (r *reader) runsOn(j *job, state *policyv1.JobState, snapshot *policyv1.Snapshot) {
	ran := max(0, r.now-backfill.Time(state.GetStart()))
	for _, length := range []*backfill.Time{&j.job.Estimate, &j.job.Limit} {
		if *length > 0 {
			*length = max(1, *length-ran)
		}
	}
	j.start(r.now)
	at := state.GetPlacement()
	for i, slot := range at.GetSlots() {
		chunks := 1
		if counts := at.GetCounts(); i < len(counts) {
			chunks = int(counts[i])
		}
		all := snapshot.GetSlots()
		if slot < 0 || int(slot) >= len(all) {
			continue // the file is damaged: it waits
		}
		if place, known := r.slots[all[slot].GetSlot().GetName()]; known {
			j.job.Places = append(j.job.Places, negotiator.Chunks{Slot: r.record.Description.Slots[place], Count: chunks})
		}
	}
	for _, b := range r.record.Description.Bundles {
		names := negotiator.Placement{{Bundle: b}}.Places()
		if len(names) == len(at.GetSlots()) && slices.EqualFunc(names, j.job.Places, func(p backfill.Place, c negotiator.Chunks) bool {
			return p.Slot == c.Slot.Name
		}) {
			j.job.Places = negotiator.Placement{{Bundle: b, Count: 1}}
			break
		}
	}
}
