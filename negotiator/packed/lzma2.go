package packed

import (
	"encoding/binary"
	"io"

	"github.com/ulikunitz/xz/lzma"
)

// lzma2 unpacks the data of an xz file's blocks, one block after the other. The library's reader ends
// with a block and allocates its dictionary anew for the next; a small file may have thousands. So the
// library sees one long block: it is given the chunks of all blocks, without the marks that end blocks.
type lzma2 struct {
	file       *counted
	reader     *lzma.Reader2
	dictionary int    // of the reader, in bytes
	needs      int    // a dictionary of that many bytes
	begun      bool   // the block has had a chunk
	header     []byte // of the chunk, as far as the library is still to read it
	left       int    // bytes of the chunk's text that are still to be read
}

// begin begins a block that needs a dictionary.
func (l *lzma2) begin(dictionary int) { l.needs, l.begun = max(dictionary, lzma.MinDictCap), false }

// text reads text of the block; the error is [io.EOF] at its end.
func (l *lzma2) text(b []byte) (int, error) {
	if l.left == 0 {
		if err := l.nextChunk(); err != nil {
			return 0, err
		}
	}
	n, err := l.reader.Read(b[:min(len(b), l.left)]) // does not look beyond the chunk
	l.left -= n
	return n, cutOff(err)
}

// nextChunk reads the header of the next chunk; the error is [io.EOF] if the block ends.
func (l *lzma2) nextChunk() error {
	const ends, plainReset, plain, packed, properties, reset = 0, 1, 2, 0x80, 0xc0, 0xe0
	header := make([]byte, 6)
	if _, err := io.ReadFull(l.file, header[:1]); err != nil {
		return cutOff(err)
	}
	kind, length := header[0], 3
	switch {
	case kind == ends:
		return io.EOF
	case !l.begun && kind != plainReset && kind < reset: // it would read the text of the block before
		return errDamaged
	case kind >= properties:
		length = 6
	case kind >= packed:
		length = 5
	case kind > plain:
		return errDamaged
	}
	header = header[:length]
	if _, err := io.ReadFull(l.file, header[1:]); err != nil {
		return cutOff(err)
	}
	l.left = int(binary.BigEndian.Uint16(header[1:])) + 1
	if kind >= packed {
		l.left += int(kind&0x1f) << 16
	}
	// The library allocates tables by the two numbers of the properties, whose sum is 4 at most.
	if length == 6 && header[5]%9+header[5]/9%5 > 4 {
		return errDamaged
	}
	l.header, l.begun = header, true
	if l.reader != nil && l.dictionary >= l.needs {
		return nil
	}
	var err error
	l.dictionary = l.needs
	l.reader, err = lzma.Reader2Config{DictCap: l.dictionary}.NewReader2(l)
	return cutOff(err)
}

// Read gives the library the chunks.
func (l *lzma2) Read(b []byte) (int, error) {
	if len(l.header) > 0 {
		n := copy(b, l.header)
		l.header = l.header[n:]
		return n, nil
	}
	return l.file.Read(b)
}
