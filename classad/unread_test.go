package classad_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/classad"
)

// Lines of which a part is not read are told by their places, whatever the line before says.
func TestUnread(t *testing.T) {
	for line, want := range map[string]string{
		"A = 12abc": "12", "A = 1,024": "1", "A = 99999999999999999999": "0", "A = -99999999999999999999 ": "0",
		"A = 2 GB": "2", `A = "2" 3`: `"2"`, "A = 1.5.2": "1.500000000000000E+00", "A = -1\r2": "-1", "A = B C": "B", "A = 0 0": "0",
		"A = 12": "", "A = 2;": "", "A = 2 # two": "", "A = 2 // two": "", "A = 2 /* two */": "", "A=1e400": "",
		"A = -9223372036854775808": "", "A = 1.00000000000000000000001": "", "A = 12\r": "", "A = B + 1 ": "",
		`A = "99999999999999999999"`: "",
	} {
		for _, before := range []string{"", "Z = 1\n\n", "A = 5\n\n", line + "\n\n"} {
			var count classad.UnreadAds
			var first int
			for ad, err := range classad.ReadAds(strings.NewReader(before+line+"\n"), "f") {
				require.NoError(t, err)
				count.Note("f", ad)
				first = ad.StreamLine()
				if ad.StreamLine() == 1 && before != "" && before != line+"\n\n" {
					require.Empty(t, classad.UnreadLines(ad))
					continue
				}
				if want == "" {
					require.Empty(t, classad.UnreadLines(ad), line)
					continue
				}
				text := strings.TrimSpace(strings.TrimPrefix(line, "A ="))
				require.Equal(t, []string{fmt.Sprintf("%d: A = %s", first, text)}, classad.UnreadLines(ad))
				value, _ := ad.Lookup("A")
				require.Equal(t, want, value.String())
			}
			if want == "" {
				require.Empty(t, count.Warnings(), line)
			} else {
				require.Contains(t, count.Warnings()[0], " is read as "+want+"; in ")
			}
		}
	}
}

// Ads without an empty line between them, and expressions that became texts, are told.
func TestMisreadings(t *testing.T) {
	const again, asText = " comes again, with another value; in 1 ads", " is a text, and an expression was meant; in 1 ads"
	for text, want := range map[string]string{
		"ClusterId = 1\nProcId = 0\nA = 1\nClusterId = 1\nProcId = 1\n": "f:5: ProcId = 1" + again,
		"X = 1\n\nName = \"a\"\nname = \"b\"\r\n":                       "f:4: name = \"b\"" + again,
		"ClusterId = 1\nClusterId = 1 \nA = 1\nA = 2\n":                 "",
		"ClusterId = 1\n\nClusterId = 2\n":                              "",
		`[{"A": 1}, {"B": "/Expr(4+4)/"}]`:                              "f:1: B = /Expr(4+4)/" + asText,
		`{"A": "\/Expr(4+4)\/", "B": "/Expr"}`:                          "",
	} {
		var count classad.UnreadAds
		for ad, err := range classad.ReadAds(strings.NewReader(text), "f") {
			require.NoError(t, err)
			count.Note("f", ad)
		}
		if want == "" {
			require.Empty(t, count.Warnings(), text)
			continue
		}
		require.Len(t, count.Warnings(), 1, text)
		require.Contains(t, count.Warnings()[0], want)
	}
}
