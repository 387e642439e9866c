//go:build unix

package host

import (
	"os/exec"
	"syscall"
)

// ownGroup gives the process a group of its own: an interrupt at the terminal
// is for the host, and what the plugin starts ends with it.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
