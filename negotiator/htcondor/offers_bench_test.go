package htcondor

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/client"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/fakes"
)

// What it costs to look at the slots that are to be matched, of 10,000 with ads as large
// as real ones. The collector's part is a fake's; the bytes are what they are.
func BenchmarkOffers(b *testing.B) {
	const slots = 10_000
	collector := fakes.NewCollector(b)
	var ads, private []*classad.ClassAd
	for i := range slots {
		ad, err := classad.ParseOld(fmt.Sprintf("Name = \"slot1@node%04d.cluster.test\"\nMyAddress = \"<n%d>\"\nState = \"Unclaimed\"\nCpus = 8\nMemory = 8192\nRequirements = true", i, i))
		require.NoError(b, err)
		for k := range 150 {
			ad.SetString(fmt.Sprintf("SomeAttribute%d", k), "of a value as they have them")
		}
		ads = append(ads, ad)
		ad, err = classad.ParseOld(fmt.Sprintf("Name = \"slot1@node%04d.cluster.test\"\nMyAddress = \"<n%d>\"\nClaimId = \"<n%d>#1#1#[]secret\"", i, i, i))
		require.NoError(b, err)
		private = append(private, ad)
	}
	collector.SetAds("Machine", ads...)
	collector.SetAds("MachinePrivate", private...)
	schema := negotiator.DefaultSchema()
	schema.Resources = []string{"cpus", "memory", Claims}
	p := New(Settings{
		Collector: &client.Collector{Security: fakes.Client(), Addresses: []cedar.Address{collector.Address()}},
		Schema:    schema, Clock: func() time.Time { return time.Unix(1_700_000_000, 0) }, Patience: 10 * time.Minute,
	})
	for i := range slots {
		p.slots[strconv.Itoa(i)] = &slot{}
	}
	for _, n := range []int{10, 200, 1000, 5000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			f := &flight{}
			for i := range n {
				f.rest = append(f.rest, place{fmt.Sprintf("slot1@node%04d.cluster.test", i*(slots/n)), 1})
			}
			for b.Loop() {
				offers, err := p.offers(b.Context(), []*flight{f})
				require.NoError(b, err)
				require.Len(b, offers, n)
			}
		})
	}
}
