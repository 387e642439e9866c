package cedar_test

import (
	"net"
	"testing"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
)

// BenchmarkAccepted is what a connection takes before its peer has said a word.
func BenchmarkAccepted(b *testing.B) {
	ours, theirs := net.Pipe()
	b.Cleanup(func() { _, _ = ours.Close(), theirs.Close() })
	b.ReportAllocs()
	for b.Loop() {
		cedar.NewStream(ours, 0)
	}
}
