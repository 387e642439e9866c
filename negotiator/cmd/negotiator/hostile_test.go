package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/integration/poll"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
)

var (
	hostile     = flag.Duration("hostile", 0, "how long to besiege a negotiator, such as 1h; 0: some cycles, unmeasured")
	hostileSeed = flag.Uint64("hostile-seed", 1, "which attacks are made, in which order, with what")
	hostileOnly = flag.String("hostile-only", "", "only attacks whose names match, such as 'groups|labels'")
	hostileJSON = flag.String("hostile-json", "", "a file for what is measured, a line for each phase")
)

// How the siege is made.
const (
	slotsOfSiege = 100
	barracks     = 40  // slots more
	jobsOfSiege  = 300 // that wait
	warmCycles   = 5   // that are not measured
	shortCycles  = 2   // that each phase has at least
	leastAlone   = 4 * time.Second
	pauseOfSiege = 100 * time.Millisecond
	patience     = 30 * time.Second // for a cycle to end
)

// siege is a negotiator, as a process of its own, with its pool, its friends and its enemies.
type siege struct {
	t    *testing.T
	site *site
	pool *besieged

	mu     sync.Mutex
	daemon *launchedDaemon
	at     place
	cycles []time.Duration
	waits  []time.Duration // of the honest client
	errs   []error         // that it got
	used   float64         // that the honest user is charged with, in processor seconds
	peak   int64           // of the memory, in bytes
	logged int             // bytes
	slow   string          // the parts of the longest cycle
	times  map[string]int  // that attacks afar asked or answered something
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
	h := &siege{t: t, pool: newBesieged(t, seed, slotsOfSiege, barracks, jobsOfSiege)}
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
	const shownOfLine, shownLines = 150, 8
	for {
		line, err := d.lines.ReadString('\n')
		h.mu.Lock()
		h.logged += len(line)
		if parts := cycleLine.FindStringSubmatch(line[:min(len(line), 2000)]); parts != nil {
			var took time.Duration
			for _, part := range phaseTimes.FindAllStringSubmatch(parts[1], -1) {
				seconds, _ := strconv.ParseFloat(part[1], 64) // the log has numbers there
				took += time.Duration(seconds * float64(time.Second))
			}
			if h.cycles = append(h.cycles, took); took == slices.Max(h.cycles) {
				h.slow = parts[1]
			}
		}
		if len(line) > shownOfLine {
			line = line[:shownOfLine] + "…\n"
		}
		h.last = append(h.last[max(0, len(h.last)-shownLines):], line)
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
		waited, used, err := h.visit(ctx, tool)
		if ctx.Err() != nil {
			return
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.waits, h.peak, h.used = append(h.waits, waited), max(h.peak, h.memory()), max(h.used, used)
		if err != nil {
			h.errs = append(h.errs, err)
		}
	})
}

// visit asks the negotiator what tools and browsers ask, and returns the longest wait, and how much
// alice is charged with.
func (h *siege) visit(ctx context.Context, tool *security.Client) (longest time.Duration, used float64, err error) {
	at := h.where()
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	for _, question := range []struct {
		name string
		ask  func() error
	}{
		{"QUERY_NEGOTIATOR_ADS", func() error { return askAd(ctx, tool, at.command) }},
		{"GET_PRIORITY", func() (err error) { used, err = askUse(ctx, tool, at.command); return err }},
		{"GET /start-times", func() error { return askWeb(ctx, at.web) }},
	} {
		began := time.Now()
		wrong := question.ask()
		longest = max(longest, time.Since(began))
		if wrong != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", question.name, wrong))
		}
	}
	return longest, used, err
}

func askWeb(ctx context.Context, web string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, web+"/start-times", http.NoBody)
	if err != nil {
		return err
	}
	request.Close = true // a new connection each time
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close() //nolint:errcheck // it is read
	if response.StatusCode != http.StatusOK {
		return errors.New(response.Status)
	}
	_, err = io.Copy(io.Discard, response.Body)
	return err
}

// askAd asks for the Negotiator ad.
func askAd(ctx context.Context, tool *security.Client, at cedar.Address) error {
	stream, err := tool.Start(ctx, at, 50, nil)
	if err != nil {
		return err
	}
	defer stream.Close()
	stream.Bind(ctx)
	query("Negotiator")(stream)
	if err = stream.Send(); err != nil {
		return err
	}
	_, err = stream.Int()
	return err
}

// askUse asks what alice is charged with, as condor_userprio does.
func askUse(ctx context.Context, tool *security.Client, at cedar.Address) (used float64, err error) {
	stream, err := tool.Start(ctx, at, 451, nil)
	if err != nil {
		return 0, err
	}
	defer stream.Close()
	stream.Bind(ctx)
	stream.Limit(-1) // the tool reads any number of submitters
	n, err := stream.Int()
	said := map[string]string{}
	for ; err == nil && n > 0; n-- {
		var line string
		line, err = stream.Text()
		name, value, _ := strings.Cut(line, " = ")
		said[name] = value
	}
	if err != nil {
		return 0, err
	}
	for name, value := range said {
		if number, isName := strings.CutPrefix(name, "Name"); isName && value == strconv.Quote(alice+"@test") {
			return strconv.ParseFloat(said["WeightedAccumulatedUsage"+number], 64)
		}
	}
	return 0, nil
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

// ticks are in a second of processor time.
const ticks = 100

// busy returns the processor time that a process has had; 0 where that cannot be told.
func busy(pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if err != nil || len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseInt(fields[11], 10, 64) // these are numbers
	system, _ := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * time.Second / ticks
}

// busyMachine returns the processor time that all processes of the machine have had; 0 where that
// cannot be told.
func busyMachine() (all time.Duration) {
	text, err := os.ReadFile("/proc/stat")
	line, _, _ := strings.Cut(string(text), "\n")
	fields := strings.Fields(line)
	if err != nil || len(fields) < 9 {
		return 0
	}
	for _, i := range []int{1, 2, 3, 6, 7} { // all but idle and waiting for disks
		n, _ := strconv.ParseInt(fields[i], 10, 64) // these are numbers
		all += time.Duration(n) * time.Second / ticks
	}
	return all
}

// watch lasts for some time and some cycles, during which attacks are made. It lasts up to twice as
// long until all of them are under way: who is late to ask the schedds of one has not withstood it.
func (h *siege) watch(ctx context.Context, name string, made []attack, least time.Duration, cycles int) phase {
	began, starts, pid := time.Now(), h.pool.honestStarts(), h.daemon.cmd.Process.Pid
	theirs, ours, everybodys := busy(pid), busy(os.Getpid()), busyMachine()
	h.mu.Lock()
	h.cycles, h.waits, h.errs, h.peak, h.logged, h.slow = nil, nil, nil, 0, 0, ""
	h.times = map[string]int{}
	used := h.used
	h.mu.Unlock()
	p := phase{Name: name, Before: mib(h.memory())}
	attacking, end := context.WithCancel(ctx)
	finish := h.attack(attacking, made)
	seen := 0
	repeat(attacking, pauseOfSiege, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		lasted, fresh := time.Since(began), len(h.cycles) > seen
		seen, p.gone, p.stuck = len(h.cycles), h.ended, lasted > least+patience
		enough := lasted >= least && seen >= cycles && (h.underWay(made) || lasted >= min(2*least, least+patience/2))
		if p.gone || p.stuck || fresh && enough { // at the end of a cycle, as jobs start in bursts
			end()
		}
	})
	h.mu.Lock()
	p.take(time.Since(began), h.cycles, h.waits, h.errs)
	p.Memory, p.Peak, p.log = mib(h.memory()), mib(h.peak), append([]string(nil), h.last...)
	p.Slowest = h.slow
	p.Log = float64(h.logged) / 1000 / p.Seconds
	p.Charged = (h.used - used) / p.Seconds
	h.mu.Unlock()
	p.CPU, p.Pool = (busy(pid)-theirs).Seconds()/p.Seconds, (busy(os.Getpid())-ours).Seconds()/p.Seconds
	p.Starts = float64(h.pool.honestStarts()-starts) / p.Seconds
	end()
	all := (busyMachine() - everybodys).Seconds() / p.Seconds
	p.Attackers, p.Times = finish().Seconds()/p.Seconds, h.times
	p.Others = max(0, all-p.CPU-p.Pool-p.Attackers)
	return p
}

// attack begins attacks. The function that it returns waits for their end, which comes with that of
// the context, and tells how much processor time those had that need nothing of the pool.
func (h *siege) attack(ctx context.Context, made []attack) (finish func() time.Duration) {
	var all sync.WaitGroup
	var afar time.Duration
	for _, a := range made {
		if a.afar {
			continue
		}
		r := newRaid(*hostileSeed, a.name, h.where())
		r.pool = h.pool
		all.Go(func() { a.do(ctx, r) })
	}
	if names := namesOf(made, true); len(names) > 0 {
		wait := h.dispatchAfar(ctx, names)
		all.Go(func() { afar = wait() })
	}
	return func() time.Duration {
		all.Wait()
		h.pool.hide()
		return afar
	}
}

// underWay tells whether all attacks afar have asked or answered something. It needs the lock.
func (h *siege) underWay(made []attack) bool {
	return !slices.ContainsFunc(made, func(a attack) bool { return a.afar && h.times[a.name] == 0 })
}

// TestHostile torments a negotiator in every way known, while honest jobs and an honest client go
// on. With -hostile it measures what an attack costs the negotiator, the honest user and the honest
// client, and compares that with quiet times. Without, the negotiator only has to go on.
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
	found := 0
	for _, p := range all {
		found += len(p.Faults)
	}
	require.Zero(t, found, "faults; the lines above that begin with ! tell them")
}

// inEveryRun are attacks that take little time themselves.
var inEveryRun = []string{
	"jobs: worst expressions", "jobs: refer to all others", "slots: worst expressions", "peers: expensive queries",
	"peers: silence, slow readers", "schedds: endless, babbling",
}

// withstands makes some attacks at once, for some cycles, and then waits for an honest job to start
// and an honest client to be served.
func (h *siege) withstands(ctx context.Context) {
	h.watch(ctx, "quiet", nil, 0, shortCycles)
	for _, made := range [][]attack{named(inEveryRun), nil} {
		p := h.watch(ctx, fmt.Sprint(len(made), " attacks"), made, 0, shortCycles)
		require.False(h.t, p.stuck || p.gone, "%s: no cycle ended: %v; the process ended: %v; its log:\n%s", p.Name, p.stuck,
			p.gone, strings.Join(p.log, ""))
	}
	starts := h.pool.honestStarts()
	poll.Until(h.t, "an honest job", func() (int, bool) { n := h.pool.honestStarts(); return n, n > starts })
	poll.Equal(h.t, nil, func() error { _, _, err := h.visit(ctx, peer()); return err }) // the honest client
}

// campaign watches quiet times, then attacks, one after the other, quiet times again, then all
// attacks at once, and quiet times once more. When there is little time, only some attacks are made
// alone.
func (h *siege) campaign(ctx context.Context, lasting time.Duration) (all []phase) {
	only := regexp.MustCompile(*hostileOnly)
	alone := chosen(*hostileSeed, int(lasting/2/leastAlone), only)
	together := chosen(*hostileSeed, len(attacks()), only)
	h.watch(ctx, "warming up", nil, 0, warmCycles)
	var before, first phase
	add := func(name string, made []attack, part time.Duration) {
		if ctx.Err() != nil {
			return
		}
		cycles := shortCycles
		if len(made) == 0 {
			h.watch(ctx, "settling", nil, 0, warmCycles) // until about as many jobs end as start
			cycles = warmCycles
		}
		p := h.watch(ctx, name, made, part, cycles)
		switch {
		case len(made) == 0 && first.Name == "":
			first, before = p, p
		case len(made) == 0:
			p.judgeQuiet(first)
			before = p
		default:
			p.judge(before, made)
		}
		if len(made) > 0 {
			h.settle(ctx, &p, before)
		}
		all = append(all, p)
		fmt.Println(p.line()) // as a sign of life
		h.keep(p)
	}
	add("quiet", nil, lasting/10)
	for _, a := range alone {
		add(a.name, []attack{a}, lasting/2/time.Duration(len(alone)))
	}
	add("quiet", nil, lasting/10)
	add("all at once", together, lasting/5)
	add("quiet", nil, lasting/10)
	return all
}

// settle waits until the negotiator is as it was before an attack. One that does not become so is
// replaced, as what comes next must not be blamed for it.
func (h *siege) settle(ctx context.Context, p *phase, before phase) {
	for began := time.Now(); !p.stuck && !p.gone && ctx.Err() == nil; {
		s := h.watch(ctx, "settling", nil, 0, shortCycles)
		if s.settled(before) {
			return
		}
		passed := time.Since(began)
		p.gone = s.gone || s.stuck || passed > patience
		p.fault(p.gone, "%.0f s later half of the cycles took %.2f s (%s), and it had %d MiB; %d MiB before", passed.Seconds(),
			s.Median, s.Slowest, s.Memory, before.Peak)
	}
	if ctx.Err() == nil {
		h.revive()
		h.watch(ctx, "warming up", nil, 0, warmCycles)
	}
}

// keep adds a phase to the file of -hostile-json.
func (h *siege) keep(p phase) {
	if *hostileJSON == "" {
		return
	}
	text, err := json.Marshal(p)
	require.NoError(h.t, err)
	f, err := os.OpenFile(*hostileJSON, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	require.NoError(h.t, err)
	_, err = f.Write(append(text, '\n'))
	require.NoError(h.t, errors.Join(err, f.Close()))
}
