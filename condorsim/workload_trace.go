package condorsim

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// The requirements of a trace's machine and its jobs: that the job fits.
const (
	slotRequirements   = "START && WithinResourceLimits"
	cpuRequirements    = "TARGET.Cpus >= RequestCpus"
	memoryRequirements = cpuRequirements + " && TARGET.Memory >= RequestMemory"
)

// FromTrace makes a workload of a trace. The machine is one slot with all processors, and each job
// is one chunk. If slots are given, they replace the machine, and a job of p processors is p chunks
// of one cpu.
func FromTrace(t *workload.Trace, slots []*negotiator.Slot) (*Workload, error) {
	if slots != nil {
		return OnPool(t, &pools.Description{Schema: negotiator.DefaultSchema(), Slots: slots})
	}
	schema := negotiator.DefaultSchema()
	schema.Resources = []string{"cpus", "memory"}
	if t.Machine.Memory == 0 {
		schema.Resources = []string{"cpus"}
	}
	if t.Machine.GPUs > 0 {
		schema.Resources = append(schema.Resources, "gpus")
	}
	machine, err := machineSlot(schema, t.Machine)
	if err != nil {
		return nil, err
	}
	one := pools.Pack{ChunkCpus: math.MaxInt64}
	return OnPool(t, &pools.Description{Schema: schema, Slots: []*negotiator.Slot{machine}, Pack: one})
}

// OnPool makes a workload of a trace's jobs for a pool, which says how jobs are cut into chunks and
// what fails.
func OnPool(t *workload.Trace, pool *pools.Description) (*Workload, error) {
	w := &Workload{
		Name: t.Name, Schema: pool.Schema, Slots: pool.Slots, Bundles: pool.Bundles, Cleaning: t.Cleaning,
		Drops: t.Drops, GiveUpAfter: pool.GiveUpAfter, Limits: pool.Limits, Preemption: preemptionOf(pool),
	}
	w.startAt(t.Header)
	ads := newRequestAds(pool, w.UnixStart)
	if pool.GPUJobs != nil {
		ads.gpus, ads.gpuUsers = pool.GPUJobs.PerChunk, gpuUsers(t, pool.GPUJobs)
	}
	var labels sharedLabels
	names, predecessors := numbered(t.Jobs), t.Predecessors()
	w.Jobs = make([]Job, len(t.Jobs))
	jobs := make([]negotiator.Job, len(t.Jobs))
	for i := range t.Jobs {
		j := &t.Jobs[i]
		nodes, cpus, memory := pool.Pack.Chunks(j.Procs, j.Memory)
		ad, err := ads.get(request{cpus: cpus, memory: memory, gpus: pool.Pack.Each(j.GPUs, nodes)}, j)
		if err != nil {
			return nil, err
		}
		jobs[i] = negotiator.Job{
			ID: backfill.JobID(i), Name: names[i], Submit: backfill.Time(j.Submit), Release: backfill.Time(j.Release),
			Position: backfill.QueuePosition{Cluster: int64(i)}, Nodes: int(nodes), Estimate: backfill.Time(j.Estimate),
			User: j.User, Labels: labels.of(j), Ad: ad, Enforced: !j.Lies, Scavenger: t.Scavengers[j.ID],
		}
		w.Jobs[i] = Job{
			Job: &jobs[i], Run: backfill.Time(j.Run), Ran: backfill.Time(j.Ran()), Cpus: j.Procs, Memory: j.Memory, GPUs: j.GPUs,
			Lies: j.Lies, Origin: j.Origin, Waited: backfill.Time(j.Waited), HasWaited: j.HasWaited, WrongStart: j.WrongStart,
		}
		switch {
		case j.After == nil:
		case predecessors[i] < 0:
			w.Jobs[i].Orphan = true
		default:
			w.Jobs[i].After = &After{Job: int64(predecessors[i]), Think: backfill.Time(j.After.Think), Later: j.After.Later}
		}
	}
	w.hasFill = t.Filled
	if err := w.findScavengers(pool); err != nil {
		return nil, err
	}
	if several, all := w.severalChunks(); several > 0 && several == all && w.Preemption != nil {
		return nil, fmt.Errorf("preemption: no job could ever make way for another: only jobs of one chunk do, and all %d "+
			"jobs have several; have a chunk take more processors by pack: {chunk_cpus: N}", several)
	}
	w.giveClocks(pool)
	if err := w.setOutages(pool); err != nil {
		return nil, err
	}
	w.Unheeded = slices.Concat(w.Unheeded, pool.Unheeded(), w.Schema.Unheeded(w.Slots, nil)) // its jobs ask for nothing
	return w, w.group(pool)
}

// numbered returns the numbers of the jobs as text, all in one piece of memory.
func numbered(jobs []workload.Job) []string {
	var text []byte
	ends := make([]int, len(jobs))
	for i := range jobs {
		text = strconv.AppendInt(text, jobs[i].ID, 10)
		ends[i] = len(text)
	}
	all, names, begin := string(text), make([]string, len(jobs)), 0
	for i, end := range ends {
		names[i], begin = all[begin:end], end
	}
	return names
}

// sharedLabels keeps the labels of the latest job of each hash, as jobs that come soon after each
// other mostly have the same. A map of all would be large where each job has an executable of its own.
type sharedLabels [1 << 9]struct {
	user, group, executable, queue string
	labels                         map[string]string
}

// of returns the labels of a job, which share memory with those of others.
func (s *sharedLabels) of(j *workload.Job) map[string]string {
	const prime = 16777619 // of the hash FNV-1
	hash := uint32(0)
	for _, text := range [...]string{j.User, j.Group, j.Executable, j.Queue} {
		for i := range len(text) {
			hash = hash*prime ^ uint32(text[i])
		}
		hash *= prime
	}
	l := &s[hash>>23]
	if l.labels == nil || l.user != j.User || l.group != j.Group || l.executable != j.Executable || l.queue != j.Queue {
		l.user, l.group, l.executable, l.queue, l.labels = j.User, j.Group, j.Executable, j.Queue, j.Labels()
	}
	return l.labels
}

// machineSlot returns the machine of a trace as one slot.
func machineSlot(schema negotiator.Schema, m workload.Machine) (*negotiator.Slot, error) {
	ad := classad.New()
	ad.SetString("MyType", "Machine")
	ad.SetString("Name", "machine")
	ad.SetBool("PartitionableSlot", true)
	ad.SetInt("Cpus", m.Processors)
	ad.SetInt("Memory", m.Memory)
	limits := "MY.Cpus >= TARGET.RequestCpus && MY.Memory >= TARGET.RequestMemory"
	if m.GPUs > 0 {
		ad.SetInt("GPUs", m.GPUs)
		limits += " && MY.GPUs >= TARGET.RequestGPUs"
	}
	for _, attr := range [][2]string{
		{"Requirements", slotRequirements},
		{"START", "true"},
		{"WithinResourceLimits", limits},
	} {
		if err := ad.SetExpr(attr[0], attr[1]); err != nil {
			return nil, err
		}
	}
	return schema.SlotFromAd(ad)
}

// requestAds keeps one ad for each distinct request: jobs with the same request share it, as the
// procs of an HTCondor cluster do. If an expression of the slots refers to the owner, the group, the queue
// or the submit time, these are part of the request.
type requestAds struct {
	resources      []string
	memory         bool // slots have memory
	whole          bool // each chunk takes a whole slot
	owners, groups bool // expressions of the slots refer to them
	queues         bool
	submits        bool
	gpus           int64           // that each chunk of a job of these users asks for
	gpuUsers       map[string]bool // nil: none does
	start          int64           // the Unix time of second 0
	known          map[request]*classad.ClassAd
	last           request // that get was asked for last, mostly the next one too
	ad             *classad.ClassAd
}

// request is what the ad of a trace's job says.
type request struct {
	cpus, memory int64 // of each chunk
	gpus         int64
	owner, group string
	queue        string
	submit       int64 // as a Unix time
}

func newRequestAds(pool *pools.Description, start int64) *requestAds {
	asked := pool.Asked()
	return &requestAds{
		resources: pool.Schema.Resources, memory: pool.HasMemory(), whole: pool.Pack.WholeSlots,
		owners: slices.Contains(asked, "owner"), groups: slices.Contains(asked, "acctgroup"),
		queues: slices.Contains(asked, "queue"), submits: slices.Contains(asked, "qdate"), start: start,
		known: map[request]*classad.ClassAd{},
	}
}

// get returns the ad of a job whose chunks ask for these amounts. A job that asks for no GPUs of its own asks for
// those that the pool says jobs of its user do.
func (r *requestAds) get(key request, j *workload.Job) (*classad.ClassAd, error) {
	requirements := memoryRequirements
	if !r.memory { // slots may not advertise memory
		key.memory, requirements = 0, cpuRequirements
	}
	if key.gpus == 0 && r.gpuUsers[j.User] {
		key.gpus = r.gpus
	}
	if r.owners {
		key.owner = j.User
	}
	if r.groups {
		key.group = j.Group
	}
	if r.queues {
		key.queue = j.Queue
	}
	if r.submits {
		key.submit = r.start + j.Submit
	}
	if r.ad != nil && key == r.last {
		return r.ad, nil
	}
	if ad, ok := r.known[key]; ok {
		r.last, r.ad = key, ad
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
	if key.queue != "" {
		ad.SetString("Queue", key.queue)
	}
	if r.submits {
		ad.SetInt("QDate", key.submit)
	}
	for _, resource := range r.resources {
		ad.SetInt("Request"+negotiator.Attribute(resource), 0)
	}
	ad.SetInt("Request"+negotiator.Attribute(negotiator.Claims), 1) // it counts, if the pool counts jobs
	ad.SetInt("RequestCpus", key.cpus)
	ad.SetInt("RequestMemory", key.memory)
	if key.gpus > 0 {
		ad.SetInt("RequestGPUs", key.gpus)
	}
	if r.whole {
		ad.SetInt("RequestSlots", 1) // see pools.Whole
	}
	if err := ad.SetExpr("Requirements", requirements); err != nil {
		return nil, err
	}
	r.known[key] = ad
	return ad, nil
}
