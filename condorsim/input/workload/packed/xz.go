package packed

import (
	"errors"
	"io"

	"github.com/ulikunitz/xz"
)

// xzReader reads an xz file. The library accepts a file that is cut off where a block might begin:
// it then looks for another stream, and reaches the end of the file a second time. In a complete
// file it reaches the end once, which tells the two apart.
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

// Read decompresses.
func (x *xzReader) Read(b []byte) (int, error) {
	n, err := x.unpacked.Read(b)
	if errors.Is(err, io.EOF) && x.file.times > 1 {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// Close does nothing.
func (x *xzReader) Close() error { return nil }

// ends counts how often the end of the file was reached.
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
