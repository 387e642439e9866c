package pooltest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// patience limits the time of a command of HTCondor.
const patience = 30 * time.Second

// command runs a program with a deadline and returns its standard output; an error includes its
// standard error.
func command(within time.Duration, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	var out, complaints bytes.Buffer
	c := exec.CommandContext(ctx, name, args...)
	c.Stdout, c.Stderr = &out, &complaints
	c.WaitDelay = time.Second
	err := c.Run()
	if ctx.Err() != nil {
		err = fmt.Errorf("no answer within %v", within)
	}
	if err != nil {
		err = fmt.Errorf("%w: %s", err, strings.TrimSpace(complaints.String()))
	}
	return out.String(), err
}

// Try runs a command in the pool as a user (root, condor, alice, bob, carol, dave) and returns its
// standard output.
func (p *Pool) Try(user string, args ...string) (string, error) {
	out, err := command(patience, script(), append([]string{"as", p.Dir, user}, args...)...)
	if err != nil {
		err = fmt.Errorf("%s as %s: %w", strings.Join(args, " "), user, err)
	}
	return out, err
}

// As runs a command in the pool as a user and returns its standard output. The test fails if the
// command does.
func (p *Pool) As(user string, args ...string) string {
	p.t.Helper()
	out, err := p.Try(user, args...)
	if err != nil {
		p.t.Fatalf("%v", err)
	}
	return out
}

// Submit hands a submit description to the first schedd and returns the ids of its jobs.
func (p *Pool) Submit(user, description string) []JobID {
	p.t.Helper()
	return p.SubmitTo(Host, user, description)
}

var submittedRange = regexp.MustCompile(`(\d+)\.(\d+) - (\d+)\.(\d+)`)

// SubmitTo hands a submit description to a schedd, such as s2@pool.test, and returns the ids of its
// jobs.
func (p *Pool) SubmitTo(schedd, user, description string) []JobID {
	p.t.Helper()
	file, err := os.CreateTemp(filepath.Join(p.Dir, "tmp"), "submit-*")
	if err == nil {
		_, err = file.WriteString(description + "\n")
	}
	if err == nil {
		err = file.Chmod(0o644)
	}
	if err != nil {
		p.t.Fatalf("submit description: %v", err)
	}
	_ = file.Close()
	var out string
	// A schedd that is down has accepted nothing, so trying again does not submit twice.
	eventually(patience, func() bool {
		out, err = p.Try(user, "condor_submit", "-terse", "-name", schedd, "/tmp/"+filepath.Base(file.Name()))
		return err == nil || !strings.Contains(err.Error(), "Failed to connect to queue manager")
	})
	if err != nil {
		p.t.Fatalf("%v", err)
	}
	var jobs []JobID
	for _, found := range submittedRange.FindAllStringSubmatch(out, -1) {
		var n [4]int
		for i, text := range found[1:] {
			n[i], _ = strconv.Atoi(text)
		}
		for cluster := n[0]; cluster <= n[2]; cluster++ {
			for proc := n[1]; proc <= n[3]; proc++ {
				jobs = append(jobs, JobID{schedd, cluster, proc})
			}
		}
	}
	if len(jobs) == 0 {
		p.t.Fatalf("condor_submit named no job: %s", out)
	}
	p.submitted = append(p.submitted, jobs...)
	return jobs
}

// schedds returns the names of the pool's schedds, as configured.
func (p *Pool) schedds() []string {
	names := []string{Host}
	for i := 2; i <= p.number("SCHEDDS"); i++ {
		names = append(names, fmt.Sprintf("s%d@%s", i, Host))
	}
	return names
}

// Queue returns the ads of all jobs in the queues of all schedds, and waits for schedds that are
// just starting. Options are those of condor_q, such as "-constraint", "JobStatus == 1".
func (p *Pool) Queue(options ...string) []Ad {
	p.t.Helper()
	var all []Ad
	for _, schedd := range p.schedds() {
		var out string
		var err error
		if !eventually(patience, func() bool { // the schedd may be restarting
			out, err = p.Try("root", append([]string{"condor_q", "-allusers", "-json", "-name", schedd}, options...)...)
			return err == nil
		}) {
			p.t.Fatalf("%v", err)
		}
		ads, err := parseAds(out)
		if err != nil {
			p.t.Fatalf("queue of %s: %v", schedd, err)
		}
		all = append(all, ads...)
	}
	return all
}

// History returns the ads of all jobs that have left the queues.
func (p *Pool) History(options ...string) []Ad {
	p.t.Helper()
	var all []Ad
	for _, schedd := range p.schedds() {
		file := "/var/spool/condor/history"
		if name, _, named := strings.Cut(schedd, "@"); named {
			file = "/var/spool/condor." + name + "/history"
		}
		if _, err := os.Stat(p.Dir + file); err != nil {
			continue // nothing has left this queue yet
		}
		all = append(all, p.ads(append([]string{"condor_history", "-json", "-file", file}, options...)...)...)
	}
	return all
}

// Slots returns the slot ads of the collector. Options are those of condor_status.
func (p *Pool) Slots(options ...string) []Ad {
	p.t.Helper()
	return p.Ads("-slots", options...)
}

// Ads returns ads of a kind: "-negotiator", "-submitters", "-schedd", "-any"….
func (p *Pool) Ads(kind string, options ...string) []Ad {
	p.t.Helper()
	return p.ads(append([]string{"condor_status", kind, "-json"}, options...)...)
}

func (p *Pool) ads(args ...string) []Ad {
	p.t.Helper()
	ads, err := parseAds(p.As("root", args...))
	if err != nil {
		p.t.Fatalf("%s: %v", strings.Join(args, " "), err)
	}
	return ads
}

// Wait checks the condition four times a second and fails the test if it does not hold in time.
func (p *Pool) Wait(what string, within time.Duration, holds func() bool) {
	p.t.Helper()
	if !eventually(within, holds) {
		queue, _ := p.Try("root", "condor_q", "-allusers", "-global", "-nobatch")
		slots, _ := p.Try("root", "condor_status")
		p.t.Fatalf("waited %v for %s; at last there were\n%s%s", within, what, queue, slots)
	}
}

func eventually(within time.Duration, holds func() bool) bool {
	for deadline := time.Now().Add(within); !holds(); time.Sleep(250 * time.Millisecond) {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}

// Statuses returns the JobStatus of every job in queue and history.
func (p *Pool) Statuses() map[JobID]int {
	p.t.Helper()
	attributes := []string{"-attributes", "ClusterId,ProcId,GlobalJobId,JobStatus"}
	status := map[JobID]int{}
	// Read the queue first, so that a job that moves to the history is not missed.
	for _, ad := range append(p.Queue(attributes...), p.History(attributes...)...) {
		status[ad.Job()] = ad.Int("JobStatus")
	}
	return status
}

// WaitStatus waits until every job named has the status (Idle, Running, Held, Completed, Removed).
func (p *Pool) WaitStatus(status int, within time.Duration, jobs ...JobID) {
	p.t.Helper()
	var now map[JobID]int
	if !eventually(within, func() bool {
		now = p.Statuses()
		return !slices.ContainsFunc(jobs, func(job JobID) bool { return now[job] != status })
	}) {
		p.t.Fatalf("waited %v for status %d of %v; they have %v", within, status, jobs, now)
	}
}

// WaitDone waits until every job named is in the history as completed.
func (p *Pool) WaitDone(within time.Duration, jobs ...JobID) {
	p.t.Helper()
	p.WaitStatus(Completed, within, jobs...)
}
