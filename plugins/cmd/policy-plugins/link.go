package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
	"github.com/condor-backfill/condor-backfill/plugins/host"
)

// linkCommand is policy-plugins link.
type linkCommand struct {
	Dir string `arg:"" help:"Directory in which plugins are searched (--plugin-dir); made if it is not there."`
}

// Run makes the links, and the directory if it is not there. If one link cannot be made because of
// what is there, none is.
func (l *linkCommand) Run() error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	if self, err = filepath.EvalSymlinks(self); err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	missing, err := missingLinks(self, l.Dir)
	if err != nil {
		return cli.Bad(err)
	}
	if err = os.MkdirAll(l.Dir, 0o755); err != nil {
		return err
	}
	for _, path := range missing {
		if err = os.Symlink(self, path); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(os.Stdout, "%d links to %s in %s, %d of them new\n", len(policies.All()), self, l.Dir,
		len(missing))
	return err
}

// missingLinks returns the links to a program that a directory lacks. It returns an error if the
// directory cannot hold them, or if something else has the name of one.
func missingLinks(self, dir string) (missing []string, err error) {
	info, err := os.Stat(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err == nil && !info.IsDir() {
		return nil, fmt.Errorf("%s is not a directory: give the one in which plugins are searched", dir)
	}
	for _, spec := range policies.All() {
		path := filepath.Join(dir, host.Prefix+spec.Name)
		switch to, err := os.Readlink(path); {
		case errors.Is(err, fs.ErrNotExist):
			missing = append(missing, path)
		case err != nil:
			return nil, fmt.Errorf("%s is there and is no link: remove it, or give another directory", path)
		case to != self:
			return nil, fmt.Errorf("%s is there and leads to %s: remove it, or give another directory", path, to)
		}
	}
	return missing, nil
}
