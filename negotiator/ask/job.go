package ask

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
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

// read returns the job that is asked about; nil: none is.
func (j Job) read() (*whatif.Job, error) {
	if j == (Job{}) {
		return nil, nil
	}
	ad := classad.New()
	if j.File != "" {
		text, err := os.ReadFile(j.File)
		if err != nil {
			return nil, fmt.Errorf("--job: %w", err)
		}
		if ad, err = readJobText(j.File, string(text)); err != nil {
			return nil, fmt.Errorf("--job %s: %w", j.File, err)
		}
	}
	for _, flag := range []struct{ name, attribute, text string }{
		{"cpus", "RequestCpus", j.Cpus},
		{"memory", "RequestMemory", j.Memory},
		{"disk", "RequestDisk", j.Disk},
		{"gpus", "RequestGpus", j.Gpus},
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
			return nil, fmt.Errorf("--%s %s: %w", flag.name, flag.text, err)
		}
		ad.SetInt(flag.attribute, n)
		if flag.name == "chunks" {
			ad.Delete("MaxHosts")
		}
	}
	if j.Owner != "" {
		ad.SetString("Owner", j.Owner)
	}
	if _, has := ad.Lookup("Requirements"); !has {
		ad.SetBool("Requirements", true)
	}
	for attribute, amount := range map[string]int64{"RequestCpus": 1, "RequestMemory": 0, "RequestDisk": 0} {
		if _, has := ad.Lookup(attribute); !has { // slots' Requirements refer to it
			ad.SetInt(attribute, amount)
		}
	}
	job := &whatif.Job{}
	if j.Time != "" {
		var err error
		if job.Seconds, err = readSpan(j.Time); err != nil {
			return nil, fmt.Errorf("--time: %w", err)
		}
		ad.SetInt("EstimatedRunTime", job.Seconds)
	}
	job.Ad = ad.Format(classad.Lines)
	return job, nil
}

// readJobText reads a job's ad, or a submit file: a file that ends in .sub or .submit, or has a line
// with the command queue.
func readJobText(file, text string) (*classad.ClassAd, error) {
	if strings.ContainsRune(text, 0) || strings.HasPrefix(text, "\x1f\x8b") {
		return nil, errors.New("it is no text; if it is compressed, decompress it")
	}
	switch strings.ToLower(filepath.Ext(file)) {
	case ".sub", ".submit":
		return readSubmit(text)
	}
	if queueLine.MatchString(text) {
		return readSubmit(text)
	}
	if strings.HasPrefix(strings.TrimSpace(text), "[") {
		return classad.Parse(text)
	}
	return classad.ParseOld(text)
}

var queueLine = regexp.MustCompile(`(?im)^\s*queue\b[^=]*$`)

// submitted are the commands of submit files that count for the plan, and their attributes.
var submitted = map[string]string{
	"request_cpus": "RequestCpus", "request_memory": "RequestMemory", "request_disk": "RequestDisk",
	"request_gpus": "RequestGpus", "machine_count": "MinHosts", "requirements": "Requirements", "rank": "Rank",
	"priority": "JobPrio", "allowed_execute_duration": "AllowedExecuteDuration",
	"allowed_job_duration": "AllowedJobDuration",
}

// readSubmit reads those commands of a submit file that count for the plan, up to its first queue.
// Macros are not expanded: a command that has one is an error.
func readSubmit(text string) (*classad.ClassAd, error) {
	ad := classad.New()
	text = strings.NewReplacer("\\\r\n", " ", "\\\n", " ").Replace(text)
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if queueLine.MatchString(line) {
			break
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		attribute, counts := submitted[strings.ToLower(name)]
		if own, ours := strings.CutPrefix(name, "+"); ours {
			attribute, counts = own, true
		} else if len(name) > 3 && strings.EqualFold(name[:3], "MY.") {
			attribute, counts = name[3:], true
		}
		if !counts {
			continue
		}
		if strings.Contains(value, "$(") {
			return nil, fmt.Errorf("%s = %s: macros are not expanded here; write what it stands for", name, value)
		}
		if resource := strings.TrimPrefix(strings.ToLower(name), "request_"); negotiator.IsAmount(value) &&
			(resource == "memory" || resource == "disk") {
			n, err := negotiator.ReadAmount(resource, value)
			if err != nil {
				return nil, err
			}
			ad.SetInt(attribute, n)
			continue
		}
		if err := ad.SetExpr(attribute, value); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return ad, nil
}
