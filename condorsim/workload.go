package condorsim

import (
	"cmp"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/condorsim/workload"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// Workload is a pool and the jobs that it will be given.
type Workload struct {
	Name   string
	Schema negotiator.Schema
	Slots  []*negotiator.Slot
	Jobs   []Job // in order of jobs; the ID of each is its index
	// Cleaning says what was left out of a trace.
	Cleaning workload.Cleaning
	// UnixStart is when second 0 of the trace was, in Unix time; 0 if unknown.
	UnixStart int64
}

// Job is a job and what only the simulated pool knows of it.
type Job struct {
	*negotiator.Job
	// Run is the actual run time.
	Run backfill.Time
	// User owns the job; "" if unknown.
	User string
	// Cpus and Memory are the job's totals.
	Cpus, Memory int64
}

// Capacity is the sum of the slots.
func (w *Workload) Capacity() backfill.Vector {
	sum := make(backfill.Vector, len(w.Schema.Resources))
	for _, s := range w.Slots {
		sum.AddScaled(s.Capacity, 1)
	}
	return sum
}

// Memory is what the slots have of it; 0 if memory is no resource.
func (w *Workload) Memory() int64 {
	if i := slices.Index(w.Schema.Resources, "memory"); i >= 0 {
		return w.Capacity()[i]
	}
	return 0
}

// requirements of a simulated machine and of a trace's job: that it fits.
const (
	slotRequirements = "START && WithinResourceLimits"
	jobRequirements  = "TARGET.Cpus >= RequestCpus && TARGET.Memory >= RequestMemory"
)

// traceLabels are the labels of a trace's jobs. The queue that a job was submitted
// to says what service it gets, so it stands as the qos.
func traceLabels(j workload.Job) (labels map[string]string) {
	for _, l := range [][2]string{{"owner", j.User}, {"group", j.Group}, {"executable", j.Executable}, {"qos", j.Queue}} {
		if l[1] == "" {
			continue
		}
		if labels == nil {
			labels = map[string]string{}
		}
		labels[l[0]] = l[1]
	}
	return labels
}

// FromTrace makes a workload of a trace. Its machine is one slot with all the
// processors; given slots replace it, and a job of p processors is then p chunks
// of one cpu each.
func FromTrace(t *workload.Trace, slots []*negotiator.Slot) (*Workload, error) {
	w := &Workload{Name: t.Name, Schema: negotiator.DefaultSchema(), Slots: slots, Cleaning: t.Cleaning, UnixStart: unixStart(t.Header)}
	chunked := slots != nil
	if !chunked {
		w.Schema.Resources = []string{"cpus", "memory"}
		if t.Machine.Memory == 0 {
			w.Schema.Resources = []string{"cpus"}
		}
		machine, err := machineSlot(w.Schema, t.Machine)
		if err != nil {
			return nil, err
		}
		w.Slots = []*negotiator.Slot{machine}
	}
	ads := requestAds{}
	labels := map[[4]string]map[string]string{} // shared by the jobs that have the same
	w.Jobs = make([]Job, len(t.Jobs))
	jobs := make([]negotiator.Job, len(t.Jobs))
	for i, j := range t.Jobs {
		nodes, cpus, memory := int64(1), j.Procs, j.Memory
		if chunked {
			nodes, cpus, memory = j.Procs, 1, (j.Memory+j.Procs-1)/j.Procs
		}
		ad, err := ads.get(cpus, memory)
		if err != nil {
			return nil, err
		}
		label := [4]string{j.User, j.Group, j.Executable, j.Queue}
		if labels[label] == nil {
			labels[label] = traceLabels(j)
		}
		jobs[i] = negotiator.Job{
			ID: backfill.JobID(i), Name: strconv.FormatInt(j.ID, 10), Submit: backfill.Time(j.Submit),
			Place: backfill.Place{Cluster: int64(i)}, Nodes: int(nodes), Estimate: backfill.Time(j.Estimate),
			Labels: labels[label], Ad: ad,
		}
		w.Jobs[i] = Job{Job: &jobs[i], Run: backfill.Time(j.Run), User: j.User, Cpus: j.Procs, Memory: j.Memory}
	}
	return w, nil
}

// unixStart is what the header of a trace says; 0 if it says nothing that is a time.
func unixStart(header map[string]string) int64 {
	first, _, _ := strings.Cut(header["UnixStartTime"], "\n")
	t, err := strconv.ParseInt(strings.TrimSpace(first), 10, 64)
	if err != nil || t < 0 || t > 1<<40 {
		return 0
	}
	return t
}

// machineSlot is the machine of a trace, as one slot.
func machineSlot(schema negotiator.Schema, m workload.Machine) (*negotiator.Slot, error) {
	ad := classad.New()
	ad.SetString("MyType", "Machine")
	ad.SetString("Name", "machine")
	ad.SetInt("Cpus", m.Processors)
	ad.SetInt("Memory", m.Memory)
	for _, attr := range [][2]string{
		{"Requirements", slotRequirements},
		{"START", "true"},
		{"WithinResourceLimits", "MY.Cpus >= TARGET.RequestCpus && MY.Memory >= TARGET.RequestMemory"},
	} {
		if err := ad.SetExpr(attr[0], attr[1]); err != nil {
			return nil, err
		}
	}
	return schema.SlotFromAd(ad)
}

// requestAds holds one ad for each request that occurs: jobs that ask for the
// same share it, as the procs of an HTCondor cluster share theirs.
type requestAds map[[2]int64]*classad.ClassAd

func (r requestAds) get(cpus, memory int64) (*classad.ClassAd, error) {
	key := [2]int64{cpus, memory}
	if ad, ok := r[key]; ok {
		return ad, nil
	}
	ad := classad.New()
	ad.SetString("MyType", "Job")
	ad.SetInt("RequestCpus", cpus)
	ad.SetInt("RequestMemory", memory)
	if err := ad.SetExpr("Requirements", jobRequirements); err != nil {
		return nil, err
	}
	r[key] = ad
	return ad, nil
}

// SlotsFromAds reads a pool's slots from a sequence such as classad.ReadAds gives
// for a file. Errors name the file and the line.
func SlotsFromAds(file string, schema negotiator.Schema, ads iter.Seq2[*classad.ClassAd, error]) ([]*negotiator.Slot, error) {
	var slots []*negotiator.Slot
	names := map[string]bool{}
	for ad, err := range ads {
		if err != nil {
			return nil, err
		}
		slot, err := schema.SlotFromAd(ad)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, ad.StreamLine(), err)
		}
		if names[slot.Name] {
			return nil, fmt.Errorf("%s:%d: there is another slot of the name %s", file, ad.StreamLine(), slot.Name)
		}
		names[slot.Name] = true
		slots = append(slots, slot)
	}
	if len(slots) == 0 {
		return nil, fmt.Errorf("%s: there is no slot in it", file)
	}
	return slots, nil
}

// FromAds makes a workload of the job ads of a file, for a pool of slots. The
// actual run time is what HTCondor's history calls RemoteWallClockTime. Errors
// name the file and the line.
func FromAds(file string, schema negotiator.Schema, slots []*negotiator.Slot, ads iter.Seq2[*classad.ClassAd, error]) (*Workload, error) {
	base := filepath.Base(file)
	w := &Workload{Name: strings.TrimSuffix(base, filepath.Ext(base)), Schema: schema, Slots: slots}
	names := map[string]bool{}
	for ad, err := range ads {
		if err != nil {
			return nil, err
		}
		job, err := jobFromAd(schema, ad)
		if err == nil && names[job.Name] {
			err = fmt.Errorf("there is another job %s", job.Name)
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, ad.StreamLine(), err)
		}
		names[job.Name] = true
		w.Jobs = append(w.Jobs, job)
	}
	if len(w.Jobs) == 0 {
		return nil, fmt.Errorf("%s: there is no job in it", file)
	}
	slices.SortStableFunc(w.Jobs, func(a, b Job) int {
		return cmp.Or(cmp.Compare(a.Submit, b.Submit), cmp.Compare(a.Place.Cluster, b.Place.Cluster), cmp.Compare(a.Place.Proc, b.Place.Proc))
	})
	for i := range w.Jobs {
		w.Jobs[i].ID = backfill.JobID(i)
	}
	w.Cleaning.JobsRead, w.Cleaning.JobsLeft = len(w.Jobs), len(w.Jobs)
	return w, nil
}

func jobFromAd(schema negotiator.Schema, ad *classad.ClassAd) (Job, error) {
	j, err := schema.JobFromAd(0, ad)
	if err != nil {
		return Job{}, err
	}
	run, ok := ad.Int("RemoteWallClockTime")
	if !ok || run < 0 || run > maxRun {
		return Job{}, fmt.Errorf("job %s: RemoteWallClockTime, the actual run time, is missing or no whole number from 0 to %d", j.Name, int64(maxRun))
	}
	request, err := schema.Request(ad, j.Nodes)
	if err != nil {
		return Job{}, fmt.Errorf("job %s: %w", j.Name, err)
	}
	job := Job{Job: j, Run: backfill.Time(run), User: j.Labels["owner"], Cpus: request[0] * int64(j.Nodes)}
	if i := slices.Index(schema.Resources, "memory"); i >= 0 {
		job.Memory = request[i] * int64(j.Nodes)
	}
	return job, nil
}

// maxRun bounds run times, in seconds, so that sums of them stay far from
// overflow.
const maxRun = 1 << 40
