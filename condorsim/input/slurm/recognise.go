package slurm

import (
	"bytes"
	"regexp"
	"strings"
)

// IsJobs reports whether a text is the accounting of jobs as [Read] reads it, by how it begins: a line of column
// names with JobID among them, or the object that sacct prints with --json. The head may end anywhere.
func IsJobs(begin []byte) bool {
	return isTable(begin) || isObject(begin) && objectOfSacct.Match(begin) && !objectOfSqueue.Match(begin)
}

func isObject(begin []byte) bool {
	begin = bytes.TrimLeft(begin, " \t\r\n")
	return len(begin) > 0 && begin[0] == '{'
}

var (
	// objectOfSacct matches what says that an object is of sacct: the plugin of accounting or the command, fields
	// of the first job, or that there is no job.
	objectOfSacct = regexp.MustCompile(`(?s)^\s*\{(.*"(openapi\\?/(dbv|slurmdb)[^"]*|sacct[^"]*|allocation_nodes|association)"|` +
		`.*"jobs"\s*:\s*\[\s*\{.*"time"\s*:\s*\{.*"(elapsed|eligible|submission)"|` +
		`.*"comment"\s*:\s*\{|` +
		`\s*"jobs"\s*:\s*\[\s*\]\s*(\}|,\s*"(meta|warnings|errors)"))`)
	// objectOfSqueue matches fields of jobs that only squeue prints, and commands that are not sacct.
	objectOfSqueue = regexp.MustCompile(`"(accrue_time|job_state|admin_comment|nodes"\s*:\s*\[\s*\{|sinfo"\s*:|squeue|scontrol)`)
)

// isTable reports whether a text begins with column names of sacct. Between other signs than bars there may be
// names of another program: some more must be known.
func isTable(begin []byte) bool {
	for line := range bytes.Lines(begin) {
		trimmed := bytes.TrimSpace(line)
		if len(trimmed) == 0 || trimmed[0] == '#' {
			continue
		}
		h := readHeading(string(line))
		const enough = 3
		return h != nil && (strings.Contains(h.delimiter, "|") || h.known() >= enough)
	}
	return false
}
