package host

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
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
// starts has no more, and all other threads keep theirs.
func onOwnThread(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // without a way back, so that the thread ends with its goroutine
		if unix.Gettid() != unix.Getpid() {
			f()
			return
		}
		onOwnThread(f) // the first thread never ends, and its rights are shown as the process'
		runtime.UnlockOSThread()
	}()
	<-done
}

// enter gives the calling thread, one of [onOwnThread], the rights of a plugin, and prepares the
// command, which then has to be started from this thread.
func (c *cell) enter(cmd *exec.Cmd) error {
	if _, err := raise(); err != nil {
		return fmt.Errorf("raise this thread's capabilities: %w", err)
	}
	keepOpenFiles()
	cmd.SysProcAttr.Credential = c.who.Credential
	cmd.SysProcAttr.Cloneflags = namespaces()
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
	return c.restrict()
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

// mount covers the plugin's folder, as it and this thread see it, with memory of a limited size, and
// hides the sockets of the system's services.
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

// open lets the plugin's user reach what belongs to the plugin: a folder above that the user may not
// enter is covered with an empty one, in which the plugin finds nothing else.
func (c *cell) open() error {
	covered := map[string][]*os.File{}
	for _, path := range c.wanted() {
		folder := c.who.barrier(path)
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
	_ = unix.Umask(0o022) // of this thread, since it has mounts of its own
	for folder, found := range covered {
		if err := cover(folder, found); err != nil {
			return fmt.Errorf("let the plugin reach its files in %s: %w", folder, err)
		}
	}
	return c.publish()
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

// What every program needs: libraries, interpreters, and what those read.
var (
	programs = []string{ //nolint:gochecknoglobals // a constant
		"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store", "/run/current-system",
	}
	common = []string{ //nolint:gochecknoglobals // a constant
		"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/ld.so.preload", "/etc/alternatives",
		"/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/localtime", "/etc/timezone", "/etc/hosts",
		"/etc/host.conf", "/etc/resolv.conf", "/etc/gai.conf", "/etc/protocols", "/etc/services", "/etc/mime.types",
		"/etc/ssl/openssl.cnf", "/etc/ssl/certs", "/etc/pki/tls/openssl.cnf", "/etc/pki/tls/certs",
		"/etc/pki/ca-trust/extracted/pem", "/etc/crypto-policies",
		"/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/version", "/proc/filesystems",
		"/proc/sys/kernel/osrelease", "/proc/sys/vm/overcommit_memory",
		"/sys/devices/system", "/sys/kernel/mm/transparent_hugepage",
		"/dev/zero", "/dev/full", "/dev/random", "/dev/urandom",
	}
)

const (
	lookInto = landlocksys.AccessFSReadFile | landlocksys.AccessFSReadDir
	keep     = lookInto | landlocksys.AccessFSWriteFile | landlocksys.AccessFSTruncate | landlocksys.AccessFSMakeReg |
		landlocksys.AccessFSMakeDir | landlocksys.AccessFSMakeSock | landlocksys.AccessFSMakeFifo |
		landlocksys.AccessFSMakeSym | landlocksys.AccessFSRemoveFile | landlocksys.AccessFSRemoveDir
)

// rules returns what the plugin may do with which files.
func (c *cell) rules() ([]landlock.Rule, error) {
	rules := []landlock.Rule{
		landlock.PathAccess(keep, c.dir),
		landlock.RWFiles("/dev/null").IgnoreIfMissing(),
	}
	for _, folder := range c.options.writes {
		rules = append(rules, landlock.PathAccess(keep, folder))
	}
	for _, path := range common {
		if rule, err := beneath(path, lookInto); err == nil {
			rules = append(rules, rule)
		}
	}
	const run = lookInto | landlocksys.AccessFSExecute
	for _, path := range append(append(c.own(), c.interpreter()...), programs...) {
		if rule, err := beneath(path, run); err == nil {
			rules = append(rules, rule)
		}
	}
	for _, path := range c.options.Reads {
		rule, err := beneath(path, run)
		if err != nil {
			return nil, fmt.Errorf("let it read %s (plugins.reads): %w", path, err)
		}
		rules = append(rules, rule)
	}
	return rules, nil
}

// beneath returns the rule that grants these rights to a file, or to all in a folder.
func beneath(path string, rights landlock.AccessFSSet) (landlock.Rule, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		rights &^= landlocksys.AccessFSReadDir
	}
	return landlock.PathAccess(rights, path), nil
}

// uses reports whether the plugin has something to read or execute in a folder.
func (c *cell) uses(folder string) bool {
	for _, path := range c.wanted() {
		if within(resolved(path), folder) {
			return true
		}
	}
	_, err := os.Stat(filepath.Join(folder, "current-system"))
	return err == nil
}

// own returns the executable, and the folder of a script, in which its modules are.
func (c *cell) own() []string {
	all := []string{c.path, resolved(c.path)}
	for _, folder := range []string{filepath.Dir(c.path), filepath.Dir(resolved(c.path))} {
		if c.script != "" && !shared(folder) {
			all = append(all, folder)
		}
	}
	return all
}

// wanted returns what the plugin may read and execute beside what every program needs.
func (c *cell) wanted() []string {
	return slices.Concat(c.own(), c.interpreter(), c.options.Reads)
}

// interpreter returns the interpreter of a script, and what is installed with it.
func (c *cell) interpreter() (all []string) {
	words := strings.Fields(c.script)
	if len(words) > 1 && filepath.Base(words[0]) == "env" {
		words = slices.DeleteFunc(words[1:], func(word string) bool { return word[0] == '-' || strings.Contains(word, "=") })
	}
	if len(words) == 0 {
		return nil
	}
	path, err := exec.LookPath(words[0])
	if err != nil || !filepath.IsAbs(path) {
		return nil
	}
	for _, file := range []string{path, resolved(path)} {
		all = append(all, file)
		// Whoever writes the script chooses the interpreter: only what belongs to a language counts.
		for _, part := range []string{"bin", "lib", "lib64", "libexec", "share", "pyvenv.cfg", "version", "versions"} {
			all = append(all, filepath.Join(filepath.Dir(filepath.Dir(file)), part))
		}
	}
	return all
}

// shared reports whether a folder holds what is none of a plugin's business: it is, or is above, the
// user's own folder, or one in which many programs keep files.
func shared(folder string) bool {
	folder = resolved(folder)
	home := ""
	if u, err := user.Current(); err == nil {
		home = u.HomeDir
	}
	for _, one := range []string{
		home, os.Getenv("HOME"), os.TempDir(), "/tmp", "/etc", "/var/lib", "/var/log", "/var/spool", "/root", "/home",
		"/proc", "/dev", "/run", "/opt", "/srv",
	} {
		if one != "" && within(resolved(one), folder) {
			return true
		}
	}
	return false
}

// resolved returns a path without links, as far as there is such a file.
func resolved(path string) string {
	if file, err := filepath.EvalSymlinks(path); err == nil {
		return file
	}
	return path
}

// within reports whether a path is a folder or is in it.
func within(path, folder string) bool {
	rest, err := filepath.Rel(folder, path)
	return err == nil && rest != ".." && !strings.HasPrefix(rest, "../")
}
