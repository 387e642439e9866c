package cedar_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
)

// TestDeepAdsAreRefusedEarly says that of an ad that is said, and has too many signs, no more is
// read than shows that. A long text is one constant, and is read.
func TestDeepAdsAreRefusedEarly(t *testing.T) {
	const size = 1 << 20
	for name, key := range map[string][]byte{"plain": nil, "encrypted": make([]byte, cedar.KeySize)} {
		read := func(lines string) (left int, err error) {
			said := bytes.NewReader(answer(t, []cedar.Lines{cedar.Lines(lines)}, key))
			s := cedar.NewStream(memory{said: said}, 0)
			if key != nil {
				require.NoError(t, s.Encrypt(key))
			}
			_, err = s.Int()
			require.NoError(t, err)
			_, err = s.Ad()
			return said.Len(), err
		}
		for _, deep := range []string{"(", "!", "{", "a.", "1?1:"} {
			left, err := read("Requirements = " + strings.Repeat(deep, size/len(deep)) + "\n")
			require.ErrorContains(t, err, "names, constants and signs", name)
			require.Greater(t, left, size*3/4, "%s %s", name, deep)
			left, err = read(strings.Repeat("A = "+strings.Repeat(deep, 500)+"\n", size/500/len(deep)))
			require.ErrorContains(t, err, "names, constants and signs", name)
			require.Greater(t, left, size*3/4, "%s %s in many attributes", name, deep)
		}
		left, err := read("Question = \"" + strings.Repeat("(", size) + "\"\n")
		require.NoError(t, err, name)
		require.Less(t, left, 128<<10)
	}
}
