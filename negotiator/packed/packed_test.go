package packed_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/condor-backfill/condor-backfill/negotiator/packed"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// pack compresses a text in the format of a name.
func pack(tb testing.TB, name, text string) []byte {
	tb.Helper()
	var b bytes.Buffer
	w, err := packed.NewWriter(&b, name)
	require.NoError(tb, err)
	_, err = io.WriteString(w, text)
	require.NoError(tb, err)
	require.NoError(tb, w.Close())
	return b.Bytes()
}

func unpack(file []byte) (string, packed.Format, error) {
	r, err := packed.NewReader(bytes.NewReader(file))
	if err != nil {
		return "", "", err
	}
	text, err := io.ReadAll(r)
	return string(text), r.Format, errors.Join(err, r.Close())
}

// lines returns a text that compresses like a trace.
func lines(n int) string {
	random := rand.New(rand.NewPCG(3, 4))
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%d %d -1 %d\n", i, i*30, random.IntN(99999))
	}
	return b.String()
}

func formats() map[string]packed.Format {
	return map[string]packed.Format{
		"t.swf": packed.Plain, "t.swf.gz": packed.Gzip, "t.swf.GZ": packed.Gzip, "t.swf.xz": packed.XZ,
		"t.swf.zst": packed.Zstd,
	}
}

func TestRoundTrip(t *testing.T) {
	for name, want := range formats() {
		f, rest := packed.ByName(name)
		require.Equal(t, want, f)
		require.Equal(t, "t.swf", rest)
		for _, n := range []int{0, 1, 1000, 50_000} {
			file := pack(t, name, lines(n))
			require.Equal(t, file, pack(t, name, lines(n)), "the same text, the same bytes")
			if n > 1000 && f != packed.Plain {
				require.Less(t, len(file), len(lines(n))/2, name)
			}
			text, f, err := unpack(file)
			require.NoError(t, err)
			require.Equal(t, lines(n), text)
			require.Equal(t, want, f)
		}
	}
}

// The byte order mark that some editors put before a text is skipped.
func TestMark(t *testing.T) {
	for name := range formats() {
		for _, want := range []string{"", "1", "; a trace\n"} {
			text, _, err := unpack(pack(t, name, "\ufeff"+want))
			require.NoError(t, err)
			require.Equal(t, want, text)
		}
	}
}

// TestFilesThatAreJoined reads joined files as one text, as the tools do.
func TestFilesThatAreJoined(t *testing.T) {
	for name := range formats() {
		text, _, err := unpack(append(pack(t, name, "one\n"), pack(t, name, "two\n")...))
		require.NoError(t, err)
		require.Equal(t, "one\ntwo\n", text, name)
	}
}

// A zstd file may begin with frames that are to be skipped.
func TestFramesThatAreSkipped(t *testing.T) {
	for first := byte(0x50); first < 0x60; first++ {
		frame := []byte{first, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 'a', 'b', 'c'}
		text, f, err := unpack(append(frame, pack(t, "t.zst", "one\n")...))
		require.NoError(t, err)
		require.Equal(t, "one\n", text)
		require.Equal(t, packed.Zstd, f)
	}
	for _, text := range []string{"P*M", "P*Mx", "`*M\x18xyz"} {
		got, f, err := unpack([]byte(text))
		require.NoError(t, err)
		require.Equal(t, text, got)
		require.Equal(t, packed.Plain, f)
	}
}

// What is no text, compressed or not, is called by its name, and nothing of it is read.
func TestFilesThatAreNoText(t *testing.T) {
	tar := "jobs.swf" + strings.Repeat("\x00", 249) + "ustar\x0000"
	for content, want := range map[string]string{
		tar:                             "looks like a tar archive, which is not read; unpack it with tar -xf",
		"PK\x03\x04\x14\x00\x00":        "looks like a zip archive, or a spreadsheet, which is not read; unpack it with unzip; save a spreadsheet as text",
		"\x1f\x9d\x90a compressed file": "looks like a file compressed with compress, which is not read; decompress it, or compress it with gzip, xz or zstd",
		"BZh91AY&SY":                    "looks like a file compressed with bzip2, which is not read; decompress it, or compress it with gzip, xz or zstd",
		"\xff\xfeN\x00a\x00":            "looks like text in UTF-16, as PowerShell writes it, which is not read; convert it: iconv -f UTF-16 -t UTF-8",
		"N\x00a\x00m\x00e\x00 \x00":     "looks like text in UTF-16, as PowerShell writes it, which is not read; convert it: iconv -f UTF-16 -t UTF-8",
		"\x00N\x00a\x00m\x00e\x00 ":     "looks like text in UTF-16, as PowerShell writes it, which is not read; convert it: iconv -f UTF-16 -t UTF-8",
		"Name = \"\x00\"":               "looks like a binary file, which is not read; give a text file",
		"\x01\x02\x03\xf0":              "looks like a binary file, which is not read; give a text file",
	} {
		for _, name := range []string{"t", "t.gz", "t.xz", "t.zst"} {
			_, _, err := unpack(pack(t, name, content))
			require.EqualError(t, err, want, "%s of %q", name, content)
			require.ErrorAs(t, err, new(*packed.NoTextError))
		}
	}
	for _, content := range []string{"Name = \"a\ab\"\n", "\x1b[1mName\x1b[0m", "\f\v\n", "a\x01"} {
		text, _, err := unpack([]byte(content))
		require.NoError(t, err)
		require.Equal(t, content, text)
	}
}

// Behind gzip files there may be zeros, as the tool ignores them too; other data is an error.
func TestZerosBehindGzip(t *testing.T) {
	one, two := pack(t, "t.gz", "one\n"), pack(t, "t.gz", "two\n")
	for zeros := range 20 {
		padded := append(slices.Concat(one, two), make([]byte, zeros)...)
		text, _, err := unpack(padded)
		require.NoError(t, err)
		require.Equal(t, "one\ntwo\n", text)
		for _, more := range []string{"and more, which is not gzip", "more", "m", "\x1fm", "\x1f\x8c garbage behind"} {
			text, _, err = unpack(append(slices.Clip(padded), more...))
			require.EqualError(t, err, "something else follows the gzip data; fetch the file again, or decompress it "+
				"with gzip -dc, which leaves the rest out", more)
			require.Equal(t, "one\ntwo\n", text)
		}
		_, _, err = unpack(append(padded, one[:7]...))
		require.EqualError(t, err, "the gzip file is truncated; fetch it again")
	}
}

// A file is closed together with the text in it, which may be plain.
func TestUnpacked(t *testing.T) {
	for name, data := range map[string][]byte{"gzip": pack(t, "t.gz", "one\n"), "plain": []byte("\ufeffone\n"), "none": nil} {
		file := &closing{Reader: bytes.NewReader(data)}
		r, err := packed.Unpacked(file)
		require.NoError(t, err)
		text, err := io.ReadAll(r)
		require.NoError(t, err)
		require.Equal(t, data != nil, string(text) == "one\n", name)
		require.NoError(t, r.Close())
		require.True(t, file.closed)
	}
	file := &closing{Reader: bytes.NewReader(pack(t, "t.gz", "one\n")[:4])}
	_, err := packed.Unpacked(file)
	require.EqualError(t, err, "the gzip file is truncated; fetch it again")
	require.True(t, file.closed)
}

type closing struct {
	io.Reader
	closed bool
}

func (c *closing) Close() error { c.closed = true; return nil }

// TestTruncated cuts a file at every byte.
func TestTruncated(t *testing.T) {
	for name, f := range formats() {
		if f == packed.Plain {
			continue
		}
		whole := pack(t, name, lines(40))
		for cut := 6; cut < len(whole); cut++ { // fewer bytes are not recognised as compressed
			_, _, err := unpack(whole[:cut])
			var truncated *packed.TruncatedError
			require.ErrorAs(t, err, &truncated, "%s cut at %d of %d", name, cut, len(whole))
			require.EqualError(t, truncated, "the "+string(f)+" file is truncated; fetch it again")
		}
	}
}

// TestDamaged flips a byte: reading ends, and without an error the text is unchanged.
func TestDamaged(t *testing.T) {
	for name, f := range formats() {
		if f == packed.Plain {
			continue
		}
		whole := pack(t, name, lines(20))
		for at := range whole {
			file := bytes.Clone(whole)
			file[at] ^= 0x55
			text, f, err := unpack(file)
			if err == nil && f != packed.Plain {
				require.Equal(t, lines(20), text, "%s at %d", name, at)
			}
		}
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("disk on fire") }

func TestAFileThatCannotBeRead(t *testing.T) {
	_, err := packed.NewReader(broken{})
	require.EqualError(t, err, "disk on fire")
	for name := range formats() {
		whole := pack(t, name, lines(50_000))
		r, err := packed.NewReader(io.MultiReader(bytes.NewReader(whole[:len(whole)/2]), broken{}))
		require.NoError(t, err)
		_, err = io.ReadAll(r)
		require.EqualError(t, err, "disk on fire", name)
		require.NoError(t, r.Close())
	}
}

func TestClosedEarly(t *testing.T) {
	for name := range formats() {
		r, err := packed.NewReader(bytes.NewReader(pack(t, name, lines(50_000))))
		require.NoError(t, err)
		_, err = r.Read(make([]byte, 10))
		require.NoError(t, err)
		require.NoError(t, r.Close())
		require.NoError(t, r.Close())
	}
}

// A file may demand that much of the text is kept in memory: as much as the tool zstd accepts.
func TestWindow(t *testing.T) {
	for window, fits := range map[int]bool{128 << 20: true, 256 << 20: false} {
		frame := []byte{
			0x28, 0xb5, 0x2f, 0xfd, 0, // a frame whose window is stated, and its size is not
			byte(bits.Len(uint(window))-11) << 3,
			1, 0, 0, // the last block, which is empty
		}
		_, _, err := unpack(frame)
		if fits {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, "needs more than 128 MiB of memory")
		}
	}
}

// FuzzReader reads any bytes: reading ends, and what is not compressed is returned unchanged.
func FuzzReader(f *testing.F) {
	for name := range formats() {
		whole := pack(f, name, lines(5))
		f.Add(whole)
		f.Add(whole[:len(whole)-3])
		f.Add(append(bytes.Clone(whole), whole...))
		f.Add(append(bytes.Clone(whole), 0, 0, 0, 0))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		r, err := packed.NewReader(bytes.NewReader(file))
		if err != nil {
			return
		}
		text, err := io.ReadAll(io.LimitReader(r, 1<<20))
		require.NoError(t, r.Close())
		if r.Format == packed.Plain {
			require.NoError(t, err)
			require.Equal(t, file[:min(len(file), 1<<20)], text)
		}
	})
}
