package settle

import (
	"cmp"
	"path/filepath"
	"slices"

	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/negotiator/packed"
)

// File is what a reader found in a file besides the records.
type File struct {
	Name  string // as given
	Lines int
	// UsedFirst says that memory used counts before memory requested, unless the options say otherwise.
	UsedFirst bool
	// Processors are those of the machine as the file says; 0: it does not.
	Processors int64
	// InOrder says that of jobs submitted at one time the one whose line comes first is first, whatever its
	// number.
	InOrder bool
	// Dated says that times are Unix times.
	Dated    bool
	Warnings []string
	// Nothing is what to do if the file has no job.
	Nothing string
}

// settler makes a trace of records.
type settler struct {
	file  File
	opts  workload.Options
	count workload.Cleaning
	drops []workload.Drop
	jobs  []workload.Job
	own   bool // jobs keep their numbers
}

// Trace makes a trace of the records, which are in any order. Times count from the first submission if
// they are Unix times. Jobs keep the numbers of the file if no two have the same; else they are numbered
// from 1 by submit time, number and part, or place in the file. If neither the options nor the file say how many processors
// the machine has, it has as many as jobs ever used at one time, and at least those of the widest job.
//
// The rules by which jobs are dropped, and their order, are those of [workload.ReadSWF], and for jobs
// whose end the file does not say, those of job ads: without cleaning, one in a queue runs for as long
// as it asked for, and one that was removed for as long as it ran.
func Trace(file File, records []Record, opts workload.Options) (*workload.Trace, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	if len(records) == 0 {
		return nil, &workload.Error{File: file.Name, Problem: "there is no job in it", Hint: file.Nothing}
	}
	s := &settler{file: file, opts: opts}
	s.count.Lines, s.count.JobsRead = file.Lines, len(records)
	slices.SortStableFunc(records, func(a, b Record) int {
		if first := cmp.Compare(a.Submit, b.Submit); first != 0 || file.InOrder {
			return first
		}
		return cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.Part, b.Part), cmp.Compare(a.Line, b.Line))
	})
	s.own = unique(records)
	begin := s.begin(records)
	statuses := map[int64]int{}
	for i := range records {
		r := &records[i]
		statuses[int64(r.Status)]++
		if !s.own {
			r.Number = int64(i) + 1
		}
		if r.Submit >= 0 {
			r.Submit -= begin
		}
		if r.Start >= 0 {
			r.Start -= begin
		}
		s.add(r)
	}
	return s.finish(records, begin, statuses)
}

// finish makes the trace of the jobs that are kept.
func (s *settler) finish(records []Record, begin int64, statuses map[int64]int) (*workload.Trace, error) {
	opts := s.opts
	if opts.CPUs == 0 {
		opts.CPUs = cmp.Or(s.file.Processors, s.mostInUse(records))
	}
	t, err := workload.Collect(s.file.Name, s.jobs, s.count, opts)
	if err != nil {
		return nil, err
	}
	if s.file.Dated {
		t.Header.StartAt(begin)
	}
	_, name := packed.ByName(filepath.Base(s.file.Name))
	for _, end := range []string{".gwf", ".log", ".txt"} {
		if len(name) > len(end) && name[len(name)-len(end):] == end {
			name = name[:len(name)-len(end)]
		}
	}
	t.Name, t.Statuses = name, statuses
	t.Warnings = append(slices.Clone(s.file.Warnings), t.Warnings...)
	if s.own {
		t.Drops = append(s.drops, t.Drops...)
	} else {
		t.Drops = nil // the numbers are not those of the file
	}
	return t, nil
}

// unique reports whether no two records have the same number, and each has one.
func unique(records []Record) bool {
	seen := make(map[int64]bool, len(records))
	for i := range records {
		n := records[i].Number
		if n < 0 || seen[n] {
			return false
		}
		seen[n] = true
	}
	return true
}

// begin returns the time that becomes second 0: the first submission, if times have dates.
func (s *settler) begin(records []Record) int64 {
	if !s.file.Dated {
		return 0
	}
	for i := range records { // by submit time
		if records[i].Submit >= 0 {
			return records[i].Submit
		}
	}
	return 0
}

// drop counts a record that is dropped.
func (s *settler) drop(count *int, r *Record, why string) {
	*count++
	s.drops = append(s.drops, workload.Drop{ID: r.Number, Why: why})
}

// rule reports whether the options ask for a rule by which jobs are dropped.
func (s *settler) rule(rule workload.Clean) bool {
	return slices.Contains([]workload.Clean{rule, workload.CleanPapers, ""}, s.opts.Clean)
}

// add adds the job of a record, or counts why it is dropped.
func (s *settler) add(r *Record) {
	count, procs := &s.count, r.Processors(s.opts.ProcsField)
	run := r.Run
	switch {
	case r.End == Unfinished && s.rule(workload.CleanPartial):
		count.Unfinished++
		return
	case r.End == Removed && s.rule(workload.CleanCancelled):
		count.Removed++
		return
	case s.rule(workload.CleanPartial) && r.Status.partial():
		s.drop(&count.Partial, r, workload.WhyPartial)
		return
	case s.rule(workload.CleanCancelled) && r.Status == Cancelled && run <= 0:
		s.drop(&count.Cancelled, r, workload.WhyCancelled)
		return
	}
	assumed := r.End == Unfinished && run < 0 && r.Estimate > 0
	if assumed {
		run = r.Estimate
	}
	switch {
	case run < 0:
		s.drop(&count.NegativeRun, r, workload.WhyNegativeRun)
		return
	case s.opts.Clean == workload.CleanStrong && run == 0:
		s.drop(&count.NoRun, r, workload.WhyNoRun)
		return
	case s.opts.Clean == workload.CleanStrong && r.Estimate <= 0:
		s.drop(&count.NoRequest, r, workload.WhyNoRequest)
		return
	case procs <= 0:
		s.drop(&count.NoProcessors, r, workload.WhyNoProcessors)
		return
	case r.Submit < 0:
		s.drop(&count.NoSubmit, r, workload.WhyNoSubmit)
		return
	}
	if assumed {
		count.RunAssumed++
	}
	usedFirst := s.file.UsedFirst && s.opts.MemoryModel != workload.MemoryRequested ||
		s.opts.MemoryModel == workload.MemoryUsed
	j := workload.Job{
		ID: r.Number, Submit: r.Submit, Held: r.Held, Run: run, Estimate: max(r.Estimate, 0), Procs: procs,
		Memory: r.memory(usedFirst), GPUs: max(r.GPUs, 0),
		User: r.User, Group: r.Group, Executable: r.Executable, Queue: r.Queue,
	}
	if r.Start >= 0 && (r.Status != Cancelled || run > 0) {
		j.Wait = max(0, r.Start-r.Submit)
		j.Waited, j.HasWaited, j.WrongStart = j.Wait, r.Start >= r.Submit, r.Start < r.Submit
	}
	s.jobs = append(s.jobs, j)
}

// mostInUse returns the most processors that the jobs which ran used at one time, and at least those of
// the widest one that is kept.
func (s *settler) mostInUse(records []Record) int64 {
	most, together := int64(1), workload.Peak{}
	for i := range s.jobs {
		most = max(most, s.jobs[i].Procs)
	}
	for i := range records {
		if r := &records[i]; r.Start >= 0 && r.Run > 0 {
			together.Add(r.Start, r.Run, r.Processors(""))
		}
	}
	return max(most, together.Most())
}
