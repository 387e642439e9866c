package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/integration/poll"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
)

var (
	hostile     = flag.Duration("hostile", 0, "how long to besiege a negotiator, such as 1h; 0: some cycles, unmeasured")
	hostileSeed = flag.Uint64("hostile-seed", 1, "which attacks are made")
)

// What a negotiator must withstand.
const (
	mostSlower  = 3                     // times as long as in quiet times a median cycle may take,
	leastQuiet  = 50 * time.Millisecond // where quiet cycles count as having this at least: less is noise
	mostWait    = time.Second           // of the honest client, but for the hundredth part of the times
	mostPeak    = 512 << 20             // bytes more than in quiet times, under attack: a queue may have 256 MiB
	mostMemory  = 2                     // times the memory of the beginning may be left at the end,
	memoryNoise = 64 << 20              // and this much more
	mostIdle    = 0.1                   // of a processor, more than three times that of quiet times, in later quiet times
	patience    = 30 * time.Second      // for a cycle to end
)

// How the siege is made.
const (
	slotsOfSiege = 100
	jobsOfSiege  = 300 // that wait
	warmCycles   = 5   // that are not measured; of each attack that is
	shortCycles  = 2   // that are waited for otherwise
	pauseOfSiege = 100 * time.Millisecond
)

// siege is a negotiator, as a process of its own, with its pool, its friends and its enemies.
type siege struct {
	t    *testing.T
	site *site
	pool *besieged

	mu     sync.Mutex
	random *rand.Rand
	daemon *launchedDaemon
	at     place
	cycles []time.Duration
	waits  []time.Duration // of the honest client
	errs   []error         // that it got
	peak   int64           // of the memory, in bytes
	ended  bool            // the process
	last   []string        // lines of the log
}

// place is where a negotiator is found.
type place struct {
	command cedar.Address
	web     string
}

// besiege makes a pool for a negotiator.
func besiege(t *testing.T, seed uint64) *siege {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 20)) //nolint:gosec // a test
	h := &siege{t: t, random: random, pool: newBesieged(t, seed, slotsOfSiege, jobsOfSiege)}
	h.site = newSite(t, map[string]string{
		"COLLECTOR_HOST":      strings.Trim(h.pool.collector.Address().String(), "<>"),
		"NEGOTIATOR_INTERVAL": "1", "BACKFILL_CYCLE_DELAY": "1", "BACKFILL_HTTP": "127.0.0.1:0",
	})
	h.revive()
	return h
}

// revive starts a negotiator. One that is stuck is killed.
func (h *siege) revive() {
	h.t.Helper()
	if h.daemon != nil {
		_ = h.daemon.cmd.Process.Kill() // it may have ended
		poll.Equal(h.t, true, func() bool { h.mu.Lock(); defer h.mu.Unlock(); return h.ended })
		_ = h.daemon.cmd.Wait() // it was killed
	}
	d := h.site.start()
	web := regexp.MustCompile(`http://[^\s"]+`).FindString(d.await("metrics and start times are told"))
	command, err := cedar.ParseAddress(regexp.MustCompile(`<[^>]+>`).FindString(d.await("listening")))
	require.NoError(h.t, err)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.daemon, h.at, h.ended = d, place{command, web}, false
	go h.follow(d)
}

func (h *siege) where() place {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.at
}

var (
	cycleLine  = regexp.MustCompile(`cycle \d+: (.*) slots=`)
	phaseTimes = regexp.MustCompile(`=([0-9.]+)s`)
)

// follow reads the log until the process ends.
func (h *siege) follow(d *launchedDaemon) {
	for {
		line, err := d.lines.ReadString('\n')
		h.mu.Lock()
		h.last = append(h.last[max(0, len(h.last)-30):], line)
		if parts := cycleLine.FindStringSubmatch(line); parts != nil {
			var took time.Duration
			for _, part := range phaseTimes.FindAllStringSubmatch(parts[1], -1) {
				seconds, _ := strconv.ParseFloat(part[1], 64) // the log has numbers there
				took += time.Duration(seconds * float64(time.Second))
			}
			h.cycles = append(h.cycles, took)
		}
		h.ended = err != nil
		h.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// befriend lets the honest client ask, again and again, until the context ends.
func (h *siege) befriend(ctx context.Context) {
	tool := peer()
	repeat(ctx, pauseOfSiege, func() {
		waited, err := h.visit(ctx, tool)
		if ctx.Err() != nil {
			return
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.waits, h.peak = append(h.waits, waited), max(h.peak, h.memory())
		if err != nil {
			h.errs = append(h.errs, err)
		}
	})
}

// memory returns the memory of the process in bytes; 0 where that cannot be told.
func (h *siege) memory() int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", h.daemon.cmd.Process.Pid))
	fields := strings.Fields(string(text))
	if err != nil || len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(fields[1], 10, 64) // it is a number
	return pages * int64(os.Getpagesize())
}

// busy returns the processor time that the process has had; 0 where that cannot be told.
func (h *siege) busy() time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", h.daemon.cmd.Process.Pid))
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if err != nil || len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseInt(fields[11], 10, 64) // these are numbers
	system, _ := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * time.Second / ticks
}

// ticks are in a second of processor time.
const ticks = 100

// drawn calls a function with the random numbers of the siege.
func (h *siege) drawn(draw func(*rand.Rand) string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return draw(h.random)
}

func (h *siege) number(below int) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.random.IntN(below)
}

// phase is what was seen during an attack.
type phase struct {
	name   string
	lasted time.Duration
	cpu    float64 // processors in use
	cycles []time.Duration
	waits  []time.Duration // of the honest client
	errs   []error         // that it got
	peak   int64           // of the memory
	left   int64           // memory at the end
	starts int             // of honest jobs
	stuck  bool            // no cycle ended any more
	gone   bool            // the process has ended
	log    []string        // its end
}

// watch lasts for some time and some cycles, during which an attack is made.
func (h *siege) watch(ctx context.Context, a attack, least time.Duration, cycles int) phase {
	began, busy, starts := time.Now(), h.busy(), h.pool.honestStarts()
	h.mu.Lock()
	h.cycles, h.waits, h.errs, h.peak = nil, nil, nil, 0
	h.mu.Unlock()
	attacking, end := context.WithCancel(ctx)
	var besieging sync.WaitGroup
	besieging.Go(func() { a.do(attacking, h) })
	p := phase{name: a.name}
	repeat(attacking, pauseOfSiege, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		lasted := time.Since(began)
		p.gone = h.ended
		p.stuck = lasted > least+patience
		if p.gone || p.stuck || lasted >= least && len(h.cycles) >= cycles {
			end()
		}
	})
	end()
	besieging.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	p.lasted, p.cycles, p.waits, p.errs, p.peak, p.left = time.Since(began), h.cycles, h.waits, h.errs, h.peak, h.memory()
	p.log, p.cpu = slices.Clone(h.last), (h.busy()-busy).Seconds()/p.lasted.Seconds()
	p.starts = h.pool.honestStarts() - starts
	slices.Sort(p.cycles)
	slices.Sort(p.waits)
	return p
}

// at returns the value of a sorted list below which a share of them is; 0 of none.
func at(sorted []time.Duration, share float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(int(share*float64(len(sorted))), len(sorted)-1)]
}

// allowed is how long cycles may take if those of this phase are quiet ones.
func (p phase) allowed() time.Duration { return mostSlower * max(leastQuiet, at(p.cycles, 0.5)) }

// faults are what a phase shows that should not be, compared with the quiet one.
func (p phase) faults(quiet phase) (all []string) {
	say := func(format string, args ...any) { all = append(all, p.name+": "+fmt.Sprintf(format, args...)) }
	if median, limit := at(p.cycles, 0.5), quiet.allowed(); median > limit {
		say("half of the cycles took more than %v; %v is allowed", median, limit)
	}
	rate := func(p phase) float64 { return float64(len(p.cycles)) / p.lasted.Seconds() }
	if mostSlower*rate(p) < rate(quiet) {
		say("%d cycles in %v; there were %d in %v before", len(p.cycles), p.lasted, len(quiet.cycles), quiet.lasted)
	}
	if wait := at(p.waits, 0.99); wait > mostWait {
		say("the honest client waited for %v (99th percentile of %d)", wait, len(p.waits))
	}
	if len(p.errs) > len(p.waits)/100 {
		say("the honest client had %d errors in %d, such as: %v", len(p.errs), len(p.waits), p.errs[0])
	}
	if p.peak > quiet.peak+mostPeak {
		say("it took %d MiB; %d MiB in quiet times", p.peak>>20, quiet.peak>>20)
	}
	if p.starts == 0 && quiet.starts > 0 {
		say("no honest job started")
	}
	return all
}

// besiegedTable prints the phases.
func besiegedTable(seed uint64, all []phase) string {
	var b strings.Builder
	t := table.NewWriter()
	t.SetOutputMirror(&b)
	t.SetTitle("A besieged negotiator, seed %d", seed)
	t.AppendHeader(table.Row{
		"phase", "seconds", "cycles", "median", "longest", "memory", "peak", "client p99", "longest", "errors", "starts",
		"cpu",
	})
	ms := func(d time.Duration) string { return fmt.Sprintf("%d ms", d.Milliseconds()) }
	mib := func(n int64) string { return fmt.Sprintf("%d MiB", n>>20) }
	for _, p := range all {
		t.AppendRow(table.Row{
			p.name, int(p.lasted.Seconds()), len(p.cycles), ms(at(p.cycles, 0.5)), ms(at(p.cycles, 1)), mib(p.left),
			mib(p.peak), ms(at(p.waits, 0.99)), ms(at(p.waits, 1)), len(p.errs), p.starts, fmt.Sprintf("%.0f %%", 100*p.cpu),
		})
	}
	t.Render()
	return b.String()
}

// TestHostile torments a negotiator in every way known, while honest jobs and an honest client go
// on. With -hostile it measures: cycles, memory and the client's waits must stay near those of
// quiet times. Without, it only has to go on.
func TestHostile(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	if *hostile == 0 {
		t.Parallel()
	}
	ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt)
	defer stop()
	h := besiege(t, *hostileSeed)
	living, end := context.WithCancel(ctx)
	var beside sync.WaitGroup
	beside.Go(func() { h.pool.live(living) })
	beside.Go(func() { h.befriend(living) })
	defer func() { end(); beside.Wait() }()
	if *hostile == 0 {
		h.withstands(ctx)
		return
	}
	all := h.campaign(ctx, *hostile)
	fmt.Print("\n", besiegedTable(*hostileSeed, all)) // also if all is well
	require.NoError(t, ctx.Err(), "interrupted")
	found := faults(all)
	require.Empty(t, found, "%s", strings.Join(found, "\n"))
}

// withstands makes all attacks at once, for some cycles, and then waits for an honest job to start
// and an honest client to be served.
func (h *siege) withstands(ctx context.Context) {
	h.watch(ctx, attack{"quiet", quiet}, 0, shortCycles)
	for _, a := range []attack{together(attacks()), {"quiet", quiet}} {
		p := h.watch(ctx, a, 0, shortCycles)
		require.False(h.t, p.stuck || p.gone, "%s: no cycle ended: %v; the process ended: %v; its log:\n%s", a.name, p.stuck,
			p.gone, strings.Join(p.log, ""))
	}
	starts := h.pool.honestStarts()
	poll.Until(h.t, "an honest job", func() (int, bool) { n := h.pool.honestStarts(); return n, n > starts })
	poll.Equal(h.t, nil, func() error { _, err := h.visit(ctx, peer()); return err }) // the honest client
}

// quiet does nothing until the context ends.
func quiet(ctx context.Context, _ *siege) { <-ctx.Done() }

// campaign makes the attacks, one after the other and then all at once. Quiet times are measured
// before each and after the last.
func (h *siege) campaign(ctx context.Context, lasting time.Duration) (all []phase) {
	h.watch(ctx, attack{"warming up", quiet}, 0, warmCycles)
	var made []attack
	for _, a := range append(attacks(), together(attacks())) {
		made = append(made, attack{"quiet", quiet}, a)
	}
	made = append(made, attack{"quiet", quiet})
	for _, a := range made {
		p := h.watch(ctx, a, lasting/time.Duration(len(made)), warmCycles)
		if all = append(all, p); ctx.Err() != nil {
			break
		}
		fmt.Printf("%s: %d cycles in %v\n", p.name, len(p.cycles), p.lasted.Round(time.Second)) // as a sign of life
		if p.stuck || p.gone {
			h.revive()
			h.watch(ctx, attack{"warming up", quiet}, 0, warmCycles)
		} else {
			h.watch(ctx, attack{"settling", quiet}, 0, shortCycles)
		}
	}
	return all
}

// faults are what the phases show that should not be. Each is compared with the quiet one before.
func faults(all []phase) (found []string) {
	first, last := all[0], all[len(all)-1]
	before := first
	for _, p := range all {
		if p.stuck || p.gone {
			found = append(found, fmt.Sprintf("%s: no cycle ended in %v more: %v; the process ended: %v; its log:\n%s",
				p.name, patience, p.stuck, p.gone, strings.Join(p.log, "")))
			continue
		}
		found = append(found, p.faults(before)...)
		if p.name != first.name {
			continue
		}
		if before = p; p.cpu > mostSlower*first.cpu+mostIdle {
			found = append(found, fmt.Sprintf("it is busy after an attack: %.0f %% of a processor, %.0f %% at first", 100*p.cpu,
				100*first.cpu))
		}
	}
	if last.left > mostMemory*first.peak+memoryNoise {
		found = append(found, fmt.Sprintf("memory grew from %d MiB to %d MiB", first.peak>>20, last.left>>20))
	}
	return found
}
