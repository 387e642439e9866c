package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// meter measures, for one call of the command.
type meter struct {
	ctx    context.Context //nolint:containedctx // one call's, and no longer
	traces string
	runs   int
	limit  time.Duration // after which a simulation is given up
	errs   io.Writer
}

// measure returns the text of a part.
func (m *meter) measure(part string) (string, error) {
	switch part {
	case "machine":
		return m.machine(), nil
	case "traces":
		return m.tracesTable()
	case "queue":
		results, err := m.benchmark("^BenchmarkQueue$", "500x")
		return pivot(results, "waiting", "exponent", "B/job"), err
	default:
		results, err := m.benchmark("^BenchmarkPlanManySlots$/./slots=(100|1000)$", "200x")
		return pivot(results, "slots"), err
	}
}

// output runs a program and returns what it prints.
func (m *meter) output(program string, args ...string) ([]byte, error) {
	c := exec.CommandContext(m.ctx, program, args...)
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", program, strings.Join(args, " "), err)
	}
	return out, nil
}

// say tells on the terminal what is being measured.
func (m *meter) say(format string, args ...any) { _, _ = fmt.Fprintf(m.errs, format+"\n", args...) }

// workload is a row of the table of traces.
type workload struct{ name, trace, pool string }

// file returns the file of its trace in a folder.
func (w *workload) file(folder string) string { return filepath.Join(folder, w.trace+".swf.gz") }

var workloads = []workload{
	{"KTH-SP2, 28,489", "KTH-SP2-1996-2", ""},
	{"CTC-SP2, 77,222", "CTC-SP2-1996-3.1-cln", ""},
	{"SDSC-BLUE, 232,540", "SDSC-BLUE-2000-4.2-cln", ""},
	{"HPC2N, 202,871", "HPC2N-2002-2.2-cln", ""},
	{"RICC-2010, 447,786 in bags of tasks", "RICC-2010-2", ""},
	{"made up, 50,000, of which up to 20,000 wait", "made-up-htc-50k", ""},
	{"the same on 1,000 slots", "made-up-htc-50k", "classes: [{name: slot, count: 1000, cpus: 36}]\n"},
}

var schedulers = []struct{ name, flags string }{
	{"easy", "--policy easy"},
	{"easy, wfp", "--policy easy --order wfp"},
	{"slack", "--policy slack"},
	{"slack, fcfs", "--policy slack --order fcfs"},
	{"conservative", "--policy conservative"},
	{"pc, sjf", "--policy pc --order sjf"},
	{"dc, sjf", "--policy dc --order sjf"},
}

// long is how many seconds a simulation may take to be repeated.
const long = 10

// tracesTable measures whole simulations: the median of their processor time, and peak memory.
func (m *meter) tracesTable() (string, error) {
	at, err := os.MkdirTemp("", "speed-table-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(at) }()
	program := filepath.Join(at, "condorsim")
	if _, err = m.output("go", "build", "-o", program, "./condorsim/cmd/condorsim"); err != nil {
		return "", err
	}
	rows := [][]string{{"trace, jobs", "memory, easy"}}
	for _, s := range schedulers {
		rows[0] = append(rows[0], s.name)
	}
	for _, w := range workloads {
		row := []string{w.name, ""}
		for i, s := range schedulers {
			args := append([]string{"run", "--json", "--workload", w.file(m.traces)},
				strings.Fields(s.flags)...)
			if w.pool != "" {
				pool := filepath.Join(at, "pool.yaml")
				if err = os.WriteFile(pool, []byte(w.pool), 0o600); err != nil {
					return "", err
				}
				args = append(args, "--pool", pool)
			}
			seconds, memory, err := m.process(program, args)
			if err != nil {
				return "", fmt.Errorf("%s under %s: %w", w.name, s.name, err)
			}
			if i == 0 {
				row[1] = memory
			}
			row = append(row, seconds)
			m.say("%s, %s: %s", w.name, s.name, seconds)
		}
		rows = append(rows, row)
	}
	return markdown(rows), nil
}

// process runs a program several times, and returns the median of its processor time in seconds and
// its largest peak memory. A run of more than the limit is given up, which is said instead.
func (m *meter) process(program string, args []string) (seconds, memory string, err error) {
	var times []float64
	peak := int64(0)
	for len(times) < m.runs {
		ctx, stop := context.WithTimeout(m.ctx, m.limit)
		c := exec.CommandContext(ctx, program, args...)
		out, err := c.CombinedOutput()
		late := ctx.Err() != nil && m.ctx.Err() == nil
		stop()
		switch {
		case late:
			return fmt.Sprintf("> %.0f", m.limit.Seconds()), "", nil
		case err != nil:
			return "", "", fmt.Errorf("%w: %s", err, out)
		}
		times = append(times, (c.ProcessState.UserTime() + c.ProcessState.SystemTime()).Seconds())
		if usage, ok := c.ProcessState.SysUsage().(*syscall.Rusage); ok {
			peak = max(peak, usage.Maxrss/1024)
		}
		if times[0] > long {
			return figure(times[0]) + " ¹", fmt.Sprintf("%d MB", peak), nil
		}
	}
	slices.Sort(times)
	return figure(times[len(times)/2]), fmt.Sprintf("%d MB", peak), nil
}

// figure writes a number with two digits that count.
func figure(x float64) string {
	switch {
	case x >= 10:
		return fmt.Sprintf("%.0f", x)
	case x >= 1:
		return fmt.Sprintf("%.1f", x)
	default:
		return fmt.Sprintf("%.2f", x)
	}
}
