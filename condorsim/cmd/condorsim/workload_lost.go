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

// dropFlags say what may be lost where job ads become a trace.
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
		f.ProcsField == "allocated" && f.Overrun == "raise" && f.Dependencies == "honour"
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
	if in.Format != formats.Ads && in.Format != formats.Record && len(f.Drop) > 0 {
		return nil, errors.New("--drop says what job ads may lose; the workload holds none")
	}
	if x.Memory == "" {
		opts = keepingMemory(opts, in.Format, out.format)
	}
	jobs, err := p.readFrom(in, f.withAds(opts))
	if err != nil {
		return nil, err
	}
	if err = f.check(jobs, out.format); err != nil {
		return nil, err
	}
	changed, err := x.of(p, jobs.Trace)
	if err != nil {
		return nil, err
	}
	return withoutAnyMemory(changed), nil
}

// anyMemory is more than jobs have.
const anyMemory = 1_000_000_000_000 // MiB

// check returns an error that names what would be lost of jobs if their trace were written in the format,
// and may not be.
func (f dropFlags) check(jobs *formats.Jobs, target *formats.Format) error {
	var name string
	switch {
	case jobs.History != nil:
		name = jobs.History.Name
	case jobs.Recorded != nil:
		name = jobs.Recorded.Name
	default:
		return nil
	}
	var lost []string
	drop := map[string]bool{}
	say := func(what, kind string) {
		if !slices.Contains(f.Drop, kind) {
			lost, drop[kind] = append(lost, what), true
		}
	}
	if jobs.History != nil {
		lostOfAds(jobs, say)
	} else {
		lostOfRecord(jobs.Recorded, say)
	}
	if lost == nil {
		return nil
	}
	var flag []string
	for _, kind := range []string{"resources", "requirements"} {
		if drop[kind] || slices.Contains(f.Drop, kind) {
			flag = append(flag, kind)
		}
	}
	return fmt.Errorf("%s: its jobs ask for what %s has no place for: %s; --drop %s has it left out, and condorsim "+
		"run reads the ads as they are", formats.Shown(name), target.Holds, strings.Join(lost, ", "),
		strings.Join(flag, ","))
}

// lostOfAds says what job ads ask for that their trace does not have.
func lostOfAds(jobs *formats.Jobs, say func(what, kind string)) {
	asked := slices.ContainsFunc(jobs.History.Jobs, func(j history.Job) bool { return j.Memory > 0 })
	if asked && !slices.ContainsFunc(jobs.Jobs, func(j workload.Job) bool { return j.Memory > 0 }) {
		say("memory (unless --memory gives that of the machine)", "resources")
	}
	for _, what := range jobs.History.Beyond {
		if slices.Contains(history.Attributes(), what) {
			say(what, "requirements")
		} else {
			say(what, "resources")
		}
	}
}

// lostOfRecord says what a record has that its trace has not.
func lostOfRecord(r *recorded.Record, say func(what, kind string)) {
	say("the slots, what the ads of jobs and slots require of each other, and which jobs were held or removed", "requirements")
	schema := r.Description.Schema
	for k, resource := range schema.Resources {
		if k == 0 || negotiator.IsCount(resource) || negotiator.IsKind(resource) || resource == "memory" {
			continue
		}
		if slices.ContainsFunc(r.Jobs, func(j recorded.Job) bool {
			chunk, err := schema.Request(j.Ad, j.Nodes)
			return err == nil && chunk[k] > 0
		}) {
			say(resource, "resources")
		}
	}
}

// keepingMemory has job ads that become lines of SWF read with their memory, also for a machine that has
// none.
func keepingMemory(opts workload.Options, in, target *formats.Format) workload.Options {
	if in == formats.Ads && target == formats.SWF && opts.Memory == 0 {
		opts.Memory = anyMemory
	}
	return opts
}

// withoutAnyMemory takes the machine's memory away that keepingMemory gave it.
func withoutAnyMemory(t *workload.Trace) *workload.Trace {
	if t.Machine.Memory == anyMemory {
		t.Machine.Memory = 0
	}
	return t
}
