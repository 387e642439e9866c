package classad_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/classad"
)

// TestLiteral: a constant is read however it is written, and nothing else.
func TestLiteral(t *testing.T) {
	for text, want := range map[string]string{
		"1": "1", "-1": "-1", "0": "0", "1.5": "1.500000000000000E+00", "-1.5": "-1.500000000000000E+00", "true": "true", "FALSE": "false",
		`"a"`: `"a"`, `"a\"b"`: `"a\"b"`, "undefined": "undefined", "error": "error",
		"x": "undefined", "1 + 1": "undefined", "{1}": "undefined", "[a = 1]": "undefined", `strcat("a", "b")`: "undefined",
	} {
		ad, err := classad.ParseOld("x = 1\ny = " + text)
		require.NoError(t, err)
		require.Equal(t, want, ad.Literal("Y").String(), text)
	}
	require.Equal(t, classad.Undefined, classad.New().Literal("x").Kind())
}
