package witness

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// mostFrame bounds the lines of a frame that are read, in bytes: a writer makes none that comes
// near.
const mostFrame = 16 << 20

// errTorn says that the last frame of a segment ends too early.
var errTorn = errors.New("the last frame is not whole")

// ErrNone says that there is no record in a folder.
var ErrNone = errors.New("there is no observer's record")

// Found says what a record consists of.
type Found struct {
	Files int   `json:"files"`
	Bytes int64 `json:"bytes"`
	// Damaged says which of the files cannot be read to their ends, and why.
	Damaged []string `json:"damaged,omitempty"`
}

// Read reads the record in a folder: it calls the callback for each line, oldest first, and ends
// with its first error. A writer may go on meanwhile. It returns [ErrNone] if there is no record.
func Read(folder string, each func(Line) error) (found Found, err error) {
	all, err := segments(folder)
	if err != nil {
		return found, err
	}
	for i, s := range all {
		whole, wrong := readSegment(s.path, each)
		_, unread := errors.AsType[*damageError](wrong)
		switch {
		case errors.Is(wrong, fs.ErrNotExist): // the writer needs its room
			continue
		case errors.Is(wrong, errTorn) && i == len(all)-1: // somebody may be writing it
		case errors.Is(wrong, errTorn), unread:
			found.Damaged = append(found.Damaged, fmt.Sprintf("%s: %v, from byte %d on", filepath.Base(s.path), wrong, whole))
		case wrong != nil:
			return found, wrong
		}
		found.Files++
		found.Bytes += whole
	}
	if found.Files == 0 {
		return found, fmt.Errorf("%w in %s", ErrNone, folder)
	}
	return found, nil
}

// damageError says that bytes are no frame.
type damageError struct{ why error }

func (e *damageError) Error() string { return e.why.Error() }

// readSegment calls the callback for each line of the whole frames that a file begins with. It
// returns how many bytes these take. The error is errTorn if what follows may be the beginning of
// another frame, and a damageError if it is not.
func readSegment(path string, each func(Line) error) (whole int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }() // it was only read
	in := &counter{in: bufio.NewReaderSize(f, 64<<10)}
	var z gzip.Reader
	for {
		if _, err = in.in.Peek(1); errors.Is(err, io.EOF) {
			return whole, nil
		}
		var lines []byte
		lines, err = readFrame(in, &z)
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return whole, errTorn
		case err != nil && in.failed != nil:
			return whole, in.failed
		case err != nil:
			return whole, &damageError{err}
		}
		whole = in.read
		for line := range bytes.Lines(lines) {
			var l Line
			if json.Unmarshal(line, &l) != nil {
				continue // a newer version's
			}
			if err = each(l); err != nil {
				return whole, err
			}
		}
	}
}

// readFrame returns the lines of the frame that comes next.
func readFrame(in *counter, z *gzip.Reader) ([]byte, error) {
	if err := z.Reset(in); err != nil {
		return nil, err
	}
	z.Multistream(false)
	lines, err := io.ReadAll(io.LimitReader(z, mostFrame+1))
	if err == nil && len(lines) > mostFrame {
		err = errors.New("a frame is too large")
	}
	return lines, err
}

// counter counts what is read. The unpacker reads no further than it must, as it is a
// [io.ByteReader].
type counter struct {
	in     *bufio.Reader
	read   int64
	failed error // of the file
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	c.read += int64(n)
	c.note(err)
	return n, err
}

func (c *counter) ReadByte() (byte, error) {
	b, err := c.in.ReadByte()
	if err == nil {
		c.read++
	}
	c.note(err)
	return b, err
}

func (c *counter) note(err error) {
	if err != nil && !errors.Is(err, io.EOF) {
		c.failed = err
	}
}
