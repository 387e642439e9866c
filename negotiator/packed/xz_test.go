package packed_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"runtime"
	"strings"
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

// Blocks share a dictionary, however many a small file has; also where its blocks are in many streams,
// and where they demand more and more.
func TestManyBlocksWithLargeDictionaries(t *testing.T) {
	var streams, growing []byte
	for range 30 {
		streams = append(streams, demand(packXZ(t, xz.WriterConfig{}, "a"), 64<<20)...)
	}
	for size := int64(4 << 10); size <= 64<<20; size *= 2 {
		growing = append(growing, demand(packXZ(t, xz.WriterConfig{}, "a"), size)...)
	}
	for name, file := range map[string][]byte{
		"blocks":  packXZ(t, xz.WriterConfig{DictCap: 64 << 20, BlockSize: 1}, strings.Repeat("a", 30)),
		"streams": streams, "growing": growing,
	} {
		var text string
		var err error
		require.Less(t, len(file), 4000)
		cost := allocated(func() { text, _, err = unpack(file) })
		require.NoError(t, err, name)
		require.Equal(t, strings.Repeat("a", len(text)), text, name)
		require.Less(t, cost, uint64(160<<20), name)
	}
}

// A chunk may demand tables for as many states as LZMA2 has, and not for as many as LZMA has, which are
// 256 times as large.
func TestTablesOfAChunk(t *testing.T) {
	file := packXZ(t, xz.WriterConfig{DictCap: lzma.MinDictCap}, strings.Repeat("a", 1000))
	at := 12 + (int(file[12])+1)*4
	require.GreaterOrEqual(t, file[at], byte(0xe0), "a chunk with properties")
	file[at+5] = (2*5+4)*9 + 8
	var err error
	cost := allocated(func() { _, _, err = unpack(file) })
	require.EqualError(t, err, "the xz file is damaged; fetch it again")
	require.Less(t, cost, uint64(2<<20))
}

// A block does not see the text of the block before.
func TestABlockThatNeedsTheOneBefore(t *testing.T) {
	file := packXZ(t, xz.WriterConfig{BlockSize: 1000}, strings.Repeat("a", 2000))
	chunk := bytes.LastIndex(file, file[12+(int(file[12])+1)*4:][:5]) // the second block's
	require.GreaterOrEqual(t, file[chunk], byte(0xe0))
	file[chunk] &^= 0x20 // it resets the state only
	_, _, err := unpack(file)
	require.EqualError(t, err, "the xz file is damaged; fetch it again")
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
		require.ErrorContains(t, err, "more than 128 MiB of memory")
		require.Less(t, cost, uint64(32<<20))
	}
}
