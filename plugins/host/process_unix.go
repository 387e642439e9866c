//go:build unix

package host

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// ownGroup puts the process into its own group, so that an interrupt at the terminal reaches only
// the host, and processes that the plugin starts can be ended with it.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	endWithThread(cmd.SysProcAttr)
}

// killGroup kills the process, which may have ended already, and its group.
func killGroup(p *os.Process) {
	_ = outside(func() error {
		return errors.Join(syscall.Kill(-p.Pid, syscall.SIGKILL), p.Kill()) // it may have changed its group
	})
}

// outside calls f in another thread, with all capabilities: the calling one may have no more rights
// than a plugin, and then reaches neither the guard nor its folder.
func outside(f func() error) error {
	done := make(chan error)
	go func() { done <- privileged(f) }()
	return <-done
}

// guardScript is run by a guard, a shell in the plugin's process group. It waits for the end of the
// host, the only process that has the other end of the guard's input. However the host ends, the
// script removes the socket and kills the plugin, whatever it is doing, and what the plugin
// started.
const guardScript = `trap "" HUP INT QUIT TERM; read -r _; rm -rf -- "$1"; kill -KILL 0`

// startGuard starts a guard: a process in the group and of the user of a plugin that has started,
// which kills the group and removes the directory if the host is killed. The returned function waits
// for the end of a guard that was killed with its group. The guard gets the plugin's environment.
func startGuard(plugin *exec.Cmd, dir string) (reap func(), err error) {
	reap = func() {}
	input, held, err := os.Pipe()
	if err != nil {
		return reap, fmt.Errorf("make a pipe: %w", err)
	}
	group := plugin.Process.Pid
	guard := exec.Command("/bin/sh", "-c", guardScript, "guard of "+strconv.Itoa(group), dir)
	guard.Stdin, guard.Env, guard.Dir = input, plugin.Env, plugin.Dir
	guard.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pgid: group, Credential: plugin.SysProcAttr.Credential}
	err = outside(func() error { return concealed(guard.Start) })
	_ = input.Close()
	if err != nil {
		_ = held.Close()
		return reap, fmt.Errorf("start a guard: %w", err)
	}
	return func() {
		_, _ = guard.Wait(), held.Close() // it was killed
	}, nil
}
