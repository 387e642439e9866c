package packed

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash"
	"hash/crc32"
	"hash/crc64"
	"io"
	"slices"

	"github.com/ulikunitz/xz/lzma"
)

// maxDictionary bounds the text that an xz file demands to be kept in memory while it is read, in
// bytes. It is that of xz -9.
const maxDictionary = 64 << 20

// errDamaged says that an xz file contradicts itself.
var errDamaged = errors.New("the xz file is damaged")

// xzReader reads an xz file: streams, each of which has blocks and an index of them. The library's
// own reader has no bound for dictionaries and allocates what a block's header asks for, up to
// 4 GiB; so the library unpacks the blocks' data alone.
type xzReader struct {
	file    *counted
	flags   [2]byte // of the stream: how its blocks are checked
	blocks  uint64
	index   []byte // what the index says of the blocks
	data    *lzma2
	inBlock bool
	check   hash.Hash // of the block's text
	begin   int64     // of the block, in the file
	packed  int64     // where the block's data begins
	text    int64     // bytes of the block's text
	promise [2]int64  // the sizes of its data and its text, if its header has them; else -1
}

func newXZ(file io.Reader) (io.ReadCloser, error) {
	x := &xzReader{file: &counted{from: bufio.NewReader(file)}}
	x.data = &lzma2{file: x.file}
	if err := x.beginStream(nil); err != nil {
		return nil, err
	}
	return x, nil
}

// Read decompresses.
func (x *xzReader) Read(b []byte) (int, error) {
	for {
		if !x.inBlock {
			if err := x.next(); err != nil {
				return 0, err
			}
			continue
		}
		n, err := x.data.text(b)
		_, _ = x.check.Write(b[:n]) // a hash does not fail
		if x.text += int64(n); errors.Is(err, io.EOF) {
			err = x.endBlock()
		}
		if n > 0 || err != nil || len(b) == 0 {
			return n, err
		}
	}
}

// Close does nothing.
func (x *xzReader) Close() error { return nil }

// fill reads a field of known length.
func (x *xzReader) fill(field []byte) error {
	_, err := io.ReadFull(x.file, field)
	return cutOff(err)
}

// cutOff returns the error of a file that ends where it must not.
func cutOff(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// beginStream reads the header of a stream; the beginning of it may have been read.
func (x *xzReader) beginStream(begin []byte) error {
	header := make([]byte, 12)
	if err := x.fill(header[copy(header, begin):]); err != nil {
		return err
	}
	flags := header[6:8]
	if !bytes.HasPrefix(header, []byte{0xfd, '7', 'z', 'X', 'Z', 0}) || !sealed(flags, header[8:]) {
		return errDamaged
	}
	x.flags, x.blocks, x.index = [2]byte(flags), 0, x.index[:0]
	if newCheck(x.flags) == nil {
		return refuse("the xz file has a check of an unknown kind, %#x", x.flags)
	}
	return nil
}

// next begins the next block. After the last one of a stream it begins the next stream. The error
// is [io.EOF] after the last of these.
func (x *xzReader) next() error {
	x.begin = x.file.read
	var size [1]byte
	if err := x.fill(size[:]); err != nil {
		return err
	}
	if size[0] != 0 {
		return x.beginBlock(size[0])
	}
	if err := x.endStream(); err != nil {
		return err
	}
	for {
		begin := make([]byte, 4)
		n, err := io.ReadFull(x.file, begin)
		if n == 0 && errors.Is(err, io.EOF) {
			return io.EOF
		}
		if err != nil {
			return cutOff(err)
		}
		if !bytes.Equal(begin, make([]byte, 4)) { // between streams there may be zeros
			return x.beginStream(begin)
		}
	}
}

// beginBlock reads the header of a block, whose first byte says how long it is.
func (x *xzReader) beginBlock(size byte) error {
	header := make([]byte, (int(size)+1)*4)
	header[0] = size
	if err := x.fill(header[1:]); err != nil {
		return err
	}
	end := len(header) - 4
	if !sealed(header[:end], header[end:]) {
		return errDamaged
	}
	dictionary, err := x.readBlock(header[1:end])
	if err != nil {
		return err
	}
	x.check, x.packed, x.text = newCheck(x.flags), x.file.read, 0
	x.inBlock = true
	x.data.begin(dictionary)
	return nil
}

// readBlock reads what the header of a block says, and returns how long its dictionary is.
func (x *xzReader) readBlock(header []byte) (dictionary int, err error) {
	const filters, sizes = 0x3f, 0x40 // of the flags: how many filters follow the first, which sizes are given
	flags, rest := header[0], header[1:]
	for i := range x.promise {
		x.promise[i] = -1
		if flags&(sizes<<i) == 0 {
			continue
		}
		value, n := binary.Uvarint(rest)
		if n <= 0 || value > 1<<62 {
			return 0, errDamaged
		}
		x.promise[i], rest = int64(value), rest[n:]
	}
	const lzma2 = 0x21
	if flags&filters != 0 || len(rest) < 3 || rest[0] != lzma2 || rest[1] != 1 {
		return 0, refuse("the xz file uses a filter other than LZMA2: compress it anew")
	}
	if padding := rest[3:]; !bytes.Equal(padding, make([]byte, len(padding))) {
		return 0, errDamaged
	}
	length, err := lzma.DecodeDictCap(rest[2])
	switch {
	case err != nil:
		return 0, errDamaged
	case length > maxDictionary:
		return 0, refuse("the xz file needs a dictionary of %d MiB, and %d MiB are the most: compress it anew "+
			"with xz -9 or less", length>>20, maxDictionary>>20)
	}
	return int(length), nil
}

// endBlock checks a block after its data.
func (x *xzReader) endBlock() error {
	data := x.file.read - x.packed
	for i, size := range [2]int64{data, x.text} {
		if x.promise[i] >= 0 && x.promise[i] != size {
			return errDamaged
		}
	}
	padding := make([]byte, -data&3)
	want := append(padding, x.check.Sum(nil)...)
	got := make([]byte, len(want))
	if err := x.fill(got); err != nil {
		return err
	}
	if !bytes.Equal(got, want) {
		return errDamaged
	}
	x.blocks++
	x.index = binary.AppendUvarint(x.index, uint64(x.file.read-x.begin)-uint64(len(padding)))
	x.index = binary.AppendUvarint(x.index, uint64(x.text))
	x.inBlock = false
	return nil
}

// endStream checks the index and the end of a stream, after the zero that begins its index.
func (x *xzReader) endStream() error {
	index := binary.AppendUvarint([]byte{0}, x.blocks)
	index = append(index, x.index...)
	index = append(index, make([]byte, -len(index)&3)...)
	index = binary.LittleEndian.AppendUint32(index, crc32.ChecksumIEEE(index))
	end := binary.LittleEndian.AppendUint32(nil, uint32(len(index)/4-1)) //nolint:gosec // of a file of 16 GiB
	end = append(end, x.flags[:]...)
	want := binary.LittleEndian.AppendUint32(index, crc32.ChecksumIEEE(end))
	want = append(append(want, end...), "YZ"...)[1:]
	got := make([]byte, len(want))
	if err := x.fill(got); err != nil {
		return err
	}
	if !bytes.Equal(got, want) {
		return errDamaged
	}
	return nil
}

// sealed reports whether a sum is that of the data.
func sealed(data, sum []byte) bool {
	return binary.LittleEndian.Uint32(sum) == crc32.ChecksumIEEE(data)
}

// newCheck returns the hash with which the blocks of a stream are checked; nil: it is not known.
func newCheck(flags [2]byte) hash.Hash {
	switch flags {
	case [2]byte{0, 0}:
		return unchecked{crc32.NewIEEE()}
	case [2]byte{0, 1}:
		return reversed{crc32.NewIEEE()}
	case [2]byte{0, 4}:
		return reversed{crc64.New(crc64.MakeTable(crc64.ECMA))}
	case [2]byte{0, 10}:
		return sha256.New()
	default:
		return nil
	}
}

// unchecked is the check of blocks that have none.
type unchecked struct{ hash.Hash }

// Sum returns no bytes.
func (unchecked) Sum(b []byte) []byte { return b }

// reversed is a hash whose sum has its lowest byte first.
type reversed struct{ hash.Hash }

// Sum appends the sum.
func (r reversed) Sum(b []byte) []byte {
	sum := r.Hash.Sum(nil)
	slices.Reverse(sum)
	return append(b, sum...)
}

// counted counts the bytes that are read.
type counted struct {
	from *bufio.Reader
	read int64
}

// Read reads.
func (c *counted) Read(b []byte) (int, error) {
	n, err := c.from.Read(b)
	c.read += int64(n)
	return n, err
}

// ReadByte reads a byte.
func (c *counted) ReadByte() (byte, error) {
	b, err := c.from.ReadByte()
	if err == nil {
		c.read++
	}
	return b, err
}
