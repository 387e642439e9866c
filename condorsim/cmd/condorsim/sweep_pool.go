package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/condor-backfill/condor-backfill/condorsim/fleet"
	"github.com/condor-backfill/condor-backfill/condorsim/output/results"
	"github.com/condor-backfill/condor-backfill/condorsim/output/wholefile"
	"github.com/condor-backfill/condor-backfill/condorsim/sweep"
	"github.com/condor-backfill/condor-backfill/negotiator/cli"
)

// poolFlags say where the cells of a sweep run.
type poolFlags struct {
	On     string   `enum:"here,htcondor" default:"here" help:"${sweep_on}"`
	Slots  int      `placeholder:"N" help:"With --on htcondor: so many jobs at a time at most."`
	Submit []string `placeholder:"LINE" sep:"none" help:"${sweep_submit}"`
}

const (
	onHTCondor = "htcondor"
	// poolFolder is the folder of the jobs, in the folder of results; it is removed in the end.
	poolFolder = ".htcondor"
	// programName is the program in it.
	programName = "condorsim"
)

// checkPool returns an error for flags that contradict each other, or if the pool cannot be used from here.
func (c *sweepCommand) checkPool() error {
	switch {
	case c.On != onHTCondor && (c.Slots != 0 || len(c.Submit) > 0):
		return errors.New("--slots and --submit are for --on htcondor")
	case c.On == onHTCondor && c.Parallel != 0:
		return errors.New("--parallel is for this machine; with --on htcondor, --slots limits the jobs")
	case c.Slots < 0:
		return errors.New("--slots must not be negative")
	}
	for _, line := range c.Submit {
		if err := fleet.CheckLine(line); err != nil {
			return fmt.Errorf("--submit %w", err)
		}
	}
	if c.On == onHTCondor && !c.List {
		return fleet.Look()
	}
	return nil
}

// poolRun is a sweep whose cells run on a pool.
type poolRun struct {
	plan   *sweep.Sweep
	folder *results.Writer
	say    *sweepView
	dir    string

	cells    map[int]int // index of a cell by its number
	cost     map[int]float64
	failed   map[int]error // by index
	finished map[int]bool  // by number
	warned   map[string]bool
}

// onPool runs cells, which are simulations of a sweep, as jobs of an HTCondor pool, and keeps their results.
func (c *sweepCommand) onPool(ctx context.Context, plan *sweep.Sweep, todo []int, out string, folder *results.Writer,
	say *sweepView,
) ([]sweep.Failure, error) {
	kit, parts, err := plan.Kit(todo)
	if err != nil {
		return nil, err
	}
	r := &poolRun{
		plan: plan, folder: folder, say: say, dir: filepath.Join(out, poolFolder), cells: map[int]int{},
		cost: map[int]float64{}, failed: map[int]error{}, finished: map[int]bool{}, warned: map[string]bool{},
	}
	for _, part := range parts {
		r.cells[part.Number], r.cost[part.Number] = part.Cell, part.Cost
	}
	say.begin(len(todo), time.Now())
	defer say.end()
	if !c.Fresh {
		if err = r.collect(); err != nil {
			return nil, err
		}
	}
	var tasks []fleet.Task
	for _, part := range parts {
		if key := plan.Manifest.Cells[part.Cell]; !r.finished[part.Number] {
			tasks = append(tasks, fleet.Task{
				Number: part.Number, Name: key.ID, Kind: key.Trace + "/" + key.Scheduler,
				Megabytes: part.Memory>>20 + forProgram, Seconds: int64(part.Cost * perCost),
				Files: append([]string{sweep.KitName}, part.Files...),
			})
		}
	}
	if _, err = os.Lstat(r.dir); len(tasks) == 0 && errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	f := r.fleet(c)
	if f.Host, err = os.Hostname(); err != nil {
		return nil, fmt.Errorf("find out this machine's name: %w", err)
	}
	if err = r.prepare(ctx, kit, f, c.Fresh); err != nil {
		return nil, err
	}
	if err = f.Run(ctx, tasks); err != nil {
		return nil, err
	}
	if err = os.RemoveAll(r.dir); err != nil {
		return nil, fmt.Errorf("remove the folder of the jobs: %w", err)
	}
	var failures []sweep.Failure
	for i, key := range plan.Manifest.Cells {
		if why := r.failed[i]; why != nil {
			failures = append(failures, sweep.Failure{Key: key, Policy: key.Policy, Err: why})
		}
	}
	return failures, nil
}

// What a job needs beyond the jobs that it simulates, in MiB, and how long a unit of a cell's cost takes at
// most, in seconds.
const (
	forProgram = 64
	perCost    = 100e-6
)

// fleet says how to run the cells.
func (r *poolRun) fleet(c *sweepCommand) *fleet.Fleet {
	return &fleet.Fleet{
		Dir: r.dir, Name: "condorsim-" + r.plan.Manifest.Name, Program: programName,
		Arguments: []string{"cell", "$(number)", "--memory", "$(megabytes)", "--out", fleet.ResultOf("$(number)")},
		Slots:     c.Slots, Lines: c.Submit,
		Take: func(number int) (useless, fatal error) {
			return r.take(number, filepath.Join(r.dir, fleet.ResultOf(strconv.Itoa(number))))
		},
		Lost: func(number int, why error) { r.fail(number, why) },
		Say:  func(text string) { r.say.line("%s", text) }, Printed: r.printed, Progress: r.progress,
		Now: time.Now, Pause: pause,
	}
}

// pause waits, or until the context ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// prepare writes the kit and this program, also over what should be the same: the folder may come from
// somebody else. If it is of another kit, or all is to be run anew, its jobs are removed first.
func (r *poolRun) prepare(ctx context.Context, kit *sweep.Kit, f *fleet.Fleet, fresh bool) error {
	if fresh || !kit.IsIn(r.dir) {
		if err := f.Abandon(ctx); err != nil {
			return err
		}
		if err := errors.Join(os.RemoveAll(r.dir), wholefile.MakeFolder(r.dir)); err != nil {
			return fmt.Errorf("make the folder of the jobs: %w", err)
		}
	}
	if err := copyProgram(filepath.Join(r.dir, programName)); err != nil {
		return err
	}
	return kit.Write(r.dir)
}

// copyProgram copies this program, which the jobs run.
func copyProgram(to string) error {
	self, err := os.Open("/proc/self/exe") // it is right also if the file was replaced
	if err != nil {
		path, unknown := os.Executable()
		if unknown != nil {
			return fmt.Errorf("copy this program for the jobs: %w", unknown)
		}
		self, err = os.Open(path)
	}
	if err != nil {
		return fmt.Errorf("copy this program for the jobs: %w", err)
	}
	defer self.Close() //nolint:errcheck // only read
	if err = wholefile.WriteInside("a copy of this program", to, func(out io.Writer) error {
		_, copyErr := io.Copy(out, self)
		return copyErr
	}); err != nil {
		return err
	}
	return os.Chmod(to, 0o755) //nolint:gosec // jobs may run as another user
}

// collect takes in what jobs of before have finished, also of a sweep that had other cells besides.
func (r *poolRun) collect() error {
	numbers := map[string]int{}
	for number, i := range r.cells {
		numbers[r.plan.Manifest.Cells[i].ID] = number
	}
	paths, err := filepath.Glob(filepath.Join(r.dir, fleet.ResultOf("*")))
	if err != nil {
		return err
	}
	for _, path := range paths {
		var cell struct{ ID string }
		if text, err := wholefile.ReadInside(path, largestResult); err != nil || json.Unmarshal(text, &cell) != nil {
			continue // it is not there as a whole
		}
		if number, wanted := numbers[cell.ID]; wanted && !r.finished[number] {
			if _, fatal := r.take(number, path); fatal != nil {
				return fatal
			}
			warnings, _ := os.ReadFile(strings.TrimSuffix(path, ".json") + ".err") // there may be none
			r.printed(number, string(warnings))
		}
	}
	return nil
}

// largestResult bounds what is read of a job's result, in bytes.
const largestResult = 128 << 20

// take keeps the result of a cell, which is in a file. It returns why that is none, or why nothing can be
// kept any more.
func (r *poolRun) take(number int, path string) (useless, fatal error) {
	text, err := wholefile.ReadInside(path, largestResult)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return errors.New("its result did not come back"), nil
	case err != nil:
		return err, nil
	}
	if why := sweep.ReadFailure(text); why != nil {
		r.fail(number, why)
		return nil, nil
	}
	key := r.plan.Manifest.Cells[r.cells[number]]
	cell, err := results.Decode(path, text, key)
	if err != nil {
		return err, nil
	}
	if err = r.folder.Cell(cell); err != nil {
		return nil, err
	}
	r.finished[number] = true
	r.say.finished(key, cell, nil)
	return nil, nil
}

// fail notes that a cell failed.
func (r *poolRun) fail(number int, why error) {
	i := r.cells[number]
	r.failed[i], r.finished[number] = why, true
	r.say.finished(r.plan.Manifest.Cells[i], results.Cell{}, why)
}

// printed shows what a cell warned of, once.
func (r *poolRun) printed(_ int, text string) {
	for line := range strings.Lines(text) {
		if _, behind, dated := strings.Cut(line, " ["); dated {
			line = "[" + behind
		}
		if line = strings.TrimSpace(line); line != "" && !r.warned[line] {
			r.warned[line] = true
			r.say.line("%s", cli.Shown(line))
		}
	}
}

// progress shows where the cells are.
func (r *poolRun) progress(c fleet.Counts) {
	r.say.where = fmt.Sprintf(", %d running, %d waiting, %d held", c.Running, c.Waiting, c.Held)
	var done, all float64
	for number, cost := range r.cost {
		all += cost
		if r.finished[number] {
			done += cost
		}
	}
	r.say.progress(done / all)
}
