package condorsim_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/formats"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/negotiator"
	"github.com/condor-backfill/condor-backfill/negotiator/auto"
	"github.com/condor-backfill/condor-backfill/negotiator/record"
	"github.com/condor-backfill/condor-backfill/negotiator/record/recordv1"
	"github.com/condor-backfill/condor-backfill/negotiator/record/replay"
)

// written runs a workload and records it in a new folder.
func written(tb testing.TB, w *condorsim.Workload, config negotiator.Config, o record.Options,
	sinks ...negotiator.Sink,
) (path string) {
	tb.Helper()
	path = filepath.Join(tb.TempDir(), "pool.rec")
	o.Path, o.Wait = path, true
	if o.Clock == nil {
		o.Clock = func() time.Time { return time.Unix(0, 0) }
	}
	recorder, err := record.New(o, func() record.About { return record.About{Program: "test", Pool: w.Name} })
	require.NoError(tb, err)
	config.Recorder = recorder
	_, err = condorsim.Run(tb.Context(), w, config, nil, sinks...)
	require.NoError(tb, err)
	require.NoError(tb, recorder.Close())
	return path
}

// replayed replays records; nothing may differ.
func replayed(tb testing.TB, paths ...string) *replay.Result {
	tb.Helper()
	r := replay.New(replay.Options{Deciders: replay.Linked})
	for _, path := range paths {
		from, err := record.Open(path)
		require.NoError(tb, err)
		require.NoError(tb, r.Run(tb.Context(), from), path)
		from.Close()
	}
	if d := r.Result().First; d != nil {
		require.Equal(tb, d.Actions(d.Was), d.Actions(d.Is), "%v", d)
	}
	return r.Result()
}

// recordable are workloads in which all happens that a record has a word for.
func recordable(tb testing.TB) map[string]*condorsim.Workload {
	tb.Helper()
	plain, err := condorsim.FromTrace(madeUp(300), nil)
	require.NoError(tb, err)
	jobs := func() (list []workload.Job) {
		random := rand.New(rand.NewPCG(3, 4))
		submit := int64(0)
		for i := range 200 {
			submit += random.Int64N(60)
			run := 1 + random.Int64N(400)
			list = append(list, workload.Job{
				Submit: submit, Run: run, Estimate: run + random.Int64N(300), Procs: 1 + random.Int64N(4),
				User: []string{"ann", "bob", "cy"}[i%3], Queue: []string{"main", "spare"}[i%5/4],
			})
		}
		return list
	}
	const nodes = "classes: [{name: node, cpus: 4, count: 5}]\npack: {chunk_cpus: 4}\n"
	all := map[string]*condorsim.Workload{
		"plain":      plain,
		"failing":    onDescribed(tb, nodes+"failures: [{mtbf: 3000, mttr: 200}]\n", jobs()...),
		"preemption": onDescribed(tb, nodes+"preemption: {rank: 'TARGET.Owner == \"ann\"', vacate: 5}\n", jobs()...),
		"scavengers": onDescribed(tb, nodes+"scavengers: {queues: [spare]}\n", jobs()...),
		"groups":     onDescribed(tb, nodes+"groups: [{name: lab, quota: 8, users: [ann]}]\n", jobs()...),
		"partitions": tiny(tb, nil, func() (list []workload.Job) {
			for _, j := range madeUp(150).Jobs {
				j.Procs, j.Estimate = min(j.Procs, 16), max(j.Estimate, j.Run)
				list = append(list, j)
			}
			return list
		}()...),
	}
	return all
}

// TestARecordReplays: whatever happens in a pool, all decisions of a record are made again, and lead to the same
// state.
func TestARecordReplays(t *testing.T) {
	for name, w := range recordable(t) {
		for _, policy := range []string{"easy", "conservative", "slack", "pc", "ibb"} {
			t.Run(name+"/"+policy, func(t *testing.T) {
				t.Parallel()
				r := replayed(t, written(t, w, link(t, policy, nil), record.Options{}))
				require.Equal(t, 1, r.States, "whole states compared")
				require.Equal(t, 1, r.Begins)
				require.Greater(t, r.Own, 100)
				require.Equal(t, []string{policy}, r.Policies)
				require.Zero(t, r.Different)
				require.False(t, r.Torn)
			})
		}
	}
}

// TestARecordOfChanges: the policies that a pool chooses one after the other decide again as they did.
func TestARecordOfChanges(t *testing.T) {
	w, err := condorsim.FromTrace(madeUp(300), nil)
	require.NoError(t, err)
	chooser, err := auto.New(map[string]string{
		"every": "600", "gain": "0", "lift": "0", "work": "0", "window": "1800", "base": "7200",
		"portfolio": "easy:sjf slack:sjf slack:fcfs slack:wfp dc:wfp pc:sjf",
	}, 1, nil)
	require.NoError(t, err)
	config := link(t, "easy", nil)
	chooser.TakeCharge(&config)
	r := replayed(t, written(t, w, config, record.Options{}, chooser))
	require.Greater(t, r.Changes, 1)
	require.Greater(t, len(r.Policies), 2)
	require.Equal(t, 1, r.States)
}

// sometimesFailing fails to decide every seventh round.
type sometimesFailing struct {
	*backfill.Linked
	rounds int
}

func (f *sometimesFailing) Decide(ctx context.Context, t *backfill.Transaction) error {
	if f.rounds++; f.rounds%7 == 0 {
		return errors.New("not today")
	}
	return f.Linked.Decide(ctx, t)
}

// TestARecordOfRefusedDecisions: where the policy failed the fallback decides again, with the reason beside it.
func TestARecordOfRefusedDecisions(t *testing.T) {
	w, err := condorsim.FromTrace(madeUp(300), nil)
	require.NoError(t, err)
	for _, policy := range []string{"easy", "slack"} {
		config := link(t, policy, nil)
		config.Policy = &sometimesFailing{Linked: config.Policy.(*backfill.Linked)}
		config.Refused = nil
		path := written(t, w, config, record.Options{})
		r := replayed(t, path)
		require.Greater(t, r.FellBack, 20)
		require.Equal(t, 1, r.States)
		from, err := record.Open(path)
		require.NoError(t, err)
		refused := 0
		for {
			entry, err := from.Next()
			if err != nil {
				break
			}
			if round := entry.GetRound(); round.GetRefused() != "" {
				refused++
				require.Equal(t, "not today", round.GetRefused())
				require.False(t, round.GetOwn())
			}
		}
		from.Close()
		require.Equal(t, r.FellBack, refused)
	}
}

// TestAnotherPolicyDiffers: the first decision that another policy makes otherwise is shown with its state, which
// an instance plays alone; and the record goes on behind it.
func TestAnotherPolicyDiffers(t *testing.T) {
	w, err := condorsim.FromTrace(madeUp(300), nil)
	require.NoError(t, err)
	path := written(t, w, link(t, "easy", nil), record.Options{})
	other := func(ctx context.Context, p *recordv1.Policy, resources []string) (main, fallback backfill.Decider, err error) {
		p.Name = "fcfs"
		return replay.Linked(ctx, p, resources)
	}
	counts := map[bool]int{}
	for _, goOn := range []bool{false, true} {
		from, err := record.Open(path)
		require.NoError(t, err)
		r := replay.New(replay.Options{Deciders: other, GoOn: goOn})
		require.NoError(t, r.Run(t.Context(), from))
		from.Close()
		d := r.Result().First
		require.NotNil(t, d)
		require.NotEqual(t, d.Was, d.Is)
		require.ErrorContains(t, d, "policy fcfs: action")
		counts[goOn] = r.Result().Different
		require.Contains(t, strings.Join(append(d.Actions(d.Was), d.Actions(d.Is)...), " "), " on machine×1")
		trace := condorsim.RoundAsTrace(d.State, d.Round)
		instance := filepath.Join(t.TempDir(), "round.json")
		var text bytes.Buffer
		require.NoError(t, trace.WriteInstance(&text))
		require.NoError(t, os.WriteFile(instance, text.Bytes(), 0o600))
		read, err := workload.OpenInstance(instance)
		require.NoError(t, err)
		alone, err := condorsim.FromTrace(read.Trace, nil)
		require.NoError(t, err)
		_, err = condorsim.Run(t.Context(), alone, link(t, "easy", nil), nil)
		require.NoError(t, err)
	}
	require.Equal(t, 1, counts[false])
	require.Greater(t, counts[true], 10)
}

// TestARecordInFiles: a record goes on in another file when one is full, each of which can be replayed alone; all
// of them together are bounded.
func TestARecordInFiles(t *testing.T) {
	w, err := condorsim.FromTrace(madeUp(20_000), nil)
	require.NoError(t, err)
	now := time.Unix(1_800_000_000, 0)
	o := record.Options{FileSize: 1, Clock: func() time.Time { return now }}
	path := written(t, w, link(t, "easy", nil), o)
	former, err := record.Former(path)
	require.NoError(t, err)
	require.Greater(t, len(former), 5)
	require.Equal(t, path+".20270115T080000Z", former[0])
	require.Equal(t, path+".20270115T080000Z-2", former[1])
	all := append(former, path)
	r := replayed(t, all...)
	require.Equal(t, len(all), r.Begins)
	require.Equal(t, len(all), r.States)
	whole := replayed(t, written(t, w, link(t, "easy", nil), record.Options{}))
	require.Equal(t, whole.Rounds, r.Rounds)
	require.Equal(t, whole.Actions, r.Actions)
	require.Equal(t, 1, replayed(t, all[3]).States)

	var joined []byte
	total := int64(0)
	for _, name := range all {
		text, readErr := os.ReadFile(name)
		require.NoError(t, readErr)
		joined = append(joined, text...)
		total += int64(len(text))
	}
	one := filepath.Join(t.TempDir(), "joined.rec")
	require.NoError(t, os.WriteFile(one, joined, 0o600))
	require.Equal(t, r.Rounds, replayed(t, one).Rounds, "joined with cat")

	o.Total = total / 2
	path = written(t, w, link(t, "easy", nil), o)
	fewer, err := record.Former(path)
	require.NoError(t, err)
	require.Less(t, len(fewer), len(former))
	require.NotEmpty(t, fewer)
	kept := int64(0)
	for _, name := range append(fewer, path) {
		info, statErr := os.Stat(name)
		require.NoError(t, statErr)
		kept += info.Size()
	}
	require.LessOrEqual(t, kept, o.Total)
	replayed(t, append(fewer, path)...)
}

// TestARecordThatWasCutOff: wherever what writes a record is killed, it reads up to its last whole frame.
func TestARecordThatWasCutOff(t *testing.T) {
	w, err := condorsim.FromTrace(madeUp(6_000), nil)
	require.NoError(t, err)
	path := written(t, w, link(t, "easy", nil), record.Options{})
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	whole := replayed(t, path)
	random := rand.New(rand.NewPCG(5, 6))
	cut, most := filepath.Join(t.TempDir(), "cut.rec"), 0
	for range 30 {
		at := 1 + random.IntN(len(text)-1)
		require.NoError(t, os.WriteFile(cut, text[:at], 0o600))
		from, err := record.Open(cut)
		if err != nil {
			require.ErrorContains(t, err, cut)
			continue
		}
		r := replay.New(replay.Options{Deciders: replay.Linked})
		require.NoError(t, r.Run(t.Context(), from), "cut at %d of %d", at, len(text))
		from.Close()
		require.Nil(t, r.Result().First)
		require.Less(t, r.Result().Rounds, whole.Rounds)
		most = max(most, r.Result().Rounds)
	}
	require.Greater(t, most, whole.Rounds/2)
}

// TestADamagedRecord: a record in which bits have changed is an error, or reads as it was.
func TestADamagedRecord(t *testing.T) {
	w, err := condorsim.FromTrace(madeUp(500), nil)
	require.NoError(t, err)
	path := written(t, w, link(t, "slack", nil), record.Options{})
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	random := rand.New(rand.NewPCG(7, 8))
	damaged, wrong := filepath.Join(t.TempDir(), "damaged.rec"), 0
	for range 60 {
		bad := bytes.Clone(text)
		bad[random.IntN(len(bad))] ^= 1 << random.IntN(8)
		require.NoError(t, os.WriteFile(damaged, bad, 0o600))
		from, err := record.Open(damaged)
		if err == nil {
			r := replay.New(replay.Options{Deciders: replay.Linked})
			err = r.Run(t.Context(), from)
			from.Close()
			if err == nil && (r.Result().Torn || r.Result().First != nil) {
				wrong++
			}
		}
		if err != nil {
			require.ErrorContains(t, err, damaged)
			wrong++
		}
	}
	require.Greater(t, wrong, 50)
}

// TestTheSameRecord: the same simulation makes the same bytes.
func TestTheSameRecord(t *testing.T) {
	var texts [2][]byte
	for i := range texts {
		w := recordable(t)["groups"]
		text, err := os.ReadFile(written(t, w, link(t, "slack", nil), record.Options{}))
		require.NoError(t, err)
		texts[i] = text
	}
	require.Equal(t, texts[0], texts[1])
}

// TestARecordOfKTH: the real trace, to the last byte.
func TestARecordOfKTH(t *testing.T) {
	read, err := formats.ReadFile(shared+"/traces/KTH-SP2-1996-2.1-cln.swf.gz", formats.Options{})
	if err != nil {
		t.Skipf("skipped: a record of KTH-SP2; %v", err)
	}
	w, err := condorsim.FromTrace(read.Trace, nil)
	require.NoError(t, err)
	path := written(t, w, link(t, "slack", nil), record.Options{})
	r := replayed(t, path)
	require.Equal(t, 1, r.States)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Less(t, info.Size()/int64(r.Events), int64(60), "bytes an event")
}

// TestAnAnonymousRecord: a record with pseudonyms decides alike, names nobody, and has the same pseudonyms the next
// time.
func TestAnAnonymousRecord(t *testing.T) {
	for name, w := range recordable(t) {
		for i := range w.Jobs {
			w.Jobs[i].Ad = w.Jobs[i].Ad.Clone()
			w.Jobs[i].Ad.SetString("Iwd", "/home/"+w.Jobs[i].User+"/secret\\project")
		}
		path := written(t, w, link(t, "slack", nil), record.Options{Anonymous: true})
		r := replayed(t, path)
		require.Equal(t, 1, r.States, name)
		texts := func() (all string) {
			from, err := record.Open(path)
			require.NoError(t, err)
			defer from.Close()
			for {
				entry, err := from.Next()
				if err != nil {
					return all
				}
				text, err := entry.MarshalVT()
				require.NoError(t, err)
				all += string(text)
			}
		}
		text := texts()
		require.Contains(t, text, "/word", name)
		for _, secret := range []string{"ann", "bob", "home", "secret", "project", "node1", "lab"} {
			require.NotContains(t, text, secret, name)
		}
		recorder, err := record.New(record.Options{Path: path, Anonymous: true, Replace: true, Wait: true, Clock: func() time.Time {
			return time.Unix(0, 0)
		}}, func() record.About { return record.About{Program: "test", Pool: w.Name} })
		require.NoError(t, err)
		config := link(t, "slack", nil)
		config.Recorder = recorder
		_, err = condorsim.Run(t.Context(), w, config, nil)
		require.NoError(t, err)
		require.NoError(t, recorder.Close())
		require.Equal(t, text, texts(), name)
		info, err := os.Stat(path + record.NamesEnd)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	}
}

// TestADifferenceNamesNewSlots: a slot that comes up in the round that differs is named as well.
func TestADifferenceNamesNewSlots(t *testing.T) {
	d := &replay.Difference{Round: backfill.Round{Events: []backfill.Event{
		{Kind: backfill.SlotAdded, Slot: backfill.Slot{ID: 3, Name: "n3"}},
	}}}
	start := backfill.Action{Kind: backfill.ActStart, Job: 7, Placement: backfill.Placement{{Slot: 3, Count: 2}}}
	require.Equal(t, []string{"start 7 on n3×2"}, d.Actions([]backfill.Action{start}))
}
