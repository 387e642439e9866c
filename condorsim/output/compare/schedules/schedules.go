package schedules

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/negotiator/packed"
	"github.com/condor-backfill/condor-backfill/negotiator/record"
)

// Row is a job and what became of it. Times are seconds on the schedule's own clock.
type Row struct {
	Job            string // its name
	Submit         int64
	Start, End     int64 // of the last run, if it Started and Ended
	Started, Ended bool
	Scavenger      bool
	Run            int64 // of work, in seconds, what earlier runs saved included
	Estimate       int64 // requested time in seconds; 0: not known
	Cpus           int64
	User           string // "": not known
}

// Schedule is the jobs of a file that are no scavengers, in the order of the file.
type Schedule struct {
	Name string // of the file
	Rows []Row
	// Scavengers counts those that were left out: they wait for what nobody else wants.
	Scavengers int
	Torn       error // why it ends before its end, as a record may that is still written; nil: it does not
}

// reader reads one kind of file.
type reader struct {
	// recognises reports whether a file is of the kind by how it begins, decompressed if it is compressed text.
	recognises func(head []byte) bool
	// read calls take for each row, in the order of the file; an error of take ends it. Errors are of type
	// *workload.Error and name the place in the file.
	read func(f *file, take func(*Row) *fault) error
}

// readers lists what is read.
func readers() []reader {
	return []reader{{isParquet, readParquet}, {record.Is, readRecord}, {isCSV, readCSV}}
}

// Holdings says what files may hold, as part of a sentence.
const Holdings = "a table of jobs that condorsim run --jobs-out wrote, or a record of a negotiator"

// file is a file being read.
type file struct {
	name string
	raw  *os.File
	text *packed.Reader // decompressed; nil: the file is no text
	torn error          // why it ends before its end, once it is read
}

// fault is what is wrong with a row.
type fault struct{ column, problem string }

// Read reads a file of any kind in the list. A *[workload.Error] says what is wrong with it, where, and what
// to do.
func Read(path string) (*Schedule, error) {
	raw, err := os.Open(path)
	if err != nil {
		if failed, ok := errors.AsType[*fs.PathError](err); ok {
			err = failed.Err
		}
		return nil, fmt.Errorf("read %s: %w; check the path", path, err)
	}
	defer raw.Close() //nolint:errcheck // only read
	f := &file{name: path, raw: raw}
	head := make([]byte, len(parquetMagic))
	if n, _ := raw.ReadAt(head, 0); !isParquet(head[:n]) { // a pipe cannot be read so, and is text
		if f.text, err = workload.TextOf(raw, path, record.AnyVersion); err != nil {
			return nil, err
		}
		defer f.text.Close() //nolint:errcheck // only read
		head = f.text.Peek(1 << 12)
	}
	s := &Schedule{Name: path}
	for _, r := range readers() {
		if r.recognises(head) {
			if err = r.read(f, s.taker()); err != nil {
				return nil, err
			}
			s.Rows, s.Torn = slices.Clip(s.Rows), f.torn
			return s, nil
		}
	}
	return nil, foreign(path, head)
}

// longest is how many letters of a name are kept. Names are other people's texts, and go to terminals.
const longest = 1000

// taker returns a function that adds rows. Rows that have texts in common share them.
func (s *Schedule) taker() func(*Row) *fault {
	users := map[string]string{}
	return func(row *Row) *fault {
		if wrong := row.fault(); wrong != nil {
			return wrong
		}
		if row.Scavenger {
			s.Scavengers++
			return nil
		}
		user, known := users[row.User]
		if !known {
			user = strings.Clone(backfill.Printable(row.User, longest))
			users[strings.Clone(row.User)] = user
		}
		row.User, row.Job = user, strings.Clone(backfill.Printable(row.Job, longest)) // and not the text of a whole line
		s.Rows = append(s.Rows, *row)
		return nil
	}
}

// most bounds times and cpus, so that sums of them have room.
const most = 1 << 50

// fault returns how a row contradicts itself; nil: it does not.
func (r *Row) fault() *fault {
	for _, number := range []struct {
		column string
		value  int64
	}{{"submit", r.Submit}, {"start", r.Start}, {"end", r.End}, {"run", r.Run}, {"cpus", r.Cpus}} {
		if number.value > most || number.value < -most {
			return &fault{number.column, fmt.Sprintf("%d is out of all bounds", number.value)}
		}
	}
	switch {
	case r.Job == "":
		return &fault{"id", "the job has no name"}
	case r.Cpus < 0:
		return &fault{"cpus", "a job cannot have fewer than 0 cpus"}
	case r.Run < 0:
		return &fault{"run", "a job cannot run for less than 0 seconds"}
	case r.Started && r.Start < r.Submit:
		return &fault{"start", fmt.Sprintf("the job starts at %d, before it is submitted at %d", r.Start, r.Submit)}
	case r.Ended && !r.Started:
		return &fault{"start", "the job ends and does not start"}
	case r.Ended && r.End < r.Start:
		return &fault{"end", fmt.Sprintf("the job ends at %d, before it starts at %d", r.End, r.Start)}
	}
	return nil
}
