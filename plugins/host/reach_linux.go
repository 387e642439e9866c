package host

import (
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strings"

	"github.com/landlock-lsm/go-landlock/landlock"
	landlocksys "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

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
		// Not /dev/zero, whose shared mappings are memory that no limit counts.
		"/dev/full", "/dev/random", "/dev/urandom",
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
		root := filepath.Dir(filepath.Dir(file))
		if !ofLanguage(root) {
			continue
		}
		for _, part := range []string{"bin", "lib", "lib64", "libexec", "share", "pyvenv.cfg", "version", "versions"} {
			all = append(all, filepath.Join(root, part))
		}
	}
	return all
}

// ofLanguage reports whether a folder holds a language and no more. Whoever writes a script chooses
// its interpreter, which may be any file beside what is none of the script's business.
func ofLanguage(root string) bool {
	if shared(root) || filepath.Base(root) == ".local" || filepath.Base(resolved(root)) == ".local" {
		return false
	}
	for _, sign := range []string{
		"pyvenv.cfg", "lib/python[0-9]*", "lib64/python[0-9]*", "lib/pypy*", "lib/perl5", "lib/ruby", "lib/node_modules",
		"lib/R", "share/julia", "libexec/*env", // as pyenv has its own
	} {
		if found, err := filepath.Glob(filepath.Join(literal(root), sign)); err == nil && len(found) > 0 {
			return true
		}
	}
	return false
}

// literal returns a pattern that only this path matches.
func literal(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// shared reports whether a folder holds what is none of a plugin's business: it is, or is above,
// the user's own folder, or one in which many programs keep files.
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
