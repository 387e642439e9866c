package claims

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/observe"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/track"
)

const heeds = "TARGET.Banned =!= true && (MY.NegotiatorMatchExprBackfillLease is undefined || MY.NegotiatorMatchExprBackfillLease)"

// short is what a job of a minute is planned by, for a submitter; changes make it another.
func short(tb testing.TB, changes ...func(*observe.Spec)) *observe.Spec {
	tb.Helper()
	s := specOf(tb, 1, "true")
	s.Estimate = 60
	for _, change := range changes {
		change(s)
	}
	return s
}

// offered is a slot whose START is this, with so many claims.
func offered(tb testing.TB, start string, claims int) *Offer {
	tb.Helper()
	ad := classad.New()
	ad.SetString("Name", "a")
	ad.SetBool("PartitionableSlot", true)
	ad.SetInt("Memory", 8192)
	require.NoError(tb, ad.SetExpr("Start", start))
	o := &Offer{Ad: ad, Free: backfill.Vector{8, 8192, observe.Unlimited}, Open: true}
	for i := range claims {
		o.Claims = append(o.Claims, fmt.Sprint("claim", i))
	}
	return o
}

// plan is a checkpoint in which jobs have reservations on slot a, from a time on, of 100 s.
func (d *desk) plan(guarantees bool, reserved map[backfill.JobID]backfill.Time) negotiator.Checkpoint {
	m := negotiator.Checkpoint{Guarantees: guarantees}
	for id, start := range reserved {
		at := backfill.Time(d.now.Unix()) + start
		m.Jobs = append(m.Jobs, negotiator.JobCheckpoint{
			Job: &negotiator.Job{ID: id}, Standing: backfill.Standing{Start: at, End: at + 100},
			Placement: negotiator.Placement{{Slot: d.snapshot.Slots["a"].Ad, Count: 1}},
		})
	}
	return m
}

// TestLendings says which claims are lent, and until when: in seconds from now, 0 if they are not.
func TestLendings(t *testing.T) {
	const (
		place = 60 + 40 // estimate and start slack
		free  = 20      // half of that slack
	)
	larger := func(s *observe.Spec) { s.Request = backfill.Vector{2, 128, 1} }
	for name, c := range map[string]struct {
		start      string // of the slot; heeds by default
		claims     int    // of the slot; 8 by default
		flights    int    // 1 by default
		spec       func(*observe.Spec)
		like       int  // waiting jobs like these
		others     bool // another waits
		guarantees bool
		reserved   map[int]backfill.Time // by the waiting jobs' numbers, the other's is 0
		prio       bool                  // one of those has a JobPrio of its own
		first      func(*observe.Spec)   // of the first of those
		late       time.Duration         // since the jobs were to start
		want       backfill.Time
		served     int
	}{
		"more of the same waits":          {like: 1, want: 2*place - free},
		"much more":                       {like: 10, want: 11*place - free},
		"more than a lease can do":        {like: 1000, want: place + 1200 - free},
		"several share it":                {flights: 4, like: 10, want: 4*place - free},
		"nothing waits":                   {},
		"others wait as well":             {like: 10, others: true, want: place + contended - free},
		"others alone wait":               {others: true},
		"fewer claims than jobs":          {flights: 4, claims: 1, want: place},
		"START does not heed leases":      {start: "true", like: 1, want: 2*place - free},
		"no estimate":                     {spec: func(s *observe.Spec) { s.Estimate = 0 }, like: 1, want: 40 + 40 - free},
		"a concurrency limit":             {spec: func(s *observe.Spec) { s.Limits = "sw" }, like: 1},
		"longer than a lease":             {spec: func(s *observe.Spec) { s.Estimate = 3000 }, like: 1, want: 3040 + 1200 - free},
		"another's place comes":           {like: 10, others: true, reserved: map[int]backfill.Time{0: 300}, want: 300},
		"another's place comes soon":      {like: 10, others: true, reserved: map[int]backfill.Time{0: 102}, want: 102},
		"the next has a place":            {like: 10, reserved: map[int]backfill.Time{1: 100}, want: 11*place - free},
		"promised, and served":            {like: 3, guarantees: true, reserved: map[int]backfill.Time{1: 100, 2: 200, 3: 300}, want: 300, served: 2},
		"promised beyond the lease":       {like: 1, guarantees: true, reserved: map[int]backfill.Time{1: 150}, want: 150},
		"promised another order":          {like: 3, guarantees: true, prio: true, reserved: map[int]backfill.Time{1: 100, 2: 200, 3: 300}, want: place},
		"promised before a claim is free": {like: 1, guarantees: true, reserved: map[int]backfill.Time{1: 50}, want: place},
		"promised more than the claims serve": {
			flights: 2, like: 5, guarantees: true,
			reserved: map[int]backfill.Time{1: 110, 2: 110, 3: 210, 4: 210, 5: 215}, want: 210, served: 2,
		},
		"promised as many as the claims serve": {
			flights: 2, like: 4, guarantees: true,
			reserved: map[int]backfill.Time{1: 100, 2: 100, 3: 200, 4: 200}, want: 200, served: 2,
		},
		"promised, and handed over late": {
			like: 2, guarantees: true, late: 5 * time.Second, reserved: map[int]backfill.Time{1: 95, 2: 195}, want: 195, served: 1,
		},
		"promised on a core of others": {
			like: 2, guarantees: true, reserved: map[int]backfill.Time{1: 130, 2: 150}, want: 130,
		},
		"promised, and its schedd takes another first": {
			like: 2, guarantees: true, reserved: map[int]backfill.Time{1: 220, 2: 110}, want: 110,
		},
		"promised to one that needs a whole slot": {
			like: 2, guarantees: true, reserved: map[int]backfill.Time{1: 150, 2: 250}, want: 150,
			first: func(s *observe.Spec) { require.NoError(t, s.Ad.SetExpr("Requirements", "TARGET.Memory > 1024")) },
		},
		"promised to one with a limit": {
			like: 2, guarantees: true, first: func(s *observe.Spec) { s.Limits = "sw" },
			reserved: map[int]backfill.Time{1: 150, 2: 250}, want: 150,
		},
		"promised to one without an estimate": {
			like: 2, guarantees: true, first: func(s *observe.Spec) { s.Estimate = 0 },
			reserved: map[int]backfill.Time{1: 150, 2: 250}, want: 250, served: 1,
		},
		"only one with a limit waits": {like: 1, first: func(s *observe.Spec) { s.Limits = "sw" }},
		"promised to another in between": {
			like: 3, others: true, guarantees: true, reserved: map[int]backfill.Time{1: 110, 0: 250, 2: 300}, want: 250, served: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, "a")
			d.s.StartSlack = 40
			d.Lend(20*time.Minute, false)
			spec := short(t)
			if c.spec != nil {
				c.spec(spec)
			}
			var flights []*flight
			for i := range max(1, c.flights) {
				flights = append(flights, d.start(d.submit(int64(100+i), spec), "a"))
			}
			waiting := map[int]backfill.JobID{}
			for i := range c.like {
				like := spec
				if i == 0 && c.first != nil {
					like = short(t, c.first)
				}
				waiting[i+1] = d.submit(int64(200+i), like)
			}
			if c.prio {
				d.edit(200, func(g *observe.Group) { g.Prio = 5 })
			}
			if c.others {
				waiting[0] = d.submit(300, short(t, larger))
			}
			d.now = d.now.Add(c.late)
			d.look()
			reserved := map[backfill.JobID]backfill.Time{}
			for n, start := range c.reserved {
				reserved[waiting[n]] = start
			}
			d.TakePlan(d.plan(c.guarantees, reserved))
			start, claims := c.start, c.claims
			if start == "" {
				start = heeds
			}
			if claims == 0 {
				claims = 8
			}
			lent := d.lendings(flights, map[string]*Offer{"a": offered(t, start, claims)})
			if c.want == 0 {
				require.Empty(t, lent)
				return
			}
			require.Len(t, lent, len(flights))
			l := lent[flights[0]]
			require.Equal(t, c.want, l.Until-backfill.Time(d.now.Unix()))
			require.Len(t, l.Served, c.served)
			require.Len(t, l.Jobs, len(flights))
			_, has := l.ad.Lookup(leaseAttribute)
			require.Equal(t, start == heeds, has)
			require.Equal(t, start == heeds, l.lock == "")
		})
	}
}

// TestLocks says how claims are lent where START does not heed leases: for so many seconds a schedd may
// use them for jobs like the one that they are given for, and fill the slot or not; 0: not at all.
func TestLocks(t *testing.T) {
	type waits func(s *observe.Spec)
	cpus := func(n int64) waits { return func(s *observe.Spec) { s.Request = backfill.Vector{n, 128, 1} } }
	estimate := func(e backfill.Time) waits { return func(s *observe.Spec) { s.Estimate = e } }
	bobs := func(s *observe.Spec) { s.Ad.SetString(observe.ScheddAttribute, "another") }
	for name, c := range map[string]struct {
		claims, flights int // 1 and 2 by default
		static, hidden  bool
		waits           []waits // beside three jobs that are like those that start
		edit            func(*observe.Group)
		guarantees      bool
		reserved        backfill.Time // when the first of those starts, in seconds from now
		late            time.Duration
		want            backfill.Time
		fills           string // all: what is left of the slot; planned: with as many as start there
	}{
		"nobody else waits":                  {want: 28, fills: "all"},
		"a claim for each":                   {claims: 2, want: 28},
		"on a static slot":                   {static: true, claims: 2, want: 28},
		"with promises":                      {guarantees: true, want: 28, fills: "all"},
		"another waits":                      {waits: []waits{bobs}, want: 28, fills: "planned"},
		"another waits for a narrow place":   {waits: []waits{bobs}, reserved: 10, want: 28, fills: "planned"},
		"another waits for a wide place":     {waits: []waits{func(s *observe.Spec) { bobs(s); cpus(2)(s) }}, reserved: 10, want: 28},
		"a place is planned":                 {guarantees: true, waits: []waits{bobs}, reserved: 10, want: 28},
		"a shorter job waits":                {waits: []waits{estimate(5)}, want: 28, fills: "all"},
		"a longer job waits":                 {waits: []waits{estimate(70)}, want: 18, fills: "all"},
		"a much longer job waits":            {waits: []waits{estimate(90)}},
		"another's is much longer":           {waits: []waits{func(s *observe.Spec) { bobs(s); s.Estimate = 900 }}, want: 28, fills: "planned"},
		"a wider job waits":                  {waits: []waits{cpus(2)}, want: 28},
		"a wider job waits for a static one": {static: true, claims: 2, waits: []waits{func(s *observe.Spec) { cpus(2)(s); s.Estimate = 900 }}},
		"a narrower job waits":               {waits: []waits{cpus(0)}},
		"a limit":                            {waits: []waits{func(s *observe.Spec) { s.Limits = "sw" }}},
		"a job that cannot be planned with":  {waits: []waits{func(s *observe.Spec) { s.Wrong, s.Request = errors.New("wrong"), nil }}},
		"a deferred job":                     {edit: func(g *observe.Group) { g.Deferral.Time = 1_700_000_100 }},
		"jobs that no look shows":            {hidden: true},
		"it is handed over late":             {late: 10 * time.Second, want: 18, fills: "all"},
		"it is handed over very late":        {late: 40 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, "a")
			d.s.StartSlack = 60
			d.Lend(30*time.Second, c.hidden)
			spec := short(t)
			var flights []*flight
			for i := range cmp.Or(c.flights, 2) {
				flights = append(flights, d.start(d.submit(int64(100+i), spec), "a"))
			}
			for i := range 3 {
				d.submit(int64(200+i), spec)
			}
			reserved := map[backfill.JobID]backfill.Time{}
			for i, change := range c.waits {
				id := d.submit(int64(300+i), short(t, change))
				if c.reserved > 0 {
					reserved[id] = c.reserved
				}
			}
			if c.edit != nil {
				d.edit(200, c.edit)
			}
			d.TakePlan(d.plan(c.guarantees, reserved))
			d.now = d.now.Add(c.late)
			d.look()
			o := offered(t, "true", cmp.Or(c.claims, 1))
			if c.static {
				o.Ad.SetBool("PartitionableSlot", false)
			}
			l := d.lendings(flights, map[string]*Offer{"a": o})[flights[0]]
			if c.want == 0 {
				require.Nil(t, l)
				return
			}
			require.NotNil(t, l)
			require.Equal(t, c.fills != "", l.fills)
			require.Empty(t, l.Served)
			require.Equal(t, backfill.Time(1_700_000_000+60+60), l.Until, "the plan stays as it is")
			now := backfill.Time(d.now.Unix())
			require.Equal(t, now+c.want+skew, l.Last)
			locked := func(after backfill.Time, ad string) bool {
				slot, err := classad.ParseOld(ad)
				require.NoError(t, err)
				require.NoError(t, slot.SetExpr("Lock", strings.ReplaceAll(l.lock, "time()", strconv.FormatInt(int64(now+after), 10))))
				locked, known := slot.Bool("Lock")
				require.True(t, known, "an unknown lock is none")
				return locked
			}
			require.False(t, locked(0, "Cpus = 1"))
			require.False(t, locked(c.want, "Cpus = 1"))
			require.True(t, locked(c.want+1, "Cpus = 1"))
			left := "PartitionableSlot = true\n"
			require.Equal(t, c.fills == "", locked(0, left+"Cpus = 7"), "one of the two has its part")
			require.Equal(t, c.fills != "all", locked(0, left+"Cpus = 6"), "both have theirs")
			require.Equal(t, c.fills != "all", locked(0, left))
			require.Equal(t, c.fills != "all" || c.want < 6, locked(6, left+"Cpus = 7"))
			require.True(t, locked(c.want+1, left+"Cpus = 7"))
		})
	}
}

// TestDeafSlots: if START heeds no leases, that is told when it costs many short jobs much, and
// told again only if it was mended since.
func TestDeafSlots(t *testing.T) {
	const told = "START of a slot does not heed leases"
	for name, c := range map[string]struct {
		start string
		like  int
		lease time.Duration
		spec  func(*observe.Spec)
		want  int
	}{
		"many wait":          {"true", 23, 20 * time.Minute, nil, 1},
		"few wait":           {"true", 22, 20 * time.Minute, nil, 0},
		"START heeds leases": {heeds, 23, 20 * time.Minute, nil, 0},
		"nothing is lent":    {"true", 23, 0, nil, 0},
		"they take long":     {"true", 23, 20 * time.Minute, func(s *observe.Spec) { s.Estimate = 3600 }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, "a", "b")
			d.Lend(c.lease, false)
			spec := short(t, func(s *observe.Spec) {
				if c.spec != nil {
					c.spec(s)
				}
			})
			d.submit(99, short(t, func(s *observe.Spec) { s.Limits = "sw" })) // so that all claims are locked
			flights := []*flight{d.start(d.submit(100, spec), "a"), d.start(d.submit(101, spec), "b")}
			for i := range c.like {
				d.submit(int64(200+i), spec)
			}
			hand := func(a, b string) {
				d.lendings(flights, map[string]*Offer{"a": offered(t, a, 8), "b": offered(t, b, 8)})
			}
			for range 3 { // each HandOver
				hand(c.start, heeds)
			}
			require.Equal(t, c.want, d.Counts().Deaf)
			require.Equal(t, c.want, strings.Count(d.out.String(), told))
			if c.want == 0 {
				return
			}
			hand("true", "true")
			require.Equal(t, 2, d.Counts().Deaf)
			require.Equal(t, 1, strings.Count(d.out.String(), told), "it goes on")
			hand("true", heeds)
			d.look(func(s *observe.Snapshot) { delete(s.Slots, "b") })
			require.Equal(t, 1, d.Counts().Deaf, "no look has shown that it was mended")
			d.look(func(s *observe.Snapshot) {
				a := slotOf("a")
				require.NoError(t, a.Ad.Ad.SetExpr("Requirements", heeds))
				s.Slots = map[string]*observe.Slot{"a": a, "b": slotOf("b")}
			})
			require.Zero(t, d.Counts().Deaf)
			hand("true", heeds)
			require.Equal(t, 2, strings.Count(d.out.String(), told), "it was mended since")
			d.Lend(0, false)
			require.Zero(t, d.Counts().Deaf)
		})
	}
}

// TestLeaseText says which jobs may use a claim that is lent.
func TestLeaseText(t *testing.T) {
	const until = 10_000
	d := newDesk(t, "a")
	d.s.StartSlack = 40
	d.s.Schema.Resources = []string{"cpus", "memory", "gpus", observe.Claims}
	d.s.Schema.Estimates = []string{"First", "Second"}
	spec := short(t, func(s *observe.Spec) { s.Request = backfill.Vector{2, 512, 0, 1} })
	var flights []*flight
	for _, cluster := range []int64{7, 9} {
		flights = append(flights, d.start(d.submit(cluster, spec), "a"))
	}
	text := d.leaseText(until-500, until-42, flights, false)
	may := func(slot, job string) bool {
		my, err := classad.ParseOld(slot)
		require.NoError(t, err)
		require.NoError(t, my.SetExpr("Lease", strings.ReplaceAll(text, "time()", "9000")))
		target, err := classad.ParseOld("ClusterId = 7\nProcId = 0\nRequestCpus = 2\nRequestMemory = 512\nFirst = 900\n" + job)
		require.NoError(t, err)
		v := classad.Scope{My: my, Target: target}.Attr("Lease")
		lets, known := v.Bool()
		require.True(t, known, "%v: a START that is not known lets a job in", v)
		return lets
	}
	for job, want := range map[string]bool{
		"": true, "First = 958": true, "First = 959": false, // 9000 + 958 + the slack of 40 + a skew of 2
		"First = undefined\nSecond = 900": true, "First = 0\nSecond = 900": true, "First = undefined": false,
		"First = \"soon\"": false, "RequestCpus = 1": false, "RequestCpus = 3": false, "RequestMemory = 100": true,
		"RequestMemory = 513": false, "RequestMemory = undefined": false, "RequestGPUs = 0": true, "RequestGPUs = 1": false,
		"DeferralTime = 9500": false, "ProcId = 5": true, "ConcurrencyLimits = \"\"": true,
		"ConcurrencyLimits = \"sw\"": false, "ConcurrencyLimits = strcat(\"sw\", TARGET.Cpus)": false,
	} {
		require.Equal(t, want, may("Cpus = 2", job), job)
	}
	for job, want := range map[string]bool{
		"": true, "ClusterId = 9": true, "ClusterId = 8": false, "ProcId = 1": false, "ClusterId = 9\nFirst = 5000": false,
	} {
		require.Equal(t, want, may("Cpus = 8\nPartitionableSlot = true", job), job)
	}
}

// TestClaimsSuitByTheClock says that a claim suits a job whose Requirements ask the clock.
func TestClaimsSuitByTheClock(t *testing.T) {
	d := newDesk(t, "a")
	suits := d.suits(classad.New(), specOf(t, 1, "true"))
	require.True(t, suits(specOf(t, 1, fmt.Sprintf("time() == %d", d.now.Unix()))))
	require.False(t, suits(specOf(t, 1, fmt.Sprintf("CurrentTime > %d", d.now.Unix()))))
}

func TestAreOf(t *testing.T) {
	var flights []*flight
	for _, key := range [][2]int64{{7, 2}, {7, 0}, {9, 0}, {7, 1}, {7, 4}} {
		flights = append(flights, &flight{job: &track.Job{Key: observe.JobKey{Schedd: "s", Cluster: key[0], Proc: key[1]}}})
	}
	require.Equal(t, "TARGET.ClusterId == 7 && TARGET.ProcId >= 0 && TARGET.ProcId <= 2 || "+
		"TARGET.ClusterId == 7 && TARGET.ProcId >= 4 && TARGET.ProcId <= 4 || "+
		"TARGET.ClusterId == 9 && TARGET.ProcId >= 0 && TARGET.ProcId <= 0", areOf(flights))
}

// One match feeds a slot: the others ride on it. A schedd that does not fill the slot gets a match
// for each job.
func TestRiding(t *testing.T) {
	d := newDesk(t, "a")
	d.Lend(time.Minute, false)
	spec := short(t)
	var flights []*flight
	for i := range 3 {
		flights = append(flights, d.start(d.submit(int64(1+i), spec), "a"))
	}
	granted := d.Grant(d.now, flights, map[string]*Offer{"a": offered(t, heeds, 1)})
	require.Len(t, granted["s"][""], 1)
	first := granted["s"][""][0]
	require.True(t, first.Lent())
	_, granting := d.TellLeases()
	require.True(t, granting)
	_, granting = d.TellLeases()
	require.False(t, granting)
	d.Told(d.now, "s", []Grant{first}, nil)
	require.Equal(t, "its schedd is filling slot a", flights[1].why)
	require.Equal(t, "its schedd is filling slot a", d.unready(flights[1], "alice@test"))
	d.now = d.now.Add(riding)
	d.look()
	require.True(t, flights[1].rides.IsZero())
	require.True(t, d.isSingle("a"))
	require.Nil(t, d.lendings(flights[1:], map[string]*Offer{"a": offered(t, heeds, 1)})[flights[1]], "nothing else waits")
	d.Lend(time.Minute, false)
	require.False(t, d.isSingle("a"), "its configuration may have changed")
}

// What it costs to choose which slots are lent, by how many jobs start. Each has another like it that
// waits, and as many more wait, no two of which are planned by the same: any user can submit such jobs.
func BenchmarkLendings(b *testing.B) {
	const cores = 64
	for name, kind := range map[string]func(s *observe.Spec, i int){
		"estimates": func(s *observe.Spec, i int) { s.Estimate = backfill.Time(60 + i) },
		"requests":  func(s *observe.Spec, i int) { s.Request = backfill.Vector{1, int64(128 + i), 1} },
		"widths": func(s *observe.Spec, i int) { // those that start fit their slots
			if s.Request = (backfill.Vector{int64(1 + i%cores), int64(128 + i), 1}); i >= 4000 {
				s.Request[0] = int64(i)
			}
		},
	} {
		for _, n := range []int{250, 1000, 4000} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				var names []string
				offers := map[string]*Offer{}
				for i := range n {
					names = append(names, fmt.Sprintf("slot1@n%d", i))
					offers[names[i]] = offered(b, heeds, 1)
				}
				d := newDesk(b, names...)
				d.Lend(20*time.Minute, false)
				for i := range 3 * n {
					d.schedd.Groups = append(d.schedd.Groups, &observe.Group{
						Spec: short(b, func(s *observe.Spec) { kind(s, i%n+max(0, i/n-1)*4000) }), Status: observe.Idle, Submit: 1_600_000_000,
						Jobs: []observe.JobKey{{Schedd: "s", Cluster: int64(i + 1)}},
					})
				}
				d.look()
				var flights []*flight
				for i := range n {
					id := d.belief.JobOf(observe.JobKey{Schedd: "s", Cluster: int64(i + 1)}).ID
					flights = append(flights, d.start(id, names[i]))
				}
				d.TakePlan(negotiator.Checkpoint{})
				for b.Loop() {
					require.Len(b, d.lendings(flights, offers), n)
				}
			})
		}
	}
}
