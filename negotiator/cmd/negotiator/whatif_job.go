package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/whatif"
)

// jobFlags say what job is asked about.
type jobFlags struct {
	Job    string `group:"A job" placeholder:"FILE" help:"Its ad, or a submit file; flags go over what it says."`
	Cpus   string `group:"A job" placeholder:"N" help:"What each chunk requests; 1 by default."`
	Memory string `group:"A job" placeholder:"SIZE" help:"Such as 64GiB; in MiB without a unit."`
	Disk   string `group:"A job" placeholder:"SIZE" help:"Such as 10GiB; in KiB without a unit."`
	Gpus   string `group:"A job" placeholder:"N" help:"Number of GPUs of each chunk."`
	Chunks string `group:"A job" placeholder:"N" help:"How many chunks start together, on any slots."`
	Time   string `group:"A job" placeholder:"TIME" help:"Its run time: seconds, or such as 90m or 2h."`
	Owner  string `group:"A job" placeholder:"NAME" help:"Whose job it is."`
}

// job returns the job that is asked about; nil: none is.
func (f *jobFlags) job() (*whatif.Job, error) {
	if *f == (jobFlags{}) {
		return nil, nil
	}
	ad := classad.New()
	if f.Job != "" {
		text, err := os.ReadFile(f.Job)
		if err != nil {
			return nil, fmt.Errorf("--job: %w", err)
		}
		if ad, err = readJobText(f.Job, string(text)); err != nil {
			return nil, fmt.Errorf("--job %s: %w", f.Job, err)
		}
	}
	for _, flag := range []struct{ name, attribute, text string }{
		{"cpus", "RequestCpus", f.Cpus},
		{"memory", "RequestMemory", f.Memory},
		{"disk", "RequestDisk", f.Disk},
		{"gpus", "RequestGpus", f.Gpus},
		{"chunks", "MinHosts", f.Chunks},
	} {
		if flag.text == "" {
			continue
		}
		n, err := readAmount(flag.name, flag.text)
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
	if f.Owner != "" {
		ad.SetString("Owner", f.Owner)
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
	if f.Time != "" {
		var err error
		if job.Seconds, err = readSpan(f.Time); err != nil {
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
	switch filepath.Ext(file) {
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
		if resource := strings.TrimPrefix(strings.ToLower(name), "request_"); amountText.MatchString(value) &&
			(resource == "memory" || resource == "disk") {
			n, err := readAmount(resource, value)
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
