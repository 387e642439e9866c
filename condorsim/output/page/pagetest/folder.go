// Package pagetest helps to test pages: folders of results made by real simulations of made-up
// workloads ([Folder]).
package pagetest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/condorsim/output/metrics"
	"github.com/condor-backfill/condor-backfill/condorsim/output/results"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// Trace makes up n jobs for a machine, the same for the same seed.
func Trace(name string, n int, cpus int64, seed uint64) *workload.Trace {
	random := rand.New(rand.NewPCG(seed, 1))
	t := &workload.Trace{
		Name: name, Machine: workload.Machine{Processors: cpus},
		Header: map[string]string{"UnixStartTime": "1000000000"},
	}
	var now int64
	for i := range n {
		now += int64(random.ExpFloat64() * 400)
		run := int64(random.ExpFloat64()*random.ExpFloat64()*4000) * int64(random.IntN(10)) / 5
		t.Jobs = append(t.Jobs, workload.Job{
			ID: int64(i + 1), Submit: now, Run: run, Estimate: max(1, run*int64(1+random.IntN(4))),
			Procs: 1 + int64(float64(cpus-1)*random.Float64()*random.Float64()*random.Float64()),
			User:  fmt.Sprint("user", random.IntN(12)),
		})
	}
	t.Cleaning.JobsRead, t.Cleaning.JobsLeft = n, n
	return t
}

// Simulate runs a trace under a scheduler such as easy or pc-sjf.
func Simulate(trace *workload.Trace, scheduler string) (*condorsim.Result, error) {
	w, err := condorsim.FromTrace(trace, nil)
	if err != nil {
		return nil, err
	}
	return Run(w, scheduler)
}

// Run runs a workload under a scheduler.
func Run(w *condorsim.Workload, scheduler string) (*condorsim.Result, error) {
	policy, order, _ := strings.Cut(scheduler, "-")
	spec, err := policies.Named(policy)
	if err != nil {
		return nil, err
	}
	var c negotiator.Config
	if c.Policy, err = backfill.Link(spec, nil); err != nil {
		return nil, err
	}
	if c.Fallback, err = backfill.Link(policies.FallbackFor(spec), nil); err != nil {
		return nil, err
	}
	if c.Order, err = negotiator.OrderNamed(cmp.Or(order, "fcfs")); err != nil {
		return nil, err
	}
	return condorsim.Run(context.Background(), w, c, nil)
}

// Matrix says what a folder holds: every scheduler on every trace, with every load.
type Matrix struct {
	Traces     []*workload.Trace
	Schedulers []string
	Loads      []float64 // nil: 1
	Baseline   string
	// Quantiles is how many quantiles of waits the series of a cell have, Bins how many bins of
	// time.
	Quantiles, Bins int
}

// Folder simulates all cells of the matrix and writes them to a folder.
func Folder(dir string, m Matrix) error {
	manifest := results.Manifest{
		Format: results.Format,
		Name:   "made-up", Title: "Schedulers on made-up workloads",
		Description: "Small workloads <made up> & simulated.",
		Baseline:    m.Baseline, Version: "v0.0.0", Command: "condorsim sweep made-up.yaml --out results",
		File: "name: made-up\nloads: [1] # <as they are>\n",
	}
	if err := os.MkdirAll(filepath.Join(dir, "cells"), 0o755); err != nil { //nolint:gosec // for tests
		return err
	}
	if m.Loads == nil {
		m.Loads = []float64{1}
	}
	for _, t := range m.Traces {
		manifest.Traces = append(manifest.Traces,
			results.TraceFile{Name: t.Name, File: t.Name + ".swf", SHA256: strings.Repeat("0123456789abcdef", 4)})
		for _, load := range m.Loads {
			for _, s := range m.Schedulers {
				policy, order, _ := strings.Cut(s, "-")
				key := results.Key{
					ID: fmt.Sprintf("%s-%s-%g", t.Name, s, load), Trace: t.Name, Scheduler: s, Policy: policy,
					Order: cmp.Or(order, "fcfs"), Load: load, EstimateModel: "given", Seed: 1,
				}
				manifest.Cells = append(manifest.Cells, key)
				if err := m.cell(dir, key, t); err != nil {
					return err
				}
			}
		}
	}
	return write(filepath.Join(dir, "sweep.json"), manifest)
}

func (m Matrix) cell(dir string, key results.Key, t *workload.Trace) error {
	loaded := *t
	loaded.Jobs = slices.Clone(t.Jobs)
	for i := range loaded.Jobs {
		loaded.Jobs[i].Submit = int64(float64(t.Jobs[i].Submit) / key.Load)
	}
	r, err := Simulate(&loaded, key.Scheduler)
	if err != nil {
		return err
	}
	cell := results.Cell{
		Key: key, Jobs: len(t.Jobs), Machine: results.Machine{Slots: 1, Cpus: t.Machine.Processors},
		Cleaning: t.Cleaning,
		Metrics:  map[string]float64{"reserved_idle": r.ReservedIdle, "cycles": float64(r.Cycles)}, Series: m.series(r),
	}
	maps.Insert(cell.Metrics, r.Metrics().All())
	return write(results.CellPath(dir, key.ID), cell)
}

func write(path string, v any) error {
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}

// series computes, in a simple way, the series that sweeps store.
func (m Matrix) series(r *condorsim.Result) metrics.Series {
	jobs, cpus := r.Ran(), float64(r.Workload.Capacity()[0])
	var waits []float64
	begin, last := jobs[0].Submit, int64(0)
	for _, j := range jobs {
		waits = append(waits, float64(j.Start-j.Submit))
		last = max(last, j.Start+j.Run)
	}
	slices.Sort(waits)
	s := metrics.Series{
		Begin: begin, Step: (last-begin)/int64(m.Bins) + 1, Utilisation: make([]float64, m.Bins),
		Queue: make([]float64, m.Bins), QueueMax: make([]float64, m.Bins),
	}
	for i := range m.Quantiles {
		s.WaitQuantiles = append(s.WaitQuantiles, waits[(i+1)*len(waits)/m.Quantiles-1])
	}
	spread := func(bins []float64, from, to int64, weight float64) {
		for i := (from - begin) / s.Step; i < int64(m.Bins) && begin+i*s.Step < to; i++ {
			bins[i] += weight * float64(min(to, begin+(i+1)*s.Step)-max(from, begin+i*s.Step)) / float64(s.Step)
		}
	}
	for _, j := range jobs {
		spread(s.Utilisation, j.Start, j.Start+j.Run, float64(j.Procs)/cpus)
		spread(s.Queue, j.Submit, j.Start, 1)
		i := (j.Submit - begin) / s.Step
		s.QueueMax[i] = max(s.QueueMax[i], waiting(jobs, j.Submit))
	}
	for i := range s.QueueMax {
		s.QueueMax[i] = max(s.QueueMax[i], waiting(jobs, begin+int64(i)*s.Step))
	}
	s.Categories = categories(jobs)
	return s
}

// waiting returns how many jobs wait at an instant.
func waiting(jobs []metrics.Job, at int64) (n float64) {
	for _, j := range jobs {
		if j.Submit <= at && at < j.Start {
			n++
		}
	}
	return n
}

func categories(jobs []metrics.Job) []metrics.Category {
	widths, lengths := []string{"1", "2-4", "5-8", "9-16", "17-32", ">32"}, []string{"<10m", "10m-1h", "1h-4h", ">4h"}
	type sum struct{ n, wait, slowdown float64 }
	sums := map[[2]int]sum{}
	for _, j := range jobs {
		at := [2]int{below(j.Procs, 1, 4, 8, 16, 32), below(j.Run, 600, 3600, 14400)}
		s, wait := sums[at], float64(j.Start-j.Submit)
		sums[at] = sum{s.n + 1, s.wait + wait, s.slowdown + max(1, (wait+float64(j.Run))/float64(max(j.Run, 10)))}
	}
	var all []metrics.Category
	for w, width := range widths {
		for l, length := range lengths {
			if s, ok := sums[[2]int{w, l}]; ok {
				all = append(all, metrics.Category{
					Width: width, Length: length, Jobs: int(s.n), MeanWait: s.wait / s.n,
					MeanBoundedSlowdown: s.slowdown / s.n,
				})
			}
		}
	}
	return all
}

// below returns how many of the bounds a value exceeds.
func below(v int64, bounds ...int64) int {
	n := 0
	for _, b := range bounds {
		if v > b {
			n++
		}
	}
	return n
}
