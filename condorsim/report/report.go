package report

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/metrics"
	"github.com/condor-backfill/condor-backfill/condorsim/workload"
)

// Run says what was run.
type Run struct {
	Policy  string            `json:"policy"`
	Order   string            `json:"order"`
	Options map[string]string `json:"options"`
}

// summary is the JSON object, in the order in which it is printed.
type summary struct {
	Trace string `json:"trace"`
	Run
	Jobs     int               `json:"jobs"`
	Held     int               `json:"held,omitempty"` // jobs that could never run, left out of the means
	Machine  machine           `json:"machine"`
	Cleaning workload.Cleaning `json:"cleaning"`
	Metrics  measured          `json:"metrics"`
	BrokenBy map[string]int    `json:"broken_by,omitempty"` // guarantees, by their causes
	Timing   *Timing           `json:"timing,omitempty"`
}

type machine struct {
	Slots  int   `json:"slots"`
	Cpus   int64 `json:"cpus"`
	Memory int64 `json:"memory"`
}

type measured struct {
	metrics.Metrics
	ReservedIdle     float64 `json:"reserved_idle"` // cpu seconds
	Cycles           int     `json:"cycles"`
	BrokenGuarantees int     `json:"broken_guarantees"`
	Requeues         int     `json:"requeues"`          // runs that lost a slot
	LostCoreSeconds  float64 `json:"lost_core_seconds"` // of these
}

// Timing is how long the run itself took. It is printed on request only: all
// else is the same whenever and wherever it is run.
type Timing struct {
	WallSeconds float64 `json:"wall_seconds"`
}

// JSON prints one object: what was run, on what, and every metric. Timing may
// be nil.
func JSON(out io.Writer, run Run, r *condorsim.Result, timing *Timing) error {
	if run.Options == nil {
		run.Options = map[string]string{}
	}
	w := r.Workload
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(summary{
		Trace: w.Name, Run: run, Jobs: len(w.Jobs), Held: held(r),
		Machine:  machine{Slots: len(w.Slots), Cpus: w.Capacity()[0], Memory: w.Memory()},
		Cleaning: w.Cleaning,
		Metrics: measured{
			Metrics: r.Metrics(), ReservedIdle: r.ReservedIdle, Cycles: r.Cycles,
			BrokenGuarantees: r.Broken, Requeues: r.Requeues, LostCoreSeconds: r.LostCoreSeconds,
		},
		BrokenBy: r.BrokenBy,
		Timing:   timing,
	})
	if err != nil {
		return fmt.Errorf("print the summary: %w", err)
	}
	return nil
}

func held(r *condorsim.Result) int {
	n := 0
	for _, o := range r.Outcomes {
		if o.Held != "" {
			n++
		}
	}
	return n
}

// Table prints the summary for people.
func Table(out io.Writer, run Run, r *condorsim.Result, timing *Timing) error {
	w, m := r.Workload, r.Metrics()
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Format.Header = text.FormatDefault
	t.SetColumnConfigs([]table.ColumnConfig{{Number: 2, Align: text.AlignRight}})
	order := ""
	if run.Order != "" {
		order = ", order " + run.Order
	}
	t.AppendHeader(table.Row{w.Name + " under " + run.Policy + order, ""})
	seconds := func(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) + " s" }
	percent := func(v float64) string { return strconv.FormatFloat(100*v, 'f', 1, 64) + " %" }
	count := func(n int) string { return strconv.Itoa(n) }
	rows := [][2]string{
		{"slots, cpus", fmt.Sprintf("%d, %d", len(w.Slots), w.Capacity()[0])},
		{"jobs", count(len(w.Jobs))},
		{"mean wait", seconds(m.MeanWait)},
		{"median wait", seconds(m.MedianWait)},
		{"mean response", seconds(m.MeanResponse)},
		{"mean slowdown", strconv.FormatFloat(m.MeanSlowdown, 'f', 2, 64)},
		{"mean bounded slowdown", strconv.FormatFloat(m.MeanBoundedSlowdown, 'f', 2, 64)},
		{"mean wait of the widest 10 %", seconds(m.Widest10Wait)},
		{"utilisation, cpus", percent(m.Utilisation)},
	}
	if w.Memory() > 0 {
		rows = append(rows, [2]string{"utilisation, memory", percent(m.UtilisationMemory)})
	}
	rows = append(rows,
		[2]string{"makespan", strconv.FormatFloat(m.Makespan, 'f', 0, 64) + " s"},
		[2]string{"jobs that overtook another", count(int(m.Backfilled))},
		[2]string{"idle while reserved", strconv.FormatFloat(r.ReservedIdle, 'f', 0, 64) + " cpu s"},
		[2]string{"cycles", count(r.Cycles)},
	)
	for _, left := range w.Cleaning.Dropped() {
		rows = append(rows, [2]string{"job lines left out: " + left.Why, count(left.Jobs)})
	}
	if n := held(r); n > 0 {
		rows = append(rows, [2]string{"jobs held (left out of the means)", count(n)})
	}
	if r.Broken > 0 {
		rows = append(rows, [2]string{"guarantees broken", count(r.Broken)})
		for _, cause := range slices.Sorted(maps.Keys(r.BrokenBy)) {
			rows = append(rows, [2]string{"  " + cause, count(r.BrokenBy[cause])})
		}
	}
	if r.Requeues > 0 {
		rows = append(rows,
			[2]string{"runs that lost a slot", count(r.Requeues)},
			[2]string{"lost with them", strconv.FormatFloat(r.LostCoreSeconds, 'f', 0, 64) + " cpu s"},
		)
	}
	if r.Refusals > 0 {
		rows = append(rows, [2]string{"decisions refused", count(r.Refusals)})
	}
	if timing != nil {
		rows = append(rows, [2]string{"wall time", strconv.FormatFloat(timing.WallSeconds, 'f', 2, 64) + " s"})
	}
	for _, row := range rows {
		t.AppendRow(table.Row{row[0], row[1]})
	}
	if _, err := io.WriteString(out, t.Render()+"\n"+whyHeld(r)); err != nil {
		return fmt.Errorf("print the summary: %w", err)
	}
	return nil
}

// whyHeld tells of held jobs, a line each, but not of all if there are many.
func whyHeld(r *condorsim.Result) string {
	const most = 10
	var text strings.Builder
	told := 0
	for i, o := range r.Outcomes {
		if o.Held == "" {
			continue
		}
		if told++; told <= most {
			text.WriteString("held: " + r.Workload.Jobs[i].Name + " " + o.Held + "\n")
		}
	}
	if told > most {
		text.WriteString("held: " + strconv.Itoa(told-most) + " more\n")
	}
	return text.String()
}
