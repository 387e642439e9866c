package schedules

import (
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
)

// The columns that are read, of those that condorsim run --jobs-out writes.
const (
	columnJob = iota
	columnSubmit
	columnStart
	columnEnd
	columnRun
	columnCpus
	columnEstimate
	columnUser
	columnHow
	columnScavenger
	columns // how many there are
)

// needed is how many of them, the first ones, must be there.
const needed = columnCpus + 1

// columnNames are their names.
//
//nolint:gochecknoglobals // a table
var columnNames = [columns]string{"id", "submit", "start", "end", "run", "cpus", "estimate", "user", "how", "scavenger"}

// places finds the columns by the names in a table's head: the index of each, −1 if there is none.
func places(name string, head []string) (found [columns]int, err error) {
	var missing []string
	for i, column := range columnNames {
		found[i] = slices.Index(head, column)
		if found[i] < 0 && i < needed {
			missing = append(missing, column)
		}
		if found[i] >= 0 && slices.Contains(head[found[i]+1:], column) {
			return found, &workload.Error{File: name, Line: 1, Problem: "two columns are named " + column, Hint: rewrite}
		}
	}
	if len(missing) == 0 {
		return found, nil
	}
	return found, &workload.Error{
		File: name, Line: 1,
		Problem: "the table has no column " + strings.Join(missing, ", "),
		Hint:    "write it anew with condorsim run --jobs-out, and keep its columns " + strings.Join(columnNames[:needed], ", "),
	}
}

// rewrite is what to do with a table that is broken.
const rewrite = "write the table anew with condorsim run --jobs-out"
