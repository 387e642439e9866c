package condorsim

import (
	"fmt"
	"strings"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/preempt"
)

// claimedRun is a job that runs, with the claim that it has.
type claimedRun struct {
	at      negotiator.Placement
	start   backfill.Time
	number  int32            // tells the runs of a job apart
	ad      *classad.ClassAd // of the claimed slot; nil: the job has several chunks, or is a scavenger
	rank    float64          // CurrentRank
	host    string           // the slot of the plan
	slot    string           // the claimed one
	dynamic int              // its number among the dynamic ones of the host; 0: the slot is static
	leaves  bool             // it makes way
}

// claim makes the claim of a job that starts. A slot of which the job takes all that there is of a count is
// static; of another one it gets a dynamic slot as large as it requests.
func (m *making) claim(id backfill.JobID, at negotiator.Placement, number int32) *claimedRun {
	run := &claimedRun{at: at, start: m.now, number: number, host: at[0].Name(), slot: at[0].Name()}
	job, slot := &m.w.Jobs[id], at[0].Slot
	if len(at) != 1 || at[0].Count != 1 || m.w.Preemption == nil || job.Scavenger { // no expression looks at it
		return run
	}
	run.ad = slot.Ad.Clone()
	if chunk := m.chunk(id, slot); !m.w.isFull(slot.Capacity, chunk) {
		run.dynamic = m.number(run.host)
		run.slot = dynamicName(run.host, run.dynamic)
		run.ad.SetBool("DynamicSlot", true)
		for k, name := range m.w.Schema.Resources {
			run.ad.SetInt(negotiator.Attribute(name), chunk[k])
		}
	}
	run.ad.SetString("Name", run.slot)
	user := m.w.submitter(job)
	run.ad.SetString("State", "Claimed")
	run.ad.SetString("Activity", "Busy")
	run.ad.SetString("RemoteOwner", user)
	run.ad.SetString("RemoteUser", user)
	run.ad.SetString("JobId", job.Name)
	for _, since := range []string{"JobStart", "EnteredCurrentState", "EnteredCurrentActivity"} {
		run.ad.SetInt(since, m.w.UnixStart+int64(m.now))
	}
	_ = run.ad.SetExpr("TotalJobRunTime", "time() - JobStart") // which is one
	run.rank = m.rankOf(id, slot)
	run.ad.SetReal("CurrentRank", run.rank)
	return run
}

// rankOf returns how much a slot prefers a job now.
func (m *making) rankOf(id backfill.JobID, slot *negotiator.Slot) float64 {
	now := m.w.UnixStart + int64(m.now)
	host := classad.Host{Zone: m.w.Zone, Now: func() int64 { return now }}
	return classad.Pair{Left: m.w.Jobs[id].Ad, Right: slot.Ad, Host: &host, MaxSteps: classad.FewSteps}.RightRank()
}

// number returns the lowest number that no dynamic slot of a partitionable one has.
func (m *making) number(host string) int {
	if m.names[host] == nil {
		m.names[host] = map[int]bool{}
	}
	n := 1
	for m.names[host][n] {
		n++
	}
	m.names[host][n] = true
	return n
}

// dynamicName returns the name of a dynamic slot: slot1_3@n1 of slot1@n1.
func dynamicName(host string, number int) string {
	slot, machine, found := strings.Cut(host, "@")
	if !found {
		return fmt.Sprintf("slot1_%d@%s", number, host)
	}
	return fmt.Sprintf("%s_%d@%s", slot, number, machine)
}

// Claim implements [preempt.Claims].
func (m *making) Claim(id backfill.JobID) (c preempt.Claim, ok bool) {
	run := m.runs[id]
	if run != nil && m.w.Jobs[id].Scavenger {
		return preempt.Claim{
			Slot: run.slot, Host: run.host, User: m.w.Jobs[id].Submitter(), Vacate: m.w.Scavengers.Vacate, Since: run.start,
			Waited: run.leaves,
		}, true
	}
	if run == nil || run.ad == nil {
		return c, false
	}
	cpus, _ := run.ad.Int("Cpus")
	c = preempt.Claim{
		Slot: run.slot, Host: run.host, Ad: run.ad, User: m.w.submitter(&m.w.Jobs[id]), Rank: run.rank,
		Weight:     float64(cpus),
		Retirement: m.retirement(run), Vacate: m.rules.Vacate, Since: run.start, Waited: run.leaves,
		Partial: run.dynamic > 0,
	}
	if t := m.waitsFor(id); t != nil {
		c.Heir, c.User, c.Rank = &t.match.Job.ID, m.Submitter(t.match.Job.ID), t.rank
	}
	return c, true
}

// Submitter implements [preempt.Claims].
func (m *making) Submitter(id backfill.JobID) string { return m.w.submitter(&m.w.Jobs[id]) }

// Standing implements [preempt.Claims].
func (m *making) Standing(submitter string) preempt.Standing {
	switch {
	case m.rules.Standing != nil:
		return m.rules.Standing(submitter)
	case m.w.accounts != nil:
		return m.w.accounts.standing(submitter)
	default:
		return preempt.Standing{Prio: 0.5}
	}
}

// HasRoom implements [preempt.Claims].
func (m *making) HasRoom(submitter string, granted, weight float64) bool {
	switch {
	case m.rules.HasRoom != nil:
		return m.rules.HasRoom(submitter, granted, weight)
	case m.w.accounts != nil:
		return m.w.accounts.hasRoom(submitter, granted, weight)
	default:
		return true
	}
}
