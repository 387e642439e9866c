package setup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/condor-backfill/condor-backfill/negotiator/cli"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/condorconfig"
)

// What condor_status is asked for: negotiators, ours or not; and ours that only observe.
var (
	negotiators = []string{"-negotiator"}
	observers   = []string{"-any", "-constraint", `MyType == "BackfillObserver"`}
)

// found is a negotiator's ad.
type found struct {
	name, policy string // the policy is "" of HTCondor's own
	started      time.Time
	cycles       int
	stopped      string // why nothing is matched
}

// ads returns the negotiators of a kind on this machine that the collector knows.
func (s *Setup) ads(ctx context.Context, kind []string) (all []found, err error) {
	out, err := s.Tool(ctx, "condor_status", append(slices.Clone(kind),
		"-af:t", "Machine", "Name", "DaemonStartTime", "BackfillPolicy", "BackfillCycles", "BackfillStopped")...)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(out) {
		fields := strings.SplitN(strings.TrimRight(line, "\n"), "\t", 6)
		if len(fields) != 6 || s.host != "" && !strings.EqualFold(fields[0], s.host) {
			continue
		}
		for i := range fields {
			if fields[i] = cli.Line(fields[i]); fields[i] == "undefined" {
				fields[i] = ""
			}
		}
		at, _ := strconv.ParseInt(fields[2], 10, 64)
		cycles, _ := strconv.Atoi(fields[4])
		all = append(all, found{fields[1], fields[3], time.Unix(at, 0), cycles, fields[5]})
	}
	return all, nil
}

// atWork returns the negotiator that works as a mode wants it, and whether there is one that was
// started since then.
func (s *Setup) atWork(ctx context.Context, m Mode, since time.Time) (found, bool, error) {
	kind := negotiators
	if m == Observe {
		kind = observers
	}
	all, err := s.ads(ctx, kind)
	for _, one := range all {
		ours := one.policy != ""
		if ours == (m != Stock) && (!ours || one.cycles > 0) && one.stopped == "" && !one.started.Before(since) {
			return one, true, nil
		}
	}
	return found{}, false, err
}

// await waits until a negotiator works as a mode wants it, and no observer is left where none is to be.
func (s *Setup) await(ctx context.Context, m Mode, since time.Time) (found, error) {
	for end := s.Now().Add(s.Patience); ; {
		one, there, err := s.atWork(ctx, m, since)
		if err == nil && there {
			return one, nil
		}
		if !s.Now().Before(end) {
			return found{}, s.late(ctx, m, err)
		}
		if err = s.Wait(ctx, pause); err != nil {
			return found{}, err
		}
	}
}

// pause is the time between two looks at the pool.
const pause = time.Second

// late says that no negotiator came up in time, and what is known of it.
func (s *Setup) late(ctx context.Context, m Mode, failed error) error {
	log := map[Mode]string{Observe: "BackfillObserverLog"}[m]
	if log == "" {
		log = "NegotiatorLog"
	}
	err := fmt.Errorf("the %s made no cycle within %v: see MasterLog and %s", titles[m], s.Patience, log)
	if failed != nil {
		return fmt.Errorf("%w; %w", err, failed)
	}
	others, _ := s.ads(ctx, observers) // one that steps back is among them
	for _, one := range others {
		if one.stopped != "" {
			return fmt.Errorf("%w; it says: %s", err, one.stopped)
		}
	}
	return err
}

// replace has condor_master read its configuration; for a restart of the pool's negotiator it stops the
// negotiator before, and starts the one that is configured then. Between them, while no negotiator runs,
// it runs one more command, if there is one.
func (s *Setup) replace(ctx context.Context, restart bool, between []string) error {
	daemon := "negotiator"
	if s.report.Again && s.report.Is == Observe {
		daemon, restart = strings.ToLower(observer), true
	}
	steps := [][]string{
		{"condor_off", "-daemon", daemon},
		{"condor_reconfig"},
		{"condor_on", "-daemon", daemon},
	}
	switch {
	case !restart:
		steps = steps[1:2]
	case between != nil:
		steps = slices.Insert(steps, 1, between)
	}
	for _, step := range steps {
		err := s.run(ctx, step)
		if err == nil && step[0] == s.Program && s.moved != nil {
			err = s.put(*s.moved)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// run does a step, a command, and notes it.
func (s *Setup) run(ctx context.Context, step []string) error {
	s.did("run %s", strings.Join(step, " "))
	if s.DryRun {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	s.told = true // whatever comes of it
	_, err := s.Tool(ctx, step[0], step[1:]...)
	s.report.Moved = s.report.Moved || err == nil && step[0] == s.Program
	return err
}

// asleep reports whether condor_master is known not to run on this machine: it locks a file while it does.
func asleep(c *condorconfig.Config) bool {
	folder := c.Text("LOCK")
	if folder == "" {
		return false
	}
	held, err := os.Open(cmp.Or(c.Text("MASTER_INSTANCE_LOCK"), filepath.Join(folder, "InstanceLock")))
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	defer held.Close() //nolint:errcheck // only looked at
	lock := syscall.Flock_t{Type: syscall.F_WRLCK}
	err = syscall.FcntlFlock(held.Fd(), syscall.F_GETLK, &lock)
	return err == nil && lock.Type == syscall.F_UNLCK
}

// notLending returns the machines, in order, with a slot whose START does not heed leases. This machine
// does not count where the file has the line: its slots may not have told yet.
func (s *Setup) notLending(ctx context.Context) ([]string, error) {
	out, err := s.Tool(ctx, "condor_status", "-constraint", `SlotType =!= "Dynamic"`, "-af:rt", "Machine", "Start")
	if err != nil {
		return nil, err
	}
	var missing []string
	for line := range strings.Lines(out) {
		machine, start, _ := strings.Cut(strings.TrimSpace(line), "\t")
		machine = strings.Trim(machine, `"`) // as it is in the ad, where START must not be evaluated
		if told := !s.executes || machine != s.host; told && machine != "" && !condorconfig.HeedsLeases(start) {
			missing = append(missing, cli.Line(machine))
		}
	}
	slices.Sort(missing)
	return slices.Compact(missing), nil
}
