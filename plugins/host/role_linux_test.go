package host

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// become makes this process what its arguments say, besides what every system can.
func become() {
	if slices.Equal(os.Args[1:], []string{demotedHost}) {
		beDemoted()
	}
}

// leaveGroup keeps the process from being ended with the thread that started it, signals all in its
// group but itself, and joins the group of a child where its calls are not filtered.
func leaveGroup() {
	signal.Ignore(unix.SIGUSR1)
	err := unix.Kill(0, unix.SIGUSR1)
	child := exec.CommandContext(context.Background(), "sleep", "300")
	child.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	for _, do := range []func() error{
		func() error { return err },
		func() error { return unix.Prctl(unix.PR_SET_PDEATHSIG, 0, 0, 0, 0) },
		child.Start,
		func() error { return unix.Setpgid(0, child.Process.Pid) },
	} {
		if err := do(); err != nil && !errors.Is(err, unix.EPERM) {
			panic(err)
		}
	}
}
