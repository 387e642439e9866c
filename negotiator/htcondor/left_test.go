package htcondor

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/condor-backfill/condor-backfill/negotiator"
)

// Whatever stands in the file, the negotiator begins: with it, or without.
func TestAnyLeft(t *testing.T) {
	w := newWorld(t, "conservative", mixed()...)
	for i := range 12 {
		w.submit(&sleeper{cpus: 2 + int64(i%3), nodes: 1 + i%2, seconds: 100, estimate: 100})
	}
	w.pass(12)
	data, err := json.Marshal(w.pool.Left(w.n.Memory()))
	require.NoError(t, err)
	refused := 0
	rapid.Check(t, func(rt *rapid.T) {
		left := &Left{}
		require.NoError(t, json.Unmarshal([]byte(mangle(rt, string(data))), left))
		memory, err := w.pool.Open(t.Context(), left)
		require.NoError(t, err)
		config := w.config()
		if w.n, err = negotiator.Restore(config, memory); err != nil {
			refused++
			_, err = w.pool.Open(t.Context(), nil)
			require.NoError(t, err)
			w.n, err = negotiator.New(config)
			require.NoError(t, err)
		}
		w.calm = false
		for range 3 {
			w.now++
			w.publish()
			w.cycle()
		}
		require.Equal(t, 12, w.n.State().RunningJobs()+w.n.State().Waiting()+w.n.State().Held())
	})
	t.Log(refused, "were refused")
}

// mangle replaces, repeats or drops some of the numbers and objects of a text.
func mangle(rt *rapid.T, text string) string {
	tokens := strings.SplitAfter(text, ",")
	for range rapid.IntRange(0, 6).Draw(rt, "changes") {
		i := rapid.IntRange(0, len(tokens)-1).Draw(rt, "at")
		token := tokens[i]
		colon := strings.LastIndexByte(token, ':')
		if end := strings.IndexAny(token[colon+1:], ",]}"); colon >= 0 && end > 0 && token[colon+1] != '"' && token[colon+1] != '[' && token[colon+1] != 't' && token[colon+1] != 'f' {
			number := rapid.SampledFrom([]string{"0", "-1", "1", "2", "1700000000", "1700000500", "9007199254740993", "-9000000000000000000", "4611686018427387904"}).Draw(rt, "number")
			tokens[i] = token[:colon+1] + number + token[colon+1+end:]
		}
	}
	return strings.Join(tokens, "")
}
