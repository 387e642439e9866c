//go:build !linux

package host

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// onOwnThread calls f in a single thread.
func onOwnThread(f func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	f()
}

// enter prepares a command. This system has no more for it than another user, if that.
func (c *cell) enter(cmd *exec.Cmd) error {
	c.who.run(cmd)
	return nil
}

func concealed(start func() error) error { return start() }

func privileged(f func() error) error { return f() }

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

// maySwitch reports whether this process may start processes as other users.
func maySwitch() bool { return os.Geteuid() == 0 }
