//go:build unix

package host

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// ownGroup gives the process a group of its own: an interrupt at the terminal is
// for the host, and what the plugin starts ends with it.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	endWithThread(cmd.SysProcAttr)
}

// killGroup ends the process, which may have ended already, and its group.
func killGroup(p *os.Process) {
	_ = syscall.Kill(-p.Pid, syscall.SIGKILL)
	_ = p.Kill() // it may have changed its group
}

// guardScript waits for the end of the host, which alone holds the other end of
// the guard's input. However the host ends, nothing is left then: not its plugin,
// whatever that is doing, nor what the plugin started, nor the socket.
const guardScript = `trap "" HUP INT QUIT TERM; read -r _; rm -rf -- "$1"; kill -KILL 0`

// startGuard starts a guard in a plugin's group; the directory is removed if the
// host is killed. What is returned waits for the end of a guard that was killed
// with its group.
func startGuard(group int, dir string) (bury func(), err error) {
	bury = func() {}
	input, held, err := os.Pipe()
	if err != nil {
		return bury, fmt.Errorf("make a pipe: %w", err)
	}
	guard := exec.Command("/bin/sh", "-c", guardScript, "guard of "+strconv.Itoa(group), dir)
	guard.Stdin = input
	guard.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pgid: group}
	err = guard.Start()
	_ = input.Close()
	if err != nil {
		_ = held.Close()
		return bury, fmt.Errorf("start a guard: %w", err)
	}
	return func() {
		_, _ = guard.Wait(), held.Close() // it was killed
	}, nil
}
