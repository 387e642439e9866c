package results

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// writeFile makes a file that is there whole or not at all, even if the process or
// the machine is stopped meanwhile: it is written beside its place, forced to the
// disk, and renamed.
func writeFile(path string, fill func(io.Writer) error) error {
	file, err := os.CreateTemp(filepath.Dir(path), temporary)
	if err != nil {
		return fault(path, err)
	}
	buffer := bufio.NewWriter(file)
	err = fill(buffer)
	if err == nil {
		err = buffer.Flush()
	}
	if err == nil {
		err = file.Chmod(0o644)
	}
	if err == nil {
		err = file.Sync()
	}
	err = errors.Join(err, file.Close())
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		_ = os.Remove(file.Name()) // nothing better can be done
		return fault(path, err)
	}
	return nil
}

// fault names the file that was to be, not the one on its way.
func fault(path string, err error) error {
	if on, ok := errors.AsType[*os.PathError](err); ok {
		err = on.Err
	} else if link, ok := errors.AsType[*os.LinkError](err); ok {
		err = link.Err
	}
	return fmt.Errorf("write %s: %w", path, err)
}

// temporary is the pattern of files on their way.
const temporary = ".writing-*"

func isTemporary(name string) bool {
	is, _ := filepath.Match(temporary, name) // the pattern is a good one
	return is
}

// sweepAway removes what a process that was killed left on its way.
func sweepAway(folder string) error {
	entries, err := os.ReadDir(folder)
	for _, e := range entries {
		if isTemporary(e.Name()) {
			err = errors.Join(err, os.Remove(filepath.Join(folder, e.Name())))
		}
	}
	return err
}
