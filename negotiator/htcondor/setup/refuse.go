package setup

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/condorconfig"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/daemon"
)

// refuse returns why this machine, this user or this configuration cannot be set up; nil if it can. It
// notes what the file depends on.
func (s *Setup) refuse(c *condorconfig.Config, m Mode) error {
	daemons := c.List("DAEMON_LIST")
	runs := func(name string) bool {
		return slices.ContainsFunc(daemons, func(d string) bool { return strings.EqualFold(d, name) })
	}
	switch {
	case !runs("NEGOTIATOR"):
		return fmt.Errorf("this machine is not the pool's central manager: its DAEMON_LIST has no NEGOTIATOR. Run this on "+
			"that machine; COLLECTOR_HOST is %q", c.Text("COLLECTOR_HOST"))
	case runs("HAD") || c.Text("MASTER_NEGOTIATOR_CONTROLLER") != "":
		return errors.New("condor_had starts this pool's negotiator on one of several central managers: set " +
			"NEGOTIATOR by hand on each of them, as the guide says")
	}
	if err := s.maySwitch(c); err != nil {
		return err
	}
	s.host = c.Text("FULL_HOSTNAME")
	s.executes = slices.ContainsFunc(daemons, func(d string) bool {
		return strings.HasPrefix(strings.ToUpper(d), "STARTD")
	})
	folder, err := configFolder(c)
	if err != nil {
		return err
	}
	s.path = filepath.Join(folder, fileName)
	for _, knob := range []string{"NEGOTIATOR", observer} {
		set, _ := c.Setting(knob)
		theirs := filepath.Base(set.Value) == "condor_negotiator" && !s.leadsHere(set.Value)
		if !theirs && set.Value != "" && !s.wrote(set) {
			return fmt.Errorf("%s = %s (%s) was not set by negotiator setup: take that line out first", knob, set.Value,
				place(set))
		}
	}
	if m == Stock {
		return nil
	}
	return s.runnable()
}

// leadsHere reports whether a path is a link to this program, as the guide names one for condor_who.
func (s *Setup) leadsHere(path string) bool {
	there, err := filepath.EvalSymlinks(path)
	return err == nil && there == s.Program
}

// maySwitch errs if this user is neither root nor the one that HTCondor runs as. A dry run is for all.
func (s *Setup) maySwitch(c *condorconfig.Config) error {
	if s.UID == 0 || s.DryRun {
		return nil
	}
	owner, err := daemon.Owner(c.Text("CONDOR_IDS"))
	if err == nil && owner.UID != s.UID {
		err = errors.New("run this as root, or as the user that HTCondor runs as; with --dry-run it only says what it would do")
	}
	return err
}

// configFolder returns the last folder of LOCAL_CONFIG_DIR that is there.
func configFolder(c *condorconfig.Config) (string, error) {
	folders := c.List("LOCAL_CONFIG_DIR")
	slices.Reverse(folders)
	for _, folder := range folders {
		if info, err := os.Stat(folder); err == nil && info.IsDir() {
			return folder, nil
		}
	}
	return "", fmt.Errorf("no folder of LOCAL_CONFIG_DIR = %s is there: HTCondor needs one for its files, such as "+
		"/etc/condor/config.d", cmp.Or(c.Text("LOCAL_CONFIG_DIR"), "(not set)"))
}

// runnable errs if condor_master, which may be root, must not run this program, as others than its
// owner and root could replace it.
func (s *Setup) runnable() error {
	for path := s.Program; ; path = filepath.Dir(path) {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		owner := s.UID
		if stat, ok := info.Sys().(*syscall.Stat_t); ok {
			owner = int(stat.Uid)
		}
		sticky := info.Mode()&fs.ModeSticky != 0
		switch mode := info.Mode().Perm(); {
		case mode&0o002 != 0 && !sticky:
			err = errors.New("everybody may write to it")
		case owner != 0 && owner != s.UID:
			err = errors.New("it is another user's")
		}
		if err != nil {
			return fmt.Errorf("condor_master is not to run %s, because of %s: %w. Install it where only root can change it: "+
				"install -m 755 negotiator /usr/local/bin/negotiator", s.Program, path, err)
		}
		if path == filepath.Dir(path) {
			return nil
		}
	}
}

// place returns the file and line that set a knob.
func place(s condorconfig.Setting) string { return cmp.Or(s.Source, "its place is not known") }

// wrote reports whether a setting is one of the file's.
func (s *Setup) wrote(set condorconfig.Setting) bool {
	file, _, _ := strings.Cut(set.Source, ", line ")
	return filepath.Clean(file) == s.path
}

// heeded errs if the configuration, read again, is not as the file has it: another file comes after it.
func (s *Setup) heeded(c *condorconfig.Config, m Mode) error {
	for _, knob := range s.knobs(m) {
		if set, _ := c.Setting(knob); !s.wrote(set) {
			return fmt.Errorf("%s is set after %s, by %s: take it out there, as the file of setup has to come last",
				knob, s.path, place(set))
		}
	}
	return nil
}
