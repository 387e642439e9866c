package cli

import (
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"
)

// TestValuesOfAnotherKind: errors about flags do not speak of Go.
func TestValuesOfAnotherKind(t *testing.T) {
	for arg, want := range map[string]string{
		"--whole=1.5":                  `--whole: "1.5": must be a whole number`,
		"--whole=":                     `--whole: "": must be a whole number`,
		"--whole=99999999999999999999": `--whole: "99999999999999999999": must be a whole number, and not so large`,
		"--natural=-1":                 `--natural: "-1": must be a whole number from 0`,
		"--number=x":                   `--number: "x": must be a number`,
		"--number=1e999":               `--number: "1e999": must be a number`,
		"--time=x":                     `--time: "x": must be a length of time such as 90s, 10m or 2h`,
		"--flag=x":                     `--flag: "x": must be true or false`,
		"--whole":                      `--whole: a value is missing`,
		"--other":                      `unknown flag --other`,
	} {
		parser, err := kong.New(&struct {
			Whole   int
			Natural uint64
			Number  float64
			Time    time.Duration
			Flag    bool
		}{})
		require.NoError(t, err)
		_, err = parser.Parse([]string{arg})
		require.Error(t, err)
		require.Equal(t, want, inWords(err), arg)
	}
}

func TestQuoted(t *testing.T) {
	for word, want := range map[string]string{
		"a/b-c_1.yaml": "a/b-c_1.yaml", "": "''", "a b": "'a b'", "it's": `'it'\''s'`, "a*": "'a*'", "*": "'*'",
		"a;b": "'a;b'",
	} {
		require.Equal(t, want, Quoted(word))
	}
}
