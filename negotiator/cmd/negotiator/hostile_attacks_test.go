package main

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/condor-backfill/condor-backfill/classad/classadtest"
)

// attack torments a negotiator until the context ends, and then takes back what it did.
type attack struct {
	name  string
	does  string // what the name does not say
	who   kind
	n     int  // attackers: users, machines, addresses, daemons
	afar  bool // it needs nothing of the pool, and runs in a process of its own
	fresh bool // it shows schedds: a look waits for those that it does not know yet, once
	do    func(ctx context.Context, r *raid)
}

// kind is who attacks. Each kind has its price: the part of a processor that one of them may cost.
type kind string

const (
	byUser    kind = "user"
	byMachine kind = "machine"
	byPeer    kind = "peer"
	bySchedd  kind = "schedd"
)

var prices = map[kind]float64{byUser: 0.3, byMachine: 0.3, byPeer: 0.025, bySchedd: 0.3}

// mostOfOne is the part of a processor that an attack may cost, however many make it; mostOfAll is
// that of all attacks at once. So a negotiator with two processors has one for its cycles.
const (
	mostOfOne = 0.5
	mostOfAll = 1.0
)

// mayCost is the part of a processor that an attack may cost.
func (a attack) mayCost() float64 { return min(float64(a.n)*prices[a.who], mostOfOne) }

// attacks are all that are known.
func attacks() []attack {
	return []attack{
		{"jobs: worst expressions", "50, others every 5 s", byUser, 1, false, false, expressions},
		{"jobs: refer to all others", "200 that name each slot and job", byUser, 1, false, false, references},
		{"jobs: huge trees", "10 lists of 240 kB, others every 20 s", byUser, 1, true, true, hugeTrees},
		{"jobs: concurrency limits", "3 lists of 240 kB among short ones", byUser, 1, true, true, manyLimits},
		{"jobs: long reasons", "20 with 200 kB of Requirements", byUser, 1, true, true, longReasons},
		{"jobs: odd accounting groups", "spaces, 4,200 letters, 33 kB", byUser, 1, false, false, oddGroups},
		{"jobs: invented groups", "300 others every 5 s", byUser, 1, false, false, inventedGroups},
		{"jobs: odd owners", "Owner = 0 before the honest jobs, or 30 kB", byUser, 1, false, false, oddOwners},
		{"jobs: long labels", "200 kB of ProjectName, QOS, Cmd, and so on; they run", byUser, 1, false, false, longLabels},
		{"slots: worst expressions", "START of 20", byMachine, 1, false, false, badSlots},
		{"slots: huge trees", "START of 60 kB, 5 times", byMachine, 1, false, false, treesInSlots},
		{"slots: others' names", "ads with the names of all honest slots", byMachine, 1, false, false, borrowedSlots},
		{"peers: expensive queries", "20 addresses, all hang up", byPeer, 20, true, false, queries},
		{"peers: silence, slow readers", "240 connections", byPeer, 8, true, false, silence},
		{"peers: large ads", "8 MB after a login, of 4 addresses", byPeer, 4, true, false, largeAds},
		{"peers: deep ads", "nested in 20 kB, and in 1 MB after a login, of 4 addresses", byPeer, 4, true, false, deepAds},
		{"peers: priorities", "20 addresses, 20 times a second", byPeer, 20, true, true, priorities},
		{"peers: long reports", "300 connections of 20 addresses, for those of 2,000 groups", byPeer, 20, true, true, longReports},
		{"peers: configuration", "?names: with the worst patterns", byPeer, 4, true, false, configuration},
		{"peers: every question", "all that READ allows, 20 addresses", byPeer, 20, true, false, everyQuestion},
		{"peers: refused", "20 kB of text in each, 20 addresses", byPeer, 20, true, false, refused},
		{"schedds: endless, babbling", "one of each, and a silent one", bySchedd, 3, true, true, badSchedds},
		{"schedds: 100 of one daemon", "2 MB of jobs in each", bySchedd, 1, true, true, hundredSchedds},
		{"schedds: others' names", "name or address of the honest one", bySchedd, 1, false, false, borrowedSchedds},
	}
}

// chosen returns the attacks of these names, in an order that the seed chooses, but no more than
// most.
func chosen(seed uint64, most int, only *regexp.Regexp) []attack {
	all := slices.DeleteFunc(attacks(), func(a attack) bool { return !only.MatchString(a.name) })
	random := rand.New(rand.NewPCG(seed, 22)) //nolint:gosec // a test
	random.Shuffle(len(all), func(i, k int) { all[i], all[k] = all[k], all[i] })
	return all[:min(max(most, 1), len(all))]
}

// raid is what an attack has at hand.
type raid struct {
	at   place
	pool *besieged // nil afar
	show func(adType, ad string)

	times atomic.Int64 // that it asked or answered something, afar

	mu     sync.Mutex
	random *rand.Rand
}

// newRaid returns a raid with random numbers that depend on seed and attack alone.
func newRaid(seed uint64, name string, at place) *raid {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))                                         // never fails
	return &raid{at: at, random: rand.New(rand.NewPCG(seed, h.Sum64()))} //nolint:gosec // a test
}

// drawn calls a function with the random numbers of the attack.
func (r *raid) drawn(draw func(*rand.Rand) string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return draw(r.random)
}

func (r *raid) number(below int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.random.IntN(below)
}

// corpus is the worst that is known.
var corpus = sync.OnceValue(classadtest.Worst)

// worst returns lines of an ad, among them the attribute of this name, that cost as much as is
// known: an expression of the corpus, or one that refers to many others in the ad.
func worst(random *rand.Rand, attribute string) string {
	if all := corpus(); random.IntN(2) == 0 {
		return attribute + " = " + all[random.IntN(len(all))]
	}
	digits := strings.Repeat("7", 1000)
	chain := []struct{ each, last, asks string }{
		{"$ + $", "1", "W0 > 0"},                                          // a tree with 2^n leaves
		{"strcat($, $)", `"aaaaaaaaaaaaaaaa"`, "size(W0) > 0"},            // a text that is doubled n times
		{`real(strcat("` + digits + `", $)) + $`, "1", "W0 > 0"},          // numbers of many digits
		{"ifThenElse(TARGET.Memory > $, $, $ + 1)", "1", "W0 =!= TARGET"}, // by slot
	}[random.IntN(4)]
	n := 8 + random.IntN(24)
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "W%d = %s\n", i, strings.ReplaceAll(chain.each, "$", fmt.Sprintf("W%d", i+1)))
	}
	return fmt.Sprintf("%sW%d = %s\n%s = %s", b.String(), n, chain.last, attribute, chain.asks)
}

// tree is a list of this many bytes with a node for each two of them. No two are the same.
func (r *raid) tree(bytes int) string {
	const most = 1 << 30
	return fmt.Sprintf("size({%d%s}) > 0", r.number(most), strings.Repeat(",1", bytes/2))
}

// repeat calls a function at once and then after each pause, until the context ends.
func repeat(ctx context.Context, pause time.Duration, do func()) {
	for ctx.Err() == nil {
		do()
		wait, cancel := context.WithTimeout(ctx, pause)
		<-wait.Done()
		cancel()
	}
}

// replaced has jobs in the pool, and others in their place again and again.
func replaced(ctx context.Context, every time.Duration, submit func(...string) func(), extras func() []string) {
	withdraw := func() {}
	repeat(ctx, every, func() {
		withdraw()
		withdraw = submit(extras()...)
	})
	withdraw()
}

// expressions has fifty jobs with other worst expressions every five seconds.
func expressions(ctx context.Context, r *raid) {
	replaced(ctx, 5*time.Second, r.pool.submit, func() (extras []string) {
		for range 50 {
			name := []string{"Requirements", "Requirements", "Rank", "RequestMemory", "AllowedExecuteDuration", "JobPrio"}
			extras = append(extras, r.drawn(func(r *rand.Rand) string { return worst(r, name[r.IntN(len(name))]) }))
		}
		return extras
	})
}

// references has jobs whose Requirements tell every slot and every job from every other.
func references(ctx context.Context, r *raid) {
	var extras []string
	for i := range 200 {
		extras = append(extras, fmt.Sprintf("Requirements = TARGET.Name != \"slot1@n%d\" && TARGET.Environment =?= undefined "+
			"&& TARGET.ClusterId =!= %d && TARGET.GlobalJobId =!= \"%d\"", i, i, i))
	}
	withdraw := r.pool.submit(extras...)
	<-ctx.Done()
	withdraw()
}

// oddGroups has jobs of accounting groups that no tool of HTCondor's would accept.
func oddGroups(ctx context.Context, r *raid) {
	names := []string{
		"a b", "", ".", "a..b", ".a", "a.", "@", "a@b@c", "a,b", `a\\b`, "é", `\n[x]\n`, "<none>", "a=1", "*",
		strings.Repeat("g", 4200), strings.Repeat("h", 33_000), strings.Repeat("i.", 2000), strings.Repeat("j", 200_000),
	}
	replaced(ctx, 5*time.Second, r.pool.submit, func() (extras []string) {
		for i := range 40 {
			name := names[r.number(len(names))]
			if i < len(names) {
				name = names[i]
			}
			extras = append(extras, "AccountingGroup = \""+name+"\"")
		}
		return append(extras, "AccountingGroup = 7", "AccountingGroup = {\"a\"}", "AccountingGroup = 1/0")
	})
}

// inventedGroups has jobs of ever new accounting groups.
func inventedGroups(ctx context.Context, r *raid) {
	replaced(ctx, 5*time.Second, r.pool.submit, func() (extras []string) {
		for i := range 300 {
			extras = append(extras, fmt.Sprintf("AccountingGroup = \"g%d.u%d\"", r.number(1<<30), i))
		}
		return extras
	})
}

// oddOwners puts jobs before the honest ones whose owners are no names.
func oddOwners(ctx context.Context, r *raid) {
	long := strings.Repeat("o", 30_000)
	replaced(ctx, 5*time.Second, r.pool.intrude, func() []string {
		return []string{
			"Owner = 0", "Owner = 0\nErrorCode = 1\nErrorString = \"x\"", "Owner = undefined\nUser = undefined", "User = 0",
			"Owner = \"" + long + "\"", "User = \"" + long + "@test\"", "Owner = \"\"\nUser = \"\"", `Owner = "a b\n"`,
			"Owner = 0\nMyType = \"Summary\"", "ClusterId = \"x\"", "JobStatus = 77", "Owner = {0}",
		}
	})
}

// longLabels has jobs that start, end at once and leave long labels behind.
func longLabels(ctx context.Context, r *raid) {
	replaced(ctx, 3*time.Second, r.pool.submit, func() (extras []string) {
		for range 40 {
			each := 40_000
			if r.number(3) == 0 {
				each = 1 << r.number(15)
			}
			var b strings.Builder
			for _, name := range []string{"ProjectName", "QOS", "AcctGroup", "Cmd", "JobBatchName"} {
				fmt.Fprintf(&b, "%s = \"%d%s\"\n", name, r.number(1<<30), strings.Repeat("l", each))
			}
			extras = append(extras, b.String())
		}
		return extras
	})
}

// badSlots makes the slots of the barracks ask for the worst of each job.
func badSlots(ctx context.Context, r *raid) {
	r.pool.restart(func(int) string { return r.drawn(func(r *rand.Rand) string { return worst(r, "START") }) })
	<-ctx.Done()
	r.pool.restart(func(int) string { return mildStart })
}

// treesInSlots makes some of them ask for a huge tree.
func treesInSlots(ctx context.Context, r *raid) {
	r.pool.restart(func(i int) string {
		if i%4 != 0 {
			return mildStart
		}
		return "START = " + r.tree(60_000)
	})
	<-ctx.Done()
	r.pool.restart(func(int) string { return mildStart })
}

// borrowedSlots shows a machine whose slots have the names of the honest ones.
func borrowedSlots(ctx context.Context, r *raid) {
	for i := range slotsOfSiege {
		name, at := "slot1@n"+strconv.Itoa(i), "<127.0.0.9:1>"
		r.pool.show("Machine", fmt.Sprintf("MyType = \"Machine\"\nName = %q\nMachine = \"evil\"\nMyAddress = %q\n"+
			"State = \"Owner\"\nActivity = \"Idle\"\nCpus = 1\nMemory = 2048\nRequirements = false\nMyCurrentTime = %d\n"+
			"UpdateSequenceNumber = %d\nDaemonStartTime = %d", name, at, distant, distant, distant))
		r.pool.show("MachinePrivate", fmt.Sprintf("MyType = \"Machine\"\nName = %q\nMyAddress = %q\n"+
			"ClaimId = \"<127.0.0.9:1>#1#1#[]x\"", name, at))
	}
	<-ctx.Done()
	r.pool.hide()
}

// distant is a time that no other is later than.
const distant int64 = 4e18

// borrowedSchedds shows schedds with the name of the honest one, and others with its address.
func borrowedSchedds(ctx context.Context, r *raid) {
	name, at := r.pool.schedd.Name, r.pool.schedd.Address().String()
	for _, c := range []struct{ name, at string }{
		{name, "<127.0.0.0:1>"}, {"a@test", at}, {"z@test", at}, {name, "<127.0.0.9:1>"}, {name, "<nowhere:99999>"}, {name, "?"},
	} {
		r.pool.show("Scheduler", fmt.Sprintf("MyType = \"Scheduler\"\nName = %q\nMyAddress = %q\nScheddIpAddr = %q\n"+
			"MyCurrentTime = %d", c.name, c.at, c.at, distant))
		r.pool.show("Submitter", fmt.Sprintf("MyType = \"Submitter\"\nName = \"alice@test\"\nScheddName = %q\n"+
			"ScheddIpAddr = %q\nMyAddress = %q\nIdleJobs = 1\nRunningJobs = 0\nLastHeardFrom = %d\n"+
			"Capability = \"<127.0.0.1:1>#1#1#[]x\"", c.name, c.at, c.at, distant))
	}
	<-ctx.Done()
	r.pool.hide()
}

// namesOf returns the names of the attacks that are made afar, or of the others.
func namesOf(all []attack, afar bool) (names []string) {
	for _, a := range all {
		if a.afar == afar {
			names = append(names, a.name)
		}
	}
	return names
}

// named returns the attacks of these names.
func named(names []string) []attack {
	return slices.DeleteFunc(attacks(), func(a attack) bool { return !slices.Contains(names, a.name) })
}
