package choose

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill/policies"
	"github.com/condor-backfill/condor-backfill/plugins/host"
)

// executable is what will be started: a file that was found, or a policy linked into this
// executable.
type executable struct {
	command host.Command
	path    string // by which the file was found, perhaps a link
	linked  string // the name of a linked-in policy, else ""
}

// SettingError says which setting of [Plugins] caused an error, by its name in configuration files.
type SettingError struct {
	Key []string // such as plugins, allow
	Err error
}

func (e *SettingError) Error() string { return strings.Join(e.Key, ".") + ": " + e.Err.Error() }
func (e *SettingError) Unwrap() error { return e.Err }

// setting returns a [SettingError] about a table of [Plugins], such as checksums.
func setting(table, format string, args ...any) error {
	return &SettingError{[]string{"plugins", table}, fmt.Errorf(format, args...)}
}

// permit returns the command for a file, or an error if it may not be started.
func (r Request) permit(path string) (*executable, error) {
	p := &executable{command: host.Command{Path: path}, path: path}
	if r.Allow != nil && !slices.ContainsFunc(r.Allow, func(key string) bool { return r.means(key, p) }) {
		return nil, setting("allow", "%s may not be started, since it is not named here; if it may, add "+
			"the line \"- %s\"", path, path)
	}
	sum, checked, err := one(r, "checksums", r.Checksums, p)
	if err != nil {
		return nil, err
	}
	p.command.SHA256 = sum
	if r.Allow == nil && !checked {
		return p, nil
	}
	// Start and restart the file that was checked, wherever a link leads by then.
	p.command.Name, p.command.As = filepath.Base(path), path
	if p.command.Path, err = filepath.EvalSymlinks(path); err != nil {
		return nil, fmt.Errorf("find the file behind %s: %w", path, err)
	}
	return p, nil
}

// options returns the options with which an executable runs.
func (r Request) options(p *executable) (host.Options, error) {
	options, own, err := one(r, "each", r.Each, p)
	if !own {
		options = r.Run
	}
	options.Logger = cmp.Or(options.Logger, r.Run.Logger)
	options.Policy = r.Options
	return options, err
}

// one returns an executable's entry in a table of [Plugins]; found is false if it has none. Of
// several entries for the same file, which may be several plugins by its links, the one by which it
// was found counts; if that does not decide, it is an error.
func one[T any](r Request, table string, entries map[string]T, p *executable) (value T, found bool, err error) {
	var keys, named []string
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		if !r.means(key, p) {
			continue
		}
		keys = append(keys, key)
		if _, path, _, _ := r.find(key); path == p.path {
			named = append(named, key)
		}
	}
	if len(named) > 0 {
		keys = named
	}
	switch len(keys) {
	case 0:
		return value, false, nil
	case 1:
		return entries[keys[0]], true, nil
	}
	return value, false, setting(table, "%s and %s are the same file, %s: give it once", keys[0], keys[1],
		p.command.Path)
}

// find returns the file that a key of [Plugins] stands for, and the key as a policy's name: without
// the prefix backfill-, which it may have here.
func (r Request) find(key string) (name, path string, found bool, err error) {
	name = key
	if filepath.Base(key) == key {
		name = strings.TrimPrefix(key, host.Prefix)
	}
	path, found, err = host.Find(name, searchPath(r))
	return name, path, found, err
}

// warn logs settings that have no effect, since a misspelt name protects nothing.
func (r Request) warn() {
	log := r.Run.Logger
	if log == nil {
		return
	}
	for _, dir := range r.Dirs {
		if _, err := os.Stat(dir); err != nil {
			log.Warn("no plugin is found in a directory that cannot be read", "error", err)
		}
	}
	for _, table := range []struct {
		name  string
		keys  []string
		files bool // only files can be meant
	}{
		{"allow", r.Allow, false},
		{"each", slices.Sorted(maps.Keys(r.Each)), false},
		{"checksums", slices.Sorted(maps.Keys(r.Checksums)), true},
	} {
		for _, key := range table.keys {
			name, _, found, _ := r.find(key)
			_, err := policies.Named(name)
			switch linked := err == nil; {
			case found || linked && !table.files:
			case linked:
				log.Warn("a policy that is linked in has no file of which the sum could be checked", "setting",
					"plugins."+table.name, "policy", key)
			default:
				log.Warn("a setting is for a plugin that is not there", "setting", "plugins."+table.name, "plugin", key)
			}
		}
	}
}

// means reports whether a key of [Plugins] stands for this executable.
func (r Request) means(key string, p *executable) bool {
	key, path, found, err := r.find(key)
	if p.linked != "" {
		return !found && key == p.linked
	}
	if !found || err != nil {
		return false
	}
	meant, err := os.Stat(path)
	if err != nil {
		return false
	}
	file, err := os.Stat(p.command.Path)
	return err == nil && os.SameFile(meant, file)
}
