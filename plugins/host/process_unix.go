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

// guardScript is run by a guard, a shell. It waits for the end of the host, the only process that has
// the other end of the guard's input. However the host ends, the script kills the plugin, whatever it
// is doing and whatever group it has joined, and the plugin's group; then it removes the socket.
const guardScript = `trap "" HUP INT QUIT TERM; read -r _; kill -KILL "$2"; kill -KILL "-$2"; rm -rf -- "$1"`

// startGuard starts a guard: a process of the user of a plugin that has started, which kills the
// plugin and its group and removes the directory if the host is killed. It has a group of its own: a
// signal to the plugin's would end it. The returned function ends the guard. The guard gets the
// plugin's environment.
func startGuard(plugin *exec.Cmd, dir string) (end func(), err error) {
	input, held, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make a pipe: %w", err)
	}
	leader := strconv.Itoa(plugin.Process.Pid)
	guard := exec.Command("/bin/sh", "-c", guardScript, "guard of "+leader, dir, leader)
	guard.Stdin, guard.Env, guard.Dir = input, plugin.Env, plugin.Dir
	guard.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: plugin.SysProcAttr.Credential}
	err = outside(func() error { return concealed(guard.Start) })
	_ = input.Close()
	if err != nil {
		_ = held.Close()
		return nil, fmt.Errorf("start a guard: %w", err)
	}
	return func() {
		_ = outside(guard.Process.Kill)
		_, _ = guard.Wait(), held.Close() // it was killed
	}, nil
}
