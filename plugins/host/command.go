// Package host is the host's side of the plugin boundary: it finds policy plugins, starts and
// supervises their processes, and asks them for decisions.
package host

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/hashicorp/go-plugin"

	"github.com/condor-backfill/condor-backfill/plugins/wire"
)

// Command says how to start a plugin.
type Command struct {
	// Path is the executable, Args are its arguments (without its own name), and Env is added to
	// the environment.
	Path      string
	Args, Env []string
	// As is the name by which the executable is called, its argument 0; empty means Path. One program
	// may be several plugins, under the names of links to it.
	As string
	// Name is the plugin's name in the log; empty means the base name of Path.
	Name string
	// SHA256 is the sum that the executable must have; nil accepts any.
	SHA256 []byte
}

func (c Command) name() string { return cmp.Or(c.Name, filepath.Base(c.Path)) }

// Self returns the command for a policy linked into this executable, whose main must call
// serve.IfChild.
func Self(policy string) (Command, error) {
	path, err := os.Executable()
	if err != nil {
		return Command{}, fmt.Errorf("find this executable: %w", err)
	}
	return Command{Path: path, Args: []string{wire.ServeArg, policy}, Name: policy}, nil
}

// prepare returns the command, to be started before release is called. If the executable must have a
// sum, the file whose sum was taken is the one that will be started, whatever happens to its name
// meanwhile: the process inherits it, open.
func (c Command) prepare() (cmd *exec.Cmd, release func(), err error) {
	if c.Path, err = filepath.Abs(c.Path); err != nil {
		return nil, nil, err
	}
	cmd, release = exec.Command(c.Path, c.Args...), func() {}
	cmd.Args[0] = cmp.Or(c.As, c.Path)
	if c.SHA256 == nil {
		return cmd, release, nil
	}
	file, err := openRegular(c.Path)
	if err != nil {
		return nil, nil, fmt.Errorf("check its sum: %w", err)
	}
	release = func() { _ = file.Close() }
	sum := sha256.New()
	if _, err = io.Copy(sum, file); err != nil {
		release()
		return nil, nil, fmt.Errorf("check its sum: %w", err)
	}
	if got := sum.Sum(nil); !bytes.Equal(got, c.SHA256) {
		release()
		return nil, nil, fmt.Errorf("%w: its SHA-256 is %x, and should be %x", plugin.ErrChecksumsDoNotMatch, got,
			c.SHA256)
	}
	startOpen(cmd, file)
	return cmd, release, nil
}

// Prefix is the start of the names of plugins in the plugin directories.
const Prefix = "backfill-"

// Find resolves a policy's name to an executable. A name with a path separator is a path; otherwise
// it is backfill-NAME in the first of the directories that has it. A file that cannot be executed
// is an error.
func Find(name string, dirs []string) (path string, found bool, err error) {
	if filepath.Base(name) != name {
		path, err = executable(name)
		return path, err == nil, err
	}
	for _, dir := range dirs {
		path, err = executable(filepath.Join(dir, Prefix+name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		return path, err == nil, err
	}
	return "", false, nil
}

// executable returns the absolute path of a file, or an error if its name and mode show that it
// cannot be started.
func executable(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", notPlugin(path, err)
	}
	found, err := exec.LookPath(path)
	if why, ok := errors.AsType[*exec.Error](err); ok {
		return "", notPlugin(path, why.Err)
	}
	if err != nil {
		return "", notPlugin(path, err)
	}
	if info, err := os.Stat(found); err == nil && !info.Mode().IsRegular() {
		return "", notPlugin(path, errIrregular)
	}
	return found, nil
}

var errIrregular = errors.New("it is no regular file")

// openRegular opens a file to read it. It does not wait for somebody to write to a pipe.
func openRegular(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errIrregular
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}
