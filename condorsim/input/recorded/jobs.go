package recorded

import (
	"cmp"
	"fmt"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/record/recordv1"
)

// job is a job as it is at an instant of the record.
type job struct {
	job     Job
	submit  backfill.Time // by its queue
	running bool
	since   backfill.Time // when it was started last
	over    bool          // it has ended, or left for good
}

// start notes that a job runs since an instant, unless it runs already.
func (j *job) start(at backfill.Time) {
	if !j.running {
		j.running, j.since = true, max(at, j.job.Arrival())
	}
}

// expected returns how long a job is expected to run.
func (r *reader) expected(j *Job) backfill.Time {
	t := cmp.Or(j.Estimate, r.record.Unstated, negotiator.DefaultEstimate)
	if j.Limit > 0 {
		t = min(t, j.Limit)
	}
	return t
}

// spec returns what an entry says of a job.
func (r *reader) spec(told *recordv1.Job) (spec negotiator.Job, err error) {
	for _, length := range []int64{told.GetEstimate(), told.GetLimit(), told.GetRelease()} {
		if length < 0 || length > backfill.MaxTime {
			return spec, fmt.Errorf("job %d: %d is no time; the file is damaged", told.GetId(), length)
		}
	}
	if told.GetNodes() > backfill.MaxChunks {
		return spec, fmt.Errorf("job %d: has %d chunks; the file is damaged", told.GetId(), told.GetNodes())
	}
	ad := r.ads[told.GetAd()]
	if ad == nil && told.GetAd() != 0 {
		return spec, fmt.Errorf("job %d: ad %d is missing; the file is damaged", told.GetId(), told.GetAd())
	}
	if ad == nil {
		ad = classad.New()
	}
	spec = negotiator.Job{
		Name: told.GetName(), Submit: backfill.Time(told.GetSubmit()), Release: backfill.Time(told.GetRelease()),
		Position: backfill.QueuePosition{Queue: told.GetQueue(), Cluster: told.GetCluster(), Proc: told.GetProc()},
		Nodes:    int(max(1, told.GetNodes())), Estimate: backfill.Time(told.GetEstimate()), Limit: backfill.Time(told.GetLimit()),
		Enforced: told.GetEnforced(), Scavenger: told.GetScavenger(), User: told.GetUser(),
		Labels: r.labels[told.GetLabels()], Ad: ad,
	}
	for _, take := range told.GetTakes() {
		spec.Takes = append(spec.Takes, negotiator.Take{Limit: take.GetLimit(), Amount: take.GetAmount()})
	}
	return spec, nil
}

// submitted takes in a job that arrives, or comes back.
func (r *reader) submitted(told *recordv1.Job) error {
	spec, err := r.spec(told)
	if err != nil {
		return err
	}
	if j := r.unsaid[spec.Name]; j != nil {
		delete(r.unsaid, spec.Name)
		j.running = false
		j.is(spec, r)
		r.live[told.GetId()] = j
		return nil
	}
	if back := r.absent[spec.Name]; back != nil && back.submit == spec.Submit {
		last := len(back.job.Away) - 1
		if back.job.Away[last].To = r.now; back.job.Away[last].From == r.now {
			back.job.Away = back.job.Away[:last] // it was edited
		}
		delete(r.absent, spec.Name)
		back.over = false
		r.live[told.GetId()] = back
		r.record.Cleaning.LeftQueue--
		back.is(spec, r)
		return nil
	}
	j := &job{submit: spec.Submit}
	j.job.Submit = r.now
	j.is(spec, r)
	r.live[told.GetId()] = j
	r.jobs = append(r.jobs, j)
	return nil
}

// is has a job be what an entry says, but for its arrival.
func (j *job) is(spec negotiator.Job, r *reader) {
	spec.Submit = j.job.Submit
	j.job.Job = spec
	j.job.Cpus, j.job.Memory = 1, 0
	chunk, err := r.record.Description.Schema.Request(spec.Ad, spec.Nodes)
	if err != nil {
		return // the negotiator holds it
	}
	j.job.Cpus = max(1, chunk[0]*int64(spec.Nodes))
	for k, name := range r.resources {
		if name == "memory" {
			j.job.Memory = chunk[k] * int64(spec.Nodes)
		}
	}
}

// changed takes in that a job was edited.
func (r *reader) changed(told *recordv1.Job) error {
	j := r.live[told.GetId()]
	if j == nil {
		return r.submitted(told)
	}
	spec, err := r.spec(told)
	if err == nil {
		j.is(spec, r)
	}
	return err
}

// found takes in a job that runs although no decision has started it so.
func (r *reader) found(run *recordv1.Running) error {
	id := run.GetJob().GetId()
	if j := r.unsaid[run.GetJob().GetName()]; j != nil {
		delete(r.unsaid, j.job.Name)
		r.live[id] = j
		j.start(r.now) // as late as others count as ended whose places it may have
	}
	if r.live[id] == nil {
		if r.absent[run.GetJob().GetName()] == nil {
			r.record.Foreign++
		}
		if err := r.submitted(run.GetJob()); err != nil {
			return err
		}
	}
	r.live[id].start(backfill.Time(run.GetStart()))
	return nil
}

// completed takes in that a job has ended, which ran for so long if that is above 0.
func (r *reader) completed(id int64, ran backfill.Time) {
	if j := r.live[id]; j != nil {
		delete(r.live, id)
		r.ended(j, ran)
	}
}

func (r *reader) ended(j *job, ran backfill.Time) {
	j.over = true
	switch {
	case j.running:
		j.job.Started, j.job.Start, j.job.Run = true, j.since, r.now-j.since
	case ran > 0:
		j.job.Started, j.job.Start, j.job.Run = true, max(r.now-ran, j.job.Arrival()), ran
	default:
		r.record.Cleaning.RunAssumed++
		j.job.Run = r.expected(&j.job)
	}
}

// removed takes in that a job was taken away.
func (r *reader) removed(id int64) {
	if j := r.live[id]; j != nil {
		delete(r.live, id)
		r.gone(j)
	}
}

// gone notes that a job is not there any more: it ends if it runs, and else leaves the queue.
func (r *reader) gone(j *job) {
	if j.running {
		r.ended(j, 0)
		return
	}
	j.over = true
	j.job.Run = r.expected(&j.job)
	j.job.Away = append(j.job.Away, Absence{r.now, backfill.Forever})
	r.absent[j.job.Name] = j
	r.record.Cleaning.LeftQueue++
}
