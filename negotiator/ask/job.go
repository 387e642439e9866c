package ask

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/packed"
	"github.com/condor-backfill/condor-backfill/negotiator/whatif"
)

// Job is a job as a user describes it; the zero value is none.
type Job struct {
	File string // its ad, or a submit file; all below goes over what it says
	// Cpus, Memory, Disk and Gpus are what each chunk requests, and Chunks is their number.
	Cpus, Memory, Disk, Gpus, Chunks string
	Time                             string // its run time: seconds, or such as 90m or 2h
	Owner                            string
}

// described is a job as a file has it.
type described struct {
	ad *classad.ClassAd
	// notes are what is said once of what the file says and the question does not heed.
	notes []string
}

// Read returns the job that is asked about; nil: none is. The notes say what of it is not heeded.
func (j Job) Read() (job *whatif.Job, notes []string, err error) {
	if j == (Job{}) {
		return nil, nil, nil
	}
	from := described{ad: classad.New()}
	if j.File != "" {
		text, wrong := readText(j.File)
		if wrong != nil {
			return nil, nil, fmt.Errorf("--job: %w", wrong)
		}
		if from, err = readJobText(text); err != nil {
			return nil, nil, fmt.Errorf("--job %s: %w", j.File, err)
		}
	}
	if err = j.over(from.ad); err != nil {
		return nil, nil, err
	}
	job = &whatif.Job{}
	if j.Time != "" {
		if job.Seconds, err = readSpan(j.Time); err != nil {
			return nil, nil, fmt.Errorf("--time: %w", err)
		}
		from.ad.SetInt("EstimatedRunTime", job.Seconds)
	}
	if err = complete(from.ad); err != nil {
		return nil, nil, fmt.Errorf("--job %s: %w", j.File, err)
	}
	job.Ad = from.ad.Format(classad.Lines)
	return job, from.notes, nil
}

// over has the flags go over what a file says.
func (j Job) over(ad *classad.ClassAd) error {
	for _, flag := range []struct{ name, attribute, text string }{
		{"cpus", "RequestCpus", j.Cpus},
		{"memory", "RequestMemory", j.Memory},
		{"disk", "RequestDisk", j.Disk},
		{"gpus", "RequestGPUs", j.Gpus},
		{"chunks", "MinHosts", j.Chunks},
	} {
		if flag.text == "" {
			continue
		}
		n, err := negotiator.ReadAmount(flag.name, flag.text)
		if err == nil && n == 0 && (flag.name == "cpus" || flag.name == "chunks") {
			err = errors.New("must be at least 1")
		}
		if err != nil {
			return fmt.Errorf("--%s %s: %w", flag.name, flag.text, err)
		}
		ad.SetInt(flag.attribute, n)
		if flag.name == "chunks" {
			ad.Delete("MaxHosts")
		}
	}
	if j.Owner != "" {
		ad.SetString("Owner", j.Owner)
	}
	return nil
}

// readText returns the text of a file, which may be compressed.
func readText(file string) (string, error) {
	unpacked, err := packed.Open(func(name string) (io.ReadCloser, error) { return os.Open(name) }, file)
	if err != nil {
		return "", err
	}
	defer unpacked.Close() //nolint:errcheck // only read
	text, err := io.ReadAll(unpacked)
	if err != nil {
		return "", fmt.Errorf("%s: %w", file, err)
	}
	return string(text), nil
}

// usual are the resources that every job requests, and how much of them by default.
var usual = []struct {
	resource string
	amount   int64
}{{"Cpus", 1}, {"Memory", 0}, {"Disk", 0}}

// complete adds what a job's ad always has, as slots' Requirements refer to it. An ad without Requirements
// gets those by which condor_submit keeps it from slots without what it requests.
func complete(ad *classad.ClassAd) error {
	for _, u := range usual {
		attribute := "Request" + u.resource
		switch {
		case !has(ad, attribute):
			ad.SetInt(attribute, u.amount)
		case ad.Eval(attribute, nil).Kind() == classad.Undefined && !negotiator.RequestsBySlot(ad, []string{u.resource}):
			return fmt.Errorf("%s is undefined: must be a whole number", attribute)
		}
	}
	if has(ad, "Requirements") {
		return nil
	}
	return ad.SetExpr("Requirements", strings.Join(append([]string{"true"}, clauses(ad)...), " && "))
}

// clauses are what condor_submit adds to the Requirements of a job: that the slot has what the job
// requests besides the usual resources.
func clauses(ad *classad.ClassAd) (all []string) {
	for name := range ad.All() {
		resource, requests := cutFold(name, "Request")
		asked := ad.Eval(name, nil)
		switch n, isNumber := asked.Number(); {
		case !requests || isUsual(resource) || isNumber && n <= 0 || asked.Kind() == classad.Error:
		case strings.EqualFold(resource, "GPUs") && has(ad, "RequireGPUs"):
			all = append(all, "(countMatches(MY.RequireGPUs,TARGET.AvailableGPUs) >= RequestGPUs)")
		default:
			all = append(all, fmt.Sprintf("(TARGET.%s >= %s)", resource, name))
		}
	}
	return all
}

func isUsual(resource string) bool {
	for _, u := range usual {
		if strings.EqualFold(u.resource, resource) {
			return true
		}
	}
	return false
}

func has(ad *classad.ClassAd, name string) bool {
	_, given := ad.Lookup(name)
	return given
}

// cutFold is [strings.CutPrefix] without regard to case.
func cutFold(text, prefix string) (rest string, found bool) {
	if len(text) <= len(prefix) || !strings.EqualFold(text[:len(prefix)], prefix) {
		return text, false
	}
	return text[len(prefix):], true
}

// submitLine matches what a submit file has and no ad: the command queue, an attribute of the job's ad, or
// a command whose name no attribute has.
var submitLine = regexp.MustCompile(`(?im)^[ \t]*(queue\b[^=\n]*$|(\+|my\.)\w+[ \t]*=|` +
	`(executable|universe|(request|require)_\w+|gpus_\w+|(concurrency|accounting)_\w+|machine_count|` +
	`(should_)?transfer_\w+|when_to_transfer_output)[ \t]*=)`)

// readJobText reads a job's ad, in any form that HTCondor prints, or a submit file, told apart by what
// they hold.
func readJobText(text string) (described, error) {
	begin := strings.TrimSpace(text)
	if !strings.HasPrefix(begin, "[") && !strings.HasPrefix(begin, "{") && !strings.HasPrefix(begin, "<") &&
		submitLine.MatchString(text) {
		return readSubmit(text)
	}
	var one *classad.ClassAd
	for ad, err := range classad.ReadAds(strings.NewReader(text), "") {
		switch {
		case err != nil:
			return described{}, fmt.Errorf("as a job's ad, at %w", err)
		case one != nil:
			return described{}, errors.New("it has more than one ad: ask about one job at a time")
		}
		one = ad
	}
	if one == nil || one.Len() == 0 {
		return described{}, errors.New("it is empty: it must hold a job's ad, or a submit file")
	}
	if universe, given := one.Int("JobUniverse"); given && unmatched[universe] != "" {
		return described{}, neverMatched(unmatched[universe])
	}
	return described{ad: one}, nil
}
