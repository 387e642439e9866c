package statefile

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"go.etcd.io/bbolt"
	"pgregory.net/rapid"
)

// pageLength is the size of pages here; it is that of the system's memory.
var pageLength = os.Getpagesize()

// wholeFile opens a file that is there and whole.
func wholeFile(t require.TestingT, path string) *File {
	f, err := Open(path)
	require.NoError(t, err)
	require.Empty(t, f.Damaged())
	f.Unsynced()
	return f
}

// sample returns the bytes of a file with some hundred pages, of all kinds.
func sample(t *testing.T) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sample")
	f := wholeFile(t, path)
	for round := range 3 {
		require.NoError(t, f.Update(func(tx *Tx) error {
			for bucket, size := range map[string]struct{ records, length int }{
				"small": {2, 1}, "many": {300, 100}, "long": {6, 9000},
			} {
				b, err := tx.Make(bucket)
				require.NoError(t, err)
				for i := range size.records {
					value := strings.Repeat(strconv.Itoa(round), size.length)
					require.NoError(t, b.Put(fmt.Sprint("key", i*(round+1)), []byte(value)))
				}
				_, err = b.Number()
				require.NoError(t, err)
			}
			return nil
		}))
	}
	require.NoError(t, f.Close())
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return text
}

// records returns all that the buckets of a file hold.
func records(t require.TestingT, f *File) map[string]string {
	all := map[string]string{}
	require.NoError(t, f.View(func(tx *Tx) error {
		for _, bucket := range []string{"small", "many", "long"} {
			b := tx.Bucket(bucket)
			if b == nil {
				continue
			}
			for key, value := range b.All() {
				all[bucket+"/"+key] = string(value)
			}
			all[bucket] = strconv.FormatUint(b.Last(), 10)
		}
		return nil
	}))
	return all
}

// given writes a file.
func given(t require.TestingT, dir string, text []byte) string {
	path := filepath.Join(dir, "state")
	require.NoError(t, os.WriteFile(path, text, 0o600))
	return path
}

// noticed opens a damaged file. It returns how the damage was noticed: by an error, by a bucket, or
// not, and then it does no harm.
func noticed(t require.TestingT, dir string, damaged []byte, want ...map[string]string) string {
	f, err := Open(given(t, dir, damaged))
	if err != nil {
		require.ErrorIs(t, err, ErrDamaged)
		return "error"
	}
	defer f.Close() //nolint:errcheck // the file is thrown away
	if broken := f.Damaged(); len(broken) > 0 {
		require.ErrorIs(t, f.Intact(broken[0]), ErrDamaged)
		return "bucket"
	}
	got := records(t, f)
	require.True(t, slices.ContainsFunc(want, func(w map[string]string) bool { return maps.Equal(w, got) }))
	require.NoError(t, f.Update(func(tx *Tx) error {
		b, err := tx.Make("small")
		require.NoError(t, err)
		return b.Put("new", []byte("value"))
	}))
	return "harmless"
}

// states returns the records of a file, and those that it had before the last transaction.
func states(t *testing.T, text []byte) []map[string]string {
	t.Helper()
	now := wholeFile(t, given(t, t.TempDir(), text))
	torn := slices.Clone(text)
	torn[newestHeader(t, text)+pageStart+20]++
	before := wholeFile(t, given(t, t.TempDir(), torn))
	require.Equal(t, tornNote, before.Note())
	all := []map[string]string{records(t, now), records(t, before)}
	require.NoError(t, errors.Join(now.Close(), before.Close()))
	require.NotEqual(t, all[0], all[1])
	return all
}

func newestHeader(t *testing.T, text []byte) int {
	t.Helper()
	first, err := headerAt(text, 0)
	require.NoError(t, err)
	second, err := headerAt(text, uint64(pageLength))
	require.NoError(t, err)
	if first.transaction > second.transaction {
		return 0
	}
	return pageLength
}

// TestFlippedBits: whatever bits are flipped, the damage is noticed, or does no harm.
func TestFlippedBits(t *testing.T) {
	whole := sample(t)
	want, dir, how := states(t, whole), t.TempDir(), map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		damaged := slices.Clone(whole)
		for range rapid.IntRange(1, 3).Draw(t, "bits") {
			page := rapid.IntRange(0, len(damaged)/pageLength-1).Draw(t, "page") * pageLength
			at := rapid.OneOf(rapid.IntRange(0, 64), rapid.IntRange(0, pageLength-1)).Draw(t, "at")
			damaged[page+at] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		}
		how[noticed(t, dir, damaged, want...)]++
	})
	t.Log(how)
}

// TestEveryPage zeroes each page, writes others over it, and ends the file before it.
func TestEveryPage(t *testing.T) {
	whole := sample(t)
	want, dir, how := states(t, whole), t.TempDir(), map[string]int{}
	for at := 0; at < len(whole); at += pageLength {
		for _, damage := range []func(b []byte) []byte{
			func(b []byte) []byte { clear(b[at : at+pageLength]); return b },
			func(b []byte) []byte { copy(b[at:at+pageLength], whole[2*pageLength:]); return b },
			func(b []byte) []byte { return b[:at] },
			func(b []byte) []byte { return b[:at+100] },
		} {
			how[noticed(t, dir, damage(slices.Clone(whole)), want...)]++
		}
	}
	require.Positive(t, how["error"])
	require.Positive(t, how["bucket"])
	require.Positive(t, how["harmless"], "some pages are free")
}

// TestEveryLengthAndByte cuts a small file at every length, and flips each byte: all those that say
// how the file is laid out, and every 23rd of the others. Either the damage is told, or the
// records are the very same.
func TestEveryLengthAndByte(t *testing.T) {
	dir := t.TempDir()
	f := wholeFile(t, filepath.Join(dir, "whole"))
	for round := range 3 {
		require.NoError(t, f.Update(func(tx *Tx) error {
			for _, bucket := range []string{"small", "many", "long"} {
				b, err := tx.Make(bucket)
				require.NoError(t, err)
				for i := range map[string]int{"small": 1, "many": 60, "long": 2}[bucket] {
					require.NoError(t, b.Put(strconv.Itoa(i), []byte(strings.Repeat(strconv.Itoa(round), 100))))
				}
			}
			return nil
		}))
	}
	want := records(t, f)
	require.NoError(t, f.Close())
	whole, err := os.ReadFile(filepath.Join(dir, "whole"))
	require.NoError(t, err)
	told := func(damaged []byte, what string, at int) bool {
		if _, wrong := check(damaged); wrong != nil { // Open begins with it, and it is quick
			require.ErrorIs(t, wrong, ErrDamaged)
			return true
		}
		f, wrong := Open(given(t, dir, damaged))
		if wrong != nil {
			require.ErrorIs(t, wrong, ErrDamaged)
			require.ErrorContains(t, wrong, dir)
			return true
		}
		defer f.Close() //nolint:errcheck // the file is thrown away
		if f.Note() != "" || len(f.Damaged()) > 0 {
			return true
		}
		require.Equal(t, want, records(t, f), "%s %d passes in silence", what, at)
		return false
	}
	h, _, err := newest(whole)
	require.NoError(t, err)
	used := int(h.high) * pageLength
	for length := range whole {
		if length <= used || length%101 == 0 {
			require.Equal(t, length < used, told(whole[:length], "the length", length), length)
		}
	}
	silent, damaged := 0, slices.Clone(whole)
	for at := range used {
		if at%pageLength >= 128 && at%23 > 0 {
			continue
		}
		damaged[at] ^= 0xFF
		if !told(damaged, "byte", at) {
			silent++
		}
		damaged[at] = whole[at]
	}
	require.Less(t, silent, used/2, "most bytes matter")
	t.Logf("%d bytes in use of %d; %d flips do no harm", used, len(whole), silent)
}

// TestATreeThatBitesItsTail has branches lead to themselves, on which bbolt would go on for ever.
func TestATreeThatBitesItsTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	f := wholeFile(t, path)
	require.NoError(t, f.Update(func(tx *Tx) error {
		b, err := tx.Make("many")
		require.NoError(t, err)
		for i := range 2000 {
			require.NoError(t, b.Put(strconv.Itoa(i), []byte(strings.Repeat("v", 100))))
		}
		return nil
	}))
	require.NoError(t, f.Close())
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	branches := 0
	for page := 2 * pageLength; page < len(whole); page += pageLength {
		if native.Uint16(whole[page+8:]) != branchPage {
			continue
		}
		branches++
		damaged := slices.Clone(whole)
		copy(damaged[page+pageStart+8:], damaged[page:page+8]) // its number
		_, err = Open(given(t, t.TempDir(), damaged))
		require.ErrorContains(t, err, "is in two places")
	}
	require.Positive(t, branches)
}

func TestWhatIsNoFile(t *testing.T) {
	for text, want := range map[string]string{
		"": "it ends in its headers, after 0 bytes", "no database": "it ends in its headers, after 11 bytes",
		strings.Repeat("no database", 9999): "its headers are broken",
	} {
		_, err := Open(given(t, t.TempDir(), []byte(text)))
		require.ErrorIs(t, err, ErrDamaged)
		require.ErrorContains(t, err, want)
	}
	_, err := Open(t.TempDir())
	require.Error(t, err)
	require.NotErrorIs(t, err, ErrDamaged)
}

// TestANewerFileIsNotDamaged changes the version of bbolt's format.
func TestANewerFileIsNotDamaged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	require.NoError(t, wholeFile(t, path).Close())
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	for _, page := range []int{0, pageLength} {
		header := text[page+pageStart : page+pageStart+headerLength]
		native.PutUint32(header[4:], version+1)
		native.PutUint64(header[headerLength-8:], headerSum(header))
	}
	_, err = Open(given(t, t.TempDir(), text))
	require.ErrorIs(t, err, ErrNewer)
	require.NotErrorIs(t, err, ErrDamaged)
}

// TestWhatIsInTheWayIsNoDamage: a lock, and too few descriptors.
func TestWhatIsInTheWayIsNoDamage(t *testing.T) {
	path := given(t, t.TempDir(), sample(t))
	backup, err := os.Open(path)
	require.NoError(t, err)
	require.NoError(t, syscall.Flock(int(backup.Fd()), syscall.LOCK_SH))
	_, err = Open(path)
	require.ErrorIs(t, err, ErrLocked)
	require.NotErrorIs(t, err, ErrDamaged)
	require.NoError(t, backup.Close())
	require.NoError(t, wholeFile(t, path).Close())

	var limit syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit))
	none := limit
	none.Cur = 3
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &none))
	_, err = Open(path)
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit))
	require.ErrorIs(t, err, syscall.EMFILE)
	require.NotErrorIs(t, err, ErrDamaged)
	require.NoError(t, wholeFile(t, path).Close())
}

// TestFilesOfOthers: a file that bbolt alone wrote, as versions before the seal did, is good; a seal
// that others outdated is void; and the next transaction seals what they wrote.
func TestFilesOfOthers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	other := func(value string) {
		db, err := bbolt.Open(path, 0o600, &bbolt.Options{NoSync: true})
		require.NoError(t, err)
		require.NoError(t, db.Update(func(tx *bbolt.Tx) error {
			b, err := tx.CreateBucketIfNotExists([]byte("small"))
			require.NoError(t, err)
			return b.Put([]byte("key"), []byte(value))
		}))
		require.NoError(t, db.Close())
	}
	for round := range 2 {
		other(fmt.Sprint("theirs", round))
		f := wholeFile(t, path)
		require.Equal(t, fmt.Sprint("theirs", round), records(t, f)["small/key"])
		require.NoError(t, f.Update(func(tx *Tx) error { return tx.Bucket("small").Put("ours", nil) }))
		require.NoError(t, f.Close())
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		damaged := []byte(strings.ReplaceAll(string(text), "theirs", "theirz"))
		require.Equal(t, "bucket", noticed(t, t.TempDir(), damaged))
	}
}

// TestReplace: a copy of the damaged file remains, byte by byte, and a new file is in its place.
func TestReplace(t *testing.T) {
	path := given(t, t.TempDir(), []byte("damaged"))
	require.NoError(t, Replace(path, path+".aside"))
	text, err := os.ReadFile(path + ".aside")
	require.NoError(t, err)
	require.Equal(t, "damaged", string(text))
	f := wholeFile(t, path)
	require.NoError(t, f.CopyTo(path+".copy"))
	require.NoError(t, f.Close())
	require.NoError(t, wholeFile(t, path+".copy").Close())
	info, err := os.Stat(path + ".aside")
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())
}

// TestReplaceOnAFullDisk: the file stays as it is, and nothing half written lies beside it.
func TestReplaceOnAFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skip("skipped: no file system can be mounted here:", err)
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(dir, 0)) })
	damaged := strings.Repeat("damaged", 6000)
	path := given(t, dir, []byte(damaged))
	require.ErrorIs(t, Replace(path, path+".aside"), syscall.ENOSPC)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, damaged, string(text))
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 1)
}

// BenchmarkUpdate measures a transaction that changes one of 10,000 records.
func BenchmarkUpdate(b *testing.B) {
	f := wholeFile(b, filepath.Join(b.TempDir(), "state"))
	defer f.Close() //nolint:errcheck // the file is thrown away
	put := func(i, n int) {
		require.NoError(b, f.Update(func(tx *Tx) error {
			many, err := tx.Make("many")
			for ; n > 0 && err == nil; n-- {
				err = many.Put(strconv.Itoa((i+n)%10_000), []byte(strings.Repeat(strconv.Itoa(i), 100)))
			}
			return err
		}))
	}
	put(0, 10_000)
	i := 0
	for b.Loop() {
		i++
		put(i, 1)
	}
}

// TestARecordThatDoesNotFit says that a record which a file cannot hold is refused, and that the
// transaction, and the seal, are those of the others.
func TestARecordThatDoesNotFit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	f, err := Open(path)
	require.NoError(t, err)
	require.NoError(t, f.Update(func(tx *Tx) error {
		b, failed := tx.Make("bucket")
		require.NoError(t, failed)
		require.NoError(t, b.Put("a", []byte("1")))
		require.ErrorIs(t, b.Put("", []byte("2")), ErrUnfit)
		require.ErrorIs(t, b.Put(strings.Repeat("k", 33<<10), []byte("2")), ErrUnfit)
		return b.Put("b", []byte("3"))
	}))
	require.NoError(t, f.Close())
	f, err = Open(path)
	require.NoError(t, err)
	require.Empty(t, f.Damaged())
	require.NoError(t, f.View(func(tx *Tx) error {
		require.Equal(t, "1", string(tx.Bucket("bucket").Get("a")))
		require.Equal(t, "3", string(tx.Bucket("bucket").Get("b")))
		return nil
	}))
	require.NoError(t, f.Close())
}
