package htcondor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/integration/poll"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/fakes"
)

// take does what the schedd and the startd do with a match.
func (w *world) take(m fakes.Match) {
	for name := range m.Ad.All() {
		if classad.Private(name) {
			w.failed = append(w.failed, "a private attribute was passed on: "+name)
		}
	}
	lease := ""
	lock, locks := m.Ad.Lookup("RestrictToAuthenticatedIdentity")
	start, lent := m.Ad.Lookup("NegotiatorMatchExprBackfillLease")
	switch {
	case lent:
		lease = start.String()
	case !locks:
		w.failed = append(w.failed, "a match is neither locked to its job nor lent")
		return
	case lock.String() != "true":
		lease = "!(" + lock.String() + ")"
	}
	name, _ := m.Ad.Text("Name")
	ids := strings.Split(m.Claim, " ")
	if m.Claim = ids[0]; len(ids) > 1 {
		ids = ids[:len(ids)-1] // schedds do not see the last one without a blank behind
	}
	n := w.node(name)
	var j, victim *sleeper
	for _, one := range w.nodes {
		if part := one.part(w, name); n == nil && part != nil {
			n, victim = one, part
		}
	}
	for _, s := range w.jobs {
		if s.cluster == m.Cluster && s.proc == m.Proc {
			j = s
		}
	}
	if w.robs && j != nil && j.nodes > 1 {
		j = w.firstGang(j)
	}
	switch {
	case n == nil || j == nil:
		w.failed = append(w.failed, fmt.Sprintf("a match of %d.%d with %s", m.Cluster, m.Proc, name))
		return
	case n.asleep:
		w.failed = append(w.failed, fmt.Sprintf("a match of %d.%d with %s, which sleeps", m.Cluster, m.Proc, name))
		return
	case w.curbs:
		w.failed = append(w.failed, fmt.Sprintf("a match of %d.%d, and its schedd wants none", m.Cluster, m.Proc))
		return
	case victim == nil && !slices.Contains(strings.Fields(w.claims(n)), m.Claim):
		return // the claim is stale: the startd refuses it
	case w.most > 0 && len(j.wants) == 0 && w.running()+w.hidden >= w.most:
		return // in silence
	case m.Submitter != j.submitter():
		w.failed = append(w.failed, fmt.Sprintf("%s was negotiated for %s", m.Submitter, j.submitter()))
	}
	if j.status != 1 || j.done { // it has been taken away meanwhile, or runs on a claim that was lent
		if j = w.instead(j, n, lease); j == nil {
			return
		}
	}
	if len(j.wants) == 0 {
		if j.matched == w.now && j.fate == dropped {
			return
		}
		if j.matched != 0 && w.now-j.matched < 30 {
			w.failed = append(w.failed, fmt.Sprintf("%d.%d was matched at %d and again at %d", j.cluster, j.proc,
				j.matched, w.now))
		}
		if j.matched, j.fate = w.now, w.fate(j); j.fate != dropped {
			j.wants, j.ids = map[*node]int{}, map[*node][]string{}
		}
	}
	if n.refuses && j.fate == works {
		j.fate = fails
	}
	if j.fate == dropped {
		return
	}
	if j.chunks() == j.nodes {
		return // it is being claimed for already
	}
	n.makeRoom(w, ids[1:])
	j.wants[n]++
	j.lease = lease
	j.ids[n] = append(j.ids[n], m.Claim)
	n.ids = slices.DeleteFunc(n.ids, func(id int) bool { return w.claimOf(n, id) == m.Claim })
	switch j.begins = w.now; j.fate {
	case slow:
		j.begins += 7
	case crawls:
		j.begins += 40
	case works, fails, dropped:
	}
	if n.rank != "" && j.fate == works {
		for runs := range n.parts {
			if n.static || runs == victim {
				n.waitFor(w, runs, j)
			}
		}
	}
}

// step lets a second pass.
func (w *world) step() {
	w.t.Helper()
	poll.Equal(w.t, w.granted+w.pool.claims.Counts().Granted, func() int { return len(w.schedd.Matches()) })
	for name := range w.pool.last.Schedds { // real time is to be over, too, when the second is
		if w.pool.dispatcher.Status(name).Releasing {
			poll.Equal(w.t, true, func() bool { return w.pool.dispatcher.Status(name).Answered })
		}
	}
	for _, m := range w.schedd.Matches()[w.taken:] {
		w.take(m)
		w.taken++
	}
	w.now++
	for _, n := range w.nodes {
		n.lingering = slices.DeleteFunc(n.lingering, func(l lingering) bool { return l.until <= w.now })
		n.makeWay(w)
	}
	w.giveBack()
	for _, j := range w.jobs {
		switch {
		case j.status == 2 && w.now >= j.began+j.seconds:
			if !w.calm && j.nodes > 1 && j.cluster%3 == 0 {
				for n := range j.at {
					for _, id := range j.ids[n] {
						n.lingering = append(n.lingering, lingering{j.cpus, j.takes(n), w.now + 45, id})
					}
				}
			}
			loan := j.loan
			w.vacate(j)
			if j.done, j.status = true, 4; loan != nil {
				w.reuse(loan)
			}
		case j.status == 1 && j.begins != 0 && w.now > j.begins && (j.chunks() == j.nodes || w.now > j.begins+60):
			w.begin(j)
		}
	}
	w.publish()
}

// begin starts a job on its claims, if its startds can still give what it needs.
func (w *world) begin(j *sleeper) {
	wants, count := j.wants, j.chunks()
	j.begins, j.wants = 0, nil
	if j.fate == fails || count < j.nodes && !w.calm {
		return
	}
	for n, chunks := range wants {
		cpus, memory := n.free()
		taken := n.static && len(n.parts)+len(n.lingering)+len(n.loans) > 0
		if n.down || taken || cpus < j.cpus*int64(chunks) || memory < j.takes(n)*int64(chunks) {
			return
		}
	}
	if count != j.nodes {
		w.failed = append(w.failed, fmt.Sprintf("%d of %d nodes were given to %d.%d", count, j.nodes, j.cluster,
			j.proc))
		return
	}
	if j.lease != "" {
		for n := range wants {
			w.lend(j, n)
		}
		return
	}
	for n, chunks := range wants {
		n.parts[j] = chunks
	}
	j.at, j.status, j.began, j.matched = wants, 2, w.now, 0
	j.runs++
}

func (w *world) vacate(j *sleeper) {
	for n := range j.at {
		delete(n.parts, j)
	}
	if j.loan != nil {
		j.loan.give()
	}
	j.at, j.loan = nil, nil
}

// running counts the jobs that have a shadow, or are about to get one.
func (w *world) running() (n int) {
	for _, j := range w.jobs {
		if j.status == 2 || len(j.wants) > 0 {
			n++
		}
	}
	return n
}

func (w *world) scheddAd() string {
	ad := w.schedd.Ad()
	if w.most > 0 {
		ad += fmt.Sprintf("MaxJobsRunning = %d\nTotalRunningJobs = %d\n", w.most, w.running()+w.hidden)
	}
	if w.curbs {
		ad += "CurbMatchmaking = true\n"
	}
	return ad
}

// kill ends a startd with all that runs there; its ads stay for a while.
func (w *world) kill(n *node) {
	n.down, n.loans = true, nil
	for _, j := range w.jobs {
		if j.at[n] > 0 || j.loan != nil && j.loan.on == n {
			w.vacate(j)
			j.status = 1
		}
	}
}

// publish puts the pool as it was a second ago into the collector, and the queue as it is into the
// schedd.
func (w *world) publish() {
	var slots, private []string
	for _, n := range w.nodes {
		if n.shown != "" && !n.hidden {
			slots = append(slots, strings.Split(n.shown, "\n\n")...)
			private = append(private, strings.Split(n.shownClaims, "\n\n")...)
		}
		if n.shown, n.shownClaims = "", ""; !n.down {
			n.shown, n.shownClaims = n.ads(w)
		}
	}
	w.collector.Set("Machine", append(slots, w.odd["Machine"]...)...)
	w.collector.Set("MachinePrivate", append(private, w.odd["MachinePrivate"]...)...)
	var jobs []string
	idle := map[string]int{}
	for _, j := range w.jobs {
		if j.submit <= w.now && !j.done {
			jobs = append(jobs, j.ad())
			if j.status == 1 && (j.nodes == 1 || !w.mute) {
				idle[j.submitter()] += j.nodes
			} else {
				idle[j.submitter()] += 0
			}
		}
	}
	w.schedd.SetJobs(jobs...)
	if w.odd["Group"] != nil {
		var groups []*classad.ClassAd
		for i, text := range slices.Concat(w.odd["Group"], jobs) { // what is told of first is no better
			ad, err := classad.ParseOld(text)
			require.NoError(w.t, err)
			if i >= len(w.odd["Group"]) {
				cluster, _ := ad.Int("ClusterId")
				ad.SetString("JobIds", fmt.Sprintf("%d.0", cluster))
				ad.SetInt("JobCount", 1)
			}
			groups = append(groups, ad)
		}
		w.schedd.SetGroups(groups...)
	}
	var submitters []string
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for name := range idle {
			if !yield(name) {
				return
			}
		}
	}) {
		submitters = append(submitters, w.schedd.SubmitterAd(name, w.capable, idle[name], 0))
	}
	w.collector.Set("Submitter", append(submitters, w.odd["Submitter"]...)...)
	w.schedd.SetTime(w.now)
	w.schedd.SetSubmitted(int64(len(w.jobs)))
	w.collector.Set("Scheduler", append(w.strangers, w.scheddAd())...)
}
