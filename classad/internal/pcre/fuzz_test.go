package pcre_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/classad/internal/pcre"
)

// FuzzMatch checks that nothing panics, that matches end, that offsets are within the subject, and
// that Go's package agrees on the patterns that mean the same to both.
func FuzzMatch(f *testing.F) {
	for _, pattern := range []string{
		"^node0[0-4]", "(a|b)*?c", `(?<n>a)\k<n>`, "(?<=ab|c)d(?!e)", "(?(1)a|b)(c)", "(a(?1)?b)", "(?|(a)|(b))",
		"a++(?>b)", `[[:alpha:]\d-]{2,3}`,
		`\Qa.b\E$`, "(?i)a(?-i:b)", "(*ACCEPT)|a(*F)", `(?=(a+))\Ka*`, "(?R)|a", "(a*)*", "(?:a?){5}",
		"x # c\n y", `\R\h\V`,
	} {
		f.Add(pattern, uint8(0), "abcab\ncd")
		f.Add(pattern, uint8(9), "AB aabb")
	}
	f.Fuzz(func(t *testing.T, pattern string, flags uint8, subject string) {
		re, err := pcre.Compile(pattern, pcre.Flags(flags&15))
		if err != nil {
			var wrong *pcre.Error
			require.ErrorAs(t, err, &wrong)
			require.GreaterOrEqual(t, wrong.Offset, 0)
			require.LessOrEqual(t, wrong.Offset, len(pattern))
			return
		}
		caps, budget := make([]int, 2*re.Groups()+2), 50_000
		matched, err := re.Match(subject, 0, pcre.Anywhere, caps, &budget)
		require.GreaterOrEqual(t, budget, 0)
		if err != nil {
			require.True(t, errors.Is(err, pcre.ErrBudget) || errors.Is(err, pcre.ErrRecursion))
			return
		}
		if matched {
			for _, at := range caps {
				require.GreaterOrEqual(t, at, -1)
				require.LessOrEqual(t, at, len(subject))
			}
		}
		if other := goRegexp(pattern, flags&15, subject); other != nil {
			require.Equal(t, other.FindStringSubmatchIndex(subject) != nil, matched)
			if want := other.FindStringSubmatchIndex(subject); matched {
				require.Equal(t, want[:2], caps[:2])
			}
		}
	})
}

// goRegexp returns the pattern compiled by Go's package, or nil if it might mean something else
// there. It accepts ASCII only, and no escapes, no (? and * and no $, which matches elsewhere.
// Repetitions of what may be empty differ, too.
func goRegexp(pattern string, flags uint8, subject string) *regexp.Regexp {
	for i := range len(subject) {
		if subject[i] >= 0x80 {
			return nil
		}
	}
	for i := range len(pattern) {
		if pattern[i] >= 0x80 || strings.IndexByte(`\[]$*{}#`, pattern[i]) >= 0 {
			return nil
		}
	}
	if strings.Contains(pattern, "(?") || flags&10 != 0 || strings.Contains(pattern, ")+") ||
		strings.Contains(pattern, ")?") {
		return nil
	}
	prefix := ""
	if flags&1 != 0 {
		prefix += "(?i)"
	}
	if flags&4 != 0 {
		prefix += "(?s)"
	}
	re, err := regexp.Compile(prefix + pattern)
	if err != nil {
		return nil
	}
	return re
}
