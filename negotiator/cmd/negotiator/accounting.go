package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/condor-backfill/condor-backfill/negotiator/cli"
	"github.com/condor-backfill/condor-backfill/negotiator/config"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountant"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/accountlog"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/condorconfig"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/daemon"
	"github.com/condor-backfill/condor-backfill/negotiator/source"
)

// importCommand is negotiator import-accounting.
type importCommand struct {
	From string `placeholder:"FILE" help:"${accounting_log}"`
	accountingFlags
}

// exportCommand is negotiator export-accounting.
type exportCommand struct {
	To string `placeholder:"FILE" help:"${accounting_log}"`
	accountingFlags
}

// accountingFlags are those of both.
type accountingFlags struct {
	State   string        `placeholder:"DIR" help:"${accounting_state}"`
	Config  string        `placeholder:"FILE" help:"Configuration file (YAML), if the folder of the state is set there."`
	Replace bool          `help:"${accounting_replace}"`
	DryRun  bool          `help:"Say what would be done, and do nothing."`
	Wait    time.Duration `default:"15s" placeholder:"TIME" help:"${accounting_wait}"`
	JSON    bool          `name:"json" help:"Print what was done as one JSON object."`
}

// Help is shown below the flags.
func (*importCommand) Help() string {
	return `It reads what HTCondor's own negotiator keeps of users and groups in Accountantnew.log: real priorities,
priority factors, usage and since when, ceilings, floors, and what is in use. Our negotiator goes on with it.
Whatever our accounting held before is replaced; a copy of the state remains beside it. A priority factor that
the configuration gives anyway counts as not set.

Run it on the central manager, as root or as the user that HTCondor runs as, while no negotiator runs:

  condor_off -daemon negotiator
  negotiator import-accounting
  negotiator setup --live

Examples:
  negotiator import-accounting --dry-run
  negotiator import-accounting --from /backup/Accountantnew.log --replace
  negotiator import-accounting --json

Exit codes: 0 done, 1 failed, 2 bad input: the log is malformed, a negotiator runs, or usage would be lost.`
}

// Help is shown below the flags.
func (*exportCommand) Help() string {
	return `It writes our accounting as the Accountantnew.log that HTCondor's own negotiator reads when it starts: real
priorities, priority factors, usage and since when, ceilings, floors, and what is in use. A copy of the former
file remains beside it. Our own accounting stays as it is, too.

Run it on the central manager, as root or as the user that HTCondor runs as, while no negotiator runs:

  condor_off -daemon negotiator
  negotiator export-accounting
  negotiator setup --back

Examples:
  negotiator export-accounting --dry-run
  negotiator export-accounting --to /var/lib/condor/accounting.log
  negotiator export-accounting --state /var/spool/condor/backfill --json

Exit codes: 0 done, 1 failed, 2 bad input: there is nothing to write, a negotiator runs, or usage would be lost.`
}

// moved is what is told of a move.
type moved struct {
	From       string         `json:"from"`
	To         string         `json:"to"`
	DryRun     bool           `json:"dry_run"`
	Updated    int64          `json:"updated"`    // Unix time of the numbers
	Submitters int            `json:"submitters"` // with a record
	Groups     int            `json:"groups"`
	InUse      int            `json:"slots_in_use"`
	Backup     string         `json:"backup"`   // "" if nothing was replaced
	Lost       []string       `json:"lost"`     // who had more where it was replaced
	LeftOut    string         `json:"left_out"` // why something could not be taken over
	Ignored    string         `json:"ignored"`  // what at the end of the log does not count
	Unknown    map[string]int `json:"unknown"`  // what of the log means nothing here
	Leases     int            `json:"leases"`   // of ceilings, floors and factors
}

// count counts what a statement says.
func (m *moved) count(s accountant.Statement) {
	m.Updated = s.Updated
	for _, r := range s.Records {
		m.Leases += len(r.Leases)
		if r.IsGroup || !strings.Contains(r.Name, "@") {
			m.Groups++
			continue
		}
		m.Submitters++
		m.InUse += r.Use.Slots
	}
}

// move is where accounting comes from and goes to, and by which rules.
type move struct {
	flags    accountingFlags
	log      string // HTCondor's file
	state    string // our folder
	settings accountant.Settings
	owner    func() error // has this process act as HTCondor's user
	now      time.Time
}

// move reads the configuration. The file that is named takes the place of the configured one.
func (f *accountingFlags) move(ctx context.Context, log string) (*move, error) {
	m := &move{flags: *f, log: log, state: f.State, owner: func() error { return nil }, now: time.Now()}
	c, err := condorconfig.Read(ctx, condorconfig.Source{})
	switch {
	case errors.Is(err, condorconfig.ErrNone) && m.log != "" && m.state != "":
		m.settings = accountant.DefaultSettings()
		return m, nil
	case err != nil:
		return nil, fmt.Errorf("%w. Without it, say where both are (--help)", err)
	}
	if m.log == "" {
		m.log, _ = c.Lookup("ACCOUNTANT_DATABASE_FILE")
	}
	if spool, set := c.Lookup("SPOOL"); m.log == "" && set {
		m.log = filepath.Join(spool, "Accountantnew.log")
	}
	if m.state == "" {
		pool := config.LocalPool
		from := &source.Settings{File: f.Config, Pool: &pool}
		from.Use(c)
		s, wrong := from.Read()
		if wrong != nil {
			return nil, wrong
		}
		m.state = s.State
	}
	if m.state == "" || m.log == "" {
		return nil, errors.New("SPOOL is not set in HTCondor's configuration: say where both are (--help)")
	}
	if m.settings, err = accountant.ParseSettings(c.Lookup); err != nil {
		return nil, err
	}
	if os.Geteuid() == 0 {
		owner, unknown := daemon.Owner(c.Text("CONDOR_IDS"))
		if unknown != nil {
			return nil, unknown
		}
		m.owner = func() error { return daemon.Become(owner) }
	}
	return m, nil
}

// writer names the process that writes HTCondor's file, if there is one that does not end in time.
// A dry run does not care.
func (m *move) writer(ctx context.Context) (process string) {
	if m.flags.DryRun {
		return ""
	}
	m.until(ctx, func() bool {
		process = holder(m.log)
		return process == ""
	})
	return process
}

// until waits until something holds, as long as a negotiator may take to end.
func (m *move) until(ctx context.Context, holds func() bool) {
	for end := m.now.Add(m.flags.Wait); !holds() && time.Now().Before(end); {
		if wait(ctx, pause) != nil {
			return
		}
	}
}

// pause is the time between two looks at what another process does.
const pause = 200 * time.Millisecond

// open opens our accounting, as HTCondor's user. In a dry run nothing is made.
func (m *move) open(ctx context.Context, fresh bool) (a *daemon.Accounting, err error) {
	m.until(ctx, func() bool {
		a, err = daemon.OpenAccounting(m.state, m.settings, fresh && !m.flags.DryRun)
		return !errors.Is(err, daemon.ErrInUse)
	})
	switch {
	case errors.Is(err, daemon.ErrInUse):
		err = fmt.Errorf("our negotiator works with the state in %s: end it first, condor_off -daemon negotiator "+
			"(one that only observes has a folder of its own)", m.state)
	case errors.Is(err, daemon.ErrNoState):
		err = fmt.Errorf("%w: say where the state is, --state DIR or BACKFILL_STATE", err)
	case errors.Is(err, fs.ErrPermission):
		err = fmt.Errorf("%w: run this as root, or as the user that HTCondor runs as", err)
	}
	return a, err
}

// readLog reads HTCondor's file.
func (m *move) readLog() (*accountlog.Log, error) {
	info, err := os.Stat(m.log)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no regular file", m.log)
	}
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(m.log)
	if err != nil {
		return nil, err
	}
	return accountlog.Read(text, m.log)
}

// keep notes who had more where it is to be replaced, and errs if that was not asked for.
func (m *move) keep(report *moved, next, former accountant.Statement, where string) error {
	report.Lost = append(report.Lost, next.Lacks(former)...)
	if len(report.Lost) == 0 || m.flags.Replace {
		return nil
	}
	return fmt.Errorf("%s knows of usage or settings that would be lost, of %d users and groups: %s. With --replace they "+
		"are replaced, and a copy remains", where, len(report.Lost), listed(report.Lost))
}

// fits notes what our accounting could not take over, and errs if that is to be kept. It tries that
// in an accounting without a file.
func (m *move) fits(report *moved, next accountant.Statement) error {
	trial, err := accountant.New(m.settings)
	if err != nil {
		return err
	}
	leftOut, err := trial.Adopt(next)
	if leftOut == nil || err != nil {
		return err
	}
	report.LeftOut = leftOut.Error()
	if m.flags.Replace {
		return nil
	}
	return fmt.Errorf("%s: usage or settings would be lost: %w. With --replace the rest is imported", m.log, leftOut)
}

// backup returns the name of a copy of what is replaced.
func (m *move) backup(path, before string) string {
	return path + ".before-" + before + "-" + m.now.UTC().Format("20060102T150405.000")
}

// Run reads HTCondor's accounting into ours.
func (c *importCommand) Run(ctx context.Context) error {
	m, err := c.move(ctx, c.From)
	if err != nil {
		return cli.Bad(err)
	}
	report, err := m.fromStock(ctx)
	return c.tell(report, err, "imported")
}

// fromStock reads HTCondor's accounting into ours.
func (m *move) fromStock(ctx context.Context) (*moved, error) {
	report := &moved{From: m.log, To: m.state, DryRun: m.flags.DryRun, Lost: []string{}}
	if writer := m.writer(ctx); writer != "" {
		return nil, cli.Bad(fmt.Errorf("%s still writes %s: end it first, condor_off -daemon negotiator, or read a copy of "+
			"the file (--from FILE)", writer, m.log))
	}
	log, err := m.readLog()
	if err != nil {
		return nil, cli.Bad(err)
	}
	next, notes := log.Statement(m.settings.HalfLife)
	report.Ignored, report.Unknown = log.Ignored, notes.Unknown
	report.count(next)
	if len(next.Records) == 0 {
		return nil, cli.Bad(fmt.Errorf("%s holds no accounts", m.log))
	}
	if next.Updated <= 0 { // the time of the header is when the file began, not that of the numbers
		return nil, cli.Bad(fmt.Errorf("%s: the record Accountant. has no LastUpdateTime above 0, which HTCondor writes "+
			"in each cycle: the numbers are of no time, and the file may be a part of one", m.log))
	}
	if err = m.fits(report, next); err != nil {
		return nil, cli.Bad(err)
	}
	if err = m.owner(); err != nil {
		return nil, err
	}
	a, err := m.open(ctx, true)
	if m.flags.DryRun && errors.Is(err, daemon.ErrNoState) {
		return report, nil
	}
	if err != nil {
		return nil, cli.Bad(err)
	}
	defer a.Close() //nolint:errcheck // what is written is on disk
	former := a.Statement()
	if err = m.keep(report, a.WithoutDefaults(next), former, m.state); err != nil {
		return nil, cli.Bad(err)
	}
	if m.flags.DryRun {
		return report, nil
	}
	if former.Updated != 0 {
		report.Backup = m.backup(a.Path(), "import")
		if err = a.CopyTo(report.Backup); err != nil {
			return nil, err
		}
	}
	leftOut, err := a.Adopt(next)
	if leftOut != nil {
		report.LeftOut = leftOut.Error()
	}
	return report, err
}

// Run writes our accounting for HTCondor's own negotiator.
func (c *exportCommand) Run(ctx context.Context) error {
	m, err := c.move(ctx, c.To)
	if err != nil {
		return cli.Bad(err)
	}
	report, err := m.toStock(ctx)
	return c.tell(report, err, "exported")
}

// toStock writes our accounting for HTCondor's own negotiator.
func (m *move) toStock(ctx context.Context) (*moved, error) {
	report := &moved{From: m.state, To: m.log, DryRun: m.flags.DryRun, Lost: []string{}}
	if writer := m.writer(ctx); writer != "" {
		return nil, cli.Bad(fmt.Errorf("%s writes %s: end it first, condor_off -daemon negotiator", writer, m.log))
	}
	if err := m.owner(); err != nil {
		return nil, err
	}
	a, err := m.open(ctx, false)
	if err != nil {
		return nil, cli.Bad(err)
	}
	defer a.Close() //nolint:errcheck // nothing is written
	next := a.Statement()
	fresh := next.Updated == 0 // no negotiator has worked with it: nothing has aged so far
	if fresh {
		next.Updated = m.now.Unix()
	}
	report.count(next)
	if fresh && report.Submitters == 0 && len(accountant.Statement{}.Lacks(next)) == 0 {
		return nil, cli.Bad(fmt.Errorf("the accounting in %s is empty", m.state))
	}
	log, err := m.readLog()
	switch {
	case errors.Is(err, fs.ErrNotExist): // there is nothing to replace
		log, err = nil, nil
	case err == nil:
		former, _ := log.Statement(m.settings.HalfLife)
		err = m.keep(report, next, a.WithoutDefaults(former), m.log)
	case m.flags.Replace: // whatever is there
		log, err = nil, nil
	default:
		err = fmt.Errorf("%w. With --replace it is replaced, and a copy remains", err)
	}
	if err != nil {
		return nil, cli.Bad(err)
	}
	if m.flags.DryRun {
		return report, nil
	}
	sequence, created := int64(1), next.Updated
	if log != nil {
		sequence, created = log.Sequence+1, log.Created
	}
	report.Backup, err = replaceFile(m.log, m.backup(m.log, "export"), accountlog.Write(next, sequence, created))
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
		err = cli.Bad(fmt.Errorf("%w: HTCondor's user must be able to write there", err))
	}
	return report, err
}
