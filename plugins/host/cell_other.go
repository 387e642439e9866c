//go:build unix && !linux

package host

import (
	"os"
	"os/exec"
	"runtime"
)

// onOwnThread calls f in a single thread.
func onOwnThread(f func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	f()
}

// enter prepares a command. This system has no more for it than another user.
func (c *cell) enter(cmd *exec.Cmd) error {
	cmd.SysProcAttr.Credential = c.who.Credential
	return nil
}

func concealed(start func() error) error { return start() }

func privileged(f func() error) error { return f() }

// maySwitch reports whether this process may start processes as other users.
func maySwitch() bool { return os.Geteuid() == 0 }
