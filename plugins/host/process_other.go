//go:build !unix

package host

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Without process groups only the process itself is killed.

func ownGroup(*exec.Cmd) {}

func killGroup(p *os.Process) { _ = p.Kill() }

func startGuard(*exec.Cmd, string) (func(), error) { return func() {}, nil }

// credential is the user of this process.
type credential struct{}

func identity(string) (credential, string, error) { return credential{}, "", nil }

func (credential) own(string) error                  { return nil }
func (credential) barrier(string) string             { return "" }
func (credential) explain(err error, _ string) error { return err }

func concealed(start func() error) error { return start() }

func privileged(f func() error) error { return f() }

func onOwnThread(f func()) { f() }

func (*cell) enter(*exec.Cmd) error { return nil }

// socket returns the path of a file in the plugin's folder, which must be no link.
func (c *cell) socket(here string) (path string, release func(), err error) {
	path = c.dir
	for part := range strings.SplitSeq(here, string(filepath.Separator)) {
		path = filepath.Join(path, part)
		if info, err := os.Lstat(path); err != nil {
			return "", nil, err
		} else if info.Mode()&os.ModeSymlink != 0 {
			return "", nil, errors.New("a link")
		}
	}
	return path, func() {}, nil
}
