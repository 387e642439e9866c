package wholefile_test

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim/output/wholefile"
)

// names returns the files of a folder.
func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func TestWholeOrNotAtAll(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.txt")
	require.NoError(t, os.WriteFile(path, []byte("old"), 0o600))

	f, err := wholefile.Create("the text", path)
	require.NoError(t, err)
	_, err = f.Write([]byte("half"))
	require.NoError(t, err)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "old", string(text), "nothing is there before all is")
	f.Discard()
	f.Discard()
	require.Equal(t, []string{"a.txt"}, names(t, dir))

	f, err = wholefile.Create("the text", path)
	require.NoError(t, err)
	_, err = f.Write([]byte("new"))
	require.NoError(t, err)
	require.NoError(t, f.Commit())
	f.Discard()
	text, err = os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "new", string(text))
	require.Equal(t, []string{"a.txt"}, names(t, dir))
	(*wholefile.File)(nil).Discard()
}

func TestALinkIsFollowed(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Symlink("b.txt", filepath.Join(dir, "link")))
	f, err := wholefile.Create("the text", filepath.Join(dir, "link"))
	require.NoError(t, err)
	require.NoError(t, f.Commit())
	require.Equal(t, []string{"b.txt", "link"}, names(t, dir))
}

func TestFaults(t *testing.T) {
	dir := t.TempDir()
	_, err := wholefile.Create("the text", dir)
	require.EqualError(t, err, "write the text: "+dir+" is a directory")
	nowhere := filepath.Join(dir, "none", "a.txt")
	_, err = wholefile.Create("the text", nowhere)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.EqualError(t, err, "write the text to "+nowhere+": no such file or directory")

	path := filepath.Join(dir, "gone", "a.txt")
	require.NoError(t, os.Mkdir(filepath.Dir(path), 0o700))
	f, err := wholefile.Create("the text", path)
	require.NoError(t, err)
	require.NoError(t, os.RemoveAll(filepath.Dir(path)))
	require.EqualError(t, f.Commit(), "write the text to "+path+": no such file or directory")
	require.EqualError(t, f.Fault(errors.New("x")), "write the text to "+path+": x")
	f.Discard()
}

func TestADevice(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("skipped: there is no /dev/full")
	}
	f, err := wholefile.Create("the text", "/dev/full")
	require.NoError(t, err)
	defer f.Discard()
	_, err = f.Write([]byte("x"))
	require.ErrorContains(t, f.Fault(err), "write the text to /dev/full: no space left on device")
}

// A long name leaves room for the name of the temporary file.
func TestALongName(t *testing.T) {
	path := filepath.Join(t.TempDir(), strings.Repeat("a", 255))
	f, err := wholefile.Create("the text", path)
	require.NoError(t, err)
	require.NoError(t, f.Commit())
	require.FileExists(t, path)
}

func TestSame(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Symlink("a.txt", filepath.Join(dir, "link")))
	require.NoError(t, os.Symlink(".", filepath.Join(dir, "here")))
	create := func(name string) *wholefile.File {
		f, err := wholefile.Create("the text", filepath.Join(dir, name))
		require.NoError(t, err)
		t.Cleanup(f.Discard)
		return f
	}
	a := create("a.txt")
	for name, same := range map[string]bool{"a.txt": true, "link": true, "here/a.txt": true, "b.txt": false} {
		require.Equal(t, same, a.Same(create(name)), name)
	}
	require.False(t, a.Same(nil))
	require.False(t, (*wholefile.File)(nil).Same(a))
}

// TestAbandon runs another process, as a process that called Abandon can make no more files.
func TestAbandon(t *testing.T) {
	const there = "TEST_ABANDON"
	if dir := os.Getenv(there); dir != "" {
		f, err := wholefile.Create("the text", filepath.Join(dir, "a.txt"))
		require.NoError(t, err)
		_, err = f.Write([]byte("half"))
		require.NoError(t, err)
		wholefile.Abandon()
		require.Error(t, f.Commit())
		f.Discard()
		_, err = wholefile.Create("the text", filepath.Join(dir, "b.txt"))
		require.Error(t, err)
		return
	}
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAbandon$")
	cmd.Env = append(os.Environ(), there+"="+dir)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Empty(t, names(t, dir))
}

// A file is there whole or not at all, and an older one stays until then.
func TestWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, wholefile.Write("the text", path, func(out io.Writer) error {
		_, err := io.WriteString(out, "before")
		return err
	}))
	err := wholefile.Write("the text", path, func(out io.Writer) error {
		_, err := out.Write(make([]byte, 1<<20))
		return errors.Join(err, syscall.ENOSPC)
	})
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.ErrorContains(t, err, path)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "before", string(text))
	require.Equal(t, []string{"file"}, names(t, filepath.Dir(path)), "nothing is left")
	require.Error(t, wholefile.Write("the text", filepath.Join(path, "below"), func(io.Writer) error { return nil }))
	require.NoError(t, os.Mkdir(path+"d", 0o700))
	require.Error(t, wholefile.Write("the text", path+"d", func(io.Writer) error { return nil }),
		"a directory is in its place")
}

// Temporary files of killed processes disturb nobody, and can be removed.
func TestSweepAway(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.txt")
	killed, err := wholefile.Create("the text", path)
	require.NoError(t, err)
	defer killed.Discard()
	require.NoError(t, wholefile.Write("the text", path, func(io.Writer) error { return nil }))
	require.Len(t, names(t, dir), 2)
	require.NoError(t, wholefile.SweepAway(dir))
	require.Equal(t, []string{"a.txt"}, names(t, dir))
}

// Only a regular file is read or written in a folder of somebody else: no test waits here.
func TestOnlyRegularFilesInside(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	require.NoError(t, os.WriteFile(path("file"), []byte("text"), 0o600))
	require.NoError(t, os.Symlink("file", path("link")))
	require.NoError(t, syscall.Mkfifo(path("pipe"), 0o600))
	require.NoError(t, os.Mkdir(path("folder"), 0o700))

	text, err := wholefile.ReadInside(path("file"), 4)
	require.NoError(t, err)
	require.Equal(t, "text", string(text))
	_, err = wholefile.ReadInside(path("file"), 3)
	require.EqualError(t, err, path("file")+" has more than 3 bytes")
	_, err = wholefile.ReadInside(path("none"), 3)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NoError(t, wholefile.Regular(path("none")))

	for name, says := range map[string]string{
		"link": "is a symbolic link, which is not followed here; remove it",
		"pipe": "is no regular file; remove it", "folder": "is a directory",
	} {
		_, err = wholefile.ReadInside(path(name), 4)
		require.EqualError(t, err, path(name)+" "+says)
		require.EqualError(t, wholefile.Regular(path(name)), path(name)+" "+says)
		err = wholefile.WriteInside("the text", path(name), func(io.Writer) error { return nil })
		require.EqualError(t, err, "write the text: "+path(name)+" "+says)
	}
}
