package replay

import (
	"strconv"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/record"
	"github.com/condor-backfill/condor-backfill/negotiator/record/recordv1"
)

// known is what later entries of a record refer to: the names and labels of jobs.
type known struct {
	labels map[uint64]map[string]string
	jobs   map[int64]job
	gone   []int64 // they ended with the last delta, and may be in its round
}

type job struct {
	name   string
	labels map[string]string
}

func newKnown() *known {
	return &known{labels: map[uint64]map[string]string{}, jobs: map[int64]job{}}
}

// begin forgets all, as a file or a run begins.
func (k *known) begin(b *recordv1.Begin) {
	k.jobs, k.gone = map[int64]job{}, nil
	k.put(b.GetJobs())
}

func (k *known) put(jobs []*recordv1.Job) {
	for _, j := range jobs {
		k.jobs[j.GetId()] = job{j.GetName(), k.labels[j.GetLabels()]}
	}
}

// told takes note of a delta.
func (k *known) told(t *recordv1.Told) {
	for _, id := range k.gone {
		delete(k.jobs, id)
	}
	k.gone = append(append(k.gone[:0], t.GetCompleted()...), t.GetRemoved()...)
	k.put(t.GetSubmitted())
	k.put(t.GetChanged())
	for _, run := range t.GetFound() {
		k.put([]*recordv1.Job{run.GetJob()})
	}
}

func (k *known) keep(l *recordv1.Labels) { k.labels[l.GetNumber()] = record.MapOf(l.GetLabels()) }

// name returns the name of a job.
func (k *known) name(id backfill.JobID) string {
	if j, ok := k.jobs[int64(id)]; ok && j.name != "" {
		return j.name
	}
	return strconv.FormatInt(int64(id), 10)
}

// label gives a job its labels.
func (k *known) label(j *backfill.Job) {
	if j != nil {
		j.Labels = k.jobs[int64(j.ID)].labels
	}
}
