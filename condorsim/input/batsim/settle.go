package batsim

import (
	"fmt"
	"maps"
	"math"
	"strconv"
	"strings"

	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
)

// maxNumber bounds the numbers of a file, so that sums cannot overflow.
const maxNumber = 1e12

// trace makes a trace of the file.
func (f *file) trace(name string, o workload.Options) (*workload.Trace, error) {
	if o.CPUs == 0 {
		if o.CPUs = f.resources; o.CPUs < 1 || o.CPUs > maxNumber {
			return nil, &workload.Error{
				File: name, Problem: "nb_res, the number of machines, is missing, or not from 1 to 1e12",
				Hint: "give the machine's processors with --cpus",
			}
		}
	}
	if o.Memory == 0 {
		o.Memory = f.machine.Memory
	}
	if o.GPUs == 0 {
		o.GPUs = f.machine.GPUs
	}
	numbers, numbered, err := f.numbers()
	if err != nil {
		return nil, &workload.Error{File: name, Problem: err.Error(), Hint: "give each job a name of its own"}
	}
	counted := workload.Cleaning{JobsRead: len(f.jobs)}
	var jobs []workload.Job
	scavengers := map[int64]bool{}
	last := int64(math.MinInt64)
	for i := range f.jobs {
		settled, problem := f.jobs[i].settle(f.profiles)
		if problem != "" {
			return nil, &workload.Error{
				File: name, Problem: fmt.Sprintf("jobs[%d] (id %s): %s", i, f.jobs[i].name(), problem), Hint: hint,
			}
		}
		if settled.job.Procs == 0 {
			counted.NoProcessors++
			continue
		}
		settled.job.ID = numbers[i]
		if settled.scavenger {
			scavengers[settled.job.ID] = true
		}
		if o.Dependencies == workload.DependenciesIgnore || !numbered { // else others have the numbers that are meant
			settled.job.After = nil
		}
		if settled.job.Submit < last {
			counted.OutOfOrder++
		}
		last = settled.job.Submit
		jobs = append(jobs, settled.job)
	}
	t, err := workload.Collect(name, jobs, counted, o)
	if err != nil {
		return nil, err
	}
	t.Name = strings.TrimSuffix(strings.TrimSuffix(t.Name, ".json"), ".batsim")
	t.Filled = f.machine.Filled
	if len(scavengers) > 0 {
		t.Scavengers = scavengers
	}
	maps.Copy(t.Header, f.machine.Header)
	if !numbered {
		t.Warnings = append(t.Warnings, "the names of jobs are no numbers: the jobs are numbered from 1, as they are in the file")
	}
	return t, nil
}

// numbers returns the numbers of the jobs: their names, if all of these are whole numbers. It is an error if two
// jobs have the same name.
func (f *file) numbers() (all []int64, named bool, err error) {
	seen := make(map[string]bool, len(f.jobs))
	named = true
	for i := range f.jobs {
		name := f.jobs[i].name()
		if seen[name] {
			return nil, false, fmt.Errorf("jobs[%d] (id %s): a job above has this id", i, name)
		}
		seen[name] = true
		number, err := strconv.ParseInt(name, 10, 64)
		named = named && err == nil && 0 <= number && number <= maxNumber && strconv.FormatInt(number, 10) == name
		all = append(all, number)
	}
	if !named {
		for i := range all {
			all[i] = int64(i) + 1
		}
	}
	return all, named, nil
}

// settled is a job of a trace, and whether it is a scavenger.
type settled struct {
	job       workload.Job
	scavenger bool
}

// settle makes a job of a trace. The estimate is 0 if it is unknown. The second value is what is wrong.
func (j *job) settle(profiles map[string]profile) (s settled, problem string) {
	p, known := profiles[j.Profile]
	switch {
	case !known:
		return s, fmt.Sprintf("profile: %q is not among the profiles", j.Profile)
	case !p.delays():
		return s, fmt.Sprintf("its profile %q is of the type %q: only the type delay says how long a job runs", j.Profile, p.Type)
	case p.Delay == nil:
		return s, fmt.Sprintf("its profile %q has no delay", j.Profile)
	case j.Submit == nil:
		return s, "subtime is missing"
	case j.Res == nil:
		return s, "res is missing"
	}
	walltime := -1.0
	if j.Walltime != nil {
		walltime = *j.Walltime
	}
	for _, c := range []struct {
		key        string
		value, min float64
	}{
		{"subtime", *j.Submit, 0},
		{"res", *j.Res, 0},
		{"walltime", walltime, -maxNumber},
		{"delay", *p.Delay, 0},
	} {
		if !(c.min <= c.value && c.value <= maxNumber) {
			return s, fmt.Sprintf("%s: %v: must be from %v to 1e12", c.key, c.value, c.min)
		}
	}
	if *j.Res != math.Trunc(*j.Res) {
		return s, fmt.Sprintf("res: %v: must be a whole number", *j.Res)
	}
	x := j.extras()
	if problem = x.problem(); problem != "" {
		return s, "extra_data: " + problem
	}
	s.job = workload.Job{
		Submit: int64(math.Floor(*j.Submit)), Run: int64(math.Ceil(*p.Delay)), Procs: int64(*j.Res),
		Estimate: int64(math.Ceil(max(walltime, 0))), Memory: x.Memory, GPUs: x.GPUs, Release: x.Release,
		User: x.User, Group: x.Group, Executable: x.Executable, Queue: x.Queue, WrongStart: x.WrongStart,
	}
	if x.Run != nil {
		s.job.Run = *x.Run
	}
	if x.Stated > 0 {
		s.job.Estimate = x.Stated
	}
	if x.Wait != nil {
		s.job.Wait, s.job.Waited, s.job.HasWaited = *x.Wait, *x.Wait, true
	}
	if x.After != nil {
		s.job.After = &workload.Preceding{ID: *x.After, Think: -1}
		if x.Think != nil {
			s.job.After.Think = *x.Think
		}
	}
	s.scavenger = x.Scavenger
	return s, ""
}

// problem returns which amount is out of bounds.
func (x *extra) problem() string {
	value := func(number *int64) int64 {
		if number == nil {
			return 0
		}
		return *number
	}
	for _, c := range []struct {
		key        string
		value, min int64
	}{
		{"memory", x.Memory, 0},
		{"gpus", x.GPUs, 0},
		{"run", value(x.Run), 0},
		{"stated", x.Stated, 0},
		{"wait", value(x.Wait), 0},
		{"release", x.Release, 0},
		{"think", value(x.Think), -1},
	} {
		if c.value < c.min || c.value > maxNumber {
			return fmt.Sprintf("%s: %d: must be from %d to 1e12", c.key, c.value, c.min)
		}
	}
	return ""
}
