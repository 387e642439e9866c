package packed

import (
	"errors"
	"io"

	"github.com/ulikunitz/xz"
)

// xzReader unpacks an xz file. The library takes a file that breaks off where a
// block might begin for a whole one: it asks whether another stream follows, and
// finds the end again. At the end of a whole file it finds it once.
type xzReader struct {
	unpacked io.Reader
	file     *ends
}

func newXZ(file io.Reader) (io.ReadCloser, error) {
	counted := &ends{from: file}
	unpacked, err := xz.NewReader(counted)
	if err != nil {
		return nil, err
	}
	return &xzReader{unpacked, counted}, nil
}

// Read unpacks.
func (x *xzReader) Read(b []byte) (int, error) {
	n, err := x.unpacked.Read(b)
	if errors.Is(err, io.EOF) && x.file.times > 1 {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// Close does nothing: there is nothing to end.
func (x *xzReader) Close() error { return nil }

// ends counts how often the end of a file was found.
type ends struct {
	from  io.Reader
	times int
}

// Read reads.
func (e *ends) Read(b []byte) (int, error) {
	n, err := e.from.Read(b)
	if errors.Is(err, io.EOF) {
		e.times++
	}
	return n, err
}
