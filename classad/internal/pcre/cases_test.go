package pcre_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCases reads a table of results of PCRE2 10.42. Its columns are pattern, flags (- for none),
// subject, and the offsets of the match and the groups; special texts are quoted. UPDATE=1 asks
// pcre2test again.
func TestCases(t *testing.T) {
	path := filepath.Join("testdata", "cases.txt")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if os.Getenv("UPDATE") != "" {
		update(t, path, lines)
		return
	}
	for i, line := range lines {
		if line == "" || strings.HasPrefix(line, "# ") {
			continue
		}
		q, want := readCase(t, line)
		got := q.answers()[0]
		if got == resultUnknown && want == resultBad {
			continue // it does not compile, perhaps because it is not supported
		}
		require.Equal(t, want, got, "line %d: %s", i+1, line)
	}
}

func readCase(t *testing.T, line string) (q question, result string) {
	t.Helper()
	columns := strings.Split(line, "\t")
	require.GreaterOrEqual(t, len(columns), 3, line)
	for _, i := range []int{0, 2} {
		if strings.HasPrefix(columns[i], `"`) {
			text, err := strconv.Unquote(columns[i])
			require.NoError(t, err, line)
			columns[i] = text
		}
	}
	q = question{pattern: columns[0], flags: strings.Trim(columns[1], "-"), subjects: columns[2:3]}
	if len(columns) > 3 {
		result = columns[3]
	}
	return q, result
}

func update(t *testing.T, path string, lines []string) {
	t.Helper()
	var questions []question
	for _, line := range lines {
		if line != "" && !strings.HasPrefix(line, "# ") {
			q, _ := readCase(t, line)
			questions = append(questions, q)
		}
	}
	results := oracle(t, questions)
	for i, line := range lines {
		if line != "" && !strings.HasPrefix(line, "# ") {
			lines[i] = writeCase(questions[0], results[0][0])
			questions, results = questions[1:], results[1:]
		}
	}
	require.NoError(t, os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600))
}

func writeCase(q question, result string) string {
	flags := q.flags
	if flags == "" {
		flags = "-"
	}
	return strings.Join([]string{column(q.pattern), flags, column(q.subjects[0]), result}, "\t")
}

// column quotes a text if it would not be read back unchanged.
func column(s string) string {
	if s == "" || strings.HasPrefix(s, `"`) || strings.HasPrefix(s, "# ") || !strconv.CanBackquote(s) ||
		strings.ContainsAny(s, "\t\n") {
		return strconv.QuoteToASCII(s)
	}
	for i := range len(s) {
		if s[i] >= 0x7f {
			return quoteBytes(s)
		}
	}
	return s
}

// quoteBytes quotes a text; unlike strconv.Quote it also handles bytes that are not UTF-8.
func quoteBytes(s string) string {
	var out strings.Builder
	out.WriteByte('"')
	for i := range len(s) {
		if s[i] >= 0x7f {
			out.WriteString(`\x` + strconv.FormatUint(uint64(s[i]), 16))
			continue
		}
		out.WriteString(strings.Trim(strconv.QuoteToASCII(s[i:i+1]), `"`))
	}
	return out.String() + `"`
}
