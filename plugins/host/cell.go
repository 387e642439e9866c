package host

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/plugins/wire"
)

// Nobody is the user as whom plugins run where nothing else is said, and where the host may choose.
const Nobody = "nobody"

// Boundary says what keeps a plugin's process from the rest of the machine, besides the limits of
// [Options]. What it does not say, the process can do.
type Boundary struct {
	// User is as whom the plugin runs; empty means as whom its host does.
	User string
	// Files says that it reads only what belongs to it, what every program needs, and what
	// [Options.Reads] names, and that it writes only in a folder of its own. Landlock is the version
	// of what the kernel has for that.
	Files    bool
	Landlock int
	// Processes says that all that it starts ends with it, and that it sees and signals nothing else.
	Processes bool
	// Network says that it reaches no network.
	Network bool
	// Calls says that its system calls are filtered: it changes no file's attributes, reaches no
	// socket but its own unless it has a network, and shares no memory.
	Calls bool
	// Space says that what it writes is in memory of a limited size, and is gone at its end.
	Space bool
}

// String tells what holds.
func (b Boundary) String() string {
	holds := []string{"user " + cmp.Or(b.User, "of its host")}
	for _, one := range []struct {
		so   bool
		text string
	}{
		{b.Files, fmt.Sprintf("own files (Landlock %d)", b.Landlock)},
		{b.Processes, "own processes"},
		{b.Network, "no network"},
		{b.Calls, "filtered system calls"},
		{b.Space, "limited disk"},
	} {
		if one.so {
			holds = append(holds, one.text)
		}
	}
	return strings.Join(holds, ", ")
}

// Lacks tells what the process can do although it should not, which depends on the system and on
// who runs the host.
func (b Boundary) Lacks() (all []string) {
	if !b.Files {
		all = append(all, "it can read and write whatever its user can")
	}
	if !b.Processes {
		all = append(all, "what it starts can outlive it, by leaving its process group")
	}
	const signals = 6 // the version of Landlock since which it knows of them
	if !b.Processes && b.Landlock < signals {
		all = append(all, "it can signal the processes of its user")
	}
	if !b.Network {
		all = append(all, "it can reach the network")
	}
	const sockets = 9 // the version of Landlock since which it knows of their paths
	switch {
	case b.Landlock >= sockets || b.Calls && b.Network:
	case b.Space: // then these folders are hidden, too
		all = append(all, "it can connect to the Unix sockets of its user, and of all users, outside /run, /tmp and /var/tmp")
	default:
		all = append(all, "it can connect to whatever Unix sockets its user can")
	}
	if b.User == "" && b.Files && !b.Calls {
		all = append(all, "it can change the modes, times and attributes of all files of its user, and so share or lock them")
	}
	if !b.Calls {
		all = append(all, "it can make all system calls, and so exceed its memory by sharing it")
	}
	return all
}

// cell encloses one process of a plugin.
type cell struct {
	path    string // of the executable
	script  string // what its first line says of its interpreter; "": it is no script
	dir     string // the plugin's own folder, with its socket
	options Options
	who     credential
	inside  *os.File // the folder as the plugin sees it; nil: as we do
	held    *os.File // the folder, locked for as long as this program needs it; nil: it is not
	holds   Boundary
}

// newCell prepares a plugin's cell, with a folder.
func newCell(path string, options Options) (c *cell, err error) {
	if path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	c = &cell{path: path, options: options}
	if c.who, c.holds.User, err = identity(options.User); err != nil {
		return nil, err
	}
	for _, path := range options.Reads {
		if !filepath.IsAbs(path) {
			return nil, fmt.Errorf("let it read %s (plugins.reads): the path must be absolute", path)
		}
	}
	parent := os.TempDir()
	if c.who.barrier(filepath.Join(parent, "socket")) != "" {
		parent = "/tmp"
	}
	if c.dir, err = wire.SocketDir(parent); err != nil {
		return nil, err
	}
	c.held = hold(c.dir)
	_ = privileged(func() error {
		c.script = interpreterOf(path)
		return nil
	})
	return c, nil
}

// remove removes the plugin's folder. What is not removed before this program ends, a later [Start]
// removes.
func (c *cell) remove() {
	if c.inside != nil {
		_ = c.inside.Close()
	}
	_ = privileged(func() error { return removeAll(c.dir) })
	_ = c.held.Close()
}

// dial connects to where the plugin says that it listens, which must be a socket in its folder: the
// host reaches others that the plugin does not.
func (c *cell) dial(ctx context.Context, network, address string) (conn net.Conn, err error) {
	here, wrong := filepath.Rel(c.dir, address)
	if wrong != nil || !filepath.IsLocal(here) {
		if folder, linked := filepath.EvalSymlinks(c.dir); linked == nil { // it may know it by that name
			here, wrong = filepath.Rel(folder, address)
		}
	}
	if network != "unix" || wrong != nil || !filepath.IsLocal(here) {
		return nil, fmt.Errorf("it listens at %s %.80q, which is no socket in its folder (TMPDIR)", brief(network), address)
	}
	err = privileged(func() error {
		path, release, failed := c.socket(here)
		if failed != nil {
			return fmt.Errorf("it listens at %.80q: %w", address, failed)
		}
		defer release()
		conn, failed = new(net.Dialer).DialContext(ctx, network, path)
		return failed
	})
	return conn, err
}

// interpreterOf returns what a script's first line says of its interpreter; "" if the file is no
// script.
func interpreterOf(path string) string {
	file, err := openRegular(path)
	if err != nil { // it may be executable and not readable, or not there, as its start will tell
		return ""
	}
	defer file.Close()  //nolint:errcheck // it was read
	const longest = 256 // of such a line, for the kernel
	line, err := bufio.NewReader(io.LimitReader(file, longest)).ReadString('\n')
	rest, script := strings.CutPrefix(line, "#!")
	if err != nil && !errors.Is(err, io.EOF) || !script {
		return ""
	}
	return strings.TrimSpace(rest)
}

// start starts the command in the cell, from the thread that [onOwnThread] gives to its caller. Where
// the system can, the process halts before its first instruction until [await].
func (c *cell) start(cmd *exec.Cmd) error {
	ownGroup(cmd)
	cmd.Dir = string(filepath.Separator) // the host's may be a folder that the plugin has no way to
	cmd.Env = slices.DeleteFunc(cmd.Env, func(entry string) bool { return strings.HasPrefix(entry, "TMPDIR=") })
	cmd.Env = append(cmd.Env, "TMPDIR="+c.dir)
	if cmd.Stdin == nil {
		null, err := os.Open(os.DevNull)
		if err != nil {
			return hostError{err}
		}
		defer null.Close() //nolint:errcheck // the process has its own
		cmd.Stdin = null
	}
	// Not sooner: go-plugin makes a folder in it.
	if err := privileged(func() error { return c.who.own(c.dir) }); err != nil {
		return hostError{err}
	}
	if err := c.enter(cmd); err != nil {
		return hostError{err}
	}
	return c.who.explain(concealed(cmd.Start), c.path)
}
