package host

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// hostile builds the hostile plugin once for all tests.
var hostile = sync.OnceValues(func() (path string, err error) { //nolint:gochecknoglobals // built once
	if path = os.Getenv(builtHostile); path != "" {
		return path, nil
	}
	dir, err := os.MkdirTemp("", "hostile")
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, "hostile")
	out, err := exec.Command("go", "build", "-o", path, "./testdata/hostile").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, out)
	}
	return path, err
})

// builtHostile is the variable that says where the hostile plugin is, to a user who cannot build
// it.
const builtHostile = "TEST_HOSTILE"

// service listens in a new folder that is open to all, and returns the socket's address.
func service(t *testing.T, network, parent string) string {
	t.Helper()
	folder, err := os.MkdirTemp(parent, "sockets") //nolint:usetesting // it is somewhere else
	if err != nil {
		return "" // not ours to write to
	}
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(folder)) })
	require.NoError(t, os.Chmod(folder, 0o755))
	address := filepath.Join(folder, "socket")
	var socket interface{ Close() error }
	if network == "unix" {
		socket, err = net.Listen(network, address)
	} else {
		socket, err = net.ListenPacket(network, address)
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, socket.Close()) })
	require.NoError(t, os.Chmod(address, 0o666))
	return address
}

// underAttack starts the hostile plugin in a place with secrets and returns which attacks worked,
// and what is left of its processes once it is closed.
func underAttack(t *testing.T, options Options) (worked []string, boundary Boundary, left []int) {
	t.Helper()
	if testing.Short() {
		t.Skip("builds a plugin")
	}
	program, err := hostile()
	require.NoError(t, err)
	a := newAdversary(t, "", "")
	a.command.Path, a.command.Args = program, nil
	home := filepath.Join(t.TempDir(), "home")
	tokens := filepath.Join(home, ".condor", "tokens.d")
	require.NoError(t, os.MkdirAll(tokens, 0o755))
	t.Setenv("HOME", home)
	// Everything is open to all users, so that not only modes keep the plugin away.
	for folder := tokens; folder != "/tmp" && folder != "/"; folder = filepath.Dir(folder) {
		require.NoError(t, os.Chmod(folder, 0o777))
	}
	secret := write(t, filepath.Join(tokens, "token"), "secret", 0o666)
	require.NoError(t, os.Chmod(secret, 0o666))
	state := write(t, filepath.Join(home, "state"), "state", 0o666)
	require.NoError(t, os.Chmod(state, 0o666))
	open, err := syscall.Open(secret, syscall.O_RDONLY, 0) // and not closed when a program is executed
	require.NoError(t, err)
	defer syscall.Close(open) //nolint:errcheck // it was only read
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer tcp.Close() //nolint:errcheck // nobody called
	abstract, err := net.Listen("unix", "@"+t.TempDir())
	require.NoError(t, err)
	defer abstract.Close() //nolint:errcheck // nobody called
	elsewhere := "/opt"    // no folder that is hidden
	if unix.Access(elsewhere, unix.W_OK) != nil {
		elsewhere = "/tmp"
	}
	a.command.Env = append(a.command.Env, "HOSTILE_SOCKET="+service(t, "unix", "/tmp"),
		"HOSTILE_ELSEWHERE="+service(t, "unix", elsewhere), "HOSTILE_LETTERS="+service(t, "unixgram", elsewhere),
		"HOSTILE_SECRET="+secret, "HOSTILE_STATE="+state, fmt.Sprintf("HOSTILE_HOST=%d", os.Getpid()),
		fmt.Sprintf("HOSTILE_FD=%d", open), "HOSTILE_TCP="+tcp.Addr().String(), "HOSTILE_UDP="+tcp.Addr().String(),
		"HOSTILE_ABSTRACT="+strings.TrimPrefix(abstract.Addr().String(), "@"), fmt.Sprintf("HOSTILE_UID=%d", os.Getuid()))
	remote, err := a.start(t, options)
	require.NoError(t, err, a.log)
	runThroughTrouble(t, remote, 0, nothingHappens)
	boundary = remote.Boundary()
	remote.Close()
	left = a.processes(t)
	for _, escaped := range left {
		send(t, escaped, syscall.SIGKILL, gone)
	}
	for _, found := range regexp.MustCompile(`attack (.*): worked`).FindAllStringSubmatch(a.log.String(), -1) {
		worked = append(worked, found[1])
	}
	if os.Getenv("HOSTILE_WHY") != "" {
		t.Log(a.log.String())
	}
	require.Contains(t, a.log.String(), "attack start a daemon: ")
	slices.Sort(worked)
	for _, path := range []string{secret, state} {
		if text, err := os.ReadFile(path); err != nil || string(text) != map[string]string{secret: "secret", state: "state"}[path] {
			worked = append(worked, "changed "+filepath.Base(path))
		}
	}
	return worked, boundary, left
}

// harmlessAttacks are what a plugin may do.
func harmlessAttacks() []string {
	return []string{
		"ask what a pipe holds", "run a shell", "start a daemon", "touch an open file", "write to its folder",
	}
}

func TestAHostileExecutableReachesNothing(t *testing.T) {
	reachesNothing(t, Options{User: Nobody})
	t.Run("with a network", func(t *testing.T) {
		reachesNothing(t, Options{User: Nobody, Network: true},
			"tcp", "udp", "ask for another family", "abstract socket", "socket in /tmp", "socket elsewhere",
			"send to a socket", "send by a pair of sockets")
	})
}

// TestAnOrdinaryUsersPluginReachesNothing runs the test above as a user who has no rights.
func TestAnOrdinaryUsersPluginReachesNothing(t *testing.T) {
	switch {
	case testing.Short():
		t.Skip("builds a plugin")
	case os.Geteuid() != 0:
		t.Skip("the test above does it")
	}
	program, err := hostile()
	require.NoError(t, err)
	for folder := filepath.Dir(program); folder != "/tmp" && folder != "/"; folder = filepath.Dir(folder) {
		require.NoError(t, os.Chmod(folder, 0o755))
	}
	executable, err := os.Executable()
	require.NoError(t, err)
	dir, err := os.MkdirTemp("/tmp", "ordinary") //nolint:usetesting // another user must get into it
	require.NoError(t, err)
	defer os.RemoveAll(dir) //nolint:errcheck // it is empty
	const ordinary = 12345
	require.NoError(t, os.Chown(dir, ordinary, ordinary))
	own := filepath.Join(dir, "test")
	copyExecutable(t, executable, own)
	require.NoError(t, os.Chmod(own, 0o755))
	test := exec.CommandContext(t.Context(), own, "-test.v", "-test.run", "^TestAHostileExecutableReachesNothing$")
	test.Dir = dir
	test.Env = []string{"TMPDIR=" + dir, "HOME=" + dir, "PATH=" + os.Getenv("PATH"), builtHostile + "=" + program}
	test.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: ordinary, Gid: ordinary}}
	out, err := test.CombinedOutput()
	require.NoError(t, err, string(out))
	t.Log(string(out))
}

// reachesNothing lets a hostile executable try all its attacks, of which only these may work.
func reachesNothing(t *testing.T, options Options, allowed ...string) {
	t.Helper()
	options.Memory = 1 << 30
	worked, boundary, left := underAttack(t, options)
	t.Log(boundary)
	switch {
	case !boundary.Files:
		t.Skip("this kernel has no Landlock")
	case !boundary.Calls:
		t.Skip("this kernel filters no system calls")
	case boundary.Landlock < 6 || !boundary.Processes:
		t.Skipf("this system lets us have no more than %s", boundary)
	}
	allowed = append(allowed, harmlessAttacks()...)
	if boundary.User == "" {
		allowed = append(allowed, "be the host's user")
	}
	if !boundary.Space {
		allowed = append(allowed, "fill its folder")
	}
	require.Subset(t, worked, harmlessAttacks(), "the attacks are real")
	require.Empty(t, slices.DeleteFunc(worked, func(name string) bool { return slices.Contains(allowed, name) }))
	require.Empty(t, left, "what it started ended with it")
}

// demotedHost is the argument that makes the tests' executable a host that was root and became
// another user, as HTCondor's daemons do. It starts a plugin, asks it twice, kills it in between,
// and says in the end what went wrong.
const demotedHost = "be-a-demoted-host"

func beDemoted() {
	err := func() error {
		const condor = 12345
		if err := errors.Join(syscall.Setgroups(nil), syscall.Setresgid(condor, condor, condor),
			syscall.Setresuid(condor, condor, 0)); err != nil {
			return err
		}
		self, err := Self("easy")
		if err != nil {
			return err
		}
		remote, err := Start(context.Background(), self, Options{User: Nobody, Logger: hclog.NewNullLogger()})
		if err != nil {
			return err
		}
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", remote.Stats().PID))
		if err != nil {
			return err
		}
		for _, want := range []string{
			"\nUid:\t65534\t65534\t65534\t65534\n", "\nGroups:\t \n", "\nCapPrm:\t0000000000000000\n",
			"\nCapBnd:\t0000000000000000\n", "\nNoNewPrivs:\t1\n",
		} {
			if !strings.Contains(string(status), want) {
				return fmt.Errorf("no %q in %s", want, status)
			}
		}
		state := newPool()
		decide := func() error {
			tx, wrong := state.Open(backfill.Round{})
			if wrong != nil {
				return wrong
			}
			return remote.Decide(context.Background(), tx)
		}
		if err = decide(); err != nil {
			return err
		}
		before := remote.Stats().PID
		remote.mu.Lock()
		remote.leave(false) // kills it
		remote.mu.Unlock()
		if !gone(before) {
			return errors.New("the plugin was not killed")
		}
		var caps [2]unix.CapUserData
		err = unix.Capget(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &caps[0])
		if err == nil && caps[0].Effective != 0 {
			err = errors.New("a thread kept its capabilities")
		}
		remote.Close()
		return err
	}()
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// TestAHostThatWasRootControlsItsPlugin: the daemon under condor_master has the user condor, and
// plugins another one still.
func TestAHostThatWasRootControlsItsPlugin(t *testing.T) {
	if os.Geteuid() != 0 || namespaces()&unix.CLONE_NEWUSER != 0 {
		t.Skip("only root can become another user")
	}
	executable, err := os.Executable()
	require.NoError(t, err)
	dir, err := os.MkdirTemp("", "demoted") //nolint:usetesting // another user must get into it
	require.NoError(t, err)
	defer os.RemoveAll(dir) //nolint:errcheck // it is empty
	require.NoError(t, os.Chmod(dir, 0o777|os.ModeSticky))
	host := exec.CommandContext(t.Context(), executable, demotedHost)
	host.Env = append(os.Environ(), "TMPDIR="+dir)
	out, err := host.CombinedOutput()
	require.NoError(t, err, string(out))
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

// TestLinksThroughClosedFolders starts a plugin by a link to a link beside it, in folders that the
// plugin's user may not enter.
func TestLinksThroughClosedFolders(t *testing.T) {
	plugin, err := Self("easy")
	require.NoError(t, err)
	text, err := os.ReadFile(plugin.Path)
	require.NoError(t, err)
	closed := func() string {
		dir, err := os.MkdirTemp("", "closed") //nolint:usetesting // below no other closed folder
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
		require.NoError(t, os.Chmod(dir, 0o700))
		return dir
	}
	one, other := closed(), closed()
	require.NoError(t, os.WriteFile(filepath.Join(one, "plugin"), text, 0o700)) //nolint:gosec // it is executed
	require.NoError(t, os.Symlink("plugin", filepath.Join(one, "link")))
	plugin.Path = filepath.Join(other, "link")
	require.NoError(t, os.Symlink(filepath.Join(one, "link"), plugin.Path))
	for range 10 { // the folders are covered in any order
		remote, err := Start(t.Context(), plugin, Options{User: Nobody, Logger: hclog.NewNullLogger()})
		require.NoError(t, err)
		remote.Close()
	}
}

// TestMemoryIsLimitedWithoutTheRightToRaiseLimits: containers often have root without
// CAP_SYS_RESOURCE.
func TestMemoryIsLimitedWithoutTheRightToRaiseLimits(t *testing.T) {
	if !maySwitch() {
		t.Skip("only root can become another user")
	}
	plugin, err := Self("easy")
	require.NoError(t, err)
	const memory = 1 << 30
	remote, err := Start(t.Context(), plugin, Options{User: Nobody, Memory: memory, Logger: hclog.NewNullLogger()})
	require.NoError(t, err)
	defer remote.Close()
	limits, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", remote.Stats().PID))
	require.NoError(t, err)
	require.Regexp(t, `Max data size +1073741824 +1073741824`, string(limits))
	require.Regexp(t, `Max core file size +0 +0`, string(limits))
}

// TestTheHostCallsOnlyThePlugin: a plugin must not send its host to sockets that it cannot reach.
func TestTheHostCallsOnlyThePlugin(t *testing.T) {
	called := filepath.Join(t.TempDir(), "socket")
	other, err := net.Listen("unix", called)
	require.NoError(t, err)
	defer other.Close() //nolint:errcheck // nobody called
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer tcp.Close() //nolint:errcheck // nobody called
	c, err := newCell("/bin/true", Options{})
	require.NoError(t, err)
	defer c.remove()
	link, deep, own := filepath.Join(c.dir, "link"), filepath.Join(c.dir, "folder"), filepath.Join(c.dir, "own")
	require.NoError(t, os.Symlink(called, link))
	require.NoError(t, os.Symlink(filepath.Dir(called), deep))
	mine, err := net.Listen("unix", own)
	require.NoError(t, err)
	defer mine.Close() //nolint:errcheck // it was called once
	for _, place := range [][2]string{
		{"tcp", tcp.Addr().String()},
		{"unix", called},
		{"unix", link},
		{"unix", deep + "/socket"},
		{"unix", "@x"},
		{"unixpacket", own},
		{"unix", c.dir + "/../" + filepath.Base(c.dir) + "x"},
		{"unix", c.dir},
	} {
		_, err = c.dial(t.Context(), place[0], place[1])
		require.Error(t, err, place)
	}
	conn, err := c.dial(t.Context(), "unix", own)
	require.NoError(t, err)
	require.NoError(t, conn.Close())
}

// TestAnInterpreterBringsOnlyItsLanguage: who writes a script names its interpreter.
func TestAnInterpreterBringsOnlyItsLanguage(t *testing.T) {
	for where, brings := range map[string]bool{
		"venv/pyvenv.cfg": true, "py[3]/lib/python3.12": true, ".local/lib/python3.12": false, "app/lib/data": false,
	} {
		t.Run(where, func(t *testing.T) {
			dir := t.TempDir()
			root := filepath.Join(dir, strings.Split(where, "/")[0])
			require.NoError(t, os.MkdirAll(filepath.Join(root, "bin"), 0o755))
			require.NoError(t, os.MkdirAll(filepath.Join(dir, where), 0o755))
			interpreter := write(t, filepath.Join(root, "bin", "py"), "", 0o755)
			c := &cell{script: interpreter}
			require.Contains(t, c.interpreter(), interpreter)
			require.Equal(t, brings, slices.Contains(c.interpreter(), filepath.Join(root, "share")))
		})
	}
}

// TestLacksTellsOfModesAndSockets: Landlock knows nothing of modes, and for long nothing of
// sockets.
func TestLacksTellsOfModesAndSockets(t *testing.T) {
	own := strings.Join(Boundary{Files: true, Landlock: 7}.Lacks(), "\n")
	require.Contains(t, own, "change the modes")
	require.Contains(t, own, "whatever Unix sockets its user can")
	other := strings.Join(Boundary{User: "x", Files: true, Landlock: 7, Space: true}.Lacks(), "\n")
	require.NotContains(t, other, "modes")
	require.Contains(t, other, "outside /run, /tmp and /var/tmp")
	filtered := Boundary{Files: true, Landlock: 7, Processes: true, Network: true, Calls: true}
	require.Empty(t, filtered.Lacks(), "it changes no modes, and calls no sockets")
	filtered.Network = false // it may have one
	require.Contains(t, strings.Join(filtered.Lacks(), "\n"), "whatever Unix sockets its user can")
	all := strings.Join(Boundary{User: "x", Files: true, Landlock: 9, Processes: true, Network: true, Space: true}.Lacks(), "\n")
	require.Equal(t, "it can make all system calls, and so exceed its memory by sharing it", all)
}
