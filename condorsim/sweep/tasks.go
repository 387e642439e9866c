package sweep

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/formats"
)

// tasks returns the cells in the order in which to start them: the trace with most work first, so
// that the cores finish at about the same time; the cells of a trace together, so that few traces
// are in memory; those of one load, estimate model and seed together for the same reason, and the
// longest first.
func (p *Sweep) tasks(cells []int) []*task {
	type variant struct {
		input *input
		load  float64
		model string
		seed  uint64
	}
	traces := map[*input]*shared[*formats.Jobs]{}
	variants := map[variant]*shared[*condorsim.Workload]{}
	begin := map[*shared[*condorsim.Workload]]int{} // index of a variant's first task
	work := map[*input]float64{}
	var all []*task
	for _, i := range cells {
		c := &p.cells[i]
		v := variant{c.input, c.key.Load, c.key.EstimateModel, c.key.Seed}
		if traces[c.input] == nil {
			traces[c.input] = &shared[*formats.Jobs]{}
		}
		if variants[v] == nil {
			variants[v] = &shared[*condorsim.Workload]{}
			begin[variants[v]] = i
		}
		t := &task{
			cell: i, home: c, trace: traces[c.input], variant: variants[v], size: c.input.size(),
			copies: p.fair.Strict || p.fair.Relaxed,
		}
		t.trace.users++
		t.variant.users++
		work[c.input] += t.cost()
		all = append(all, t)
	}
	slices.SortStableFunc(all, func(a, b *task) int {
		return cmp.Or(
			cmp.Compare(work[b.home.input], work[a.home.input]),
			cmp.Compare(strings.ToLower(a.home.input.Name), strings.ToLower(b.home.input.Name)),
			cmp.Compare(begin[a.variant], begin[b.variant]),
			cmp.Compare(b.cost(), a.cost()),
		)
	})
	return all
}

// size returns how many bytes the files of the trace's jobs have in all.
func (in *input) size() int64 {
	var sum int64
	for _, file := range in.files[:len(in.Trace.files())] {
		sum += file.size()
	}
	return sum
}

// guessedJobs estimates the number of jobs, and adds 1. A job takes about 10 bytes of a packed file
// and 40 of a plain one.
func (t *task) guessedJobs() int64 {
	in, perJob := t.home.input, int64(40)
	if len(in.files) > 0 && slices.Contains([]string{".gz", ".xz", ".zst"}, filepath.Ext(in.files[0].path)) {
		perJob = 10
	}
	n := t.size / perJob
	if in.Generate != nil {
		n = int64(in.Generate.Jobs)
	}
	if limit := int64(in.jobs); limit > 0 {
		n = min(n, limit)
	}
	return n + 1
}

// cost estimates how long a cell takes, in an arbitrary unit.
func (t *task) cost() float64 {
	weight := 2.0
	switch t.home.key.Policy { // as measured on several traces
	case "fcfs", "easy", "first-fit", "firstfit":
		weight = 1
	case "conservative", "bb", "ibb":
		weight = 3
	case "pc":
		weight = 5
	}
	return weight * float64(t.guessedJobs()) * t.home.key.Load
}

// need estimates how much memory a cell takes, in bytes.
func (t *task) need() int64 {
	const base, perJob, copies = 32 << 20, 1200, 256 << 20 // with the garbage
	need := base + perJob*t.guessedJobs()
	if t.copies {
		need += copies
	}
	return need
}

// room is the memory, in bytes, that running tasks share.
type room struct {
	mu         sync.Mutex
	freed      *sync.Cond
	size, used int64
}

func newRoom(size int64) *room {
	r := &room{size: size}
	r.freed = sync.NewCond(&r.mu)
	return r
}

// enter waits until so much memory is free or no other task is running, and takes it.
func (r *room) enter(need int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.used > 0 && r.used+need > r.size {
		r.freed.Wait()
	}
	r.used += need
}

func (r *room) leave(need int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.used -= need
	r.freed.Broadcast()
}
