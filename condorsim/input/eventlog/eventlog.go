package eventlog

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"iter"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/condorsim/input/history"
)

// Log is what a log holds.
type Log struct {
	*history.History
	// Warnings are what the log does not say of many jobs, beside those of the history.
	Warnings []string
}

// id is the number of a job.
type id struct{ cluster, proc int64 }

// patience is for how many seconds behind its end more may be said of a job: an event and the 028 that repeats it are
// written one after the other, and those of other jobs may come between.
const patience = 60

// end says how a job ended, and when.
type end struct {
	job        *job
	status, at int64
}

// reader reads a log.
type reader struct {
	name  string
	lines int
	clock clock
	jobs  map[id]*job // that did not end yet
	held  map[[3]int64]bool
	ended []end       // in the order of the log; more may be said of these jobs
	late  map[id]*job // the last of each number in ended

	read, unsubmitted, cpuless, ownerless int // jobs
}

// Read reads an event log in any of its forms, decompressed already. A job that was held before it ran
// arrives when it was released; of one that ran several times the last run counts; one whose submission
// is in no event is left out. Dates are in the zone; nil: UTC. Those without a year are of no year in
// particular, and the history does not begin at a Unix time then. It is an error if the text is no log, or
// has no job.
func Read(text io.Reader, name string, zone *time.Location, o history.Options) (*Log, error) {
	if zone == nil {
		zone = time.UTC
	}
	r := &reader{name: name, clock: clock{zone: zone}, jobs: map[id]*job{}, held: map[[3]int64]bool{}, late: map[id]*job{}}
	h, err := history.FromAds(r.adsOf(text), name, o)
	if err != nil {
		return nil, err
	}
	h.Cleaning.Lines = r.lines
	h.Cleaning.JobsRead += r.unsubmitted
	h.Cleaning.NoSubmit += r.unsubmitted
	for i := range h.Jobs {
		j := &h.Jobs[i]
		if r.held[[3]int64{j.Place.Cluster, j.Place.Proc, j.Submit + h.Start}] {
			h.Cleaning.HeldBefore++
		}
	}
	if r.clock.yearless {
		h.Start = 0
	}
	return &Log{h, r.warnings()}, nil
}

// adsOf iterates over the ads of the jobs, as they end.
func (r *reader) adsOf(text io.Reader) iter.Seq2[*classad.ClassAd, error] {
	return func(yield func(*classad.ClassAd, error) bool) {
		buffered := bufio.NewReader(text)
		events := r.classic(buffered)
		if isAds(buffered) {
			events = r.ads(buffered)
		}
		for e, err := range events {
			if err != nil {
				yield(nil, err)
				return
			}
			if e.proc < 0 || e.cluster < 0 { // of a cluster as a whole, or of DAGMan
				continue
			}
			if !r.event(e, yield) {
				return
			}
		}
		if !r.flush(math.MaxInt64, yield) {
			return
		}
		for _, key := range slices.SortedFunc(maps.Keys(r.jobs), func(a, b id) int {
			return cmp.Or(cmp.Compare(a.cluster, b.cluster), cmp.Compare(a.proc, b.proc))
		}) {
			j := r.jobs[key]
			if !r.emit(j, j.waiting(), -1, yield) {
				return
			}
		}
	}
}

// isAds reports whether a log is of ads: no event of the classic form begins with anything but a digit.
func isAds(text *bufio.Reader) bool {
	for n := 1; ; n++ {
		head, err := text.Peek(n)
		if err != nil {
			return false
		}
		switch c := head[n-1]; {
		case c == '#': // a comment, to the end of its line
			for c != '\n' {
				n++
				if head, err = text.Peek(n); err != nil {
					return false
				}
				c = head[n-1]
			}
		case c != ' ' && c != '\t' && c != '\r' && c != '\n':
			return c < '0' || c > '9'
		}
	}
}

// event does what an event says, and yields the ads of jobs of which no more will be said.
func (r *reader) event(e event, yield func(*classad.ClassAd, error) bool) bool {
	key := id{e.cluster, e.proc}
	j, before := r.jobs[key], r.late[key]
	if j == nil && before != nil && e.kind == adInformation {
		before.follow(e)
		return true
	}
	until := e.at - patience
	if before != nil && e.kind == submits { // the schedd began again with its numbers
		until = math.MaxInt64
	}
	if !r.flush(until, yield) {
		return false
	}
	if e.kind == submits {
		if j != nil && !r.emit(j, j.waiting(), -1, yield) { // the schedd began again with its numbers
			return false
		}
		j = &job{cluster: e.cluster, proc: e.proc, arrived: e.at}
		r.jobs[key] = j
	}
	if j == nil {
		switch e.kind {
		case executes, nodeExecutes, terminated, aborted, held, released:
			j = &job{cluster: e.cluster, proc: e.proc, arrived: -1}
			r.jobs[key] = j
		default:
			return true
		}
	}
	if status := j.follow(e); status != 0 {
		delete(r.jobs, key)
		r.ended, r.late[key] = append(r.ended, end{j, status, e.at}), j
	}
	return true
}

// flush yields the ads of the jobs that ended before an instant, as long as the first one did.
func (r *reader) flush(until int64, yield func(*classad.ClassAd, error) bool) bool {
	for len(r.ended) > 0 && r.ended[0].at < until {
		first := r.ended[0]
		r.ended = r.ended[1:]
		if key := (id{first.job.cluster, first.job.proc}); r.late[key] == first.job {
			delete(r.late, key)
		}
		if !r.emit(first.job, first.status, first.at, yield) {
			return false
		}
	}
	return true
}

// emit yields the ad of a job, unless nothing says when it was submitted.
func (r *reader) emit(j *job, status, at int64, yield func(*classad.ClassAd, error) bool) bool {
	if j.arrived < 0 {
		r.unsubmitted++
		return true
	}
	if j.heldBefore {
		r.held[[3]int64{j.cluster, j.proc, j.arrived}] = true
	}
	ad := j.finished(status, at)
	if j.runs > 0 && at >= 0 {
		r.read++
		_, asked := ad.Lookup("RequestCpus")
		_, given := ad.Lookup("CpusProvisioned")
		if !asked && !given {
			r.cpuless++
		}
		if _, owned := ad.Lookup("Owner"); !owned {
			r.ownerless++
		}
	}
	return yield(ad, nil)
}

// warnings says what the log does not tell of jobs that ran.
func (r *reader) warnings() (all []string) {
	const more = "job_ad_information_attrs in submit files, or EVENT_LOG_JOB_AD_INFORMATION_ATTRS in the " +
		"configuration, has the log say it"
	if r.cpuless > 0 {
		all = append(all, fmt.Sprintf("the log does not say how many cpus %d of %d jobs had: one is assumed; %s",
			r.cpuless, r.read, more))
	}
	if r.ownerless > 0 {
		all = append(all, fmt.Sprintf("the log does not say whose %d of %d jobs are; %s", r.ownerless, r.read, more))
	}
	if r.clock.yearless {
		all = append(all, "the dates of the log have no year: they are of no year in particular")
	}
	return all
}
