package sweep

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/packed"
	"github.com/condor-backfill/condor-backfill/negotiator/strictyaml"
)

// ReadFile reads the text of a sweep's file, or of the built-in sweep of that name, and returns it
// with the folders in which what the sweep names may be.
func ReadFile(file string, builtIn fs.FS) (text []byte, beside []string, err error) {
	if text, err = strictyaml.ReadFile(file); err == nil {
		if text, err = unpack(text); err != nil {
			return nil, nil, fmt.Errorf("read the sweep: %s: %w", file, err)
		}
	}
	if err == nil {
		if dir := filepath.Dir(file); dir != "." {
			beside = append(beside, dir)
		}
		return text, append(beside, "."), nil
	}
	name := strings.TrimSuffix(file, ".yaml")
	info, statErr := os.Stat(file)
	results := statErr == nil && info.IsDir() // a folder of results may have a built-in sweep's name
	if !results && !errors.Is(err, fs.ErrNotExist) || path.Base(name) != name {
		return nil, nil, fmt.Errorf("read the sweep: %w", err)
	}
	text, builtInErr := fs.ReadFile(builtIn, path.Join("sweeps", name+".yaml"))
	if builtInErr != nil {
		known := BuiltIn(builtIn)
		return nil, nil, fmt.Errorf("read the sweep: %w, and none of that name is built in%s (there are %s)", err,
			backfill.DidYouMean(name, known), strings.Join(known, ", "))
	}
	return text, []string{"."}, nil
}

// unpack returns the text of a file, which may be compressed.
func unpack(file []byte) ([]byte, error) {
	text, err := packed.NewReader(bytes.NewReader(file))
	if err != nil {
		return nil, err
	}
	defer text.Close() //nolint:errcheck // only read
	return strictyaml.Read(text)
}

// BuiltIn returns the names of the sweeps that are built in.
func BuiltIn(files fs.FS) []string {
	paths, err := fs.Glob(files, "sweeps/*.yaml")
	if err != nil {
		return nil // the pattern is valid
	}
	for i, p := range paths {
		paths[i] = strings.TrimSuffix(path.Base(p), ".yaml")
	}
	slices.Sort(paths)
	return paths
}
