package record

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/condor-backfill/condor-backfill/negotiator/packed"
	"github.com/condor-backfill/condor-backfill/negotiator/record/recordv1"
)

// mostEntry bounds the bytes of an entry; a state of a million jobs has some 100 MB.
const mostEntry = 1 << 30

// Reader reads the entries of a record, in their order.
type Reader struct {
	name  string
	text  *bufio.Reader
	file  io.Closer // nil: none is to be closed
	pack  *packed.Reader
	whole *extent // what pack reads
	n     int64   // entries so far
	torn  error   // why it ends before its end
	last  []byte
}

// Open opens the record at a path.
func Open(path string) (*Reader, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read record: %w; check the path", err)
	}
	r, err := NewReader(file, path)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	r.file = file
	return r, nil
}

// Is reports whether the text of a file, decompressed, is a record, by how it begins.
func Is(head []byte) bool {
	return bytes.HasPrefix(head, []byte(AnyVersion))
}

// AnyVersion is what records of whatever version begin with.
const AnyVersion = "condor-backfill record "

// NewReader reads a record, whose name is for errors.
func NewReader(from io.Reader, name string) (*Reader, error) {
	r := &Reader{name: name, whole: newExtent(from)}
	text, err := packed.NewReaderOf(r.whole, AnyVersion)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	r.pack, r.text = text, bufio.NewReaderSize(text, 64<<10)
	head, _ := r.text.Peek(len(Magic))
	switch {
	case len(head) == 0 && text.Format != packed.Plain && !r.isTorn():
		err = fmt.Errorf("%s: is damaged from its beginning on", name)
	case len(head) == 0:
		err = fmt.Errorf("%s: %w", name, ErrNoBeginning)
	case string(head) == Magic:
		return r, nil
	case Is(head):
		err = fmt.Errorf("%s: is a record of another version than 1; read it with the condorsim that belongs to the "+
			"negotiator which wrote it", name)
	default:
		err = fmt.Errorf("%s: is no record; give a file that was written with --record", name)
	}
	_ = text.Close() // it was only read
	return nil, err
}

// Close closes the file.
func (r *Reader) Close() {
	_ = r.pack.Close() // it was only read
	if r.file != nil {
		_ = r.file.Close()
	}
}

// Torn says why the record ends before its end, which its last whole frame is not; nil: it does not, or that is
// not known yet.
func (r *Reader) Torn() error { return r.torn }

// Next returns the next entry; the error is [io.EOF] after the last one, also if the file ends within a frame, see
// [Reader.Torn]. An entry is valid until the next one.
func (r *Reader) Next() (*recordv1.Entry, error) {
	if r.torn != nil {
		return nil, io.EOF
	}
	for {
		head, err := r.text.Peek(len(Magic))
		if string(head) != Magic {
			if len(head) == 0 {
				return nil, r.end(err)
			}
			break
		}
		_, _ = r.text.Discard(len(Magic)) // a file was joined to another one
	}
	length, err := binary.ReadUvarint(r.text)
	if err != nil {
		return nil, r.end(io.ErrUnexpectedEOF)
	}
	if length > mostEntry {
		return nil, r.wrong(fmt.Errorf("is of %d bytes", length))
	}
	if r.last, err = r.take(int(length)); err != nil {
		return nil, r.end(err)
	}
	entry := new(recordv1.Entry)
	if err = entry.UnmarshalVT(r.last); err != nil {
		return nil, r.wrong(err)
	}
	r.n++
	return entry, nil
}

// take reads so many bytes. It makes room for them as they come: a length may be wrong.
func (r *Reader) take(length int) ([]byte, error) {
	text := r.last[:0]
	const step = 1 << 20
	for len(text) < length {
		from := len(text)
		text = append(text, make([]byte, min(step, length-from))...)
		if _, err := io.ReadFull(r.text, text[from:]); err != nil {
			return nil, io.ErrUnexpectedEOF
		}
	}
	return text, nil
}

// end is what ends the entries: [io.EOF], or what is wrong with the file.
func (r *Reader) end(err error) error {
	_, more := r.text.ReadByte()
	if more == nil {
		more = err
	}
	_, cut := errors.AsType[*packed.TruncatedError](more)
	switch {
	case errors.Is(more, io.EOF) && errors.Is(err, io.EOF):
		return io.EOF
	case cut, errors.Is(err, io.ErrUnexpectedEOF), errors.Is(more, io.ErrUnexpectedEOF):
		if !r.isTorn() {
			return fmt.Errorf("%s: behind entry %d: bytes are missing or have changed; the file is damaged", r.name, r.n)
		}
		r.torn = fmt.Errorf("%s: ends within a frame, as what wrote it was killed or goes on: it is read up to there", r.name)
		return io.EOF
	default:
		return fmt.Errorf("%s: behind entry %d: %w", r.name, r.n, more)
	}
}

// isTorn reports whether a file whose text ends too soon ends too soon itself. Else its bytes have changed, and what
// comes behind them must not be taken for what was never written. Nothing is read after it.
func (r *Reader) isTorn() bool {
	if r.pack.Format != packed.Zstd {
		return true
	}
	_ = r.pack.Close() // so that nobody else reads
	return r.whole.isTorn()
}

// wrong says that an entry is none.
func (r *Reader) wrong(err error) error {
	return fmt.Errorf("%s: entry %d: %w; the file is damaged", r.name, r.n+1, err)
}
