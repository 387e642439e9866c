package cedar_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
)

// slotAds returns ads such as a negotiator queries, of 18 attributes each.
func slotAds(n int) []cedar.Lines {
	ads := make([]cedar.Lines, n)
	for i := range ads {
		ads[i] = fmt.Appendf(nil, `Activity = "Idle"
ConsumptionCpus = quantize(target.RequestCpus,{1})
Cpus = 8
Disk = 123456789
GPUs = 0
Machine = "node%d.pool.test"
Memory = 16384
MyAddress = "<10.0.0.1:9618?addrs=10.0.0.1-9618&alias=node%d.pool.test&noUDP&sock=startd_1_2>"
MyType = "Machine"
Name = "slot1@node%d.pool.test"
PartitionableSlot = true
Requirements = START && (WithinResourceLimits)
SlotType = "Partitionable"
SlotWeight = Cpus
Start = true
State = "Unclaimed"
TotalSlotCpus = 8
TotalSlotMemory = 16384
`, i, i, i)
	}
	return ads
}

func answer(tb testing.TB, ads []cedar.Lines, key []byte) []byte {
	tb.Helper()
	to := &sink{}
	s := cedar.NewStream(to, 0)
	if key != nil {
		require.NoError(tb, s.Encrypt(key))
	}
	for _, ad := range ads {
		s.PutInt(1)
		s.PutLines(ad)
	}
	s.PutInt(0)
	require.NoError(tb, s.Send())
	return to.said.Bytes()
}

func BenchmarkAds(b *testing.B) {
	const n = 10_000
	ads := slotAds(n)
	for name, key := range map[string][]byte{"plain": nil, "encrypted": make([]byte, cedar.KeySize)} {
		said := answer(b, ads, key)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(said)))
			var lines cedar.Lines
			for b.Loop() {
				s := cedar.NewStream(memory{said: bytes.NewReader(said)}, 0)
				if key != nil {
					require.NoError(b, s.Encrypt(key))
				}
				for range ads {
					if _, err := s.Int(); err != nil {
						b.Fatal(err)
					}
					var err error
					if lines, err = s.AppendLines(lines[:0]); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "ads/s")
		})
	}
}

func BenchmarkPut(b *testing.B) {
	ads := slotAds(1000)
	for b.Loop() {
		answer(b, ads, make([]byte, cedar.KeySize))
	}
}
