package strictyaml_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/strictyaml"
)

// Texts that would make the library use much memory or time are refused before it reads them.
func TestBounds(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"brackets", "name: a\nlist: " + strings.Repeat("[", 20_000), "[2:107] lists and mappings are nested more than 100 deep"},
		{"braces", strings.Repeat("{a: ", 20_000), "[1:401] lists and mappings are nested"},
		{"brackets that are closed", strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000), "[1:101] "},
		{"dashes", "list:\n" + strings.Repeat("- ", 20_000), "[2:201] lists and mappings are nested"},
		{"dashes and keys", "list:\n" + strings.Repeat("- a:\n  - ", 3) + strings.Repeat("- ", 20_000), "more than 100 deep"},
		{"question marks", strings.Repeat("? ", 20_000), "[1:201] lists and mappings are nested"},
		{"dashes before brackets", strings.Repeat("- ", 60) + strings.Repeat("[", 60), "[1:161] lists"},
		{"a long text", "name: " + strings.Repeat("a ", 1<<20), "longer than 1 MiB"},
		{"many aliases", "name: &a b\nlist: [" + strings.Repeat("*a, ", 101) + "]\n", "[2:408] there are more than 100 aliases"},
		{"many keys", lines("k%d: v\n", 10_001), "[10001:7] there are more than 10000 keys"},
		{"many keys in braces", "{" + lines("k%d: v, ", 10_001) + "}", "there are more than 10000 keys"},
		{"aliases of aliases", "a: &a x\nb: &b [*a, *a]\nc: &c [*b, *b]\n", "[2:8] an alias is part of what an anchor names"},
		{"aliases of merged mappings", "a: &a {x: 1}\nb: &b\n  <<: *a\n", "[3:7] an alias is part of what an anchor names"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := strictyaml.Parse([]byte(c.text))
			require.ErrorContains(t, err, c.want)
			require.Less(t, len(err.Error()), 500, "the text is not repeated in the error")
			require.EqualError(t, strictyaml.Decode([]byte(c.text), new(any)), err.Error())
			runtime.ReadMemStats(&after)
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(64<<20))
		})
	}
}

// lines returns n lines, each with its number.
func lines(format string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// What people write stays far within the bounds.
func TestWithinBounds(t *testing.T) {
	for _, text := range []string{
		strings.Repeat("[", 100) + strings.Repeat("]", 100),
		strings.Repeat("- [a, {b: c}]\n- d: {e: [f]}\n  g:\n  - h\n", 2000),
		"a: &a {x: 1}\nb: [*a, *a]\nc:\n  <<: *a\n",
		"a: '" + strings.Repeat("[", 2000) + "' # " + strings.Repeat("[", 2000),
	} {
		_, err := strictyaml.Parse([]byte(text))
		require.NoError(t, err)
		require.NoError(t, strictyaml.Decode([]byte(text), new(any)))
	}
}

func TestReadFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.yaml")
	require.NoError(t, os.WriteFile(path, []byte("name: a\n"), 0o600))
	text, err := strictyaml.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "name: a\n", string(text))
	_, err = strictyaml.ReadFile(path + "x")
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = strictyaml.ReadFile("/dev/zero")
	require.ErrorContains(t, err, "longer than 1 MiB")
}

// TestReadPipe: a pipe is read while somebody writes to it, such as a shell's <(command); nobody waits
// for a writer.
func TestReadPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	_, err := strictyaml.ReadFile(path)
	require.EqualError(t, err, path+" is a pipe to which nobody writes: name a file")
	here, there, err := os.Pipe()
	require.NoError(t, err)
	defer here.Close() //nolint:errcheck // a test's
	go func() {
		_, _ = there.WriteString("name: a\n")
		_ = there.Close()
	}()
	text, err := strictyaml.ReadFile(fmt.Sprintf("/dev/fd/%d", here.Fd()))
	require.NoError(t, err)
	require.Equal(t, "name: a\n", string(text))
}
