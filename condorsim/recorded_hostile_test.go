package condorsim_test

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/negotiator/record"
	"github.com/condor-backfill/condor-backfill/negotiator/record/recordv1"
	"github.com/condor-backfill/condor-backfill/negotiator/record/replay"
)

// TestAnAnonymousRecordOfHeldJobs: why jobs are held, and whom the policy's options limit, decides alike under
// pseudonyms, even where users, groups and commands are called like the words of which reasons are made.
func TestAnAnonymousRecordOfHeldJobs(t *testing.T) {
	users := []string{"which", "fits", "time", "needs", "more"}
	var jobs []workload.Job
	for i := range 60 {
		jobs = append(jobs, workload.Job{
			Submit: int64(i) * 20, Run: 100, Procs: 1 + int64(i%5), User: users[i%len(users)], Queue: "can be",
		})
	}
	for policy, options := range map[string]map[string]string{
		"slack": nil,
		"maui":  {"usercfg": "[fits] MAXPROC=2,3 [needs] MAXJOB=1,2 [DEFAULT] MAXPROC=3,4"},
	} {
		w := onDescribed(t, "classes: [{name: node, cpus: 4, count: 3}]\npack: {chunk_cpus: 4}\nlimits: {matlab: 3}\n", jobs...)
		for i := range w.Jobs {
			if i%7 == 0 {
				w.Jobs[i].Ad = w.Jobs[i].Ad.Clone()
				w.Jobs[i].Ad.SetString("ConcurrencyLimits", "matlab:5")
			}
		}
		path := written(t, w, link(t, policy, options), record.Options{Anonymous: true, FileSize: 1})
		former, err := record.Former(path)
		require.NoError(t, err)
		r := replayed(t, append(former, path)...)
		require.Equal(t, len(former)+1, r.States, policy)
		require.Positive(t, r.Own)
	}
}

// FuzzReplay: whatever a record holds, a replay ends, with an error or a difference, and does not panic. An entry has
// bytes replaced: of itself, or of the state or round in it.
func FuzzReplay(f *testing.F) {
	var records [][]*recordv1.Entry
	w := recordable(f)
	for _, name := range []string{"preemption", "groups", "partitions"} {
		from, err := record.Open(written(f, w[name], link(f, "slack", nil), record.Options{}))
		require.NoError(f, err)
		var entries []*recordv1.Entry
		for len(entries) < 600 {
			entry, nextErr := from.Next()
			if nextErr != nil {
				break
			}
			entries = append(entries, entry)
		}
		from.Close()
		records = append(records, entries)
	}
	f.Add(uint8(0), uint16(0), uint16(0), uint8(0), true, []byte{})
	f.Add(uint8(1), uint16(100), uint16(5), uint8(1), true, []byte{0xff})
	f.Add(uint8(2), uint16(40), uint16(30), uint8(2), true, []byte{0xff, 0xff, 0xff, 0xff, 0x0f})
	f.Fuzz(func(t *testing.T, which uint8, at, offset uint16, drop uint8, inner bool, patch []byte) {
		entries := records[int(which)%len(records)]
		changed := int(at) % len(entries)
		mutate := func(text []byte) []byte {
			from := int(offset) % (len(text) + 1)
			return slices.Concat(text[:from], patch, text[min(len(text), from+int(drop)):])
		}
		text := []byte(record.Magic)
		for i, original := range entries {
			entry, _ := proto.Clone(original).(*recordv1.Entry)
			if i == changed && inner {
				switch e := entry.GetEntry().(type) {
				case *recordv1.Entry_Begin:
					e.Begin.Snapshot = mutate(e.Begin.GetSnapshot())
				case *recordv1.Entry_Round:
					e.Round.Settled = mutate(e.Round.GetSettled())
				}
			}
			encoded, err := entry.MarshalVT()
			require.NoError(t, err)
			if i == changed && !inner {
				encoded = mutate(encoded)
			}
			text = append(binary.AppendUvarint(text, uint64(len(encoded))), encoded...)
		}
		for _, goOn := range []bool{false, true} {
			from, err := record.NewReader(bytes.NewReader(text), "x")
			require.NoError(t, err)
			r := replay.New(replay.Options{Deciders: replay.Linked, GoOn: goOn})
			_ = r.Run(t.Context(), from) // any error will do
			if d := r.Result().First; d != nil {
				_ = condorsim.RoundAsTrace(d.State, d.Round)
				_, _ = d.Actions(d.Was), d.Actions(d.Is)
			}
			from.Close()
		}
	})
}
