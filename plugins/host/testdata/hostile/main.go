// Command hostile is a policy plugin that first tries to do what no plugin may, and says in its log
// what of that worked.
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/condor-backfill/condor-backfill/backfill/policies/easy"
	"github.com/condor-backfill/condor-backfill/plugins/sdk"
)

// stderr is never collected, and so never closed: a connection would get its number, and what is
// printed.
var stderr = os.NewFile(2, "stderr") //nolint:gochecknoglobals // see above

func main() {
	if len(os.Args) > 1 && os.Args[1] == otherProcessor {
		if older() < 0 {
			os.Exit(1)
		}
		os.Exit(0)
	}
	if len(os.Args) > 1 { // a child in a session of its own, whose parent ends at once
		escape()
		os.Exit(0)
	}
	for _, attack := range attacks() {
		said := "failed"
		if err := attack.try(); err == nil {
			said = "worked"
		} else if os.Getenv("HOSTILE_WHY") != "" {
			said += ": " + err.Error()
		}
		_, _ = fmt.Fprintf(stderr, "attack %s: %s\n", attack.name, said)
	}
	sdk.Serve(easy.Spec())
}

type attack struct {
	name string
	try  func() error
}

func attacks() []attack {
	secret, state, own := os.Getenv("HOSTILE_SECRET"), os.Getenv("HOSTILE_STATE"), os.TempDir()
	host, _ := strconv.Atoi(os.Getenv("HOSTILE_HOST"))
	dial := func(network, address string) func() error {
		return func() error {
			conn, err := net.DialTimeout(network, address, time.Second)
			if err != nil {
				return err
			}
			_, err = conn.Write([]byte("x"))
			return errors.Join(err, conn.Close())
		}
	}
	reading := func(path string) func() error {
		return func() error { _, err := os.ReadFile(path); return err }
	}
	writing := func(path string) func() error {
		return func() error {
			file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
			if err == nil {
				_, err = file.WriteString("mine")
				err = errors.Join(err, file.Close())
			}
			return err
		}
	}
	return append([]attack{
		{"know HOME", func() error { _, err := os.UserHomeDir(); return err }},
		{"read a secret", reading(secret)},
		{"list its folder", func() error { _, err := os.ReadDir(filepath.Dir(secret)); return err }},
		{"read by the host's folder", func() error {
			dir, err := os.Getwd()
			if err == nil && dir == "/" {
				err = errors.New("it is /")
			}
			return err
		}},
		{"overwrite the state", writing(state)},
		{"replace the state", func() error { return os.Rename(filepath.Join(own, "x"), state) }},
		{"remove the state", func() error { return os.Remove(state) }},
		{"truncate the state", func() error { return os.Truncate(state, 0) }},
		{"write beside its folder", writing(filepath.Join(filepath.Dir(own), "hostile"))},
		{"write to /dev/shm", writing("/dev/shm/hostile")},
		{"write to /var/tmp", writing("/var/tmp/hostile")},
		{"write to its folder", writing(filepath.Join(own, "mine"))},
		{"see the host", reading(fmt.Sprintf("/proc/%d/environ", host))},
		{"signal the host", func() error { return syscall.Kill(host, 0) }},
		{"signal its parent's group", func() error {
			if os.Getppid() == 0 {
				return errors.New("it sees none")
			}
			return syscall.Kill(-os.Getppid(), 0)
		}},
		{"trace the host", func() error { return syscall.PtraceAttach(host) }},
		{"use an open file of the host", func() error {
			fd, err := strconv.Atoi(os.Getenv("HOSTILE_FD"))
			text := make([]byte, len("secret"))
			if err == nil {
				_, err = unix.Pread(fd, text, 0)
			}
			if err == nil && string(text) != "secret" {
				err = errors.New("it is another one")
			}
			return err
		}},
		{"tcp", dial("tcp", os.Getenv("HOSTILE_TCP"))},
		{"udp", dial("udp", os.Getenv("HOSTILE_UDP"))},
		{"abstract socket", dial("unix", "@"+os.Getenv("HOSTILE_ABSTRACT"))},
		{"socket in /tmp", dial("unix", os.Getenv("HOSTILE_SOCKET"))},
		{"socket elsewhere", dial("unix", os.Getenv("HOSTILE_ELSEWHERE"))},
		{"gain privileges", func() error {
			if n, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0); err != nil || n == 1 {
				return errors.New("it cannot")
			}
			return nil
		}},
		{"keep capabilities", func() error {
			var caps [2]unix.CapUserData
			err := unix.Capget(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &caps[0])
			if err == nil && caps == [2]unix.CapUserData{} {
				err = errors.New("it has none")
			}
			return err
		}},
		{"be the host's user", func() error {
			if strconv.Itoa(os.Getuid()) != os.Getenv("HOSTILE_UID") {
				return errors.New("it is another one")
			}
			return nil
		}},
		{"mount", func() error {
			_ = unix.Unshare(unix.CLONE_NEWNS)
			return unix.Mount("none", own, "tmpfs", 0, "")
		}},
		{"execute what it writes", func() error {
			path := filepath.Join(own, "program")
			if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o700); err != nil {
				return err
			}
			return exec.CommandContext(context.Background(), path).Run()
		}},
		{"run a shell", func() error { return exec.CommandContext(context.Background(), "/bin/sh", "-c", "true").Run() }},
		{"fill a file", fill(own, 1, 100)},
		{"fill its folder", fill(own, 7, 10)},
		{"start a daemon", func() error {
			child := exec.CommandContext(context.Background(), "/proc/self/exe", "leave")
			if self, err := os.Executable(); err == nil {
				child.Path = self
			}
			child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
			return child.Run()
		}},
	}, append(calls(state, own), descriptors(own)...)...)
}

// fill writes files of so many megabytes, and removes them again.
func fill(dir string, files, megabytes int) func() error {
	return func() (err error) {
		megabyte := make([]byte, 1<<20)
		for i := range files {
			path := filepath.Join(dir, fmt.Sprintf("fill%d", i))
			defer os.Remove(path) //nolint:errcheck // as far as it is there
			file, createErr := os.Create(path)
			if createErr != nil {
				return createErr
			}
			for n := 0; n < megabytes && err == nil; n++ {
				_, err = file.Write(megabyte)
			}
			if err = errors.Join(err, file.Close()); err != nil {
				return err
			}
		}
		return nil
	}
}

// escape starts a process in another group that nobody waits for.
func escape() {
	child := exec.CommandContext(context.Background(), "sleep", "300")
	child.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := child.Start(); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
