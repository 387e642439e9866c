package fleet

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

// What a task may need, where nothing is known of its kind, and what is added for its program.
const (
	leastMegabytes = 128
	leastSeconds   = 60        // that a task is said to take
	leastLimit     = 24 * 3600 // in seconds, from where on it is stopped
	idleJobs       = 100       // that are made beforehand, where the slots are not limited
)

// keepsClaim is for how long a slot is kept for the next task where slots are limited.
const keepsClaim = 5 * time.Second

// needs are what a job asks for.
type needs struct {
	megabytes      int64 // of memory
	seconds, limit int64 // that it is said to take, and may take
}

// needs returns what a task asks for the n-th time, from 0. Each time it is twice as much.
func (t Task) needs(known took, attempt int) needs {
	n := needs{
		megabytes: max(leastMegabytes, t.Megabytes),
		seconds:   max(leastSeconds, t.Seconds),
	}
	if known.Megabytes > 0 {
		n.megabytes = max(leastMegabytes, known.Megabytes*3/2)
	}
	if known.Seconds > 0 {
		n.seconds = max(leastSeconds, known.Seconds*3/2)
	}
	n.limit = max(leastLimit, 20*n.seconds)
	n.megabytes <<= attempt
	n.limit <<= attempt
	return n
}

// description returns the n-th submit description. Each task is a line of the list: numbers and names of
// files, none of which needs quotes.
func (f *Fleet) description(n int) string {
	var text strings.Builder
	line := func(format string, args ...any) { _, _ = fmt.Fprintf(&text, format+"\n", args...) }
	line("# Written by condorsim; it removes this folder at the end.")
	line("batch_name = %s", f.Name)
	line("executable = %s", f.Program)
	line("arguments = \"%s\"", strings.Join(f.Arguments, " "))
	line("log = %d.log", n)
	line("error = %s", ErrorsOf("$(number)"))
	line("notification = never")
	line("# Where the machine shares this folder nothing is transferred.")
	line("should_transfer_files = IF_NEEDED")
	line("when_to_transfer_output = ON_EXIT")
	line("transfer_input_files = $(files)")
	line("transfer_output_files = %s", ResultOf("$(number)"))
	line("request_cpus = 1")
	line("request_memory = $(megabytes)")
	line("+EstimatedRunTime = $(seconds)")
	line("allowed_execute_duration = $(limit)")
	line("# The schedd makes jobs of the list as others end.")
	if f.Slots > 0 {
		line("max_materialize = %d", f.Slots)
		line("# No other job waits when one ends: its slot is kept until the next one is made.")
		line("keep_claim_idle = %d", int(keepsClaim.Seconds()))
	} else {
		line("max_idle = %d", idleJobs)
	}
	for _, own := range f.Lines {
		line("%s", own)
	}
	line("queue number, megabytes, seconds, limit, files from %d.list", n)
	return text.String()
}

// list returns the lines of tasks in a list.
func (f *Fleet) list(tasks []Task, known map[string]took, attempts map[int]int) string {
	var text strings.Builder
	for _, t := range tasks {
		n := t.needs(known[t.Kind], attempts[t.Number])
		_, _ = fmt.Fprintf(&text, "%d, %d, %d, %d, %s\n", t.Number, n.megabytes, n.seconds, n.limit,
			strings.Join(t.Files, ","))
	}
	return text.String()
}

// CheckDir returns an error if jobs cannot have a folder: HTCondor reads a dollar sign in its path as the start
// of a variable, and a line break as the end of a line.
func CheckDir(dir string) error {
	path, err := filepath.Abs(dir)
	if err != nil {
		return fmt.Errorf("find the folder of the jobs: %w", err)
	}
	if linked, err := filepath.EvalSymlinks(path); err == nil { // it may not be there yet
		path = linked
	}
	if strings.ContainsAny(path, "$\r\n") {
		return fmt.Errorf("%q: HTCondor takes no such folder, for its dollar sign or line break; give another one",
			path)
	}
	return nil
}

// CheckLine returns an error if a line of the user cannot be one of a submit description.
func CheckLine(line string) error {
	name, _, assigns := strings.Cut(line, "=")
	switch {
	case strings.ContainsAny(line, "\r\n"):
		return fmt.Errorf("%q: it is more than one line; give each by itself", line)
	case !assigns || strings.TrimSpace(name) == "" || len(strings.Fields(name)) != 1:
		return fmt.Errorf("%q: it sets nothing; give one such as 'accounting_group = physics' or '+ProjectName = \"x\"'", line)
	case strings.HasSuffix(strings.TrimSpace(line), `\`):
		return fmt.Errorf("%q: it ends in a backslash, and so would go on in the line below it; leave that out", line)
	}
	switch key := strings.ToLower(strings.TrimSpace(name)); key {
	case "executable", "arguments", "log", "error", "queue", "initialdir", "transfer_output_files", "universe":
		return fmt.Errorf("%q: %s is the sweep's own", line, key)
	}
	return nil
}
