package main

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// What a negotiator must withstand. The parts of a processor that attacks may cost are with them.
const (
	leastStarts = 0.7  // of the honest jobs that start in quiet times
	leastUse    = 0.5  // of what the honest user is charged with in quiet times
	mostSlower  = 3    // times as long as in quiet times a median cycle may take,
	leastQuiet  = 0.05 // where quiet cycles count as having this many seconds at least: less is noise
	mostLonger  = 2    // seconds more than the longest of quiet times any cycle may take
	mostWait    = 1    // second of the honest client, but for the hundredth part of the times
	mostPeak    = 512  // MiB more than in quiet times, under attack: a queue may have 256 MiB
	mostLeft    = 128  // MiB more than in quiet times, soon after an attack
	mostLog     = 32   // kB a second more than in quiet times
	unknownHold = 5    // seconds that a look waits for schedds that it does not know, once
	mostMemory  = 2    // times the memory of the beginning may be left at the end,
	memoryNoise = 64   // and this many MiB more
	mostOthers  = 0.2  // processors that other things may have, for times to mean something
	mostIdle    = 0.1  // of a processor, more than three times that of quiet times, in later quiet times
)

// phase is what was seen during an attack. Processors are how many were in use on average.
type phase struct {
	Name      string
	Seconds   float64
	Cycles    int
	Median    float64 // of the cycles, in seconds
	Longest   float64
	Slowest   string  // what the longest did with its time
	Starts    float64 // of honest jobs, a second
	Charged   float64 // processor seconds that the honest user is charged with, a second
	CPU       float64 // processors: of the negotiator,
	Pool      float64 // of the pool and the honest client,
	Attackers float64 // of attackers that are processes of their own,
	Others    float64 // and of the rest of the machine
	Before    int64   // memory in MiB, at first,
	Memory    int64   // at the end,
	Peak      int64   // and at most
	Log       float64 // kB a second
	Asked     int     // by the honest client
	Errors    int
	Wait      float64 // 99th percentile, in seconds
	LongWait  float64
	Times     map[string]int `json:",omitempty"` // that attacks afar asked or answered something
	Share     float64        // of the starts of quiet times
	Each      float64        // processor milliseconds a second that each attacker cost
	Faults    []string       `json:",omitempty"`

	stuck, gone bool     // no cycle ended any more; the process has ended
	log         []string // its end
	err         error    // that the honest client got
}

func mib(bytes int64) int64 { return bytes >> 20 }

// take takes in what was seen.
func (p *phase) take(lasted time.Duration, cycles, waits []time.Duration, errs []error) {
	sorted := func(all []time.Duration) []time.Duration { return slices.Sorted(slices.Values(all)) }
	cycles, waits = sorted(cycles), sorted(waits)
	p.Seconds, p.Cycles, p.Asked, p.Errors = lasted.Seconds(), len(cycles), len(waits), len(errs)
	p.Median, p.Longest = at(cycles, 0.5).Seconds(), at(cycles, 1).Seconds()
	p.Wait, p.LongWait = at(waits, 0.99).Seconds(), at(waits, 1).Seconds()
	if len(errs) > 0 {
		p.err = errs[0]
	}
}

// at returns the value of a sorted list below which a share of them is; 0 of none.
func at(sorted []time.Duration, share float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(int(share*float64(len(sorted))), len(sorted)-1)]
}

func (p *phase) fault(bad bool, format string, args ...any) {
	if bad {
		p.Faults = append(p.Faults, p.Name+": "+fmt.Sprintf(format, args...))
	}
}

// slow is how long half of the cycles may take if these are quiet times.
func (p *phase) slow() float64 { return mostSlower * max(leastQuiet, p.Median) }

// judge finds what attacks did that they should not be able to, compared with quiet times.
func (p *phase) judge(quiet phase, made []attack) {
	cost, n, most, hold := p.CPU-quiet.CPU, 0, mostOfAll, 0.0
	for _, a := range made {
		p.fault(a.afar && p.Times[a.name] == 0, "%s: nothing was asked or answered", a.name)
		n += a.n
		if a.fresh {
			hold = unknownHold
		}
	}
	if len(made) == 1 {
		most = made[0].mayCost()
	}
	usable := max(p.Seconds-hold, p.Seconds/2)
	p.Share, p.Each = p.Starts*p.Seconds/(quiet.Starts*usable), 1000*cost/float64(n)
	if p.stuck || p.gone {
		p.fault(true, "no cycle ended in %v more: %v; the process ended: %v; its log:\n%s", patience, p.stuck, p.gone,
			strings.Join(p.log, ""))
		return
	}
	p.fault(p.Share < leastStarts, "%.0f %% of the honest jobs started; at least %.0f %% must", 100*p.Share, 100*leastStarts)
	p.fault(p.Charged < leastUse*quiet.Charged, "alice was charged with %.1f processor seconds a second; with %.1f before",
		p.Charged, quiet.Charged)
	p.fault(cost > most, "it took %.2f processors more; at most %.2f are allowed, %.0f ms a second for each of %d", cost, most,
		1000*most/float64(n), n)
	p.fault(p.Median > quiet.slow(), "half of the cycles took more than %.2f s; %.2f s is allowed", p.Median, quiet.slow())
	longest := quiet.Longest + mostLonger + hold
	p.fault(p.Longest > longest, "a cycle took %.1f s (%s); %.1f s is allowed", p.Longest, p.Slowest, longest)
	p.fault(p.Wait > mostWait, "the honest client waited for %.1f s (99th percentile of %d)", p.Wait, p.Asked)
	p.fault(p.Errors > p.Asked/100, "the honest client had %d errors in %d, such as: %v", p.Errors, p.Asked, p.err)
	calm := max(quiet.Peak, p.Before)
	p.fault(p.Peak > calm+mostPeak, "it took %d MiB; %d MiB before", p.Peak, calm)
	p.fault(p.Log > quiet.Log+mostLog, "it wrote %.0f kB of log a second; %.0f kB is allowed", p.Log, quiet.Log+mostLog)
}

// settled tells whether the negotiator is again as it was in quiet times.
func (p *phase) settled(quiet phase) bool {
	return p.Median <= quiet.slow() && p.Memory <= quiet.Peak+mostLeft
}

// judgeQuiet finds what earlier attacks left behind, compared with the first quiet times.
func (p *phase) judgeQuiet(first phase) {
	p.Name, p.Share = "quiet again", p.Starts/first.Starts
	p.fault(p.stuck || p.gone, "no cycle ended: %v; the process ended: %v; its log:\n%s", p.stuck, p.gone, strings.Join(p.log, ""))
	p.fault(p.CPU > mostSlower*first.CPU+mostIdle, "it is busy after attacks: %.0f %% of a processor, %.0f %% at first",
		100*p.CPU, 100*first.CPU)
	p.fault(p.Memory > mostMemory*first.Peak+memoryNoise, "memory grew from %d MiB to %d MiB", first.Peak, p.Memory)
	p.fault(p.Share < leastStarts, "%.0f %% of the honest jobs started; at least %.0f %% must", 100*p.Share, 100*leastStarts)
}

// line is the phase in short.
func (p *phase) line() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-28s %3.0f s, %d cycles, %.1f starts/s, cpu %.2f (pool %.2f, attackers %.2f, others %.2f)", p.Name, p.Seconds,
		p.Cycles, p.Starts, p.CPU, p.Pool, p.Attackers, p.Others)
	for _, f := range p.Faults {
		b.WriteString("\n  ! " + strings.TrimPrefix(f, p.Name+": "))
	}
	return b.String()
}

// besiegedTable prints the phases, in 80 columns.
func besiegedTable(seed uint64, all []phase) string {
	t := table.NewWriter()
	style := table.StyleDefault
	style.Options, style.Format.Header, style.Box.PaddingLeft = table.OptionsNoBordersAndSeparators, text.FormatDefault, ""
	t.SetStyle(style)
	t.AppendHeader(table.Row{"phase", "s", "cycle", "max", "starts", "cpu", "each", "mem", "log", "wait", "!"})
	var right []table.ColumnConfig
	for i := 2; i <= 11; i++ {
		right = append(right, table.ColumnConfig{Number: i, Align: text.AlignRight, AlignHeader: text.AlignRight})
	}
	t.SetColumnConfigs(right)
	whole := func(v float64, shown bool) string {
		if !shown {
			return ""
		}
		return fmt.Sprintf("%.0f", v)
	}
	for i, p := range all {
		t.AppendRow(table.Row{
			p.Name, whole(p.Seconds, true), whole(1000*p.Median, true), whole(1000*p.Longest, true),
			whole(100*p.Share, i > 0), whole(100*p.CPU, true), whole(p.Each, p.Each >= 1), p.Peak, whole(p.Log, true),
			whole(1000*p.Wait, true), whole(float64(len(p.Faults)), len(p.Faults) > 0),
		})
	}
	note, others := "", 0.0
	for _, p := range all {
		others += p.Others / float64(len(all))
	}
	if others > mostOthers {
		note = fmt.Sprintf("\n\nTimes mean little: other things on the machine had %.1f of its %d processors.", others,
			runtime.NumCPU())
	}
	return fmt.Sprintf("A besieged negotiator, seed %d\n\n%s\n\n%s%s\n", seed, t.Render(), legend, note)
}

// legend explains the table.
const legend = `cycle, max  how long half of the cycles took at most, and the longest, in ms
starts      honest jobs that started, in % of those in quiet times
cpu, each   the negotiator's, in % of a processor; ms a second for each attacker
mem, log    at most, in MiB; in kB a second
wait        of the honest client, 99th percentile, in ms
!           faults`
