package condorsim

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/estimate"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/condorsim/pools"
	"github.com/condor-backfill/condor-backfill/condorsim/workload"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// Workload is a pool and the jobs that it will be given.
type Workload struct {
	Name   string
	Schema negotiator.Schema
	Slots  []*negotiator.Slot
	// Bundles are the partitions of a partitioned machine, of which a job takes one; none:
	// jobs take parts of slots.
	Bundles []*negotiator.Bundle
	Jobs    []Job // in order of jobs; the ID of each is its index
	// History is jobs that ended before, by when they did. Estimators learn from it.
	History []estimate.Ended
	// Cleaning says what was left out of a trace.
	Cleaning workload.Cleaning

	// Outages are what goes wrong with the slots, and Seed what those by chance
	// follow from. A job that loses its slot more often than GiveUpAfter is held;
	// 0: more often than [pools.DefaultGiveUpAfter].
	Outages     []pools.Outage
	GiveUpAfter int
	Seed        uint64
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

// runs is for how long the job runs: to its end, or to its limit.
func (j Job) runs() backfill.Time {
	if j.Limit > 0 {
		return min(j.Run, j.Limit)
	}
	return j.Run
}

// Capacity is the sum of the slots.
func (w *Workload) Capacity() backfill.Vector {
	sum := make(backfill.Vector, len(w.Schema.Resources))
	for _, s := range w.Slots {
		sum.AddScaled(s.Capacity, 1)
	}
	return sum
}

// CheckChunks refuses jobs of several chunks on a partitioned machine.
func (w *Workload) CheckChunks() error {
	i := slices.IndexFunc(w.Jobs, func(j Job) bool { return j.Nodes != 1 })
	if len(w.Bundles) == 0 || i < 0 {
		return nil
	}
	return fmt.Errorf("job %s: %d chunks: on a partitioned machine a job has one, and asks it for all that it needs", w.Jobs[i].Name, w.Jobs[i].Nodes)
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
	slotRequirements   = "START && WithinResourceLimits"
	cpuRequirements    = "TARGET.Cpus >= RequestCpus"
	memoryRequirements = cpuRequirements + " && TARGET.Memory >= RequestMemory"
)

// FromTrace makes a workload of a trace. Its machine is one slot with all the
// processors, and a job one chunk; given slots replace it, and a job of p
// processors is then p chunks of one cpu each.
func FromTrace(t *workload.Trace, slots []*negotiator.Slot) (*Workload, error) {
	if slots != nil {
		return OnPool(t, &pools.Pool{Schema: negotiator.DefaultSchema(), Slots: slots})
	}
	schema := negotiator.DefaultSchema()
	schema.Resources = []string{"cpus", "memory"}
	if t.Machine.Memory == 0 {
		schema.Resources = []string{"cpus"}
	}
	machine, err := machineSlot(schema, t.Machine)
	if err != nil {
		return nil, err
	}
	one := pools.Pack{ChunkCpus: math.MaxInt64}
	return OnPool(t, &pools.Pool{Schema: schema, Slots: []*negotiator.Slot{machine}, Pack: one})
}

// OnPool makes a workload of a trace's jobs for a pool, which says how they are cut
// into chunks and what goes wrong.
func OnPool(t *workload.Trace, pool *pools.Pool) (*Workload, error) {
	w := &Workload{
		Name: t.Name, Schema: pool.Schema, Slots: pool.Slots, Bundles: pool.Bundles, Cleaning: t.Cleaning,
		Outages: pool.Outages, GiveUpAfter: pool.GiveUpAfter, UnixStart: unixStart(t.Header),
	}
	ads := newRequestAds(pool)
	labels := map[[4]string]map[string]string{} // shared by the jobs that have the same
	w.Jobs = make([]Job, len(t.Jobs))
	jobs := make([]negotiator.Job, len(t.Jobs))
	for i, j := range t.Jobs {
		nodes, cpus, memory := pool.Pack.Chunks(j.Procs, j.Memory)
		ad, err := ads.get(cpus, memory, j)
		if err != nil {
			return nil, err
		}
		label := [4]string{j.User, j.Group, j.Executable, j.Queue}
		if labels[label] == nil {
			labels[label] = j.Labels()
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
func unixStart(h workload.Header) int64 {
	t := h.Number("UnixStartTime")
	if t > 1<<40 {
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
// same share it, as the procs of an HTCondor cluster share theirs. Whose a job is
// stands in its ad if slots ask.
type requestAds struct {
	resources      []string
	memory         bool // it counts
	whole          bool // each chunk wants a slot for itself
	owners, groups bool // slots ask for them
	known          map[request]*classad.ClassAd
}

// request is what a trace's job says to slots.
type request struct {
	cpus, memory int64 // of each chunk
	owner, group string
}

func newRequestAds(pool *pools.Pool) *requestAds {
	asked := pool.Asked()
	return &requestAds{
		resources: pool.Schema.Resources, memory: pool.HasMemory(), whole: pool.Pack.WholeSlots,
		owners: slices.Contains(asked, "owner"), groups: slices.Contains(asked, "acctgroup"),
		known: map[request]*classad.ClassAd{},
	}
}

func (r *requestAds) get(cpus, memory int64, j workload.Job) (*classad.ClassAd, error) {
	key, requirements := request{cpus: cpus, memory: memory}, memoryRequirements
	if !r.memory { // slots may not even speak of it
		key.memory, requirements = 0, cpuRequirements
	}
	if r.owners {
		key.owner = j.User
	}
	if r.groups {
		key.group = j.Group
	}
	if ad, ok := r.known[key]; ok {
		return ad, nil
	}
	ad := classad.New()
	ad.SetString("MyType", "Job")
	if key.owner != "" {
		ad.SetString("Owner", key.owner)
	}
	if key.group != "" {
		ad.SetString("AcctGroup", key.group)
	}
	for _, resource := range r.resources {
		ad.SetInt("Request"+strings.ToUpper(resource[:1])+resource[1:], 0)
	}
	ad.SetInt("RequestCpus", cpus)
	ad.SetInt("RequestMemory", key.memory)
	if r.whole {
		ad.SetInt("RequestSlots", 1) // see pools.Whole
	}
	if err := ad.SetExpr("Requirements", requirements); err != nil {
		return nil, err
	}
	r.known[key] = ad
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
