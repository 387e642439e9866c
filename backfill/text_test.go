package backfill_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
)

func TestPrintable(t *testing.T) {
	for _, c := range []struct {
		name, text string
		longest    int
		want       string
	}{
		{"nothing", "", 5, ""},
		{"letters of any alphabet", "Größe 中", 10, "Größe 中"},
		{"one line", "a\tb\nc\u2028d", 10, "a b c d"},
		{"what would move a cursor", "a\x1b[2J\x00\x7f", 10, "a\ufffd[2J\ufffd\ufffd"},
		{"no letters at all", "\xff\xfe", 10, "\ufffd\ufffd"},
		{"as long as may be", "abc", 3, "abc"},
		{"too long", "abcd", 3, "abc…"},
		{"letters are counted, not bytes", "äöü", 3, "äöü"},
	} {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, c.want, backfill.Printable(c.text, c.longest)) })
	}
}
