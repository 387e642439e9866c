package htcondor

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
)

// node is a startd with one partitionable slot.
type node struct {
	name         string
	cpus, memory int64
	claim        int   // number of the next claim id
	ids          []int // that it would take now
	policy       bool
	down         bool
	closed       bool // drained
	asleep       bool // only its last ad is there
	static       bool
	start        string // what it asks of jobs besides
	hidden       bool   // its ads are not in the collector
	lingering    []lingering
	shown        string
	shownClaims  string
	parts        map[*sleeper]int // chunks by job
	strangers    []string         // claims of nobody's, as ads
	deleted      []string         // ads of dynamic slots that are no more
	children     string           // that the slot tells of
	changed      int64            // when that changed
	silent       bool             // it tells of none, as startds did formerly
	counts       bool             // it counts its jobs and lists their cpus, and not the names
	refuses      bool             // claims, all of them
	started      int64            // when its startd began, as its ad says; 0: it does not
	loans        []*loan          // claims that are lent
	lends        bool             // its START heeds leases
	renews       int64            // how often it renews the ads of its jobs' slots, in seconds; 0: never
	weighs       string           // its SlotWeight; "": its ads have none
	// rank is the RANK of a static slot; "": 0. Its job may run on for so many seconds, for heir, who waits for it
	// until leaves.
	rank    string
	retires int64
	heir    *sleeper
	victim  *sleeper // who makes way for heir
	leaves  int64
	heirs   int // how many jobs have waited for slots so far
	// partClaims are the private ads of its dynamic slots.
	partClaims string
	alone      bool // what is left of it is given to no other job of a match
}

// lingering is a claim without a job, as a gang leaves it.
type lingering struct {
	cpus, memory, until int64
	id                  string
}

// sleeper is a job.
type sleeper struct {
	cluster, proc int64
	owner         string
	group         string // its AccountingGroup; "": none
	cpus, memory  int64
	nodes         int
	seconds       int64 // that it runs
	estimate      int64
	extra         string
	submit        int64
	status        int64
	began         int64
	at            map[*node]int
	ids           map[*node][]string // of its claims
	begins        int64              // when its claim is activated; 0: nothing under way
	wants         map[*node]int
	fate          fate
	runs          int
	done          bool
	matched       int64  // when it was matched last, and has neither run nor been away since
	lease         string // of the match under way, an expression; "": it is locked
	loan          *loan  // the claim that it runs on, if that is lent
}

// chunks is how many of the job's chunks are being claimed.
func (j *sleeper) chunks() (n int) {
	for _, chunks := range j.wants {
		n += chunks
	}
	return n
}

func (j *sleeper) submitter() string {
	if j.nodes > 1 {
		return "DedicatedScheduler@schedd@test"
	}
	return cmp.Or(j.group, j.owner) + "@test"
}

// free is what is left of a node.
func (n *node) free() (cpus, memory int64) {
	cpus, memory = n.cpus, n.memory
	for j, chunks := range n.parts {
		cpus -= j.cpus * int64(chunks)
		memory -= j.takes(n) * int64(chunks)
	}
	for _, l := range n.lingering {
		cpus -= l.cpus
		memory -= l.memory
	}
	for _, l := range n.loans {
		cpus -= l.cpus
		memory -= l.memory
	}
	return cpus, memory
}

// takes is how much memory a chunk takes on a node.
func (j *sleeper) takes(n *node) int64 {
	if n.policy || n.static {
		return j.memory
	}
	return (j.memory + 127) / 128 * 128
}

// claims are the ids that a node would take now.
func (w *world) claims(n *node) string {
	count := 1
	if n.policy {
		count = 8
	}
	for len(n.ids) < count {
		n.claim++
		n.ids = append(n.ids, n.claim)
	}
	var all []string
	for _, id := range n.ids {
		all = append(all, w.claimOf(n, id))
	}
	return strings.Join(all, " ")
}

func (w *world) claimOf(n *node, id int) string {
	return fmt.Sprintf("<%s>#1#%d#[]topsecretclaim%d", n.name, id, id)
}

func (n *node) ads(w *world) (slots, private string) {
	cpus, memory := n.free()
	n.partClaims = ""
	if n.static {
		return n.staticAd(w)
	}
	state := "Unclaimed"
	if n.closed {
		state = "Drained"
	}
	ad := fmt.Sprintf("Name = \"slot1@%s\"\nMachine = \"%s\"\nMyAddress = \"<%s>\"\nState = \"%s\"\n"+
		"Activity = \"Idle\"\nPartitionableSlot = true\nSlotType = \"Partitionable\"\n"+
		"Cpus = %d\nMemory = %d\nTotalSlotCpus = %d\nTotalSlotMemory = %d\nArch = \"X86_64\"\n"+
		"Requirements = START\nSTART = TARGET.Banned =!= true", n.name, n.name, n.name, state, cpus, memory,
		n.cpus, n.memory)
	if n.start != "" {
		ad += "\nSTART = " + n.start
	}
	if n.asleep {
		ad += "\nOffline = true\nSlotID = 1"
	}
	if n.lends {
		ad += "\nSTART = TARGET.Banned =!= true && " + heeds
	}
	if n.rank != "" {
		ad += n.ranked(w, nil)
	}
	if n.started != 0 {
		ad += fmt.Sprintf("\nDaemonStartTime = %d", n.started)
	}
	if n.policy {
		ad += "\nConsumptionCpus = quantize(target.RequestCpus,{1})\n" +
			"ConsumptionMemory = quantize(target.RequestMemory,{1})"
	}
	ads := []string{ad}
	k := 0
	for _, j := range w.jobs {
		for i := range n.parts[j] {
			k++
			id := ""
			if i < len(j.ids[n]) {
				id = security.PublicClaim(j.ids[n][i])
			}
			ads = append(ads, fmt.Sprintf("Name = \"slot1_%d@%s\"\nMachine = \"%s\"\nMyAddress = \"<%s>\"\n"+
				"State = \"Claimed\"\nActivity = \"Busy\"\nDynamicSlot = true\nSlotType = \"Dynamic\"\nCpus = %d\n"+
				"Memory = %d\nArch = \"X86_64\"\nRequirements = true\nJobId = \"%d.%d\"\nGlobalJobId = \"schedd@test#%d.%d#1\"\n"+
				"JobStart = %d\nPublicClaimId = %q",
				k, n.name, n.name, n.name, j.cpus, j.takes(n), j.cluster, j.proc, j.cluster, j.proc, j.began, id))
			if n.rank != "" {
				ads[len(ads)-1] += n.ranked(w, j)
				n.partClaims += fmt.Sprintf("\n\nName = \"slot1_%d@%s\"\nMyAddress = \"<%s>\"\nClaimId = \"%s\"", k, n.name, n.name,
					w.claimOf(n, n.partClaim(j)))
			}
			if n.renews > 0 {
				ads[len(ads)-1] += fmt.Sprintf("\nMyCurrentTime = %d", w.now/n.renews*n.renews)
			}
		}
	}
	for _, l := range n.lingering {
		k++
		ads = append(ads, fmt.Sprintf("Name = \"slot1_%d@%s\"\nMachine = \"%s\"\nMyAddress = \"<%s>\"\nState = \"Claimed\"\n"+
			"Activity = \"Idle\"\nDynamicSlot = true\nCpus = %d\nMemory = %d\nRequirements = true\n"+
			"PublicClaimId = %q", k, n.name, n.name, n.name, l.cpus, l.memory, security.PublicClaim(l.id)))
	}
	for _, l := range n.loans {
		ads = append(ads, l.ad(n))
	}
	for i := range ads {
		ads[i] += n.weight()
	}
	ads = append(ads, n.strangers...)
	ads[0] += n.childLines(w, ads)
	ads = append(ads, n.deleted...)
	attribute := "ClaimId"
	if n.policy {
		attribute = "ClaimIdList"
	}
	return strings.Join(ads, "\n\n"), fmt.Sprintf("Name = \"slot1@%s\"\nMyAddress = \"<%s>\"\n%s = \" %s\"", n.name,
		n.name, attribute, w.claims(n)) + n.partClaims
}

// weight is the line of a slot's ad that says what it weighs.
func (n *node) weight() string {
	if n.weighs == "" {
		return ""
	}
	return "\nSlotWeight = " + n.weighs
}

// childLines are the lines by which a partitionable slot lists its dynamic slots.
func (n *node) childLines(w *world, ads []string) string {
	if n.silent {
		return ""
	}
	var names []string
	for _, ad := range ads {
		if name, more, _ := strings.Cut(ad, "\n"); strings.Contains(more, "DynamicSlot = true") {
			names = append(names, strings.TrimPrefix(name, "Name = "))
		}
	}
	if children := strings.Join(names, ","); children != n.children || n.changed == 0 {
		n.children, n.changed = children, w.now
	}
	if n.counts {
		var cpus []string
		for j, chunks := range n.parts {
			cpus = append(cpus, slices.Repeat([]string{strconv.FormatInt(j.cpus, 10)}, chunks)...)
		}
		return fmt.Sprintf("\nNumDynamicSlots = %d\nChildCpus = { %s }", len(cpus), strings.Join(cpus, ","))
	}
	return fmt.Sprintf("\nMyCurrentTime = %d\nLastHeardFrom = %d\nChildName = { %s }", n.changed, n.changed, n.children)
}

// staticAd is the ad of a node that is one slot for one job.
func (n *node) staticAd(w *world) (slot, private string) {
	state, more := "Unclaimed", ""
	for j := range n.parts {
		state, more = "Claimed", fmt.Sprintf("\nJobId = \"%d.%d\"\nGlobalJobId = \"schedd@test#%d.%d#1\"\n"+
			"JobStart = %d", j.cluster, j.proc, j.cluster, j.proc, j.began)
	}
	if len(n.lingering) > 0 {
		state = "Claimed"
	}
	for _, l := range n.loans {
		state, more = "Claimed", l.state()
	}
	if n.start != "" {
		more += "\nSTART = " + n.start
	}
	if n.lends {
		more += "\nSTART = " + heeds
	}
	if n.rank != "" {
		var runs *sleeper
		for j := range n.parts {
			runs = j
		}
		more += n.ranked(w, runs)
	}
	if n.closed {
		state = "Drained"
	}
	return fmt.Sprintf("Name = \"slot1@%s\"\nMachine = \"%s\"\nMyAddress = \"<%s>\"\nState = \"%s\"\nCpus = %d\n"+
			"Memory = %d\nArch = \"X86_64\"\nRequirements = true%s",
			n.name, n.name, n.name, state, n.cpus, n.memory, more+n.weight()),
		fmt.Sprintf("Name = \"slot1@%s\"\nMyAddress = \"<%s>\"\nClaimId = \"%s\"", n.name, n.name, w.claims(n))
}

// ranked is what a startd tells of a slot and its job that may make way; nil: it has none.
func (n *node) ranked(w *world, runs *sleeper) string {
	more := "\nRank = " + n.rank + "\nMachineMaxVacateTime = 5 * 2"
	if runs == nil {
		return more
	}
	more += fmt.Sprintf("\nMyCurrentTime = %d\nRemoteUser = \"%s@test\"\nCurrentRank = %f\nRetirementTimeRemaining = %d\n"+
		"TotalJobRunTime = %d", w.now, runs.owner, w.rankOf(n, runs), max(0, n.retires-(w.now-runs.began)), w.now-runs.began)
	if n.victim == runs {
		more += fmt.Sprintf("\nPreemptingUser = \"%s@test\"\nPreemptingRank = %f", n.heir.owner, w.rankOf(n, n.heir))
	}
	return more
}

// partClaim is the claim id of a dynamic slot, by the job that has it: another one whenever one waits there.
func (n *node) partClaim(j *sleeper) int { return 1000*(1+n.heirs) + int(j.cluster) }

// makeRoom ends the jobs of the dynamic slots whose claims came with that of the partitionable one.
func (n *node) makeRoom(w *world, claims []string) {
	for _, j := range w.jobs {
		if n.parts[j] > 0 && slices.Contains(claims, w.claimOf(n, n.partClaim(j))) {
			w.vacate(j)
			j.status = 1
		}
	}
}

// part returns the job on a dynamic slot.
func (n *node) part(w *world, name string) *sleeper {
	k := 0
	for _, j := range w.jobs {
		for range n.parts[j] {
			if k++; fmt.Sprintf("slot1_%d@%s", k, n.name) == name {
				return j
			}
		}
	}
	return nil
}

// rankOf is how much a node prefers a job.
func (w *world) rankOf(n *node, j *sleeper) float64 {
	slot, err := classad.ParseOld("Rank = " + n.rank)
	require.NoError(w.t, err)
	job, err := classad.ParseOld(j.ad())
	require.NoError(w.t, err)
	return classad.Pair{Left: job, Right: slot}.RightRank()
}

// waitFor has a job wait for the slot that another has, and not any more one that the startd prefers less.
func (n *node) waitFor(w *world, victim, j *sleeper) {
	if n.victim == victim && n.heir != nil {
		refused := n.heir
		if w.rankOf(n, j) < w.rankOf(n, n.heir) {
			refused = j
		}
		if refused.wants, refused.begins = nil, 0; refused == j {
			return
		}
	}
	n.heirs++
	n.heir, n.victim, n.leaves = j, victim, max(w.now+3, victim.began+n.retires)
	j.begins = n.leaves
}

// makeWay ends the job for which another waits.
func (n *node) makeWay(w *world) {
	if n.heir == nil || w.now < n.leaves {
		return
	}
	w.vacate(n.victim)
	n.victim.status = 1
	n.heir, n.victim = nil, nil
}

func (j *sleeper) ad() string {
	universe := 5
	ad := ""
	if j.nodes > 1 {
		universe = 11
		ad = "Scheduler = \"DedicatedScheduler@schedd@test\"\n"
	}
	ad += fmt.Sprintf("ClusterId = %d\nProcId = %d\nUser = \"%s@test\"\nOwner = \"%s\"\nJobUniverse = %d\n"+
		"JobStatus = %d\nQDate = %d\nMinHosts = %d\nMaxHosts = %d\nRequestCpus = %d\nRequestMemory = %d\n"+
		"Requirements = TARGET.Arch == \"X86_64\"",
		j.cluster, j.proc, j.owner, j.owner, universe, j.status, j.submit, j.nodes, j.nodes, j.cpus, j.memory)
	if j.group != "" {
		ad += fmt.Sprintf("\nAccountingGroup = %q", j.group)
	}
	if j.estimate > 0 {
		ad += fmt.Sprintf("\nAllowedExecuteDuration = %d", j.estimate)
	}
	if j.status == 2 {
		var hosts []string
		for n, chunks := range j.at {
			for i := range chunks {
				if n.static {
					hosts = append(hosts, "slot1@"+n.name)
					continue
				}
				hosts = append(hosts, fmt.Sprintf("slot1_%d@%s", i+1, n.name))
			}
		}
		if j.loan != nil {
			hosts = []string{j.loan.name}
		}
		slices.Sort(hosts)
		name := "RemoteHost"
		if j.nodes > 1 {
			name = "RemoteHosts"
		}
		ad += fmt.Sprintf("\n%s = \"%s\"\nJobCurrentStartDate = %d", name, strings.Join(hosts, ","), j.began)
	}
	return ad + j.extra
}
