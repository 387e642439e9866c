package packed

import (
	"bufio"
	"errors"
	"io"

	"github.com/klauspost/compress/gzip"
)

// gzipReader reads gzip files that are joined. Behind them there may be zeros, which gzip(1) ignores
// as well: tapes and some copying tools fill blocks with them.
type gzipReader struct {
	file *bufio.Reader
	part *gzip.Reader
}

func newGzip(file *bufio.Reader) (*gzipReader, error) {
	part, err := gzip.NewReader(file)
	if err != nil {
		return nil, err
	}
	part.Multistream(false)
	return &gzipReader{file, part}, nil
}

// Read decompresses.
func (g *gzipReader) Read(b []byte) (int, error) {
	for {
		n, err := g.part.Read(b)
		if errors.Is(err, io.EOF) {
			err = g.next()
		}
		if n > 0 || err != nil || len(b) == 0 {
			return n, err
		}
	}
}

// next begins the next part; the error is [io.EOF] after the last one.
func (g *gzipReader) next() error {
	for {
		begin, err := g.file.ReadByte()
		if err != nil {
			return err
		}
		if begin == 0 {
			continue
		}
		if err = g.file.UnreadByte(); err != nil {
			return err
		}
		if head, _ := g.file.Peek(2); head[0] != 0x1f || len(head) == 2 && head[1] != 0x8b {
			return refuse("something else follows the gzip data; fetch the file again, or decompress it with " +
				"gzip -dc, which leaves the rest out")
		}
		if err = g.part.Reset(g.file); err != nil {
			return cutOff(err)
		}
		g.part.Multistream(false)
		return nil
	}
}

// Close releases what the library holds.
func (g *gzipReader) Close() error { return g.part.Close() }
