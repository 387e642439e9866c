package witness

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"os"
)

const (
	// frameLines is from how many bytes of lines on a frame is written at once.
	frameLines = 48 << 10
	// looksWait is for how many seconds there may be no frame.
	looksWait = 60
	// Gap is for how many seconds nobody may have looked, as between a process and the next one,
	// while the pool still counts as watched without a gap.
	Gap = 180
)

// Least is the least room of a record in bytes.
const Least = 1 << 20

// Record is a record that is written. It belongs to one goroutine.
type Record struct {
	folder string
	most   int64
	files  []segment // on disk; the last one is written to
	file   *os.File  // nil: none is open
	former Look      // the last one before Open; At is 0: there is none
	now    Look
	lines  bytes.Buffer // of the frame that is next
	framed int64        // when the last frame was written
}

// Open opens the record in a folder, which exists, and in which nobody else writes. It takes so
// many bytes at most. What is torn of its last frame is cut off. A record with damage is left as it
// is, and goes on in another file.
func Open(folder string, most int64) (*Record, error) {
	r := &Record{folder: folder, most: max(most, Least)}
	var err error
	if r.files, err = segments(folder); err != nil {
		return nil, fmt.Errorf("open the observer's record: %w", err)
	}
	for i := len(r.files) - 1; i >= 0 && r.former.At == 0; i-- { // one may have no whole frame
		last := i == len(r.files)-1
		whole, wrong := readSegment(r.files[i].path, func(l Line) error {
			if l.Look != nil {
				r.former = *l.Look
			}
			return nil
		})
		if last {
			err = r.goOn(whole, wrong)
		}
		if err != nil {
			return nil, fmt.Errorf("open the observer's record: %w", err)
		}
	}
	return r, nil
}

// goOn opens the last segment, of which so many bytes are whole frames, to append to it. One that
// is damaged stays closed.
func (r *Record) goOn(whole int64, wrong error) (err error) {
	last := &r.files[len(r.files)-1]
	if wrong != nil && !errors.Is(wrong, errTorn) {
		return nil
	}
	if r.file, err = os.OpenFile(last.path, os.O_WRONLY|os.O_APPEND, 0); err != nil {
		return err
	}
	last.size = whole
	return r.file.Truncate(whole)
}

// Begin begins the cycle at which the observer looks. It sets Since, and returns it with the
// instant from which on starts are not in the record yet.
func (r *Record) Begin(look Look) (since, fresh int64) {
	switch {
	case r.now.At != 0:
		look.Since = r.now.Since
		if look.At-r.now.At > Gap || look.At < r.now.At-Gap {
			look.Since = look.At
		}
		fresh = look.Since
	case r.former.At != 0 && look.At-r.former.At <= Gap && look.At >= r.former.At-Gap:
		look.Since, fresh = r.former.Since, r.former.At-Gap
	default:
		look.Since, fresh = look.At, look.At
	}
	look.Policy, look.Order = bound(look.Policy), bound(look.Order)
	r.now = look
	return look.Since, fresh
}

// Add adds what is known of a job.
func (r *Record) Add(j Job) error {
	j = j.bounded()
	if r.lines.Len() == 0 {
		if err := r.line(Line{Look: new(r.now)}); err != nil {
			return err
		}
	}
	if err := r.line(Line{Job: &j}); err != nil {
		return err
	}
	if r.lines.Len() >= frameLines {
		return r.frame()
	}
	return nil
}

func (r *Record) line(l Line) error {
	text, err := json.Marshal(l)
	r.lines.Write(append(text, '\n'))
	return err
}

// End ends the cycle: it writes a frame, if there is something about jobs, or there was none for a
// while. So a process that is killed loses no more than the cycle under way.
func (r *Record) End() error {
	waits := r.now.At - r.framed
	if r.lines.Len() == 0 && waits >= 0 && waits < looksWait {
		return nil
	}
	return r.flush()
}

// flush writes a frame, of a look alone if there is nothing else.
func (r *Record) flush() error {
	if r.lines.Len() == 0 {
		if err := r.line(Line{Look: new(r.now)}); err != nil {
			return err
		}
	}
	return r.frame()
}

// frame writes the lines as a frame. If that fails, they are lost.
func (r *Record) frame() error {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err := z.Write(r.lines.Bytes())
	err = errors.Join(err, z.Close())
	r.lines.Reset()
	r.framed = r.now.At
	if err == nil {
		err = r.write(packed.Bytes())
	}
	if err != nil {
		return fmt.Errorf("write the observer's record: %w", err)
	}
	return nil
}

// write appends a frame to the last segment, or to a new one if that is full.
func (r *Record) write(frame []byte) error {
	if r.file == nil || r.files[len(r.files)-1].size+int64(len(frame)) > r.most/parts {
		if err := r.next(int64(len(frame))); err != nil {
			return err
		}
	}
	last := &r.files[len(r.files)-1]
	_, err := r.file.Write(frame)
	if err == nil {
		last.size += int64(len(frame))
		return nil
	}
	if failed := r.file.Truncate(last.size); failed != nil { // what was written of it would hide what follows
		err = errors.Join(err, failed, r.shut())
	}
	return err
}

// next begins a segment, and removes the oldest ones for which no room is left beside it.
func (r *Record) next(frame int64) error {
	if err := r.shut(); err != nil {
		return err
	}
	used, number := max(frame, r.most/parts), 1
	for _, s := range r.files {
		used += s.size
	}
	for len(r.files) > 0 && used > r.most {
		if err := os.Remove(r.files[0].path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		number = r.files[0].number + 1
		used -= r.files[0].size
		r.files = r.files[1:]
	}
	if len(r.files) > 0 {
		number = r.files[len(r.files)-1].number + 1
	}
	s := segment{number: number, path: path(r.folder, number)}
	file, err := os.OpenFile(s.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	r.file, r.files = file, append(r.files, s)
	return nil
}

func (r *Record) shut() error {
	if r.file == nil {
		return nil
	}
	err := r.file.Close()
	r.file = nil
	return err
}

// Close writes what is left, and closes the record.
func (r *Record) Close() error {
	var err error
	if r.now.At != 0 {
		err = r.flush()
	}
	return errors.Join(err, r.shut())
}
