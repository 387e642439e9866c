package witness

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const (
	prefix = "observed-"
	suffix = ".jsonl.gz"
	// parts is how many segments share the room of a record: one of them goes when it is full.
	parts = 8
)

// segment is a file of a record.
type segment struct {
	number int
	path   string
	size   int64
}

// segments lists the segments in a folder, oldest first. Other files are ignored; none is no error.
func segments(folder string) (all []segment, err error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		middle, named := strings.CutPrefix(e.Name(), prefix)
		middle, whole := strings.CutSuffix(middle, suffix)
		number, wrong := strconv.Atoi(middle)
		if !named || !whole || wrong != nil || number < 1 || filepath.Base(path(folder, number)) != e.Name() {
			continue
		}
		info, failed := e.Info()
		switch {
		case errors.Is(failed, fs.ErrNotExist): // it was the oldest one
		case failed != nil:
			return nil, failed
		case info.Mode().IsRegular():
			all = append(all, segment{number, path(folder, number), info.Size()})
		}
	}
	slices.SortFunc(all, func(a, b segment) int { return a.number - b.number })
	return all, nil
}

func path(folder string, number int) string {
	return filepath.Join(folder, fmt.Sprintf("%s%08d%s", prefix, number, suffix))
}
