package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/condorsim/input/formats"
	"github.com/condor-backfill/condor-backfill/condorsim/input/history"
	"github.com/condor-backfill/condor-backfill/condorsim/input/recorded"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// dropFlags say what may be lost where jobs are written in another format.
type dropFlags struct {
	Drop []string `group:"Workload" enum:"resources,requirements" placeholder:"WHAT" help:"${drop}"`
}

// rewriteFlags say how to read a trace that is to be written again.
type rewriteFlags struct {
	traceFlags
	machineFlags
	dropFlags
}

// isZero reports whether no flag asks for anything.
func (f rewriteFlags) isZero() bool {
	return f.machineFlags == machineFlags{} && len(f.Drop)+len(f.EstimateAttr) == 0 && f.Clean == "papers" &&
		f.ProcsField == "allocated" && f.Overrun == "raise" && f.Dependencies == "honour" && f.Zone == ""
}

// rewritten reads a trace to be written again, with its lines, and changes it.
func (f rewriteFlags) rewritten(p *process, file string, x change, out *outFile) (*workload.Trace, error) {
	if x.Estimates.Lies() {
		return nil, workload.ErrLies
	}
	in, err := p.openJobs(file)
	if err != nil {
		return nil, err
	}
	defer in.close()
	return f.read(p, file, in, x, out)
}

// read reads a trace from an open file.
func (f rewriteFlags) read(p *process, file string, in *jobsFile, x change, out *outFile) (*workload.Trace, error) {
	opts := f.options(f.machineFlags, string(x.Memory))
	opts.KeepRecorded = true
	if err := errors.Join(opts.Validate(), x.Validate()); err != nil {
		return nil, err
	}
	if err := f.suits(in.Format, f.machineFlags, file); err != nil {
		return nil, err
	}
	if in.Format == formats.SWF && len(f.Drop) > 0 {
		return nil, errors.New("--drop says what may be lost of jobs in other formats; nothing is of SWF")
	}
	opts.KeepRequests = x.Memory == "" && out.format != formats.Instance && (in.Format != formats.SWF || out.format != formats.SWF)
	jobs, err := p.readFrom(in, f.withAds(opts))
	if err != nil {
		return nil, err
	}
	if err = f.check(jobs, formats.Shown(file), out.format); err != nil {
		return nil, err
	}
	if n := jobs.Cleaning.HeldBefore; n > 0 {
		out.also = append(out.also, workload.Change{What: "held before they could run, submitted when they could", Lines: n})
	}
	trace, err := x.of(p, jobs.Trace) // which reads times as the record has them
	if err == nil && jobs.Recorded != nil {
		recorded.Date(trace)
	}
	return trace, err
}

// check returns an error that names what would be lost of jobs if their trace were written in the format,
// and may not be.
func (f dropFlags) check(jobs *formats.Jobs, file string, target *formats.Format) error {
	var names, flag []string
	kinds := map[string]bool{}
	for _, l := range slices.Concat(lostOfAds(jobs), lostOfRecord(jobs.Recorded), lostInSWF(jobs, target)) {
		if !slices.Contains(f.Drop, l.kind) {
			names, kinds[l.kind] = append(names, l.what), true
		}
	}
	if names == nil {
		return nil
	}
	for _, kind := range []string{ofResources, ofRequirements} {
		if kinds[kind] || slices.Contains(f.Drop, kind) {
			flag = append(flag, kind)
		}
	}
	return fmt.Errorf("%s: its jobs ask for what %s has no place for: %s; --drop %s has it left out, and condorsim "+
		"run reads the file as it is", file, target.Holds, strings.Join(names, ", "), strings.Join(flag, ","))
}

// loss is what is lost of jobs in another format, and the kind of it that --drop names.
type loss struct{ what, kind string }

// The kinds of what is lost.
const (
	ofResources    = "resources"
	ofRequirements = "requirements"
)

// lostOfAds lists what a trace does not have of job ads.
func lostOfAds(jobs *formats.Jobs) (lost []loss) {
	h := jobs.History
	if h == nil {
		return nil
	}
	asked := slices.ContainsFunc(h.Jobs, func(j history.Job) bool { return j.Memory > 0 })
	if asked && !slices.ContainsFunc(jobs.Jobs, func(j workload.Job) bool { return j.Memory > 0 }) {
		lost = append(lost, loss{"memory (unless --memory gives that of the machine)", ofResources})
	}
	gpus := slices.ContainsFunc(jobs.Jobs, func(j workload.Job) bool { return j.GPUs > 0 })
	for _, what := range h.Beyond {
		switch {
		case what == "gpus" && gpus: // the trace has them
		case slices.Contains(history.Attributes(), what):
			lost = append(lost, loss{what, ofRequirements})
		default:
			lost = append(lost, loss{what, ofResources})
		}
	}
	return lost
}

// lostOfRecord lists what a trace does not have of a record.
func lostOfRecord(r *recorded.Record) (lost []loss) {
	if r == nil {
		return nil
	}
	lost = []loss{{
		"the slots, what the ads of jobs and slots require of each other, and which jobs were held or removed", ofRequirements,
	}}
	schema := r.Description.Schema
	for k, resource := range schema.Resources {
		if k == 0 || negotiator.IsCount(resource) || negotiator.IsKind(resource) || resource == "memory" {
			continue
		}
		if slices.ContainsFunc(r.Jobs, func(j recorded.Job) bool {
			chunk, err := schema.Request(j.Ad, j.Nodes)
			return err == nil && chunk[k] > 0
		}) {
			lost = append(lost, loss{resource, ofResources})
		}
	}
	return lost
}

// lostInSWF lists what SWF cannot say of a trace; nothing of it is lost in other formats.
func lostInSWF(jobs *formats.Jobs, target *formats.Format) (lost []loss) {
	if target != formats.SWF {
		return nil
	}
	for _, c := range []struct {
		asks func(workload.Job) bool
		loss
	}{
		{
			func(j workload.Job) bool { return j.GPUs > 0 && jobs.Machine.GPUs == 0 },
			loss{"gpus (unless --gpus gives those of the machine)", ofResources},
		},
		{func(j workload.Job) bool { return j.Release > 0 }, loss{"earliest starts", ofRequirements}},
		{func(j workload.Job) bool { return jobs.Scavengers[j.ID] }, loss{"scavengers", ofRequirements}},
	} {
		if slices.ContainsFunc(jobs.Jobs, c.asks) {
			lost = append(lost, c.loss)
		}
	}
	return lost
}
