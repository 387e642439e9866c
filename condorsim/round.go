package condorsim

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
)

// RoundAsTrace returns a state, and what has happened since in a round, as jobs that play the round alone, as
// [Rounds.Save] does: the jobs that run come first, and start when they did; those that wait may not start before
// the round. Nobody knows how long jobs of a record would run: they run as long as they are planned with. Labels,
// slots and what was promised or reserved are left out. Jobs are named by numbers anew.
func RoundAsTrace(snap backfill.Snapshot, round backfill.Round) *workload.Trace {
	t := &workload.Trace{Name: fmt.Sprintf("round at %d", round.Now), Machine: machineOf(&snap, &round)}
	gone, back := map[backfill.JobID]bool{}, map[backfill.JobID]bool{}
	var arrived []*backfill.Job
	var running, waiting []workload.Job
	first := round.Now
	runs := func(j *backfill.Job, start, end backfill.Time) {
		first = min(first, start)
		job := jobOf(j, snap.Resources)
		job.Release = max(0, int64(start))
		job.Run = int64(max(end-start, 0))
		job.Estimate = max(job.Run, 1)
		running = append(running, job)
	}
	for i := range round.Events {
		switch e := &round.Events[i]; e.Kind {
		case backfill.Completed, backfill.Removed:
			gone[e.JobID] = true
		case backfill.Submitted, backfill.Changed:
			gone[e.Job.ID] = true // as it was
			arrived = append(arrived, e.Job)
		case backfill.StartFailed:
			back[e.JobID] = true
		case backfill.Found:
			gone[e.Job.ID] = true
			runs(e.Job, e.Start, e.End)
		default:
		}
	}
	for i := range snap.Jobs {
		j := &snap.Jobs[i]
		if gone[j.Job.ID] || j.Held != "" {
			continue
		}
		first = min(first, j.Job.Submit)
		if j.Running && !back[j.Job.ID] {
			runs(j.Job, j.Start, j.End)
		} else {
			arrived = append(arrived, j.Job)
		}
	}
	for _, j := range arrived {
		first = min(first, j.Submit)
		job := jobOf(j, snap.Resources)
		job.Release = max(0, int64(max(round.Now, j.Release)))
		waiting = append(waiting, job)
	}
	slices.SortStableFunc(running, func(a, b workload.Job) int { return cmp.Compare(a.Release, b.Release) })
	for i := range running { // before those that wait, so that no plan for these is in their way
		running[i].Submit = int64(first)
	}
	slices.SortStableFunc(waiting, func(a, b workload.Job) int { return cmp.Compare(a.Submit, b.Submit) })
	t.Jobs = append(running, waiting...)
	for i := range t.Jobs {
		t.Jobs[i].ID = int64(i) + 1
	}
	return t
}

// machineOf returns all slots that are up as one machine.
func machineOf(snap *backfill.Snapshot, round *backfill.Round) (m workload.Machine) {
	capacity := map[backfill.SlotID]backfill.Vector{}
	for _, s := range snap.Slots {
		if s.Up {
			capacity[s.ID] = s.Capacity
		}
	}
	for _, e := range round.Events {
		switch e.Kind {
		case backfill.SlotAdded, backfill.SlotChanged:
			capacity[e.Slot.ID] = e.Slot.Capacity
		case backfill.SlotLost:
			delete(capacity, e.Slot.ID)
		default:
		}
	}
	memory := slices.Index(snap.Resources, "memory")
	for _, c := range capacity {
		m.Processors += c[0]
		if memory > 0 {
			m.Memory += c[memory]
		}
	}
	return m
}

// jobOf returns a job of a state as one of a trace.
func jobOf(j *backfill.Job, resources []string) workload.Job {
	job := workload.Job{
		Submit: int64(j.Submit), Run: int64(j.Estimate), Estimate: int64(max(j.Estimate, 1)),
		Procs: max(1, int64(j.Nodes)*j.Request[0]),
	}
	if memory := slices.Index(resources, "memory"); memory > 0 {
		job.Memory = int64(j.Nodes) * j.Request[memory]
	}
	return job
}
