package matchmaker

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/integration/thorough"
)

func init() { thorough.Properties(40) }

// ad reads one ad in the line form; semicolons stand for ends of lines.
func ad(tb testing.TB, text string) *classad.ClassAd {
	tb.Helper()
	read, err := classad.ParseOld(strings.ReplaceAll(text, ";", "\n"))
	require.NoError(tb, err)
	return read
}

// slotAd is of a slot of 1000 MiB that accepts every job, unless more says otherwise.
func slotAd(tb testing.TB, name string, cpus int, more string) *classad.ClassAd {
	tb.Helper()
	return ad(tb, fmt.Sprintf("Name = %q; Cpus = %d; Memory = 1000; Requirements = true; %s", name, cpus, more))
}

// jobAd is of a job that accepts every slot, unless more says otherwise.
func jobAd(tb testing.TB, more string) *classad.ClassAd {
	tb.Helper()
	return ad(tb, "Requirements = true; "+more)
}

// pool is a matchmaker and the numbers of its slots, by name.
type pool struct {
	*Matchmaker
	ids map[string]backfill.SlotID
}

func newPool() *pool { return newLimitedPool(Limits{}) }

// newLimitedPool is a pool in which matching is limited.
func newLimitedPool(limits Limits) *pool {
	request := func(ad *classad.ClassAd) (backfill.Vector, error) {
		cpus, _ := ad.Int("RequestCpus")
		memory, _ := ad.Int("RequestMemory")
		return backfill.Vector{cpus, memory}, nil
	}
	return &pool{New([]string{"cpus", "memory"}, request, limits, World{}), map[string]backfill.SlotID{}}
}

// add adds slots by their ads, numbered by name.
func (p *pool) add(ads ...*classad.ClassAd) (newAttributes bool) {
	slots := make([]Slot, len(ads))
	for i, slot := range ads {
		name, _ := slot.Text("Name")
		id, known := p.ids[name]
		if !known {
			id = backfill.SlotID(len(p.ids))
			p.ids[name] = id
		}
		slots[i] = Slot{ID: id, Ad: slot}
	}
	return p.Add(slots, nil)
}

// bundle is a bundle of slots of 2 cpus. It accepts jobs that no smaller one could hold.
func (p *pool) bundle(tb testing.TB, name string, slots ...string) Bundle {
	tb.Helper()
	b := Bundle{Ad: ad(tb, fmt.Sprintf("Name = %q; Cpus = %d; "+
		"Requirements = TARGET.RequestCpus <= MY.Cpus && TARGET.RequestCpus > MY.Cpus / 2", name, 2*len(slots)))}
	for _, slot := range slots {
		b.Slots = append(b.Slots, p.ids[slot])
	}
	return b
}

// clusterOf is the number of the autocluster of a job of eve.
func (p *pool) clusterOf(tb testing.TB, a *classad.ClassAd) int {
	tb.Helper()
	return p.clusterFor(tb, "eve", a)
}

// clusterFor is the number of the autocluster of a user's job.
func (p *pool) clusterFor(tb testing.TB, user string, a *classad.ClassAd) int {
	tb.Helper()
	c, err := p.Cluster(a, user)
	require.NoError(tb, err)
	return c.ID
}

// match matches, and returns what has changed.
func (p *pool) match(tb testing.TB) []backfill.CandidateSet {
	tb.Helper()
	changed, err := p.Match(context.Background(), 0)
	require.NoError(tb, err)
	return changed
}

// candidates are those of an autocluster, up to date.
func (p *pool) candidates(id int) backfill.Candidates {
	_, _ = p.Match(context.Background(), 0)
	return p.clusters[id].candidates
}
