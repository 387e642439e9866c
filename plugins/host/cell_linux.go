package host

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/landlock-lsm/go-landlock/landlock"
	landlocksys "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// onOwnThread calls f in a thread that ends with it, so that f may give up rights for good: what f
// starts has no more, and all other threads keep theirs. All processes that this thread has started
// are f's, see [await].
func onOwnThread(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // without a way back, so that the thread ends with its goroutine
		// The first thread never ends, and its rights are shown as the process'.
		if unix.Gettid() != unix.Getpid() && childless() {
			f()
			return
		}
		onOwnThread(f)
		runtime.UnlockOSThread()
	}()
	<-done
}

// childless reports whether no process is left that the calling thread started.
func childless() bool {
	const whatever = unix.WEXITED | unix.WNOHANG | unix.WNOWAIT | unix.WALL | unix.WNOTHREAD
	for {
		err := unix.Waitid(unix.P_ALL, 0, nil, whatever, nil)
		if err != unix.EINTR {
			return err == unix.ECHILD
		}
	}
}

// enter gives the calling thread, one of [onOwnThread], the rights of a plugin, and prepares the
// command, which then has to be started from this thread.
func (c *cell) enter(cmd *exec.Cmd) error {
	if _, err := raise(); err != nil {
		return fmt.Errorf("raise this thread's capabilities: %w", err)
	}
	keepOpenFiles()
	c.who.run(cmd)
	cmd.SysProcAttr.Cloneflags, cmd.SysProcAttr.Ptrace = namespaces(), haltable()
	if c.options.Network {
		cmd.SysProcAttr.Cloneflags &^= unix.CLONE_NEWNET
	}
	c.holds.Processes = cmd.SysProcAttr.Cloneflags&unix.CLONE_NEWPID != 0
	c.holds.Network = cmd.SysProcAttr.Cloneflags&unix.CLONE_NEWNET != 0
	if err := c.mount(); err != nil {
		return err
	}
	if err := c.giveUp(); err != nil {
		return err
	}
	if err := c.restrict(); err != nil {
		return err
	}
	calls, err := filtered(c.options.Network, cmd.SysProcAttr.Cloneflags)
	c.holds.Calls = calls
	c.holds.Network = c.holds.Network || calls && !c.options.Network
	return err
}

// keepOpenFiles keeps all files that are open from processes that are started: somebody may have
// opened them before this program began, and passed them on.
func keepOpenFiles() {
	const standard = 3 // descriptors that every process has
	if unix.CloseRange(standard, 1<<32-1, unix.CLOSE_RANGE_CLOEXEC) == nil {
		return
	}
	entries, _ := os.ReadDir("/proc/self/fd")
	for _, entry := range entries {
		var fd int
		if _, err := fmt.Sscan(entry.Name(), &fd); err == nil && fd >= standard {
			unix.CloseOnExec(fd)
		}
	}
}

// namespaces returns the flags with which this machine lets us start a process that sees no other
// processes, takes all that it starts with it when it ends, and has no network; 0 if it does not.
var namespaces = sync.OnceValue(func() uintptr { //nolint:gochecknoglobals // asked once
	const enclosed = unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC
	for _, flags := range []uintptr{enclosed, enclosed | unix.CLONE_NEWUSER} {
		// There is no such program; before this is noticed, the namespaces are made, or are not.
		_, err := syscall.ForkExec("", []string{""}, &syscall.ProcAttr{
			Env: []string{}, Sys: &syscall.SysProcAttr{Cloneflags: flags},
		})
		if errors.Is(err, syscall.ENOENT) {
			return flags
		}
	}
	return 0
})

// scratch limits a plugin's folder, in bytes; files limits their number.
const scratch, files = 64 << 20, 10_000

// mount covers the plugin's folder, as it and this thread see it, with memory of a limited size,
// and hides the sockets of the system's services.
func (c *cell) mount() error {
	if unix.Unshare(unix.CLONE_NEWNS) != nil {
		return nil // only root may
	}
	limits := fmt.Sprintf("size=%d,nr_inodes=%d,mode=0700", scratch, files)
	if c.who.Credential != nil {
		limits += fmt.Sprintf(",uid=%d,gid=%d", c.who.Uid, c.who.Gid)
	}
	const harmless = unix.MS_NOSUID | unix.MS_NODEV
	err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, "")
	if err == nil {
		err = unix.Mount("tmpfs", c.dir, "tmpfs", harmless, limits)
	}
	if err != nil {
		return nil //nolint:nilerr // it stays as it is, and the boundary says so
	}
	c.holds.Space = true
	inside, err := unix.Open(c.dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open the plugin's folder: %w", err)
	}
	c.inside = os.NewFile(uintptr(inside), c.dir)
	if !c.uses("/run") {
		_ = unix.Mount("tmpfs", "/run", "tmpfs", harmless|unix.MS_RDONLY|unix.MS_NOEXEC, "size=4k,mode=0755")
	}
	return c.open()
}

// socket returns a path to a file in the plugin's folder, by which no link is followed.
func (c *cell) socket(here string) (path string, release func(), err error) {
	folder := c.inside
	if folder == nil {
		if folder, err = os.Open(c.dir); err != nil {
			return "", nil, err
		}
		defer folder.Close() //nolint:errcheck // it was not read
	}
	const links = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS
	fd, err := unix.Openat2(int(folder.Fd()), here, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: links})
	if errors.Is(err, unix.ENOSYS) && !strings.Contains(here, "/") { // a kernel before 5.6
		fd, err = unix.Openat(int(folder.Fd()), here, unix.O_PATH|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	}
	if err != nil {
		return "", nil, err
	}
	// Of a link itself, which only the older way opens, the kernel makes no socket.
	return fmt.Sprintf("/proc/self/fd/%d", fd), func() { _ = unix.Close(fd) }, nil
}

// open lets the plugin's user reach what belongs to the plugin: a folder above that the user may
// not enter is covered with an empty one, in which the plugin finds nothing else.
func (c *cell) open() error {
	covered := map[string][]*os.File{}
	hidden := c.hidden()
	for _, path := range c.kept() {
		folder := c.who.barrier(path)
		for _, one := range hidden {
			if within(path, one) && (folder == "" || within(folder, one)) {
				folder = one
			}
		}
		if folder == "" {
			continue
		}
		// Before any folder is covered, as links may lead through several.
		fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			continue // it is not there
		}
		file := os.NewFile(uintptr(fd), path)
		defer file.Close() //nolint:errcheck // it was not read
		covered[folder] = append(covered[folder], file)
	}
	for _, one := range hidden {
		if c.who.barrier(filepath.Join(one, "socket")) == "" && covered[one] == nil {
			covered[one] = []*os.File{}
		}
	}
	_ = unix.Umask(0o022) // of this thread, since it has mounts of its own
	for folder, found := range covered {
		if err := cover(folder, found); err != nil {
			return fmt.Errorf("let the plugin reach its files in %s: %w", folder, err)
		}
	}
	return c.publish()
}

// hidden returns the folders of which the plugin sees only what is its own, since other programs
// keep sockets there; not those that it may read as a whole.
func (c *cell) hidden() (all []string) {
	for _, folder := range []string{"/tmp", "/var/tmp"} {
		folder = resolved(folder)
		_, err := os.Stat(folder)
		above := func(path string) bool { return within(folder, path) }
		if err == nil && !slices.Contains(all, folder) && !slices.ContainsFunc(c.kept(), above) {
			all = append(all, folder)
		}
	}
	return all
}

// kept returns what the plugin must find where it is, without links, too.
func (c *cell) kept() []string {
	all := slices.Concat(c.wanted(), c.options.writes, []string{c.dir})
	for _, path := range slices.Clone(all) {
		all = append(all, resolved(path))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// publish covers an executable that the plugin's user may not read with a copy that it may.
func (c *cell) publish() error {
	info, err := os.Stat(c.path)
	if err != nil || !info.Mode().IsRegular() || info.Mode().Perm()&0o100 == 0 || c.who.may(info, read|execute) {
		return nil //nolint:nilerr // its start will tell
	}
	text, err := os.ReadFile(c.path)
	copied := filepath.Join(c.dir, "executable")
	if err == nil {
		err = os.WriteFile(copied, text, 0o555) //nolint:gosec // it is executed
	}
	if err == nil {
		err = unix.Mount(copied, c.path, "", unix.MS_BIND, "")
	}
	if err != nil {
		return fmt.Errorf("let the plugin execute its copy of %s: %w", c.path, err)
	}
	return nil
}

// cover covers a folder with an empty one that has nothing but these files and folders.
func cover(folder string, found []*os.File) error {
	// A folder comes before what is in it.
	slices.SortFunc(found, func(a, b *os.File) int { return len(a.Name()) - len(b.Name()) })
	if err := unix.Mount("tmpfs", folder, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "size=1m,mode=0755"); err != nil {
		return err
	}
	for _, file := range found {
		path := file.Name()
		if _, err := os.Stat(path); err == nil { // its folder is here already
			continue
		}
		info, err := file.Stat()
		if err == nil && info.IsDir() {
			err = os.MkdirAll(path, 0o755)
		} else if err == nil {
			err = errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, nil, 0o600))
		}
		if err == nil {
			err = unix.Mount(fmt.Sprintf("/proc/self/fd/%d", file.Fd()), path, "", unix.MS_BIND|unix.MS_REC, "")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// giveUp keeps the thread, and what it starts, from ever gaining rights by executing a file.
func (c *cell) giveUp() error {
	for capability := uintptr(0); unix.Prctl(unix.PR_CAPBSET_READ, capability, 0, 0, 0) == nil; capability++ {
		_ = unix.Prctl(unix.PR_CAPBSET_DROP, capability, 0, 0, 0) // only root may, and only root has them
	}
	_, _ = unix.KeyctlJoinSessionKeyring("") // the host's may hold its keys
	_ = unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("give up new privileges: %w", err)
	}
	return nil
}

// landlock restricts this thread, and what it starts, to the plugin's files.
func (c *cell) restrict() error {
	version, err := landlocksys.LandlockGetABIVersion()
	if err != nil || version < 1 {
		return nil //nolint:nilerr // the kernel has none, and the boundary says so
	}
	rules, err := c.rules()
	if err != nil {
		return err
	}
	enclosed := landlock.V11
	if c.options.Network {
		enclosed = landlock.Config{HandledAccessFS: enclosed.HandledAccessFS, Scoped: enclosed.Scoped}
	}
	ruleset, flags, err := enclosed.BestEffort().NewRulesetFD(rules...)
	if err == nil && ruleset >= 0 {
		err = landlocksys.LandlockRestrictSelf(ruleset, flags)
		_ = unix.Close(ruleset)
	}
	if err != nil {
		return fmt.Errorf("restrict the plugin to its files: %w", err)
	}
	c.holds.Files, c.holds.Landlock = true, version
	return nil
}
