package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

const printed = `goos: linux
BenchmarkQueue/policy=easy/slots=1/differ=nothing/waiting=1000-2         	   20000	      8301 ns/op	       323.4 B/job
BenchmarkQueue/policy=easy/slots=1/differ=nothing/waiting=10000-2        	   20000	     12301 ns/op	       313.4 B/job
BenchmarkQueue/policy=easy/slots=1/differ=nothing/growth-2               	       1	         0 ns/op	         0.1600 exponent
BenchmarkQueue/policy=slack/slots=100/differ=nothing/waiting=1000        	   20000	    108301 ns/op	       488.0 B/job
PASS
`

// A table has a row for what differs in the key across alone, and a column for each of its values.
func TestPivot(t *testing.T) {
	require.Equal(t, `| policy | slots | differ | waiting 1,000 | waiting 10,000 | exponent | B/job |
|---|---|---|---|---|---|---|
| easy | 1 | nothing | 8.3 | 12 | 0.16 | 313 |
| slack | 100 | nothing | 108 |  |  | 488 |
`, pivot(parse([]byte(printed)), "waiting", "exponent", "B/job"))
}

// A part is replaced between its marks, and nothing else.
func TestReplace(t *testing.T) {
	const page = "# Speed\n<!-- speed: queue -->\nold\n<!-- /speed -->\nbetween\n<!-- speed: slots -->\nkept\n<!-- /speed -->\n"
	now, err := replace(page, "queue", "| new |\n")
	require.NoError(t, err)
	require.Equal(t, "# Speed\n<!-- speed: queue -->\n\n| new |\n\n<!-- /speed -->\nbetween\n"+
		"<!-- speed: slots -->\nkept\n<!-- /speed -->\n", now)
	again, err := replace(now, "queue", "| new |\n")
	require.NoError(t, err)
	require.Equal(t, now, again)
	for _, broken := range []string{"", "<!-- speed: queue -->\nno end"} {
		_, err = replace(broken, "queue", "x")
		require.ErrorContains(t, err, "speed: queue")
	}
}

// The README has a place for each part.
func TestTheReadmeHasAllParts(t *testing.T) {
	page, err := os.ReadFile("../../backfill/README.md")
	require.NoError(t, err)
	for _, part := range append([]string{"machine"}, parts...) {
		_, err := replace(string(page), part, "x")
		require.NoError(t, err, part)
	}
}

// A wrong call is told before anything is measured, and leaves the file as it is.
func TestWrongCalls(t *testing.T) {
	file := filepath.Join(t.TempDir(), "README.md")
	require.NoError(t, os.WriteFile(file, []byte("nothing\n"), 0o600))
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"part":   {[]string{"-parts", "queues"}, `there is no part "queues"`},
		"runs":   {[]string{"-runs", "0"}, "-runs must be 1 or more"},
		"limit":  {[]string{"-limit", "-1s"}, "-limit some time"},
		"folder": {[]string{"-traces", t.TempDir(), "-file", file}, "name another with -traces"},
		"more":   {[]string{"queue"}, "no other arguments"},
		"file":   {[]string{"-file", file + "x"}, "the file for the figures"},
		"traces": {[]string{"-traces", file + "x", "-file", file}, "name another with -traces"},
		"marks":  {[]string{"-parts", "queue", "-file", file}, "has no lines"},
	} {
		t.Run(name, func(t *testing.T) {
			var errs bytes.Buffer
			require.NotZero(t, run(t.Context(), c.args, &errs))
			require.Contains(t, errs.String(), c.says)
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, "nothing\n", string(text))
		})
	}
}

// A link to the file stays one.
func TestWriteThroughALink(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "README.md"), filepath.Join(dir, "link")
	require.NoError(t, os.WriteFile(file, []byte("old"), 0o600))
	require.NoError(t, os.Symlink(file, link))
	require.NoError(t, write(link, "new"))
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "new", string(text))
	require.Error(t, write(filepath.Join(dir, "nothing"), "new"))
}
