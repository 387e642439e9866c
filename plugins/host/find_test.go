package host

import (
	"context"
	"crypto/sha256"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"
)

func write(t *testing.T, path, text string, mode os.FileMode) string {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), mode))
	return path
}

func TestFind(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	dirs := []string{filepath.Join(dir, "absent"), filepath.Join(dir, "a"), filepath.Join(dir, "b")}
	first := write(t, filepath.Join(dir, "a", "backfill-mine"), "#!/bin/sh\n", 0o755)
	write(t, filepath.Join(dir, "b", "backfill-mine"), "#!/bin/sh\n", 0o755)
	second := write(t, filepath.Join(dir, "b", "backfill-other"), "#!/bin/sh\n", 0o755)
	text := write(t, filepath.Join(dir, "b", "backfill-text"), "text", 0o644)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "b", "backfill-dir"), 0o755))

	for name, want := range map[string]string{"mine": first, "other": second, second: second} {
		path, found, err := Find(name, dirs)
		require.NoError(t, err)
		require.True(t, found)
		require.Equal(t, want, path)
	}
	_, found, err := Find("absent", dirs)
	require.NoError(t, err)
	require.False(t, found)
	for name, want := range map[string]string{
		"text":                        text + ": is not a policy plugin: permission denied: it is not executable: chmod +x " + text,
		"dir":                         "is a directory",
		dir + "/b/backfill-text":      "permission denied",
		dir + "/b/backfill-not-there": "no such file",
	} {
		_, found, err = Find(name, dirs)
		require.ErrorContains(t, err, want)
		require.False(t, found)
	}
}

func TestWhatIsNoPluginIsSaidSo(t *testing.T) {
	dir := t.TempDir()
	for name, test := range map[string]struct{ script, want string }{
		"silent": {"#!/bin/sh\nexit 0\n", "it ended without a handshake: its main must call sdk.Serve"},
		"complaining": {
			"#!/bin/sh\necho one >&2\nprintf 'no \\033[31mtwo' >&2\nexit 3\n",
			"it ended without a handshake: exit status 3; it said: one … no \ufffd[31mtwo",
		},
		"closed":       {"#!/bin/sh\nexec >&- 2>&-\nsleep 100\n", "it ended without a handshake"},
		"endless":      {"#!/bin/sh\nexec cat /dev/full\n", `it printed "\x00`},
		"endless line": {"#!/bin/sh\nexec yes '1|1|unix|/x|grpc|' | tr -d '\\n'\n", `"… instead of a handshake`},
		"another's": {"#!/bin/sh\necho This binary is a plugin. These are not meant to be executed directly. " +
			">&2\nexit 1\n", "it is a plugin of another program, with another magic cookie: rebuild it"},
		"old core": {
			"#!/bin/sh\necho '0|1|tcp|127.0.0.1:1|grpc'\nsleep 100\n",
			"it shakes hands as in version 0 of go-plugin's protocol, this host as in version 1: rebuild it",
		},
		"other rpc": {
			"#!/bin/sh\necho '1|1|tcp|127.0.0.1:1|netrpc'\nsleep 100\n",
			"it does not serve its policy over gRPC: rebuild it",
		},
		"no rpc": {
			"#!/bin/sh\necho '1|1|tcp|127.0.0.1:1'\nsleep 100\n",
			"it does not serve its policy over gRPC",
		},
		"odd numbers": {
			"#!/bin/sh\necho '1|one|tcp|127.0.0.1:1|grpc'\nsleep 100\n",
			`it printed "1|one|tcp|127.0.0.1:1|grpc" instead of a handshake`,
		},
		"odd network": {"#!/bin/sh\necho '1|1|fax|127.0.0.1:1|grpc'\nsleep 100\n", "unknown address type"},
		"odd certificate": {"#!/bin/sh\n" +
			"echo '1|1|tcp|127.0.0.1:1|grpc|xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'\n" +
			"sleep 100\n", "error parsing server cert"},
		"talking": {
			"#!/bin/sh\necho hello\nsleep 100\n",
			`it printed "hello" instead of a handshake: nothing may be printed before sdk.Serve`,
		},
		"old": {
			"#!/bin/sh\necho '1|99|tcp|127.0.0.1:1|grpc'\nsleep 100\n",
			"it speaks version 99 of the policy protocol, this host 1: rebuild it with this host's plugins/sdk",
		},
		"not there":            {"", "no such file or directory"},
		"unclear":              {"\x01\x02", "exec format error: it is no program of this system"},
		"a text":               {"import sys\n", "exec format error: it is a text whose first line names no interpreter, as #!/usr"},
		"arm":                  {"\x7fELF\x02\x01\x01" + strings.Repeat("\x00", 9) + "\x02\x00\xb7\x00", "another processor, EM_AARCH64"},
		"windows":              {"MZ\x90\x00", "a program for Windows"},
		"mac":                  {"\xcf\xfa\xed\xfe\x07\x00", "a program for macOS"},
		"no such interpreter":  {"#!/usr/bin/pyhton3 -B\n", `names the interpreter "/usr/bin/pyhton3", which is not there`},
		"from Windows":         {"#!/bin/sh\r\nexit 0\r\n", "its first line ends with CR LF"},
		"from Windows, by env": {"#!/usr/bin/env python3\r\n", "its first line ends with CR LF"},
		"wrong": {
			"#!/bin/sh\necho 'this policy cannot be served: option depth: its default must be a number' >&2\nexit 1\n",
			"wrong: its policy cannot be served: option depth: its default must be a number",
		},
		"dead end": {"#!/bin/sh\necho '1|1|unix|/nowhere|grpc|'\nsleep 100\n", "/nowhere"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(dir, name)
			if test.script != "" {
				write(t, path, test.script, 0o755)
			}
			_, err := Start(t.Context(), Command{Path: path},
				Options{StartTimeout: time.Minute, NoMTLS: true, Logger: hclog.NewNullLogger()})
			require.ErrorContains(t, err, test.want)
			require.ErrorContains(t, err, path)
			require.NotContains(t, err.Error(), "\n")
		})
	}
}

func TestAnEmptyFileIsNoPlugin(t *testing.T) {
	path := write(t, filepath.Join(t.TempDir(), "empty"), "", 0o755)
	_, err := Start(t.Context(), Command{Path: path}, Options{Logger: hclog.NewNullLogger()})
	require.EqualError(t, err, path+": is not a policy plugin: exec format error: it is empty")
}

func TestABinaryThatReadsForEverIsNoPlugin(t *testing.T) {
	path, err := exec.LookPath("sleep")
	require.NoError(t, err)
	_, err = Start(t.Context(), Command{Path: path, Args: []string{"100"}},
		Options{StartTimeout: 200 * time.Millisecond, Logger: hclog.NewNullLogger()})
	require.EqualError(t, err, path+": is not a policy plugin: not ready within 200ms")
}

func TestStartEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := Start(ctx, Command{Path: "/bin/sleep", Args: []string{"100"}}, Options{Logger: hclog.NewNullLogger()})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NotContains(t, err.Error(), "is not a policy plugin")
	ctx, cancel = context.WithCancel(t.Context())
	cancel()
	_, err = Start(ctx, Command{Path: "/bin/sleep", Args: []string{"100"}},
		Options{StartTimeout: time.Hour, Logger: hclog.NewNullLogger()})
	require.ErrorIs(t, err, context.Canceled)
}

func TestBadOptionsAreRefusedAtTheStart(t *testing.T) {
	command, err := Self("easy")
	require.NoError(t, err)
	_, err = Start(t.Context(), command,
		Options{Policy: map[string]string{"depth": "none"}, Logger: hclog.NewNullLogger()})
	require.ErrorContains(t, err, `policy easy: option depth="none" must be a whole number of at least 1`)
}

func TestAPolicyThatIsNotLinkedIn(t *testing.T) {
	command, err := Self("nobody's")
	require.NoError(t, err)
	_, err = Start(t.Context(), command, Options{Logger: hclog.NewNullLogger()})
	require.ErrorContains(t, err, `it ended without a handshake: exit status 2; it said: plugin-serve: no policy`)
}

func TestTheSumOfTheExecutableIsChecked(t *testing.T) {
	command, err := Self("easy")
	require.NoError(t, err)
	command.SHA256 = make([]byte, sha256.Size)
	_, err = Start(t.Context(), command, Options{Logger: hclog.NewNullLogger()})
	require.ErrorContains(t, err, "start "+command.Path+": checksums did not match: its SHA-256 is ")
	executable, err := os.ReadFile(command.Path)
	require.NoError(t, err)
	sum := sha256.Sum256(executable)
	command.SHA256 = sum[:]
	started(t, command, Options{})
}

func TestAPluginThatDoesNotEncryptIsToldHow(t *testing.T) {
	self, err := Self("easy")
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "open")
	script := "#!/bin/sh\nunset PLUGIN_CLIENT_CERT\nexec " + self.Path + " " + strings.Join(self.Args, " ") + "\n"
	require.NoError(t, os.WriteFile(path, []byte(script), 0o700)) //nolint:gosec // it is executed
	_, err = Start(t.Context(), Command{Path: path}, Options{Logger: hclog.NewNullLogger(), Reads: []string{self.Path}})
	require.ErrorContains(t, err, "a plugin that does not do mutual TLS needs mtls: off in the configuration")
	remote, err := Start(t.Context(), Command{Path: path}, Options{NoMTLS: true, Logger: hclog.NewNullLogger(), Reads: []string{self.Path}})
	require.NoError(t, err)
	remote.Close()
}
