package classad_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/classad/classadtest"
)

const corpus = "../../shared/classad-conformance"

// differences are the cases with a knowingly different answer; see QUIRKS.md.
var differences = map[string]bool{
	"function-pow-76109086":  true,
	"function-pow-53870d91":  true,
	"parse-json-ad-b8e76579": true,
	"parse-ident-f9eac29c":   true,
	"parse-postfix-219c196e": true,
}

// sizes is the minimum number of cases of each file, so that none goes missing.
var sizes = map[string]int{
	"parse": 700, "unparse": 226, "eval": 1394, "function": 1647, "match": 398, "refs": 57, "malformed/index": 306,
}

// TestConformance runs the cases of the shared corpus and a thousand of this repository's own. All
// expected answers are those of HTCondor's library.
func TestConformance(t *testing.T) {
	t.Run("own", func(t *testing.T) { require.GreaterOrEqual(t, runCases(t, "testdata/conformance.jsonl"), 1000) })
	for file, size := range sizes {
		t.Run(file, func(t *testing.T) {
			require.GreaterOrEqual(t, runCases(t, filepath.Join(corpus, file+".jsonl")), size)
		})
	}
}

func runCases(t *testing.T, file string) (total int) {
	t.Helper()
	lines := openCases(t, file)
	for lines.Scan() {
		c := classadtest.Case{Dir: filepath.Dir(file)}
		require.NoError(t, json.Unmarshal(lines.Bytes(), &c))
		total++
		r := c.Run()
		require.Equal(t, !differences[c.ID], c.Agrees(r), "%s: %s in %s and %s\nwant %s %s %s\ngot  %s %s %s",
			c.ID, c.Expr, c.Ad, c.Target, c.Want, c.WantType, c.Tree, r.Got, r.Type, r.Tree)
	}
	require.NoError(t, lines.Err())
	return total
}

func openCases(t *testing.T, file string) *bufio.Scanner {
	t.Helper()
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("skipped: the conformance cases of %s are not here", file)
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<24)
	return lines
}
