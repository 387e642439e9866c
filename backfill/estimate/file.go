package estimate

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
)

// readFile reads the estimates in a file, by job name. A line is name,seconds; blank lines and
// lines that begin with # are ignored. Errors name the file and the line.
func readFile(r io.Reader, file string) (map[string]backfill.Time, error) {
	known := map[string]backfill.Time{}
	lines := bufio.NewScanner(r)
	number := 0
	for lines.Scan() {
		number++
		text := strings.TrimSpace(lines.Text())
		if text == "" || text[0] == '#' {
			continue
		}
		wrong := func(problem string, args ...any) error {
			return fmt.Errorf("%s:%d: %s; a line is name,seconds", file, number, fmt.Sprintf(problem, args...))
		}
		comma := strings.LastIndexByte(text, ',')
		if comma < 0 {
			return nil, wrong("there is no comma in %q", text)
		}
		name, seconds := strings.TrimSpace(text[:comma]), strings.TrimSpace(text[comma+1:])
		t, err := backfill.ParseTime(seconds)
		switch _, twice := known[name]; {
		case name == "":
			return nil, wrong("there is no name before the comma")
		case err != nil:
			return nil, wrong("the estimate of job %s, %q, %v", name, seconds, err)
		case twice:
			return nil, wrong("job %s is in a line above, too", name)
		}
		known[name] = t
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s:%d: %w", file, number+1, err)
	}
	return known, nil
}

// fromFile returns an estimator that looks up the job's name among the known estimates. A job that
// is not among them keeps its request.
func fromFile(known map[string]backfill.Time) func(*Job) backfill.Time {
	return func(j *Job) backfill.Time {
		if t, ok := known[j.Name]; ok {
			return t
		}
		return j.Requested
	}
}
