package host

import (
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

	"github.com/stretchr/testify/require"
)

// hostile builds the hostile plugin once for all tests.
var hostile = sync.OnceValues(func() (path string, err error) { //nolint:gochecknoglobals // built once
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
	a.command.Env = append(a.command.Env,
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
	return []string{"run a shell", "start a daemon", "write to its folder"}
}

func TestAHostileExecutableReachesNothing(t *testing.T) {
	worked, boundary, left := underAttack(t, Options{User: Nobody})
	switch {
	case !boundary.Files:
		t.Skip("this kernel has no Landlock")
	case boundary.Landlock < 6 || !boundary.Processes:
		t.Skipf("this system lets us have no more than %s", boundary)
	}
	harmless := harmlessAttacks()
	if boundary.User == "" {
		harmless = append(harmless, "be the host's user")
	}
	if !boundary.Space {
		harmless = append(harmless, "fill its folder")
	}
	require.Subset(t, harmless, worked)
	require.Subset(t, worked, harmlessAttacks(), "the attacks are real")
	require.Empty(t, left, "what it started ended with it")
}
