package statefile

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"go.etcd.io/bbolt"
)

// Replace copies a file that cannot be opened, and then puts an empty one in its place. On an error
// the file stays as it was. Whoever has the old file open goes on with that.
func Replace(path, aside string) error {
	err := writeWhole(aside, func(to io.Writer) error {
		from, err := os.Open(path)
		if err != nil {
			return err
		}
		defer from.Close() //nolint:errcheck // it was read
		_, err = io.Copy(to, from)
		return err
	})
	if err != nil {
		return err
	}
	return create(path)
}

// CopyTo writes a copy of the file.
func (f *File) CopyTo(path string) error {
	return writeWhole(path, func(to io.Writer) error {
		return f.db.View(func(tx *bbolt.Tx) error {
			_, err := tx.WriteTo(to)
			return err
		})
	})
}

// create makes an empty file at once: after a crash it is there as a whole, or not at all.
func create(path string) error {
	unfinished := path + ".new"
	if err := os.RemoveAll(unfinished); err != nil {
		return err
	}
	db, err := bbolt.Open(unfinished, 0o600, &bbolt.Options{Timeout: 1})
	if err == nil {
		err = db.Close()
	}
	return finish(unfinished, path, err)
}

// writeWhole writes a file that is there as a whole, or not at all.
func writeWhole(path string, write func(io.Writer) error) error {
	unfinished := path + ".new"
	file, err := os.OpenFile(unfinished, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	err = errors.Join(write(file), file.Sync(), file.Close())
	return finish(unfinished, path, err)
}

// finish gives a file that was written its name, or removes it if there was an error.
func finish(unfinished, path string, err error) error {
	if err == nil {
		err = os.Rename(unfinished, path)
	}
	if err != nil {
		_ = os.Remove(unfinished)
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
