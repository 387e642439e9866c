package history

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/negotiator"
)

// Values of JobStatus and JobUniverse.
const (
	statusRemoved   = 3
	statusCompleted = 4

	universeScheduler = 7
	universeGrid      = 9
	universeParallel  = 11
	universeLocal     = 12
)

var (
	// errDropped says that an ad was dropped and counted.
	errDropped = errors.New("dropped")
	errUnknown = errors.New("not given")
)

// needed returns the error for an attribute without which an ad tells too little.
func needed(attr string, err error) error {
	if errors.Is(err, errUnknown) {
		return fmt.Errorf("%s is missing, or no number", attr)
	}
	return err
}

// number returns the first of several attributes that is a number, rounded up. It fails if that
// number is out of bounds, or with errUnknown if there is none.
func number(ad *classad.ClassAd, low, high float64, attrs ...string) (int64, error) {
	for _, attr := range attrs {
		n, ok := ad.Real(attr)
		if !ok {
			continue
		}
		if !(n >= low && n <= high) {
			return 0, fmt.Errorf("%s is %v", attr, n)
		}
		return int64(math.Ceil(n)), nil
	}
	return 0, errUnknown
}

// amountError says that a request is no amount.
type amountError struct {
	attr  string
	value classad.Value
}

// Error returns what it is, and what must be.
func (e *amountError) Error() string {
	return fmt.Sprintf("%s is %v: must be a number from 0 to 1e12", e.attr, e.value)
}

// checkAmount returns an error if a request has a value that is no amount, such as "2 GB", -1 or true. One that is
// undefined may depend on what the ad does not have; false asks for nothing.
func checkAmount(ad *classad.ClassAd, attr string) error {
	if n, isNumber := ad.Real(attr); isNumber && n >= 0 && n <= backfill.MaxInputAmount {
		return nil
	}
	value := ad.Eval(attr, nil)
	if value.Kind() == classad.Undefined || value.Kind() == classad.Boolean && !value.IsTrue() {
		return nil
	}
	return &amountError{attr, value}
}

// job reads a job from an ad. The error is errDropped if the job was dropped and counted; any other
// error says why the ad is unusable.
func (c *collector) job(ad *classad.ClassAd) (j Job, err error) {
	var errs [3]error
	j.Line = int32(ad.StreamLine())
	j.Place.Cluster, errs[0] = number(ad, 0, math.MaxInt32, "ClusterId")
	j.Place.Proc, errs[1] = number(ad, 0, math.MaxInt32, "ProcId")
	j.Submit, errs[2] = number(ad, 0, backfill.MaxTime, "QDate")
	for i, attr := range []string{"ClusterId", "ProcId", "QDate"} {
		if errs[i] != nil {
			return j, needed(attr, errs[i])
		}
	}
	if c.notOnSlots(ad) {
		c.h.Cleaning.NotOnSlots++
		return j, errDropped
	}
	j.Place.Queue = c.shared.text(schedd(ad))
	j.changed, _ = number(ad, 0, backfill.MaxTime, "EnteredCurrentStatus", "CompletionDate")
	j.Estimate = c.estimates.Of(ad)
	for _, attr := range c.o.Schema.Limits {
		if j.Limit, err = number(ad, 1, backfill.MaxTime, attr); err == nil {
			break
		}
	}
	if err = c.runTime(ad, &j); err != nil {
		return j, err
	}
	chunk, err := c.request(ad, &j)
	if err != nil {
		return j, err
	}
	j.Beyond = c.noteBeyond(ad)
	start, unknown := number(ad, 1, backfill.MaxTime, "JobCurrentStartDate", "JobStartDate")
	if unknown == nil && j.Run > 0 {
		began := beforeItsEnd(ad, &j, start)
		j.started = began
		j.Waited, j.HasWaited, j.WrongStart = max(0, began-j.Submit), start >= j.Submit, start < j.Submit
	}
	if j.changed > 0 { // its end
		start = j.changed - j.Run
	}
	j.Wait = max(0, start-j.Submit)
	prio, _ := ad.Int("JobPrio") // HTCondor's has 32 bits
	j.Prio = int32(min(max(prio, math.MinInt32), math.MaxInt32))
	j.Labels = c.shared.labels(c.o.Schema, ad)
	j.User, j.Group, j.Executable, j.Queue = j.Labels["owner"], j.Labels["group"], j.Labels["executable"],
		j.Labels["qos"]
	if c.o.WithAds {
		j.Ad = c.shared.ad(ad, c.o.Schema.Resources, chunk)
	}
	return j, nil
}

// beforeItsEnd returns when a job started whose last start is recorded. If it ran several times, its run time
// is the sum of all runs and does not fit between its last start and its end: then it counts as one run up to
// that end, so that response times are right.
func beforeItsEnd(ad *classad.ClassAd, j *Job, start int64) int64 {
	end, err := number(ad, 1, backfill.MaxTime, "CompletionDate")
	if status, given := ad.Int("JobStatus"); given && status != statusCompleted && status != statusRemoved {
		return start
	}
	if err != nil {
		end = j.changed
	}
	if end >= start && end-j.Run < start && end-j.Run >= j.Submit {
		return end - j.Run
	}
	return start
}

// notOnSlots reports whether a job needs no slot, since its universe runs it on the submit machine
// or on a grid.
func (c *collector) notOnSlots(ad *classad.ClassAd) bool {
	universe, _ := ad.Int("JobUniverse")
	return universe == universeScheduler || universe == universeLocal || universe == universeGrid
}

// schedd returns the schedd that a job was submitted to; "" if the ad does not say. It is
// printable, as it becomes a part of the job's name.
func schedd(ad *classad.ClassAd) string {
	id, _ := ad.Text("GlobalJobId") // such as submit.example.org#12.0#1700000000
	name, _, found := strings.Cut(id, "#")
	if !found {
		return ""
	}
	return backfill.Printable(name, 256)
}

// runTime sets how long a job ran. If the job did not run, or the options drop jobs of its status,
// it counts that and returns errDropped.
func (c *collector) runTime(ad *classad.ClassAd, j *Job) (err error) {
	count := &c.h.Cleaning
	status, given := ad.Int("JobStatus")
	if !given {
		status = statusCompleted // condor_history -attributes may leave it out
	}
	run, err := number(ad, 0, backfill.MaxTime, "RemoteWallClockTime", "CommittedTime")
	attempts, _ := number(ad, 0, backfill.MaxTime, "JobRunCount", "NumJobStarts")
	if last, unknown := number(ad, 1, backfill.MaxTime, "CommittedTime"); unknown == nil && attempts > 1 {
		run, err = last, nil // the other attempts do not count
	}
	if err != nil && !errors.Is(err, errUnknown) {
		return err
	}
	_, unknown := number(ad, 1, backfill.MaxTime, "JobStartDate", "JobCurrentStartDate")
	ran := err == nil && (run > 0 || unknown == nil)
	switch {
	case status == statusCompleted && ran:
	case status == statusRemoved && c.drops(workload.CleanCancelled):
		if ran {
			count.Removed++
		} else {
			count.Cancelled++
		}
		return errDropped
	case status == statusRemoved && ran:
	case status != statusRemoved && status != statusCompleted && c.drops(workload.CleanPartial):
		count.Unfinished++
		return errDropped
	case status != statusRemoved && status != statusCompleted && j.Estimate > 0:
		run = j.Estimate
		count.RunAssumed++
	default:
		count.NegativeRun++
		return errDropped
	}
	j.Run = run
	return nil
}

func (c *collector) drops(rule workload.Clean) bool {
	return slices.Contains([]workload.Clean{rule, workload.CleanPapers, ""}, c.o.Clean)
}

// request sets in the job what it requested in all, and returns the request of each chunk. If a
// chunk has no cpus, it counts that and returns errDropped.
func (c *collector) request(ad *classad.ClassAd, j *Job) (chunk backfill.Vector, err error) {
	nodes := int64(1)
	if universe, _ := ad.Int("JobUniverse"); universe == universeParallel || universe == 0 {
		nodes, err = number(ad, 1, backfill.MaxChunks, "MinHosts", "MachineCount", "MaxHosts")
		if errors.Is(err, errUnknown) {
			nodes, err = 1, nil
		}
		if err != nil {
			return nil, err
		}
	}
	j.Nodes = int32(nodes)
	resources := c.o.Schema.Resources
	chunk = make(backfill.Vector, len(resources))
	for i, resource := range resources {
		most := float64(backfill.MaxInputAmount / nodes)
		asked, instead, wrong := c.asked(ad, resource)
		if wrong != nil {
			return nil, wrong
		}
		chunk[i], err = number(ad, 0, most, asked, provisioned(resource), instead)
		switch {
		case errors.Is(err, errUnknown) && asked == provisioned(resource):
			c.h.Cleaning.BySlot++
			return nil, errDropped
		case errors.Is(err, errUnknown) && (i == 0 || resource == negotiator.Claims):
			chunk[i] = 1
		case err != nil && !errors.Is(err, errUnknown):
			return nil, err
		}
	}
	if chunk[0] == 0 {
		c.h.Cleaning.NoProcessors++
		return nil, errDropped
	}
	j.Procs = chunk[0] * nodes
	if i := slices.Index(resources, "memory"); i >= 0 {
		j.Memory = chunk[i] * nodes
	}
	if i := slices.Index(resources, "gpus"); i >= 0 {
		j.GPUs = chunk[i] * nodes
	}
	return chunk, nil
}

// asked returns the attribute that says how much of a resource a job gets, and the one that counts instead if
// nothing is known of what was given to it. A request that is no amount is an error, unless the job got
// something all the same.
func (c *collector) asked(ad *classad.ClassAd, resource string) (attr, instead string, err error) {
	attr, instead = "Request"+negotiator.Attribute(resource), resource+"Usage" // names ignore case
	if resource == "cpus" {
		instead = "" // CpusUsage is a mean
	}
	if !c.o.WithAds && c.leftToSlot(ad, resource) {
		return provisioned(resource), "", nil // the one amount that is known
	}
	if err = checkAmount(ad, attr); err == nil || negotiator.AsksSlot(ad, resource, c.shared.slotsHave) != nil {
		return attr, instead, nil
	}
	if _, given := ad.Real(provisioned(resource)); given {
		return provisioned(resource), "", nil
	}
	return "", "", err
}

// provisioned names the attribute that says what of a resource a job was given.
func provisioned(resource string) string { return resource + "Provisioned" }
