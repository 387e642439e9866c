package packed_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/ulikunitz/xz"
	"github.com/ulikunitz/xz/lzma"
)

// packXZ compresses a text with the library's settings.
func packXZ(tb testing.TB, settings xz.WriterConfig, text string) []byte {
	tb.Helper()
	var b bytes.Buffer
	w, err := settings.NewWriter(&b)
	require.NoError(tb, err)
	_, err = io.WriteString(w, text)
	require.NoError(tb, err)
	require.NoError(tb, w.Close())
	return b.Bytes()
}

// demand has the first block of an xz file demand a dictionary of another size.
func demand(file []byte, size int64) []byte {
	file = bytes.Clone(file)
	header := file[12 : 12+(int(file[12])+1)*4]
	end := len(header) - 4
	header[bytes.LastIndex(header[:end], []byte{0x21, 1})+2] = lzma.EncodeDictCap(size)
	binary.LittleEndian.PutUint32(header[end:], crc32.ChecksumIEEE(header[:end]))
	return file
}

// allocated is how many bytes a call allocates.
func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// A block may demand that as much of the text is kept in memory as xz -9 does, and not more, wherever
// in the file it is. A file that demands more costs nothing.
func TestDictionary(t *testing.T) {
	const few = 8 << 20 // bytes
	small := packXZ(t, xz.WriterConfig{}, "one\n")
	for name, before := range map[string][]byte{
		"first": nil, "second stream": small, "after zeros": append(bytes.Clone(small), 0, 0, 0, 0),
	} {
		text, _, err := unpack(append(bytes.Clone(before), demand(small, 64<<20)...))
		require.NoError(t, err, name)
		require.Contains(t, text, "one\n", name)
		for _, size := range []int64{96 << 20, 1 << 30, 1<<32 - 1} {
			greedy := append(bytes.Clone(before), demand(small, size)...)
			require.Less(t, len(greedy), 200)
			cost := allocated(func() { _, _, err = unpack(greedy) })
			require.ErrorContains(t, err, "and 64 MiB are the most: compress it anew with xz -9 or less", name)
			require.Less(t, cost, 4*uint64(few), name)
		}
	}
}

// Files with blocks and checks of all kinds are read.
func TestBlocks(t *testing.T) {
	text := lines(20_000)
	for _, check := range []byte{xz.CRC32, xz.CRC64, xz.SHA256} {
		for _, settings := range []xz.WriterConfig{
			{CheckSum: check}, {CheckSum: check, BlockSize: 100_000}, {CheckSum: check, DictCap: lzma.MinDictCap},
		} {
			got, _, err := unpack(packXZ(t, settings, text))
			require.NoError(t, err)
			require.Equal(t, text, got)
		}
	}
	got, _, err := unpack(packXZ(t, xz.WriterConfig{NoCheckSum: true, BlockSize: 1000}, text))
	require.NoError(t, err)
	require.Equal(t, text, got)
}

// A frame of zstd that is to be unpacked in one piece has no window, and demands as much memory as it
// says its text is long.
func TestWindowOfASingleSegment(t *testing.T) {
	for _, length := range []uint64{256 << 20, 4 << 30} {
		frame := binary.LittleEndian.AppendUint64([]byte{0x28, 0xb5, 0x2f, 0xfd, 0xe0}, length)
		frame = append(frame, 1, 0, 0)
		var err error
		cost := allocated(func() { _, _, err = unpack(frame) })
		require.ErrorContains(t, err, "exceed")
		require.Less(t, cost, uint64(32<<20))
	}
}
