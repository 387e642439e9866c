package classadtest

import (
	_ "embed"
	"regexp"
	"strconv"
	"strings"
)

//go:embed worst.txt
var worst string

// innermost is a repetition in worst.txt that contains no other one.
var innermost = regexp.MustCompile(`«(\d+)\*([^«»]*)»`)

// Worst returns the expressions that are known to cost most for their length, as a hostile user would
// write them into a job: the lines of worst.txt.
func Worst() []string {
	var all []string
	for line := range strings.Lines(worst) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		all = append(all, expanded(line))
	}
	return all
}

// expanded replaces all repetitions, the inner ones first.
func expanded(line string) string {
	for innermost.MatchString(line) {
		line = innermost.ReplaceAllStringFunc(line, func(r string) string {
			m := innermost.FindStringSubmatch(r)
			n, _ := strconv.Atoi(m[1])
			return strings.Repeat(m[2], n)
		})
	}
	return line
}
