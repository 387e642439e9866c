package fleet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// MissingError says that HTCondor's programs are not on this machine.
type MissingError struct{ Program string }

func (e *MissingError) Error() string {
	return e.Program + " is not on the PATH: run this on a machine that can submit jobs to a pool"
}

// programs are those of HTCondor that are called.
var programs = []string{"condor_submit", "condor_rm", "condor_q"}

// Look returns an error if HTCondor's programs are not on this machine.
func Look() error {
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			return &MissingError{program}
		}
	}
	return nil
}

// patience is how long one of the programs may take. They wait for a schedd that does not answer.
const patience = 2 * time.Minute

// call runs one of the programs in a folder and returns what it printed, and to standard error.
func call(ctx context.Context, dir, program string, args ...string) (printed, warned string, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var out, complaints bytes.Buffer
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = dir, &out, &complaints, time.Second
	err = cmd.Run()
	if errors.Is(err, exec.ErrNotFound) {
		return "", "", &MissingError{program}
	}
	if err != nil {
		said := strings.Join(strings.Fields(complaints.String()+" "+out.String()), " ")
		said, _, _ = strings.Cut(said, " Extra Info: ") // a page of advice for who runs the pool
		if ctx.Err() != nil {
			said = strings.TrimSpace("it was given up after " + patience.String() + " " + said)
		}
		return "", "", fmt.Errorf("%s: %w: %s", program, err, said)
	}
	return out.String(), complaints.String(), nil
}

var clusterOf = regexp.MustCompile(`(?m)^(\d+)\.\d+ - (\d+)\.\d+\s*$`)

// submit hands a submit description to the schedd and returns the number of the cluster, and what
// condor_submit warns of, such as a line that it does not know.
func submit(ctx context.Context, dir, file string) (cluster int, warnings []string, err error) {
	out, warned, err := call(ctx, dir, "condor_submit", "-terse", file)
	if err != nil {
		return 0, nil, err
	}
	for line := range strings.Lines(warned) {
		if text, warns := strings.CutPrefix(strings.TrimSpace(line), "WARNING: "); warns {
			warnings = append(warnings, text)
		}
	}
	parts := clusterOf.FindStringSubmatch(out)
	if parts == nil || parts[1] != parts[2] {
		return 0, warnings, fmt.Errorf("condor_submit: it did not say which one cluster it made, but %q", out)
	}
	cluster, err = strconv.Atoi(parts[1])
	return cluster, warnings, err
}

// remove removes jobs: clusters, or one job such as 12.3.
func remove(ctx context.Context, jobs ...string) error {
	_, _, err := call(ctx, "", "condor_rm", jobs...)
	if err != nil && strings.Contains(err.Error(), "Couldn't find/remove") { // they are gone already
		return nil
	}
	return err
}

// reschedule has the schedd look at the claims that it keeps: it gives them to jobs that were made since, or
// gives them up. That it cannot be asked does not matter.
func reschedule(ctx context.Context) { _, _, _ = call(ctx, "", "condor_reschedule") }

// inQueue reports whether the schedd has a cluster: some job, or more to be made into jobs.
func inQueue(ctx context.Context, cluster int) (bool, error) {
	number := strconv.Itoa(cluster)
	out, _, err := call(ctx, "", "condor_q", number, "-af", "ClusterId")
	if err != nil || strings.TrimSpace(out) != "" {
		return err == nil, err
	}
	out, _, err = call(ctx, "", "condor_q", "-factory", number)
	return slices.ContainsFunc(strings.Split(out, "\n"), func(line string) bool {
		fields := strings.Fields(line)
		return len(fields) > 1 && fields[0] == number+"."
	}), err
}
