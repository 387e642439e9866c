package record

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestANameThatIsTooLong: where a file fits a folder but its former names do not, there is an error and no record.
func TestANameThatIsTooLong(t *testing.T) {
	path := filepath.Join(t.TempDir(), strings.Repeat("x", 250))
	_, err := New(Options{Path: path, Clock: midnight}, func() About { return About{} })
	require.ErrorContains(t, err, "give a shorter one")
}

// TestNoOtherFileIsTouched: a file that is no record is neither overwritten nor renamed, as it would be deleted some day.
func TestNoOtherFileIsTouched(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace.swf")
	for _, text := range []string{"; a trace\n", "\x1f", "\x28\xb5\x2e\xfd"} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		for _, replace := range []bool{false, true} {
			_, err := New(Options{Path: path, Clock: midnight, Replace: replace}, func() About { return About{} })
			require.ErrorContains(t, err, "is no record; name another file")
		}
	}
	require.NoError(t, os.WriteFile(path, []byte("\x28\xb5"), 0o600)) // of a record that was killed
	recorder, err := New(Options{Path: path, Clock: midnight}, func() About { return About{} })
	require.NoError(t, err)
	require.NoError(t, recorder.Close())
}

// TestALinkStays: where the path is a link, files are kept beside what it leads to, and bounded there.
func TestALinkStays(t *testing.T) {
	far, near := filepath.Join(t.TempDir(), "far.rec"), filepath.Join(t.TempDir(), "near.rec")
	require.NoError(t, os.Symlink(far, near))
	for range 3 {
		recorder, err := New(Options{Path: near, Clock: midnight}, func() About { return About{} })
		require.NoError(t, err)
		newTiny(t, recorder).submit(3)
		require.NoError(t, recorder.Close())
	}
	info, err := os.Lstat(near)
	require.NoError(t, err)
	require.Equal(t, os.ModeSymlink, info.Mode().Type())
	former, err := Former(far)
	require.NoError(t, err)
	require.Len(t, former, 2)
}

// TestBehindTheEnd: what is told of cycles behind the end is not written, and nobody waits for it.
func TestBehindTheEnd(t *testing.T) {
	for _, wait := range []bool{false, true} {
		recorder, path := newRecorder(t, Options{Wait: wait, Anonymous: true})
		p := newTiny(t, recorder)
		p.submit(3)
		require.NoError(t, recorder.Close())
		require.NoError(t, recorder.Close(), "a second time")
		before, err := os.ReadFile(path)
		require.NoError(t, err)
		p.submit(3)
		for range mostWaiting/(1<<20) + 2 {
			recorder.writer.append(make([]byte, 1<<20))
		}
		require.NoError(t, recorder.Close())
		require.Empty(t, recorder.writer.text)
		after, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, before, after)
	}
}

// TestHostileNames: whatever words and queues there are, their pseudonyms are read again.
func TestHostileNames(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.names")
	first, err := openNames(path)
	require.NoError(t, err)
	words := []string{strings.Repeat("x", 1<<20), "M\u00fcller", "\u738b\u4f1f", "\xff\xfe"}
	queues := []string{"a\nuser\troot\tuser1\n", "tab\tbed", "\"", "\xff", "plain"}
	var want []string
	for _, word := range words {
		want = append(want, first.text(wordKind, word))
	}
	for _, name := range queues {
		want = append(want, first.queue(name))
	}
	require.NoError(t, first.close())
	again, err := openNames(path)
	require.NoError(t, err)
	var have []string
	for _, word := range words {
		have = append(have, again.text(wordKind, word))
	}
	for _, name := range queues {
		have = append(have, again.queue(name))
	}
	require.Equal(t, want, have)
	require.NotContains(t, again.words, "root")
	require.NoError(t, again.close())
}

// TestNumbersThatAreNames: logins of digits, addresses and letters that ads escape are names as well; instants are not.
func TestNumbersThatAreNames(t *testing.T) {
	n, err := openNames(filepath.Join(t.TempDir(), "x.names"))
	require.NoError(t, err)
	require.Equal(t, "user1@host1", n.text(userKind, "20231234@10.1.2.3"))
	require.Equal(t, "user2", n.text(userKind, "1234567a"))
	require.Equal(t, "user3", n.text(userKind, "M\u00fcller"))
	for text, want := range map[string]string{
		`"20231234"`:                           `"user1"`,
		`"/home/1234567A"`:                     `"/word1/user2"`,
		`"M\303\274LLER"`:                      `"user3"`,
		`"a\\M\303\274ller\n12\001"`:           `"a\\user3\n12\001"`,
		`"\377"`:                               `"\377"`,
		`"<10.1.2.3:9618>"`:                    `"<host1:9618>"`,
		`absTime("2025-10-31T00:00:00+01:00")`: `absTime("2025-10-31T00:00:00+01:00")`,
	} {
		require.Equal(t, want, n.ad(text))
	}
	require.NotContains(t, n.ad(`"\347\216\213\344\274\237"`), `\`)
	for _, text := range []string{
		"192.168.17.23", "[2001-638-504-2098--1]", "2001:db8:0:0:0:0:0:1", "2001:db8::1", "00:11:22:33:44:55", "fe80::",
	} {
		require.Regexp(t, `^\[?host\d\]?$`, n.text(wordKind, text))
	}
	require.NoError(t, n.close())
}

// TestDamageIsNoEnd: where bits in the middle have changed, or a file follows one that was cut off, reading is an error
// and not the end: else a replay would say that all is the same, of half of a record. A cut at any byte is an end.
func TestDamageIsNoEnd(t *testing.T) {
	recorder, path := newRecorder(t, Options{Wait: true})
	p := newTiny(t, recorder)
	for range 2000 {
		p.submit(2)
	}
	require.NoError(t, recorder.Close())
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	read := func(text []byte) (torn bool, err error) {
		r, err := NewReader(bytes.NewReader(text), "x")
		for err == nil {
			_, err = r.Next()
		}
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return r != nil && r.Torn() != nil, err
	}
	torn, err := read(text)
	require.NoError(t, err)
	require.False(t, torn)
	random := rand.New(rand.NewPCG(1, 2))
	index, err := ReadIndex(path)
	require.NoError(t, err)
	last := int(index.GetFrames()[len(index.GetFrames())-1])
	for range 100 {
		at := 4 + random.IntN(last-4) // not what says that it is of zstd
		bad := bytes.Clone(text)
		bad[at] ^= 1 << random.IntN(8)
		torn, _ = read(bad)
		require.False(t, torn, "byte %d", at)
		cut := 8 + random.IntN(len(text)-8)
		torn, err = read(append(text[:cut:cut], text...))
		require.False(t, torn, "cut at %d", cut)
		isWhole := slices.Contains(index.GetFrames(), int64(cut))
		require.Equal(t, isWhole, err == nil, "cut at %d: %v", cut, err)
		torn, err = read(text[:cut])
		if err != nil {
			require.ErrorIs(t, err, ErrNoBeginning)
		} else if !isWhole {
			require.True(t, torn, "cut at %d", cut)
		}
	}
}
