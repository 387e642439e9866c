package integration_test

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"
)

// TestForeign runs testdata/foreign: small cases from the tests of other schedulers. Each says where it
// comes from and how what is expected follows from there. In them
//
//	[!] expect jobs.csv FILE
//
// compares the rows of jobs with what a file expects, see [expected].
func TestForeign(t *testing.T) { runForeign(t, "testdata/foreign") }

// TestForeignAtHand runs the cases that lie beside the checkout and are not the same in testdata/foreign.
// UPDATE=1 writes all of them there.
func TestForeignAtHand(t *testing.T) {
	files, err := filepath.Glob(shared + "/foreign/cases/*.json")
	require.NoError(t, err)
	if len(files) == 0 {
		t.Skip("skipped: cases of other schedulers beside those in testdata/foreign; shared/foreign is not here")
	}
	dir, others := t.TempDir(), 0
	if os.Getenv("UPDATE") != "" {
		dir = "testdata/foreign"
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		var c foreign
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.DisallowUnknownFields() // what a case says and no script has would be left out silently
		require.NoError(t, decoder.Decode(&c), file)
		script := c.script()
		if ours, err := os.ReadFile("testdata/foreign/" + c.Name + ".txtar"); err == nil && string(ours) == string(script) {
			continue
		}
		others++
		require.NoError(t, os.WriteFile(filepath.Join(dir, c.Name+".txtar"), script, 0o600))
	}
	if others > 0 {
		runForeign(t, dir)
	}
}

func runForeign(t *testing.T, dir string) {
	t.Helper()
	testscript.Run(t, testscript.Params{
		Dir: dir,
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", binaries+string(filepath.ListSeparator)+env.Getenv("PATH"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"expect": expect},
	})
}

// foreign is a case as it lies beside the checkout.
type foreign struct {
	Name, Group, Source, Derivation string

	Known       string // why it differs from its source, if it does
	Args        []string
	Instance    *instance
	Ads         []jobAd
	Pool        string // a pool file
	Predictions map[string]int64
	Expect      json.RawMessage
}

type instance struct {
	Processors, Memory int64
	Jobs               []map[string]int64
}

type jobAd struct {
	ID, Submit, Run, Estimate int64
	Cpus, Hosts               *int64
	Owner                     string
	Ad                        map[string]any
}

// script returns the case as a script with the files that it reads.
func (c *foreign) script() []byte {
	var text strings.Builder
	comment(&text, c.Source)
	comment(&text, c.Derivation)
	run, files := []string{"exec condorsim run"}, []txtar.File{}
	add := func(name, data string) { files = append(files, txtar.File{Name: name, Data: []byte(data)}) }
	if c.Instance != nil {
		run = append(run, "--instance instance.json")
		add("instance.json", c.instance())
	} else {
		run = append(run, "--workload jobs.ads --estimate-attr EstimatedRunTime --clean none")
		add("jobs.ads", c.ads())
	}
	if c.Pool != "" {
		run = append(run, "--pool pool.yaml")
		add("pool.yaml", c.Pool)
	}
	if c.Predictions != nil {
		run = append(run, "--estimates file:predictions.csv")
		var rows strings.Builder
		for _, id := range slices.Sorted(maps.Keys(c.Predictions)) {
			fmt.Fprintf(&rows, "%s,%d\n", id, c.Predictions[id])
		}
		add("predictions.csv", rows.String())
	}
	for _, arg := range c.Args {
		if strings.ContainsAny(arg, " '") {
			arg = "'" + strings.ReplaceAll(arg, "'", "''") + "'"
		}
		run = append(run, arg)
	}
	fmt.Fprintln(&text, strings.Join(append(run, "--jobs-out jobs.csv"), " "))
	not := ""
	if c.Known != "" {
		comment(&text, "It differs. "+c.Known)
		not = "! "
	}
	fmt.Fprintln(&text, not+"expect jobs.csv expect.json")
	add("expect.json", lines(c.Expect)+"\n")
	return txtar.Format(&txtar.Archive{Comment: []byte(text.String()), Files: files})
}

// comment writes lines of a script that are not run.
func comment(to *strings.Builder, text string) {
	line := "#"
	for word := range strings.FieldsSeq(text) {
		if len(line)+len(word) >= 100 {
			fmt.Fprintln(to, line)
			line = "#"
		}
		line += " " + word
	}
	fmt.Fprintln(to, line)
}

// lines returns an object with a line for each of its values.
func lines(object json.RawMessage) string {
	var values map[string]json.RawMessage
	_ = json.Unmarshal(object, &values) // it was read as an object
	var text []string
	for _, key := range slices.Sorted(maps.Keys(values)) {
		var value any
		_ = json.Unmarshal(values[key], &value)
		short, _ := json.Marshal(value)
		text = append(text, fmt.Sprintf(" %q: %s", key, short))
	}
	return "{\n" + strings.Join(text, ",\n") + "\n}"
}

// instance returns the machine and its jobs, one in a line.
func (c *foreign) instance() string {
	jobs := []string{}
	for _, j := range c.Instance.Jobs {
		fields := []string{}
		for _, key := range []string{"id", "submit", "run", "estimate", "procs", "memory"} {
			fields = append(fields, fmt.Sprintf("%q: %d", key, j[key]))
		}
		jobs = append(jobs, "  {"+strings.Join(fields, ", ")+"}")
	}
	return fmt.Sprintf("{\n \"name\": %q, \"processors\": %d, \"memory\": %d,\n \"jobs\": [\n%s\n ]\n}\n",
		c.Name, c.Instance.Processors, c.Instance.Memory, strings.Join(jobs, ",\n"))
}

// ads returns the jobs as ads.
func (c *foreign) ads() string {
	ads := []string{}
	for _, j := range c.Ads {
		one := int64(1)
		hosts, cpus := *cmp.Or(j.Hosts, &one), *cmp.Or(j.Cpus, &one)
		var ad strings.Builder
		fmt.Fprintf(&ad, "MyType = \"Job\"\nClusterId = %d\nProcId = 0\nQDate = %d\nOwner = %q\nMinHosts = %d\n"+
			"MaxHosts = %d\nRequestCpus = %d\nEstimatedRunTime = %d\nRemoteWallClockTime = %d\n",
			j.ID, j.Submit, cmp.Or(j.Owner, "u"), hosts, hosts, cpus, j.Estimate, j.Run)
		for _, name := range slices.Sorted(maps.Keys(j.Ad)) {
			fmt.Fprintf(&ad, "%s = %v\n", name, j.Ad[name])
		}
		ads = append(ads, ad.String())
	}
	return strings.Join(ads, "\n")
}

// expected is what a case asks of a schedule; jobs have their numbers.
type expected struct {
	Start      map[int]int64   // when jobs start
	Guarantee  map[int]int64   // by when they were promised to start
	StartingAt map[int64][]int `json:"starting_at"` // who starts at an instant, and nobody else
	NotBefore  map[int]int64   `json:"not_before"`  // no start is earlier
	Before     [][2]int        // the first starts before the second
	NotAfter   [][2]int        `json:"not_after"`    // the first starts no later
	AfterEndOf [][2]int        `json:"after_end_of"` // the first starts once the second has ended
	Held       []int           // who never starts
	Order      []int           // of starts, then of numbers
}

// row is what came of a job; never, if it did not come.
type row struct{ start, end, guarantee int64 }

const never = int64(1) << 60

// expect compares rows of jobs with what is expected of them.
func expect(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: expect JOBS.csv EXPECTED.json")
	}
	var e expected
	decoder := json.NewDecoder(strings.NewReader(ts.ReadFile(args[1])))
	decoder.DisallowUnknownFields()
	ts.Check(decoder.Decode(&e))
	rows := rowsOf(ts, ts.ReadFile(args[0]))
	switch wrong := e.wrong(rows); {
	case neg && len(wrong) == 0:
		ts.Fatalf("it is as its source says: expect that")
	case !neg && len(wrong) > 0:
		ts.Fatalf("%s", strings.Join(wrong, "\n"))
	}
}

// rowsOf reads the rows of jobs that were written with --jobs-out.
func rowsOf(ts *testscript.TestScript, text string) map[int]row {
	records, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	ts.Check(err)
	rows := map[int]row{}
	for _, record := range records[1:] {
		value := func(column string) int64 {
			text := record[slices.Index(records[0], column)]
			if text == "" {
				return never
			}
			n, err := strconv.ParseInt(text, 10, 64)
			ts.Check(err)
			return n
		}
		id, _, _ := strings.Cut(record[slices.Index(records[0], "id")], ".")
		n, err := strconv.Atoi(id)
		ts.Check(err)
		rows[n] = row{value("start"), value("end"), value("guarantee")}
	}
	return rows
}

// wrong lists what is not as expected.
func (e *expected) wrong(rows map[int]row) (found []string) {
	must := func(right bool, text string, args ...any) {
		if !right {
			found = append(found, fmt.Sprintf(text, args...))
		}
	}
	start := func(id int) int64 { return rows[id].start }
	for id, at := range e.Start {
		must(start(id) == at, "job %d starts at %d, not at %d", id, start(id), at)
	}
	for id, at := range e.Guarantee {
		must(rows[id].guarantee == at, "job %d is promised %d, not %d", id, rows[id].guarantee, at)
	}
	for at, want := range e.StartingAt {
		var ids []int
		for id, r := range rows {
			if r.start == at {
				ids = append(ids, id)
			}
		}
		slices.Sort(ids)
		must(slices.Equal(ids, slices.Sorted(slices.Values(want))), "at %d start %d, not %d", at, ids, want)
	}
	for id, at := range e.NotBefore {
		must(start(id) >= at, "job %d starts at %d, before %d", id, start(id), at)
	}
	for _, p := range e.Before {
		must(start(p[0]) < start(p[1]), "job %d starts at %d, job %d at %d", p[0], start(p[0]), p[1], start(p[1]))
	}
	for _, p := range e.NotAfter {
		must(start(p[0]) != never && start(p[0]) <= start(p[1]), "job %d starts at %d, job %d at %d",
			p[0], start(p[0]), p[1], start(p[1]))
	}
	for _, p := range e.AfterEndOf {
		must(start(p[0]) != never && start(p[0]) >= rows[p[1]].end, "job %d starts at %d, job %d ends at %d",
			p[0], start(p[0]), p[1], rows[p[1]].end)
	}
	for _, id := range e.Held {
		must(start(id) == never, "job %d starts at %d, and should not", id, start(id))
	}
	if e.Order != nil {
		order := slices.DeleteFunc(slices.Sorted(maps.Keys(rows)), func(id int) bool { return start(id) == never })
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(start(a), start(b)) })
		must(slices.Equal(order, e.Order), "they start in the order %d, not %d", order, e.Order)
	}
	return found
}
