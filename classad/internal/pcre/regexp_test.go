package pcre_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/classad/internal/pcre"
)

const plenty = 1 << 20

func compile(tb testing.TB, pattern string, flags pcre.Flags) *pcre.Regexp {
	tb.Helper()
	re, err := pcre.Compile(pattern, flags)
	require.NoError(tb, err, pattern)
	return re
}

func TestMatchFromAnOffset(t *testing.T) {
	tests := []struct {
		pattern, subject string
		from             int
		want             []int // nil if there is no match
	}{
		{pattern: "a", subject: "aba", from: 1, want: []int{2, 3}},
		{pattern: "^a", subject: "aa", from: 1},
		{pattern: "(?m)^a", subject: "b\naa", from: 1, want: []int{2, 3}},
		{pattern: `\Ga`, subject: "baa", from: 1, want: []int{1, 2}},
		{pattern: `\Ga`, subject: "bba", from: 1},
		{pattern: "(?<=b)a", subject: "ba", from: 1, want: []int{1, 2}},
		{pattern: `\ba`, subject: "xa", from: 1},
		{pattern: ".*", subject: "ab\nc", from: 1, want: []int{1, 2}},
		{pattern: ".*c", subject: "ab\nc", from: 1, want: []int{3, 4}},
		{pattern: "$", subject: "ab", from: 2, want: []int{2, 2}},
		{pattern: "a", subject: "a", from: 2},
		{pattern: "a", subject: "a", from: -1},
	}
	for _, test := range tests {
		caps, budget := []int{-9, -9}, plenty
		matched, err := compile(t, test.pattern, 0).Match(test.subject, test.from, pcre.Anywhere, caps, &budget)
		require.NoError(t, err)
		require.Equal(t, test.want != nil, matched, test.pattern)
		if matched {
			require.Equal(t, test.want, caps, test.pattern)
		}
	}
}

func TestCapturesAsFarAsThereIsRoom(t *testing.T) {
	for _, pattern := range []string{"b", "(b)", "(?:)b"} {
		re := compile(t, pattern, 0)
		for _, length := range []int{0, 1, 2, 3, 4, 7} {
			caps, budget := make([]int, length), plenty
			matched, err := re.Match("ab", 0, pcre.Anywhere, caps, &budget)
			require.NoError(t, err)
			require.True(t, matched)
			want := []int{1, 2, -1, -1, -1, -1, -1}
			if re.Groups() == 1 {
				want[2], want[3] = 1, 2
			}
			require.Equal(t, want[:length], caps)
		}
	}
}

func TestErrorsTellWhatAndWhere(t *testing.T) {
	tests := map[string]struct {
		offset  int
		message string
	}{
		"a)b":         {offset: 1, message: "unmatched closing parenthesis"},
		"(a":          {offset: 2, message: "missing closing parenthesis"},
		"ab**":        {offset: 3, message: "quantifier does not follow a repeatable item"},
		"[b-a]":       {offset: 3, message: "range out of order in character class"},
		"[a":          {offset: 2, message: "missing terminating ] for character class"},
		`a\2`:         {offset: 1, message: "reference to non-existent subpattern"},
		"(?<=a+)b":    {offset: 0, message: "lookbehind assertion is not fixed length"},
		"a{65536}":    {offset: 1, message: "number too big in {} quantifier"},
		`\X`:          {offset: 0, message: `\X is not supported`},
		"a(*COMMIT)":  {offset: 1, message: "the verb COMMIT is not supported"},
		"(*ANYCRLF)a": {offset: 0, message: "the setting ANYCRLF is not supported"},
		"a(?C1)":      {offset: 1, message: "callouts are not supported"},
		"(?J)a":       {offset: 2, message: "duplicate names are not supported"},
		"(*sr:a)":     {offset: 0, message: "script runs are not supported"},
	}
	for pattern, want := range tests {
		_, err := pcre.Compile(pattern, 0)
		var wrong *pcre.Error
		require.ErrorAs(t, err, &wrong, pattern)
		require.Equal(t, pcre.Error{Offset: want.offset, Message: want.message}, *wrong, pattern)
		require.ErrorContains(t, err, want.message)
	}
}

func TestLimitsOfPatterns(t *testing.T) {
	nested := func(depth int) string { return strings.Repeat("(", depth) + strings.Repeat(")", depth) }
	for _, pattern := range []string{
		nested(250), strings.Repeat("a", 30000), "(a{1000}){1000}", strings.Repeat("(?:a|b)*", 2000),
	} {
		compile(t, pattern, 0)
	}
	for _, pattern := range []string{
		nested(251), strings.Repeat("a", 1<<15), strings.Repeat("a", 1<<20), "((a{1000}b){1000}){1000}",
		"(((((a){999}){999}){999}){999}){999}",
		strings.Repeat("(?<=(?|a|b))", 1000), strings.Repeat("[", 60000), strings.Repeat("{1", 30000),
		strings.Repeat("(?|", 20000),
	} {
		_, err := pcre.Compile(pattern, 0)
		require.Error(t, err, pattern[:10])
	}
}

// TestSizeIsThatOfPCRE2 uses the highest counts with which PCRE2 compiles these patterns.
func TestSizeIsThatOfPCRE2(t *testing.T) {
	for form, most := range map[string]int{
		"(?:(ab*)){%d}": 3640, "(?:(ab*)){0,%d}": 2621, "(?:([ab]+c|d)){%d,}": 1191, "(?:(?:(a)?)){%d}": 2849,
		`(?:(\d+x)){3,%d}`:  2622,
		"(?:(a{2,3}b)){%d}": 2978, "(?:(a{1,2})){%d}()": 3276,
	} {
		compile(t, fmt.Sprintf(form, most), 0)
		_, err := pcre.Compile(fmt.Sprintf(form, most+1), 0)
		require.ErrorContains(t, err, "regular expression is too large")
	}
}

// TestHostilePatterns tries patterns that would take very long, or very much memory.
func TestHostilePatterns(t *testing.T) {
	long := strings.Repeat("a", 100_000)
	tests := []struct {
		pattern, subject string
		want             error
	}{
		{pattern: "(a*)*b", subject: long, want: pcre.ErrBudget},
		{pattern: "(a|aa)+$", subject: strings.Repeat("a", 60) + "b", want: pcre.ErrBudget},
		{pattern: "(?:a?){50}a{50}", subject: strings.Repeat("a", 50), want: pcre.ErrBudget},
		{pattern: `(a+)+\1\1\1b`, subject: strings.Repeat("a", 60), want: pcre.ErrBudget},
		{pattern: "(?:a|b)*", subject: strings.Repeat("ab", 1<<20), want: pcre.ErrBudget},
		{pattern: "(a(?1)|b)", subject: strings.Repeat("a", 1<<22), want: pcre.ErrBudget},
		{pattern: "(?R)", subject: "a", want: pcre.ErrRecursion},
		{pattern: "(a?(?1))", subject: "aa", want: pcre.ErrRecursion},
		{pattern: "(?=((?2))(?1))((?1))", subject: "aa", want: pcre.ErrRecursion},
		{pattern: "[ab]*+c", subject: long[:10_000]},
		{pattern: "a+b", subject: long[:4000]},
	}
	for _, test := range tests {
		budget := 10_000_000
		_, err := compile(t, test.pattern, 0).Match(test.subject, 0, pcre.Anywhere, nil, &budget)
		require.ErrorIs(t, err, test.want, test.pattern)
	}
	budget := 0
	_, err := compile(t, "a", 0).Match("a", 0, pcre.Anywhere, nil, &budget)
	require.ErrorIs(t, err, pcre.ErrBudget)
}

func TestMatchIsSafeForConcurrentUse(t *testing.T) {
	re := compile(t, "(a+)(?1)*(b)", 0)
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for range 200 {
				caps, budget := make([]int, 6), plenty
				if matched, err := re.Match("xaab", 0, pcre.Anywhere, caps, &budget); err != nil || !matched ||
					caps[0] != 1 || caps[5] != 4 {
					t.Errorf("matched %v, caps %v, error %v", matched, caps, err)
				}
			}
		})
	}
	wait.Wait()
}

// TestQuotedTextMatchesItself checks \Q and literals.
func TestQuotedTextMatchesItself(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := string(rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "text"))
		before := rapid.StringMatching("[a-c]{0,5}").Draw(t, "before")
		flags := pcre.Flags(rapid.IntRange(0, 7).Draw(t, "flags"))
		if strings.Contains(text, `\E`) {
			t.Skip("the quotation would end")
		}
		re, err := pcre.Compile(`\Q`+text+`\E\z`, flags)
		require.NoError(t, err)
		caps, budget := make([]int, 2), plenty
		matched, err := re.Match(before+text, 0, pcre.Anywhere, caps, &budget)
		require.NoError(t, err)
		require.True(t, matched)
		require.LessOrEqual(t, caps[0], len(before))
		require.Equal(t, len(before)+len(text), caps[1])
	})
}

// TestBudgetIsWhatStepsNeed checks that a match succeeds again with exactly the steps that it took,
// and not with fewer.
func TestBudgetIsWhatStepsNeed(t *testing.T) {
	re := compile(t, "(a|b)*c(?=d)", 0)
	budget := plenty
	matched, err := re.Match("abbacd", 0, pcre.Anywhere, nil, &budget)
	require.NoError(t, err)
	require.True(t, matched)
	used := plenty - budget
	require.Positive(t, used)
	budget = used
	matched, err = re.Match("abbacd", 0, pcre.Anywhere, nil, &budget)
	require.NoError(t, err)
	require.True(t, matched)
	require.Zero(t, budget)
	budget = used - 1
	_, err = re.Match("abbacd", 0, pcre.Anywhere, nil, &budget)
	require.ErrorIs(t, err, pcre.ErrBudget)
}

func TestModes(t *testing.T) {
	tests := []struct {
		pattern, subject string
		from             int
		mode             pcre.Mode
		want             []int // nil: no match
	}{
		{"a*", "baa", 0, pcre.Anywhere, []int{0, 0}},
		{"a*", "baa", 0, pcre.NotEmpty, []int{1, 3}},
		{"a*", "baa", 0, pcre.HereNotEmpty, nil},
		{"a*", "baa", 1, pcre.HereNotEmpty, []int{1, 3}},
		{"a*?", "aa", 0, pcre.NotEmpty, []int{0, 1}},
		{"|ab", "ab", 0, pcre.HereNotEmpty, []int{0, 2}},
		{"foo", "xfoo", 0, pcre.HereNotEmpty, nil},
		{"foo", "xfoo", 1, pcre.HereNotEmpty, []int{1, 4}},
		{"^a", "aa", 1, pcre.HereNotEmpty, nil},
		{"a\\K", "a", 0, pcre.NotEmpty, nil},
		{"(?<=a)b", "ab", 1, pcre.HereNotEmpty, []int{1, 2}},
		{"[ab]c", "xbc", 1, pcre.HereNotEmpty, []int{1, 3}},
	}
	for _, test := range tests {
		caps, budget := make([]int, 2), 1000
		matched, err := compile(t, test.pattern, 0).Match(test.subject, test.from, test.mode, caps, &budget)
		require.NoError(t, err)
		require.Equal(t, test.want != nil, matched, "%+v", test)
		if matched {
			require.Equal(t, test.want, caps, "%+v", test)
		}
	}
}
