package meter

import (
	"maps"
	"slices"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/negotiator/meter/shapes"
)

// counted are the metrics that are counted at each cycle.
func (m *Meter) counted() []prometheus.Collector {
	return []prometheus.Collector{m.phases, m.decisions, m.waits, m.off, m.starts}
}

// Describe implements [prometheus.Collector].
func (m *Meter) Describe(c chan<- *prometheus.Desc) {
	for _, counted := range m.counted() {
		counted.Describe(c)
	}
	for _, desc := range []*prometheus.Desc{
		capacity, inUse, groupRunning, groupJobs, groupCPUs, groupQuota,
		idleCPUs, reservedIdle, usableIdle, largestIdle, idleSlots,
		wantedSlots, wantedUnmatched, wantedPlaces, wantedFirst, queueEnd, untold,
	} {
		c <- desc
	}
	if m.o.Alone {
		for _, desc := range []*prometheus.Desc{
			cyclesTotal, fallbackInUse, brokenTotal, slotsNow, jobsNow, startedLast, phaseSeconds,
		} {
			c <- desc
		}
	}
}

// Collect implements [prometheus.Collector].
func (m *Meter) Collect(c chan<- prometheus.Metric) {
	for _, counted := range m.counted() {
		counted.Collect(c)
	}
	send := func(desc *prometheus.Desc, kind prometheus.ValueType, v float64, labels ...string) {
		c <- prometheus.MustNewConstMetric(desc, kind, v, labels...)
	}
	gauge := func(desc *prometheus.Desc, v float64, labels ...string) {
		send(desc, prometheus.GaugeValue, v, labels...)
	}
	p, quotas := m.picture()
	if m.o.Alone {
		m.mu.Lock()
		totals := m.totals
		totals.broken = maps.Clone(totals.broken)
		m.mu.Unlock()
		totals.collect(gauge, send)
	}
	if p == nil {
		return
	}
	for i, name := range p.resources {
		gauge(capacity, float64(p.capacity[i]), name)
		gauge(inUse, float64(p.inUse[i]), name)
	}
	for label, sum := range m.byLabel(p, quotas) {
		gauge(groupRunning, float64(sum.running), label)
		gauge(groupJobs, float64(sum.jobs), label)
		gauge(groupCPUs, float64(sum.waiting), label)
		if sum.quota != nil {
			gauge(groupQuota, *sum.quota, label)
		}
	}
	gauge(idleCPUs, float64(p.Idle.CPUs))
	gauge(reservedIdle, float64(p.Idle.Reserved))
	gauge(usableIdle, float64(p.Idle.Usable))
	gauge(largestIdle, float64(p.Idle.Largest))
	gauge(idleSlots, float64(p.Idle.Slots))
	for i := range p.Wanted {
		p.collectWanted(&p.Wanted[i], gauge)
	}
	gauge(untold, float64(p.Unforeseen))
	if p.QueueEnd != 0 {
		gauge(queueEnd, float64(p.QueueEnd-p.Now))
	}
}

func (p *picture) collectWanted(w *shapes.Wanted, gauge func(*prometheus.Desc, float64, ...string)) {
	labels := []string{other, other, other}
	if !w.Other {
		labels = []string{
			strconv.FormatInt(w.CPUs, 10), strconv.FormatInt(w.Memory, 10), strconv.FormatInt(w.GPUs, 10),
		}
	}
	gauge(wantedSlots, float64(w.Slots), labels...)
	gauge(wantedUnmatched, float64(w.Unmatched), labels...)
	gauge(wantedPlaces, float64(w.Places), labels...)
	if w.Foreseen {
		gauge(wantedFirst, float64(max(0, w.First-p.Now)), labels...)
	}
}

// byLabel returns the use of each accounting group; of those that are not told apart, together.
func (m *Meter) byLabel(p *picture, quotas []Group) map[string]*use {
	m.mu.Lock()
	defer m.mu.Unlock()
	sums := map[string]*use{}
	sum := func(label string) *use {
		if sums[label] == nil {
			sums[label] = new(use)
		}
		return sums[label]
	}
	for _, label := range m.groups.known { // also those that nobody uses now, or their lines would break off
		sum(label)
	}
	for _, g := range quotas { // the administrator has named them, however many users have made up before
		sum(m.groups.admit(g.Name)).quota = &g.Quota
	}
	for _, name := range slices.Sorted(maps.Keys(p.groups)) { // the first of them are told apart
		sum(m.groups.label(name)).add(p.groups[name])
	}
	return sums
}

// picture returns what the state after the last cycle says, nil if nothing is known, and the quotas
// of groups.
func (m *Meter) picture() (*picture, []Group) {
	m.looking.Lock()
	defer m.looking.Unlock()
	m.mu.Lock()
	c, p := m.last, m.seen
	m.mu.Unlock()
	if c == nil {
		return nil, nil
	}
	var quotas []Group
	if c.Groups != nil {
		quotas = c.Groups()
	}
	if p != nil || c.State == nil {
		return p, quotas
	}
	state, starts := c.State(), noStarts
	if state == nil {
		return nil, quotas
	}
	if c.Starts != nil {
		starts = c.Starts
	}
	p = look(state, starts())
	m.mu.Lock()
	defer m.mu.Unlock()
	if c == m.last { // else another cycle has ended meanwhile
		m.seen = p
		c.State, c.Starts = nil, nil // what they keep is not needed any more
	}
	return p, quotas
}

// collect tells what a daemon's own metrics tell.
func (t *totals) collect(
	gauge func(*prometheus.Desc, float64, ...string),
	send func(*prometheus.Desc, prometheus.ValueType, float64, ...string),
) {
	send(cyclesTotal, prometheus.CounterValue, float64(t.cycles))
	for cause, n := range t.broken {
		send(brokenTotal, prometheus.CounterValue, float64(n), cause)
	}
	fallback := 0.0
	if t.fallback {
		fallback = 1
	}
	gauge(fallbackInUse, fallback)
	gauge(slotsNow, float64(t.slots))
	gauge(startedLast, float64(t.started))
	for _, phase := range t.phases {
		gauge(phaseSeconds, phase.Took.Seconds(), phase.Name)
	}
	for situation, n := range map[string]int{
		"idle": t.idle, "running": t.running, "reserved": t.reserved, "beyond_depth": t.beyond, "unplanned": t.unplanned,
	} {
		gauge(jobsNow, float64(n), situation)
	}
}

func noStarts() func(backfill.JobID) (backfill.Time, bool) { return nil }
