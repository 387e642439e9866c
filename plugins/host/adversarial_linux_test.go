package host

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"
)

// adversary is a hostile plugin in an environment of its own.
type adversary struct {
	command Command
	mark    string // the value of its variable
	file    string // that it leaves
	log     *logged
}

func newAdversary(t *testing.T, when, how string, args ...string) *adversary {
	t.Helper()
	executable, err := os.Executable()
	require.NoError(t, err)
	dir := t.TempDir()
	a := &adversary{mark: dir, file: filepath.Join(dir, "mark"), log: &logged{}}
	a.command = Command{Path: executable, Args: args, Name: "bad", Env: []string{
		badWhen + "=" + when, badHow + "=" + how, badMark + "=" + a.file, mark + "=" + a.mark,
	}}
	t.Cleanup(func() { require.Empty(t, a.processes(t), "no process is left") })
	return a
}

func (a *adversary) start(t *testing.T, options Options) (*Remote, error) {
	t.Helper()
	options.Logger = hclog.New(&hclog.LoggerOptions{Output: a.log, Level: hclog.Debug, Color: hclog.ColorOff})
	options.writes = append(options.writes, filepath.Dir(a.file))
	options.StartTimeout, options.Deadline = max(options.StartTimeout, time.Minute), time.Minute
	remote, err := Start(t.Context(), a.command, options)
	if err == nil {
		t.Cleanup(remote.Close)
	}
	return remote, err
}

// processes returns the processes with the adversary's mark.
func (a *adversary) processes(t *testing.T) (pids []int) {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/environ")
	require.NoError(t, err)
	for _, path := range paths {
		environ, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(environ, []byte("\x00"+mark+"="+a.mark+"\x00")) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		require.NoError(t, err)
		pids = append(pids, pid)
	}
	return pids
}

const short = 200 * time.Millisecond

func TestAdversaries(t *testing.T) {
	for _, test := range []struct {
		when, how string
		foreign   bool
		deadline  time.Duration // in the troubled round
		refusal   string        // the first; "": none
		again     string        // the last, if the trouble goes on
		log       []string
	}{
		{
			when: "decide", how: "crash", refusal: "the session broke",
			log: []string{`exit status 3`, "the policy plugin failed"},
		},
		{
			when: "decide", how: "words", refusal: "the session broke",
			log: []string{"I do not feel well", "exit status 4"},
		},
		{
			when: "decide", how: "hang", deadline: short, refusal: "no decision within 200ms",
			log: []string{"no decision within 200ms", "restarting the policy plugin"},
		},
		{
			when: "decide", how: "stop", deadline: short, refusal: "no decision within 200ms",
			log: []string{"no decision within 200ms", "restarting the policy plugin"},
		},
		{
			when: "decide", how: "trace", deadline: short, refusal: "no decision within 200ms",
			log: []string{"traced: true", "no decision within 200ms", "restarting the policy plugin"},
		},
		{when: "decide", how: "trace for ever", refusal: "the session broke"},
		{
			when: "decide", how: "close", deadline: short, refusal: "policy plugin bad: ",
			log: []string{"the policy plugin failed"},
		},
		{when: "decide", how: "fork", refusal: "policy plugin bad: ", log: []string{"exit status 3"}},
		{when: "decide", how: "fork and stay"},
		{when: "decide", how: "garbage", log: []string{"the end of it", `{"@message":5,"@level":1}`}},
		{when: "decide", how: "deaf"},
		{
			when: "restart", how: "crash", refusal: "the session broke", again: "given up after 3 failures",
			log: []string{"it ended without a handshake: exit status 3"},
		},
		{
			when: "restart", how: "words", refusal: "the session broke", again: "given up after 3 failures",
			log: []string{`it ended without a handshake: exit status 4; it said: `, "I do not feel well"},
		},
		{
			when: "restart", how: "hang", refusal: "the session broke", again: "given up after 3 failures",
			log: []string{"restart: ", "not ready within 200ms"},
		},
		{
			when: "restart", how: "garbage", refusal: "the session broke", again: "given up after 3 failures",
			log: []string{"instead of a handshake"},
		},
		{
			when: "reconfigure", how: "crash", refusal: "the session broke", again: "given up after 3 failures",
			log: []string{"restart: ", "exit status 3"},
		},
		{
			when: "reconfigure", how: "hang", refusal: "the session broke", again: "given up after 3 failures",
			log: []string{"restart: ", "not ready within 200ms"},
		},
		{
			when: "resync", how: "crash", refusal: "the session broke", again: "given up after 3 failures",
			log: []string{"the session broke", "exit status 3"},
		},
		{how: "gigabyte", foreign: true, refusal: "larger than max", log: []string{"larger than max"}},
		{
			how: "crumbs", foreign: true, refusal: "more than 1048576 actions",
			log: []string{"more than 1048576 actions"},
		},
		{how: "newer", foreign: true},
	} {
		t.Run(strings.TrimSpace(test.how+" "+test.when), func(t *testing.T) {
			t.Parallel()
			args := []string{"plugin-serve", "bad"}
			if test.foreign {
				args = []string{foreign}
			}
			a := newAdversary(t, test.when, test.how, args...)
			remote, err := a.start(t, Options{Restarts: 2})
			require.NoError(t, err)
			refusals := runThroughTrouble(t, remote, test.deadline, func() {
				if test.how == "hang" && test.when != "decide" {
					remote.options.StartTimeout = short
				}
			})
			remote.Close()
			if test.how == "fork" && namespaces() == 0 { // processes that left the group are out of reach
				left := a.processes(t)
				require.Len(t, left, 1)
				send(t, left[0], syscall.SIGKILL, gone)
			}
			switch {
			case test.refusal == "":
				require.Empty(t, refusals)
			case test.again == "":
				require.Len(t, refusals, 1)
				require.ErrorContains(t, refusals[0].Err, test.refusal)
				require.Equal(t, 2, remote.Stats().Starts)
			default:
				require.ErrorContains(t, refusals[0].Err, test.refusal)
				require.ErrorContains(t, refusals[len(refusals)-1].Err, test.again)
				require.Equal(t, 3, remote.Stats().Starts)
			}
			for _, text := range test.log {
				require.Contains(t, a.log.String(), text)
			}
			require.NotRegexp(t, `[^[:print:]\n…�“”]`, a.log.String(), "nothing for a terminal to obey")
		})
	}
}

// go-plugin would start a goroutine for each connection that a plugin offers.
func TestNoFurtherConnectionsAreTaken(t *testing.T) {
	a := newAdversary(t, "", "", foreign)
	remote, err := a.start(t, Options{})
	require.NoError(t, err)
	runThroughTrouble(t, remote, 0, nothingHappens)
	require.NoFileExists(t, a.file)
}

func TestAPluginThatCannotBeStarted(t *testing.T) {
	for _, test := range []struct{ when, how, want string }{
		{"start", "crash", "it ended without a handshake: exit status 3"},
		{"start", "words", `it ended without a handshake: exit status 4; it said: I do not feel well`},
		{"start", "fork", "it ended without a handshake: exit status 3"},
		{"configure", "crash", ""},
		{"configure", "fork", ""},
	} {
		t.Run(test.how+" "+test.when, func(t *testing.T) {
			t.Parallel()
			a := newAdversary(t, test.when, test.how, "plugin-serve", "bad")
			_, err := a.start(t, Options{})
			require.ErrorContains(t, err, a.command.Path)
			require.ErrorContains(t, err, test.want)
			require.NotContains(t, err.Error(), "\n")
			for _, escaped := range a.processes(t) {
				require.Equal(t, "fork", test.how)
				send(t, escaped, syscall.SIGKILL, gone)
			}
		})
	}
	a := newAdversary(t, "", "newest", foreign)
	_, err := a.start(t, Options{})
	require.EqualError(t, err, "start "+a.command.Path+
		": it speaks version 7 of the policy protocol, this host 1: rebuild it with this host's plugins/sdk")
}

// A plugin that listens but never speaks does not delay the host longer than others.
func TestAPluginThatListensAndIsSilent(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("there is no Python")
	}
	script := write(t, filepath.Join(t.TempDir(), "silent"), `#!/usr/bin/env python3
import os, socket, time
path = os.environ["TMPDIR"] + "/socket"
listener = socket.socket(socket.AF_UNIX)
listener.bind(path)
listener.listen()
print("1|1|unix|" + path + "|grpc", flush=True)
time.sleep(300)
`, 0o755)
	_, err := Start(t.Context(), Command{Path: script},
		Options{StartTimeout: short, NoMTLS: true, Logger: hclog.NewNullLogger()})
	require.ErrorContains(t, err, "not ready within 200ms")
}

// A restart checks and starts the same file as the first start.
func TestTheExecutableIsCheckedAtEveryStart(t *testing.T) {
	for how, replace := range map[string]struct {
		do   func(path string) error
		want string
	}{
		"deleted": {os.Remove, "no such file or directory"},
		"changed": {func(path string) error {
			return os.WriteFile(path+".new", []byte("#!/bin/sh\n"), 0o700)
		}, "checksums did not match"},
	} {
		t.Run(how, func(t *testing.T) {
			a := newAdversary(t, "decide", "crash", "plugin-serve", "bad")
			path := filepath.Join(t.TempDir(), "plugin")
			a.command.SHA256 = copyExecutable(t, a.command.Path, path)
			a.command.Path = path
			remote, err := a.start(t, Options{Restarts: 2})
			require.NoError(t, err)
			refusals := runThroughTrouble(t, remote, 0, func() {
				require.NoError(t, replace.do(path))
				if how == "changed" {
					require.NoError(t, os.Rename(path+".new", path))
				}
			})
			require.ErrorContains(t, refusals[1].Err, replace.want)
			require.Contains(t, a.log.String(), replace.want)
		})
	}
}

func copyExecutable(t *testing.T, from, to string) []byte {
	t.Helper()
	in, err := os.Open(from)
	require.NoError(t, err)
	defer in.Close() //nolint:errcheck // it was read
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o700)
	require.NoError(t, err)
	sum := sha256.New()
	_, err = io.Copy(io.MultiWriter(out, sum), in)
	require.NoError(t, err)
	require.NoError(t, out.Close())
	return sum.Sum(nil)
}

// The test needs a plugin without the race detector, which takes much memory.
func TestMemoryIsLimitedAtEveryStart(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a plugin")
	}
	a := newAdversary(t, "", "")
	a.command.Path = filepath.Join(t.TempDir(), "eater")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", a.command.Path,
		"./testdata/eater").CombinedOutput()
	require.NoError(t, err, string(out))
	const limit = 256 << 20
	_, err = a.start(t, Options{Memory: limit, Policy: map[string]string{"fill": "300"}})
	require.ErrorContains(t, err, a.command.Path)
	// Go says so in other words where its own records, and not the heap, meet the limit, and so does
	// the C library where a thread's stack does.
	require.Regexp(t, "out of memory|cannot allocate memory|pthread_create failed", a.log.String())
	_, err = a.start(t, Options{Policy: map[string]string{"fill": "300"}})
	require.NoError(t, err, "it is the limit that it cannot bear")

	remote, err := a.start(t, Options{Memory: limit})
	require.NoError(t, err)
	limited := func() {
		limits, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", remote.Stats().PID))
		require.NoError(t, err)
		require.Regexp(t, fmt.Sprintf(`Max data size +%d +%d `, limit, limit), string(limits))
		require.Regexp(t, `Max core file size +0 +0 `, string(limits))
		require.Regexp(t, `Max open files +\d+ +(128|\d{1,2}) `, string(limits))
		environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", remote.Stats().PID))
		require.NoError(t, err)
		require.Contains(t, string(environ), fmt.Sprintf("\x00GOMEMLIMIT=%d\x00", limit/10*9))
	}
	limited()
	before := remote.Stats().PID
	runThroughTrouble(t, remote, 0, func() { send(t, before, syscall.SIGKILL, gone) })
	require.NotEqual(t, before, remote.Stats().PID)
	limited()
}
