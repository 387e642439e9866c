package choose

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/plugins/host"
)

// executable is what is to be started: a file that was found, or a policy linked into
// this executable.
type executable struct {
	command host.Command
	linked  string // the name of what is linked in, else ""
}

// permit makes a command of a file, if it may be started at all.
func (r Request) permit(path string) (*executable, error) {
	p := &executable{command: host.Command{Path: path}}
	if r.Allow != nil && !slices.ContainsFunc(r.Allow, func(key string) bool { return r.means(key, p) }) {
		return nil, fmt.Errorf("%s may not be started, since plugins.allow does not name it; if it may, add the line \"- %s\" there", path, path)
	}
	sum, checked, err := one(r, "checksums", r.Checksums, p)
	if err != nil {
		return nil, err
	}
	p.command.SHA256 = sum
	if r.Allow == nil && !checked {
		return p, nil
	}
	// What was looked at is what is started, now and at each restart, wherever a
	// link leads by then.
	p.command.Name = filepath.Base(path)
	if p.command.Path, err = filepath.EvalSymlinks(path); err != nil {
		return nil, fmt.Errorf("find the file behind %s: %w", path, err)
	}
	return p, nil
}

// options are how a plugin is run.
func (r Request) options(p *executable) (host.Options, error) {
	options, own, err := one(r, "each", r.Each, p)
	if !own {
		options = r.Run
	}
	options.Logger = cmp.Or(options.Logger, r.Run.Logger)
	options.Policy = r.Options
	return options, err
}

// one is what a table says of a plugin. Of two names for it, neither has the last
// word.
func one[T any](r Request, table string, of map[string]T, p *executable) (value T, found bool, err error) {
	var by string
	for _, key := range slices.Sorted(maps.Keys(of)) {
		if !r.means(key, p) {
			continue
		}
		if found {
			return value, false, fmt.Errorf("plugins.%s: %s and %s are the same file, %s: give it once", table, by, key, p.command.Path)
		}
		value, found, by = of[key], true, key
	}
	return value, found, nil
}

// means says that a name or path is this plugin's.
func (r Request) means(key string, p *executable) bool {
	if filepath.Base(key) == key {
		key = strings.TrimPrefix(key, host.Prefix)
	}
	path, found, err := host.Find(key, searchPath(r))
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
