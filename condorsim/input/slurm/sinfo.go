package slurm

import (
	"fmt"
	"slices"
	"strings"

	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
)

// titles are the columns of a table of sinfo.
type titles struct {
	delimiter string // "": blanks
	names     []string
}

// Titles of sinfo that are read: any of a list.
var (
	titleNodes    = []string{"NODELIST", "HOSTNAMES"}
	titleCpus     = []string{"CPUS"}
	titleCpusUsed = []string{"CPUS(A/I/O/T)"}
	titleMemory   = []string{"MEMORY"}
	titleGres     = []string{"GRES"}
	titleState    = []string{"STATE"}
	titleParts    = []string{"PARTITION"}
	titleFeatures = []string{"AVAIL_FEATURES", "ACTIVE_FEATURES", "FEATURES"}
)

// printNodes is the command that prints what is read.
const printNodes = `sinfo -N -o "%N %c %m %G %T %P"`

// readTitles reads a line of titles.
func readTitles(line string) *titles {
	t := &titles{}
	for _, delimiter := range []string{"|", "\t", ";"} {
		if strings.Contains(line, delimiter) {
			t.delimiter = delimiter
			break
		}
	}
	t.names = t.values(line)
	return t
}

// values splits a line.
func (t *titles) values(line string) []string {
	if t.delimiter == "" {
		return strings.Fields(line)
	}
	values := strings.Split(strings.TrimSuffix(line, t.delimiter), t.delimiter)
	for i := range values {
		values[i] = strings.TrimSpace(values[i])
	}
	return values
}

// find returns the place of the first title of a list that is there; -1: none.
func (t *titles) find(names []string) int {
	for _, name := range names {
		if i := slices.Index(t.names, name); i >= 0 {
			return i
		}
	}
	return -1
}

// isSinfo reports whether titles are those of sinfo: they have nodes, or two others.
func (t *titles) isSinfo() bool {
	count := 0
	for _, names := range [][]string{
		titleNodes, titleCpus, titleCpusUsed, titleMemory, titleGres, titleState, titleParts, {"NODES", "AVAIL", "TIMELIMIT"},
	} {
		if t.find(names) >= 0 {
			count++
		}
	}
	const enough = 3
	return !slices.Contains(t.names, "JOBID") && (count >= enough || count > 1 && t.find(titleNodes) >= 0)
}

// check returns an error if a title is missing that every node needs.
func (t *titles) check() *workload.Error {
	missing := ""
	switch {
	case t.find(titleNodes) < 0:
		missing = "NODELIST (%N)"
	case t.find(titleCpus) < 0 && t.find(titleCpusUsed) < 0:
		missing = "CPUS (%c)"
	default:
		return nil
	}
	return &workload.Error{
		Problem: "there is no column " + missing + " among " + head(strings.Join(t.names, " ")),
		Hint:    "print it as well: " + printNodes + ", or scontrol show node",
	}
}

// row adds the nodes of a row.
func (b *nodeBuilder) row(t *titles, line string) *workload.Error {
	values := t.values(line)
	if slices.Equal(values, t.names) {
		return nil
	}
	if len(values) != len(t.names) {
		return &workload.Error{
			Problem: fmt.Sprintf("the row has %d of %d columns", len(values), len(t.names)),
			Hint:    "print few columns, with bars between them: " + strings.ReplaceAll(printNodes, " %", "|%"),
		}
	}
	value := func(names []string) string {
		if i := t.find(names); i >= 0 && !unsaid(values[i]) {
			return values[i]
		}
		return ""
	}
	fail := func(names []string, err error) *workload.Error {
		i := t.find(names)
		return &workload.Error{
			Text: values[i], Problem: fmt.Sprintf("column %d (%s): %q %v", i+1, t.names[i], head(values[i]), err),
			Hint: "print it again: " + printNodes,
		}
	}
	names, err := hosts(value(titleNodes))
	if err != nil {
		return fail(titleNodes, err)
	}
	var n Node
	cpus := titleCpus
	text := value(titleCpus)
	if text == "" && t.find(titleCpusUsed) >= 0 {
		cpus = titleCpusUsed
		text = value(cpus)
		text = text[strings.LastIndexByte(text, '/')+1:]
	}
	if n.Cpus, err = least(text, one); err != nil || n.Cpus == 0 {
		return fail(cpus, errAmount)
	}
	if text = value(titleMemory); text != "" {
		if n.Memory, err = least(text, mib); err != nil {
			return fail(titleMemory, err)
		}
	}
	gpus, err := readGRES(value(titleGres))
	if err != nil {
		return fail(titleGres, err)
	}
	n.GPUs, n.Partitions, n.Features = max(gpus, 0), list(value(titleParts)), list(value(titleFeatures))
	return b.add(names, &n, isDown(value(titleState)))
}

// least reads an amount such as 64+, which nodes of a row have at least.
func least(text string, unit int) (int64, error) {
	return amountIn(strings.TrimSuffix(text, "+"), unit)
}
