package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
)

// extent passes a file on, and follows where its zstd frames end, by RFC 8878, sections 3.1.1 and 3.1.2. So a file that
// ends within a frame can be told from one whose bytes have changed, of which zstd says the same.
type extent struct {
	from io.Reader
	next func(head []byte) // takes what comes next, and says what comes then
	head []byte            // what is there of it
	want int               // how many bytes it has
	skip int64             // bytes before it
	// sums says that a checksum follows the frame's last block.
	sums   bool
	within bool   // a frame has begun
	last   []byte // at least the last bytes so far, as many as an index ends with
	// wrong says that there is something else than a frame.
	wrong bool
}

func newExtent(from io.Reader) *extent {
	e := &extent{from: from}
	e.frame(0)
	return e
}

// frame expects another frame, behind so many bytes.
func (e *extent) frame(skip int64) {
	e.within = false
	e.expect(skip, 4, e.magic)
}

func (e *extent) expect(skip int64, want int, next func([]byte)) {
	e.skip, e.want, e.next, e.head = skip, want, next, e.head[:0]
}

// Read reads from the file.
func (e *extent) Read(b []byte) (int, error) {
	n, err := e.from.Read(b)
	e.last = append(e.last[max(0, len(e.last)-len(indexEnd)):], b[max(0, n-len(indexEnd)):n]...)
	for rest := b[:n]; len(rest) > 0 && !e.wrong; {
		if e.skip > 0 {
			step := min(e.skip, int64(len(rest)))
			e.skip -= step
			rest = rest[step:]
			continue
		}
		step := min(e.want-len(e.head), len(rest))
		e.head = append(e.head, rest[:step]...)
		if rest = rest[step:]; len(e.head) == e.want {
			e.next(e.head)
		}
	}
	return n, err
}

func (e *extent) magic(head []byte) {
	e.within = true
	switch magic := binary.LittleEndian.Uint32(head); {
	case magic == 0xfd2fb528:
		e.expect(0, 1, e.descriptor)
	case magic&^0xf == skippable&^0xf:
		e.expect(0, 4, func(size []byte) { e.frame(int64(binary.LittleEndian.Uint32(size))) })
	default:
		e.wrong = true
	}
}

func (e *extent) descriptor(head []byte) {
	d := head[0]
	window, dictionary, size := int64(1), [4]int64{0, 1, 2, 4}[d&3], [4]int64{0, 2, 4, 8}[d>>6]
	if d&0x20 != 0 { // a single segment
		window, size = 0, max(size, 1)
	}
	e.sums = d&4 != 0
	e.expect(window+dictionary+size, 3, e.block)
}

func (e *extent) block(head []byte) {
	header := uint32(head[0]) | uint32(head[1])<<8 | uint32(head[2])<<16
	const largest = 128 << 10
	size, kind := int64(header>>3), header>>1&3
	e.wrong = size > largest || kind == 3
	if kind == 1 { // a byte that is repeated
		size = 1
	}
	switch {
	case header&1 == 0:
		e.expect(size, 3, e.block)
	case e.sums:
		e.frame(size + 4)
	default:
		e.frame(size)
	}
}

// isTorn reads the file to its end, and reports whether that is within a frame. One that ends with an index was closed
// in order, wherever the frames seem to end.
func (e *extent) isTorn() bool {
	_, err := io.Copy(io.Discard, e)
	return !bytes.HasSuffix(e.last, []byte(indexEnd)) && (err == nil || errors.Is(err, io.ErrUnexpectedEOF)) && !e.wrong && (e.within || e.skip > 0 || len(e.head) > 0)
}
