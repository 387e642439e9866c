package workload

import (
	"bufio"
	"bytes"
	"errors"
	"io"

	"github.com/klauspost/compress/gzip"
)

// plain returns the text of r, unpacked if it is gzipped, with room for a whole
// line. It is unpacked ahead, while what came before is read; stop ends that and
// waits until r is not read any more.
func plain(r io.Reader) (text *bufio.Reader, stop func(), err error) {
	// The file is read in small steps, for progress.
	file := bufio.NewReaderSize(r, 64<<10)
	magic, err := file.Peek(2)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return nil, nil, err
	case !bytes.Equal(magic, []byte{0x1f, 0x8b}):
		return bufio.NewReaderSize(file, maxLine), func() {}, nil
	}
	unpacked, err := gzip.NewReader(file)
	if err != nil {
		return nil, nil, err
	}
	from, to := io.Pipe()
	over := make(chan struct{})
	go func() {
		defer close(over)
		_, err := io.CopyBuffer(to, struct{ io.Reader }{unpacked}, make([]byte, 256<<10))
		_ = to.CloseWithError(err) // it never fails
	}()
	return bufio.NewReaderSize(from, maxLine), func() {
		_ = from.Close() // it never fails
		<-over
	}, nil
}
