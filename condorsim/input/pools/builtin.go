package pools

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/condor-backfill/condor-backfill/negotiator"
)

// Find opens the pool in a file. If no file has that name, it opens a built-in one from the folder
// pools of files. The schema is as for [ReadBy].
func Find(name string, files fs.FS, schema negotiator.Schema) (*Description, error) {
	p, err := open(name, schema)
	if errors.Is(err, fs.ErrNotExist) && !strings.ContainsRune(name, os.PathSeparator) {
		return builtIn(name, files, schema, err)
	}
	return p, err
}

// builtIn reads the built-in pool of that name. If there is none, it returns the error missing,
// which says that there is no such file either, with the names of the built-in pools.
func builtIn(name string, files fs.FS, schema negotiator.Schema, missing error) (*Description, error) {
	const folder = "pools"
	entries, err := fs.ReadDir(files, folder)
	if err != nil {
		return nil, err
	}
	var known []string
	for _, e := range entries {
		base := strings.TrimSuffix(e.Name(), path.Ext(e.Name()))
		if base != name {
			known = append(known, base)
			continue
		}
		file, openErr := files.Open(path.Join(folder, e.Name()))
		if openErr != nil {
			return nil, openErr
		}
		defer file.Close() //nolint:errcheck // it is in memory
		return ReadBy(schema, file, e.Name())
	}
	return nil, fmt.Errorf("%w; built in are %s", missing, strings.Join(known, ", "))
}
