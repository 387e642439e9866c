package fleet

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/condor-backfill/condor-backfill/condorsim/output/wholefile"
)

// state is what a folder remembers of the jobs that were submitted from it.
type state struct {
	// Host is the machine on which they were submitted: its schedd has them.
	Host        string        `json:"host"`
	Submissions []*submission `json:"submissions"`
	// Next is the number of the next submission. None is used twice, as removed jobs may still write to
	// their log.
	Next int `json:"next"`
	// Took is what tasks of each kind took at most.
	Took map[string]took `json:"took"`
}

// took is what a task took.
type took struct {
	Seconds   int64 `json:"seconds"`
	Megabytes int64 `json:"megabytes"`
}

const stateName = "jobs.json"

// load reads the state of a folder; an empty one if there is none.
func load(dir string) (*state, error) {
	s := &state{Took: map[string]took{}}
	text, err := os.ReadFile(filepath.Join(dir, stateName))
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err == nil {
		err = json.Unmarshal(text, s)
	}
	if err != nil {
		return nil, fmt.Errorf("read which jobs were submitted: %w; if none of them is left, remove the file", err)
	}
	if s.Took == nil {
		s.Took = map[string]took{}
	}
	return s, nil
}

func (s *state) save(dir string) error {
	return wholefile.WriteInside("which jobs were submitted", filepath.Join(dir, stateName), func(out io.Writer) error {
		return json.NewEncoder(out).Encode(s)
	})
}

// learn notes what a task took.
func (s *state) learn(kind string, e event) {
	t := s.Took[kind]
	s.Took[kind] = took{Seconds: max(t.Seconds, e.seconds), Megabytes: max(t.Megabytes, e.megabytes)}
}
