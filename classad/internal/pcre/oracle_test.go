package pcre_test

import (
	"bytes"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/classad/internal/pcre"
)

// The results that are not offsets.
const (
	resultBad     = "bad" // the pattern does not compile
	resultNo      = "no"
	resultUnknown = "?" // a limit was reached, or something is not supported
)

// question is a pattern and the subject that it is tried on.
type question struct {
	pattern  string
	flags    string // of i, m, s and x
	subjects []string
}

var flagBits = map[rune]pcre.Flags{'i': pcre.Caseless, 'm': pcre.Multiline, 's': pcre.DotAll, 'x': pcre.Extended}

func parseFlags(s string) pcre.Flags {
	var flags pcre.Flags
	for _, letter := range s {
		flags |= flagBits[letter]
	}
	return flags
}

// answers returns this package's results.
func (q question) answers() []string {
	out := make([]string, len(q.subjects))
	re, err := pcre.Compile(q.pattern, parseFlags(q.flags))
	for i, subject := range q.subjects {
		switch {
		case err != nil && strings.Contains(err.Error(), "not supported"):
			out[i] = resultUnknown
		case err != nil:
			out[i] = resultBad
		default:
			out[i] = answer(re, subject)
		}
	}
	return out
}

func answer(re *pcre.Regexp, subject string) string {
	budget := 1_000_000
	caps := make([]int, 2*re.Groups()+2)
	matched, err := re.Match(subject, 0, pcre.Anywhere, caps, &budget)
	switch {
	case err != nil:
		return resultUnknown
	case !matched:
		return resultNo
	case caps[0] > caps[1]:
		return resultUnknown
	}
	var out []string
	for i := 0; i < len(caps); i += 2 {
		out = append(out, pair(caps[i], caps[i+1]))
	}
	return strings.Join(out, " ")
}

func pair(from, to int) string {
	if to < 0 {
		return "-"
	}
	return strconv.Itoa(from) + ":" + strconv.Itoa(to)
}

// oracle asks pcre2test, without the optimisations that change results; see the package's
// documentation. Subjects must not contain backslashes, because its output does not distinguish
// them from escapes.
func oracle(t *testing.T, questions []question) [][]string {
	t.Helper()
	program := "pcre2test"
	version, err := exec.Command(program, "-C").Output()
	if err != nil || !bytes.Contains(version, []byte("version 10.42 ")) {
		t.Skip("pcre2test of PCRE2 10.42 is not installed")
	}
	in := bytes.NewBufferString("#subject match_limit=200000,ovector=200\n")
	names := strings.NewReplacer("i", ",caseless", "m", ",multiline", "s", ",dotall", "x", ",extended")
	for i, q := range questions {
		fmt.Fprintf(in, "# case %d\n/% x/hex,allaftertext,allcaptures,no_start_optimize,no_auto_possess%s\n", i,
			q.pattern, names.Replace(q.flags))
		for _, subject := range q.subjects {
			for j := range len(subject) {
				fmt.Fprintf(in, `\x%02x`, subject[j])
			}
			if subject == "" {
				in.WriteByte('\\')
			}
			in.WriteByte('\n')
		}
		in.WriteByte('\n')
	}
	cmd := exec.Command(program, "-q")
	cmd.Stdin = in
	out, err := cmd.Output()
	require.NoError(t, err)
	blocks := strings.Split(string(out), "# case ")[1:]
	require.Len(t, blocks, len(questions))
	results := make([][]string, len(questions))
	for i, block := range blocks {
		results[i] = readBlock(t, questions[i], strings.Split(block, "\n")[2:])
	}
	return results
}

// readBlock reads pcre2test's output for one pattern.
func readBlock(t *testing.T, q question, lines []string) []string {
	t.Helper()
	out := make([]string, len(q.subjects))
	at := -1
	text := ""
	for _, line := range lines {
		switch {
		case strings.HasPrefix(line, `\`):
			at++
			require.Less(t, at, len(out), "%+v: %v", q, lines)
		case at < 0 && strings.HasPrefix(line, "Failed: error"):
			for i := range out {
				out[i] = resultBad
			}
			return out
		case strings.HasPrefix(line, "No match"):
			out[at] = resultNo
		case strings.HasPrefix(line, "Failed: error"), strings.HasPrefix(line, "Start of matched"):
			out[at] = resultUnknown
		case len(line) > 3 && line[2] == ':' && out[at] != resultUnknown:
			text = line[4:]
			if text == "<unset>" {
				out[at] += " -"
			}
		case len(line) > 3 && line[2] == '+' && out[at] != resultUnknown:
			to := len(q.subjects[at]) - len(unescape(line[4:]))
			out[at] += " " + pair(to-len(unescape(text)), to)
		}
	}
	for i := range out {
		out[i] = strings.TrimPrefix(out[i], " ")
		require.NotEmpty(t, out[i], "%+v: %q", q, lines)
	}
	return out
}

func unescape(s string) string {
	var out []byte
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' {
			b, _ := strconv.ParseUint(s[i+2:i+4], 16, 8)
			out = append(out, byte(b))
			i += 3
			continue
		}
		out = append(out, s[i])
	}
	return string(out)
}
