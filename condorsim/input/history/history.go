// Package history makes a workload of the job ads that HTCondor leaves behind: the output of
// condor_history and condor_q with -long, -json, -jsonl or -xml, and the history files themselves.
//
// [Read] reads the ads one at a time and keeps a few hundred bytes of each job. It drops and counts
// what does not belong in a workload: one unusable ad must not cost a year of history. Only text
// that is no ad is an error, which gives its place.
//
// How attributes are used:
//
//	QDate                  submit time, counted from the first
//	RemoteWallClockTime    run time; of a job that ran several times, CommittedTime
//	EnteredCurrentStatus   when it ended; the wait is the rest of the time since QDate
//	JobCurrentStartDate    when it really started, else JobStartDate; for comparisons with policies. If
//	                       its runs together are longer than from there to its end, they end there
//	RequestCpus…           evaluated; if undefined, CpusProvisioned, MemoryUsage…
//	MinHosts, MachineCount chunks of a parallel job
//	JobStatus              4 counts; see workload.Clean for the others
//	JobUniverse            scheduler, local and grid jobs need no slot
//	Owner, AcctGroup…      labels
//	as the options say     estimate; see [ParseEstimates]
//	JobPrio                counts in the order of fair share
//	Requirements           for --pool; without any, a job may use every slot that has room
package history

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// Options say how to read a history.
type Options struct {
	// Clean says which jobs that did not finish are kept. By default none are.
	// [workload.CleanPartial] drops only those still in a queue, [workload.CleanCancelled] only
	// those that were removed, and [workload.CleanNone] neither. A removed job that is kept runs
	// for as long as it ran then; a queued one for as long as it is estimated to run, and it is
	// dropped without an estimate.
	Clean workload.Clean
	// Schema names the attributes that may hold the estimate, in seconds, and the resources that
	// jobs request. Without resources it is the default schema.
	Schema negotiator.Schema
	// Estimates, if there are any, are used instead of the schema's; see [ParseEstimates].
	Estimates []string
	// Asked are the job attributes that slots or the queue's order refer to, besides Requirements,
	// Rank and requests; see [Job.Ad].
	Asked []string
	// SlotsHave reports whether slots have an attribute, so that a job which names it in a request, and is
	// without it, asks for theirs; nil: they have none.
	SlotsHave func(name string) bool
	// WithAds keeps the job ads, reduced; a trace does not need them. With Whole they keep all
	// attributes, for those who may be asked about any.
	WithAds, Whole bool
	// WithOthers keeps what jobs ask for besides cpus and memory; see [History.Others].
	WithOthers bool
}

// Job is a job of a history. ID is its index in History.Jobs plus 1; Estimate is 0 if unknown.
type Job struct {
	workload.Job
	Name  string // ClusterId.ProcId, and @schedd if there are several schedds
	Place backfill.QueuePosition
	Nodes int32 // number of chunks
	Line  int32 // of the file, where its ad begins
	Prio  int32 // JobPrio; 0 without one
	// Beyond says that it asks for GPUs, for slots by Requirements, or for what limits bound.
	Beyond bool
	// Jobs with equal Labels, or with equal Ads, share them. Ad holds only what matters to slots:
	// Requirements, Rank, the requests of each chunk as numbers, the attributes of Options.Asked,
	// and what these refer to. It is nil without Options.WithAds, and whole with Options.Whole.
	Labels map[string]string
	Ad     *classad.ClassAd
	// Limit is the run time at which the pool ends the job, by its ad; 0 if there is none.
	Limit int64

	changed int64 // when its status changed; the latest ad of a job counts
	started int64 // when it started, if it ran; 0 if unknown
}

// History is the jobs that were read, by submit time, then schedd, ClusterId and ProcId.
type History struct {
	Name     string // of the file, as given
	Jobs     []Job
	Cleaning workload.Cleaning
	// Start is when the first job was submitted, as a Unix time: second 0 of the submit times.
	Start int64
	// Peak is the most cpus that these jobs used at one time, by their recorded starts; 0 if none
	// has one.
	Peak int64
	// Beyond is what jobs ask for that a trace has no place for, by name: resources besides cpus and
	// memory in lower case, and attributes of [Attributes].
	Beyond []string
	// Others are the resources besides cpus and memory that jobs asked for, by the jobs' IDs; nil
	// without Options.WithOthers.
	Others map[int64][]Amount
	// Unreadable is why the first ad was dropped that tells too little; nil if none was.
	Unreadable error
	// NoAmount is why the first job was dropped whose request is no amount; nil if none was.
	NoAmount error
	// Unread counts the ads that have lines which may have been meant otherwise.
	Unread classad.UnreadAds
}

// Read reads job ads in any form that classad.ReadAds accepts, compressed or not. It is an error if
// the text is not ads or has no job.
func Read(r io.Reader, name string, o Options) (*History, error) {
	text, err := workload.Text(r, name)
	if err != nil {
		return nil, fmt.Errorf("read the history: %w", err)
	}
	defer text.Close() //nolint:errcheck // only read
	return FromAds(classad.ReadAds(text, name), name, o)
}

// FromAds is [Read] for ads that another package has read, or made of something else. The name is that of
// their file.
func FromAds(ads iter.Seq2[*classad.ClassAd, error], name string, o Options) (*History, error) {
	if len(o.Schema.Resources) == 0 {
		o.Schema = negotiator.DefaultSchema()
	}
	if len(o.Estimates) > 0 {
		o.Schema.Estimates = o.Estimates
	}
	estimates, err := ParseEstimates(o.Schema.Estimates)
	if err != nil {
		return nil, err
	}
	c := collector{
		o: o, h: &History{Name: name, Others: map[int64][]Amount{}, Cleaning: workload.Cleaning{Ads: true}},
		index: map[key]int{}, shared: newShared(o),
		beyond: map[string]bool{}, others: map[int][]Amount{}, estimates: estimates,
	}
	for ad, err := range ads {
		if err != nil {
			return nil, fmt.Errorf("read the history: %w", err)
		}
		c.h.Unread.Note(name, ad)
		c.add(ad)
	}
	return c.finished()
}

// finished returns the history when all ads were added, or the error that there is no job in it.
func (c *collector) finished() (*History, error) {
	name := c.h.Name
	if c.h.Cleaning.JobsRead == 0 {
		return nil, fmt.Errorf("read the history: %s: there is no job in it", name)
	}
	if c.notJobs == c.h.Cleaning.JobsRead {
		return nil, &workload.Error{
			File: name, Problem: "looks like " + c.whose + ", which are no jobs",
			Hint: "print the jobs' ads: condor_history -long, or condor_q -long; slots are given with --pool",
		}
	}
	c.h.Cleaning.EstimateHindsight = c.estimates.Hindsight
	if err := c.estimates.Check(name); err != nil {
		return nil, err
	}
	c.finish()
	return c.h, nil
}

// place says where an ad is; one that was made of something else is in no line.
func (c *collector) place(ad *classad.ClassAd) string {
	if line := ad.StreamLine(); line > 0 {
		return c.h.Name + ":" + strconv.Itoa(line)
	}
	return c.h.Name
}

// Trace returns the history as a trace of one machine. A job of several chunks becomes one job with
// the processors of all chunks. If the options give no number of processors, the machine gets the
// most that these jobs used at one time, and at least those of the widest job; it is an error then
// if no ad says when its job started.
func (h *History) Trace(o workload.Options) (*workload.Trace, error) {
	jobs := make([]workload.Job, len(h.Jobs))
	var widest int64
	for i := range h.Jobs {
		if jobs[i] = h.Jobs[i].Job; o.GPUs == 0 && !o.KeepRequests {
			jobs[i].GPUs = 0 // who runs them says that they are not heeded
		}
		widest = max(widest, jobs[i].Procs)
	}
	if o.CPUs == 0 {
		if h.Peak == 0 && len(jobs) > 0 {
			return nil, errors.New(h.Name +
				": no ad says when its job started, so nothing is known of the machine; give its processors with " +
				"--cpus, or slots with --pool")
		}
		o.CPUs = max(h.Peak, widest, 1)
	}
	t, err := workload.Collect(h.Name, jobs, h.Cleaning, o)
	if err != nil {
		return nil, err
	}
	t.Header.StartAt(h.Start)
	for _, ext := range []string{".ads", ".long", ".json", ".jsonl", ".xml"} {
		t.Name = strings.TrimSuffix(t.Name, ext)
	}
	return t, nil
}

// Warnings says what of the ads was not read as it may have been meant.
func (h *History) Warnings() (all []string) {
	all = h.Unread.Warnings()
	if h.NoAmount != nil {
		all = append(all, fmt.Sprintf("%v; the requests of %d jobs are no amounts: they match no slot in HTCondor, and are "+
			"left out", h.NoAmount, h.Cleaning.NoAmount))
	}
	return all
}

// key identifies a job. The submit time is part of it, since a schedd may begin again with
// ClusterId 1.
type key struct {
	schedd        string
	cluster, proc int64
	submit        int64
}

// collector builds a history.
type collector struct {
	o      Options
	h      *History
	index  map[key]int // by key, the index in h.Jobs
	shared *shared
	beyond map[string]bool  // see History.Beyond
	others map[int][]Amount // by index in h.Jobs

	estimates *Estimates

	notJobs int    // ads of slots and daemons
	whose   string // the first of these ads is
}

// add adds the job of an ad, or counts why it is dropped. Of several ads of one job, the one whose
// status changed last counts.
func (c *collector) add(ad *classad.ClassAd) {
	count := &c.h.Cleaning
	count.JobsRead++
	j, err := c.job(ad)
	switch {
	case errors.Is(err, errDropped):
		return
	case errors.As(err, new(*amountError)):
		count.NoAmount++
		if c.h.NoAmount == nil {
			c.h.NoAmount = fmt.Errorf("%s: job %d.%d: %w", c.place(ad), j.Place.Cluster, j.Place.Proc, err)
		}
		return
	case err != nil:
		if kind := negotiator.Whose(ad); kind != negotiator.JobAd && kind != "" {
			c.notJobs++
			c.whose = cmp.Or(c.whose, kind)
		}
		count.Unreadable++
		if c.h.Unreadable == nil {
			c.h.Unreadable = fmt.Errorf("%s: %w", c.place(ad), err)
		}
		return
	}
	k := key{j.Place.Queue, j.Place.Cluster, j.Place.Proc, j.Submit}
	i, known := c.index[k]
	switch {
	case !known:
		c.index[k] = len(c.h.Jobs)
		c.noteOthers(ad, len(c.h.Jobs), int64(j.Nodes))
		c.h.Jobs = append(c.h.Jobs, j)
		return
	case j.changed >= c.h.Jobs[i].changed:
		c.noteOthers(ad, i, int64(j.Nodes))
		c.h.Jobs[i] = j
	}
	count.Repeated++
}

// finish sorts and numbers the jobs, and counts times from the first submission.
func (c *collector) finish() {
	jobs := c.h.Jobs
	schedds := map[string]bool{}
	for i := range jobs {
		schedds[jobs[i].Place.Queue] = true
		jobs[i].ID = int64(i)
	}
	slices.SortStableFunc(jobs, func(a, b Job) int {
		return cmp.Or(cmp.Compare(a.Submit, b.Submit), strings.Compare(a.Place.Queue, b.Place.Queue),
			cmp.Compare(a.Place.Cluster, b.Place.Cluster), cmp.Compare(a.Place.Proc, b.Place.Proc))
	})
	for i := range jobs {
		j := &jobs[i]
		if others, asks := c.others[int(j.ID)]; asks {
			c.h.Others[int64(i+1)] = others
		}
		j.ID = int64(i + 1)
		j.Name = strconv.FormatInt(j.Place.Cluster, 10) + "." + strconv.FormatInt(j.Place.Proc, 10)
		if len(schedds) > 1 && j.Place.Queue != "" {
			j.Name += "@" + j.Place.Queue
		}
	}
	if len(jobs) > 0 {
		c.h.Start = jobs[0].Submit
	}
	for i := range jobs {
		jobs[i].Submit -= c.h.Start
	}
	c.h.Peak = peak(jobs)
	c.h.Beyond = slices.Sorted(maps.Keys(c.beyond))
}

// peak returns the most cpus that the jobs with a known start used at one time; 0 without any.
func peak(jobs []Job) int64 {
	var together workload.Peak
	for i := range jobs {
		if j := &jobs[i]; j.started > 0 {
			together.Add(j.started, j.Run, j.Procs)
		}
	}
	return together.Most()
}
