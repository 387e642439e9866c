package pools_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim/input/pools"
)

// BenchmarkRead reads a description of 10,000 slots in two classes.
func BenchmarkRead(b *testing.B) {
	const text = "classes:\n  - {name: node, count: 9900, cpus: 32, memory: 128GiB}\n" +
		"  - {name: fat, count: 100, cpus: 64, memory: 1TiB, gpus: 2, attributes: {HasX: true}, start: TARGET.Owner " +
		"!= \"guest\"}\n" +
		"failures:\n  - {mtbf: 30d, mttr: 4h}\n"
	for b.Loop() {
		pool, err := pools.Read(strings.NewReader(text), "bench.yaml")
		require.NoError(b, err)
		require.Len(b, pool.Slots, 10_000)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/10_000, "ns/slot")
}
