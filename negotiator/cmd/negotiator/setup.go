package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/condor-backfill/condor-backfill/configs"
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/condorconfig"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/setup"
	"github.com/condor-backfill/condor-backfill/negotiator/process"
	"github.com/condor-backfill/condor-backfill/negotiator/source"
)

// setupCommand is negotiator setup.
type setupCommand struct {
	Observe        bool          `xor:"mode" help:"Plan beside HTCondor's own negotiator, and match nothing."`
	Live           bool          `xor:"mode" help:"Take the place of HTCondor's own negotiator."`
	Back           bool          `xor:"mode" help:"Put HTCondor's own negotiator back, alone."`
	Restart        bool          `xor:"mode" help:"${setup_restart}"`
	DryRun         bool          `help:"Say what would be done, and do nothing."`
	MoveAccounting *bool         `negatable:"" help:"${setup_move_accounting}"`
	Replace        bool          `help:"${setup_replace}"`
	Patience       time.Duration `default:"2m" placeholder:"TIME" help:"${setup_patience}"`
	JSON           bool          `name:"json" help:"Print what was done as one JSON object."`
}

// Help is shown below the flags.
func (*setupCommand) Help() string {
	return `Run it on the pool's central manager, as root or as the user that HTCondor runs as. It writes one file
into the last folder of LOCAL_CONFIG_DIR (--back removes it), and runs condor_off, condor_reconfig and
condor_on. Running jobs go on. Settings of yours, such as BACKFILL_POLICY, belong into another file.
After an update of the program, --restart starts what is set up anew. While HTCondor is down, --back
only removes the file.

Examples:
  negotiator setup --live --dry-run
  negotiator setup --observe
  negotiator setup --live
  negotiator setup --live --move-accounting
  negotiator setup --back --move-accounting`
}

// Run changes which negotiator works in this machine's pool. A terminal that closes and a reader that
// goes away do not end it half-way, and after an interrupt it puts back what was, however long that
// takes.
func (c *setupCommand) Run(unhurried cli.Unhurried) error {
	signal.Ignore(syscall.SIGHUP, syscall.SIGPIPE)
	ctx := unhurried.Context
	mode := setup.Stock
	switch {
	case c.Observe:
		mode = setup.Observe
	case c.Live:
		mode = setup.Live
	case c.Restart:
		mode = setup.Same
	case !c.Back:
		return cli.Bad(errors.New("say what is to be: --observe, --live, --back or --restart"))
	}
	if c.Patience <= 0 {
		return cli.Bad(fmt.Errorf("--patience %v: must be more than 0", c.Patience))
	}
	program, err := os.Executable()
	if err == nil {
		program, err = filepath.EvalSymlinks(program)
	}
	if err != nil {
		return err
	}
	template, err := fs.ReadFile(configs.Files(), configs.HTCondor)
	if err != nil {
		return err
	}
	s := &setup.Setup{
		Tool: tool,
		Read: func(ctx context.Context) (*condorconfig.Config, error) {
			return condorconfig.Read(ctx, condorconfig.Source{})
		},
		Check:    func(ctx context.Context) error { return process.Check(ctx, &source.Settings{}, os.Stderr) },
		Template: string(template), Program: program, UID: os.Geteuid(),
		Patience: c.Patience, Accounting: c.MoveAccounting, Replace: c.Replace, DryRun: c.DryRun, Now: time.Now, Wait: wait,
	}
	if !c.JSON {
		prefix := ""
		if c.DryRun {
			prefix = "would "
		}
		s.Say = func(step string) { _, _ = os.Stdout.WriteString(prefix + step + "\n") }
	}
	report, failed := s.To(ctx, mode)
	switch {
	case c.JSON:
		err = cli.JSON(os.Stdout, report)
	case failed == nil:
		_, err = os.Stdout.WriteString(report.Words())
	}
	if failed != nil {
		return failed
	}
	return err
}

// tool runs one of HTCondor's tools. An interrupt does not end it: whatever it does is done.
func tool(ctx context.Context, name string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // out of reach of a terminal's Ctrl-C
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		why, _, _ := strings.Cut(strings.TrimSpace(stderr.String()), "\n")
		return "", fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, cli.Line(why))
	}
	return stdout.String(), nil
}

// wait returns after a time, or when the context ends.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
