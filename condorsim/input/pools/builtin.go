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

// folder has the built-in pools.
const folder = "pools"

// BuiltIn returns the path of the built-in pool of that name, which may be the path itself; "": there is none.
func BuiltIn(files fs.FS, name string) string {
	entries, _ := fs.ReadDir(files, folder) // without any, none has the name
	for _, e := range entries {
		file := path.Join(folder, e.Name())
		if name == file || name == strings.TrimSuffix(e.Name(), path.Ext(file)) {
			return file
		}
	}
	return ""
}

// Find opens the pool in a file. If no file has that name, it opens a built-in one from the folder
// pools of files. The schema is as for [ReadBy].
func Find(name string, files fs.FS, schema negotiator.Schema) (*Description, error) {
	p, err := open(name, schema)
	if errors.Is(err, fs.ErrNotExist) {
		return builtIn(name, files, schema, err)
	}
	return p, err
}

// builtIn reads the built-in pool of that name. If there is none, it returns the error missing,
// which says that there is no such file either, with the names of the built-in pools.
func builtIn(name string, files fs.FS, schema negotiator.Schema, missing error) (*Description, error) {
	if file := BuiltIn(files, name); file != "" {
		text, err := files.Open(file)
		if err != nil {
			return nil, err
		}
		defer text.Close() //nolint:errcheck // it is in memory
		return ReadBy(schema, text, path.Base(file))
	}
	if strings.ContainsRune(name, os.PathSeparator) {
		return nil, missing
	}
	entries, err := fs.ReadDir(files, folder)
	if err != nil {
		return nil, err
	}
	var known []string
	for _, e := range entries {
		known = append(known, strings.TrimSuffix(e.Name(), path.Ext(e.Name())))
	}
	return nil, fmt.Errorf("%w; built in are %s", missing, strings.Join(known, ", "))
}
