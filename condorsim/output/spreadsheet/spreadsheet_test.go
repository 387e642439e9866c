package spreadsheet_test

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/condorsim/output/spreadsheet"
)

func TestQuote(t *testing.T) {
	for name, want := range map[string]string{
		"":                            "",
		"alice@example":               "alice@example",
		"pc-sjf":                      "pc-sjf",
		"a=b; c":                      "a=b; c",
		"'=1+1":                       "'=1+1",
		"-5":                          "-5",
		"+1e3":                        "'+1e3",
		"7.1":                         "7.1",
		"7.0":                         "7.0",
		"7.100":                       "'7.100",
		"1e999":                       "'1e999",
		"7.10":                        "'7.10",
		"7.10@a":                      "7.10@a",
		"12":                          "12",
		"007":                         "'007",
		"1e5":                         "'1e5",
		"nan":                         "'nan",
		"9223372036854775808":         "'9223372036854775808",
		"9223372036854775809":         "'9223372036854775809",
		"-5-cmd":                      "'-5-cmd",
		`=cmd|' /C calc'!A0`:          `'=cmd|' /C calc'!A0`,
		`@SUM(1+1)*cmd|' /C calc'!A0`: `'@SUM(1+1)*cmd|' /C calc'!A0`,
		`+HYPERLINK("http://x")`:      `'+HYPERLINK("http://x")`,
		"\t=1+1":                      "'\t'=1+1",
		"\r=1+1":                      "'\r'=1+1",
		"\uff1d1+1":                   "'\uff1d1+1",
		"\xff=1;=1":                   "\xff=1;'=1",
		"alice;=1+1":                  "alice;'=1+1",
		"alice\n=1+1":                 "alice\n'=1+1",
		"alice,=1+1":                  "alice,=1+1", // within the cell's own quotes
	} {
		require.Equal(t, want, spreadsheet.Quote(name), "%q", name)
	}
}

// Tables are UTF-8, whatever is in an ad.
func TestUTF8(t *testing.T) {
	require.Equal(t, "J\u00f6rg", spreadsheet.UTF8("J\xf6rg"))
	require.Equal(t, "J\u00f6rg", spreadsheet.UTF8("J\u00f6rg"))
}

// What was quoted is read back; what was not stays as it is.
func TestUnquote(t *testing.T) {
	for _, name := range []string{"", "12", "7.10", "'", "it's", "'quoted'", "o'=1", "alice;'s", "\t=1+1", "nan", "-5"} {
		require.Equal(t, name, spreadsheet.Unquote(spreadsheet.Quote(name)), "%q", name)
	}
	require.Equal(t, ";'s\n=1", spreadsheet.Unquote(spreadsheet.Quote(";'s\n=1")), "an apostrophe of its own is kept")
	ambiguous := regexp.MustCompile(`(^|[;\t\r\n])'[=+\-@\t\r\n\x{ff1d}]|^'`)
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringOf(rapid.SampledFrom([]rune("a7.=+-@\t\r\n;'\uff1d é"))).
			Filter(func(name string) bool { return !ambiguous.MatchString(name) }).Draw(t, "name")
		if back := spreadsheet.Unquote(spreadsheet.Quote(name)); back != name {
			t.Fatalf("%q was read back as %q", name, back)
		}
	})
}
