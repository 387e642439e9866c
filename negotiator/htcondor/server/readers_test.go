package server_test

import (
	"bytes"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/server"
)

// TestTooManyAnswers checks that readers of the oldest of too many answers are cut off, all of them
// and once.
func TestTooManyAnswers(t *testing.T) {
	var r server.Readers
	cuts := make([]int, 6)
	var ends []func()
	begin := func(answer int) { ends = append(ends, r.Begin(answer, func() { cuts[answer]++ })) }
	for _, answer := range []int{0, 0, 1, 2, 3, 3} {
		begin(answer)
	}
	require.Equal(t, []int{0, 0, 0, 0, 0, 0}, cuts)
	begin(4)
	require.Equal(t, []int{2, 0, 0, 0, 0, 0}, cuts)
	for _, done := range ends {
		done()
	}
	for answer := range 4 {
		begin(answer)
	}
	require.Equal(t, []int{2, 0, 0, 0, 0, 0}, cuts, "the others have ended")
	ends[len(ends)-3]() // that of 1
	begin(5)
	require.Equal(t, []int{2, 0, 0, 0, 0, 0}, cuts, "there is room")
	begin(1)
	require.Equal(t, []int{3, 0, 0, 0, 0, 0}, cuts)
}

// large is an accountant with a long report.
type large struct {
	*book
	report []byte
}

func (l large) Report(bool) []byte { return l.report }

// TestReadersOfReportsShareThem checks that those who ask for the report of condor_userprio and read
// nothing of it cost no memory.
func TestReadersOfReportsShareThem(t *testing.T) {
	const readers = 40
	accounts := large{&book{}, bytes.Repeat([]byte("Name1 = \"alice@pool.test\"\n"), 400_000)}
	a := listen(t, &server.Port{Security: guard(), Handlers: (&server.Negotiator{Accountant: accounts}).Handlers()})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range readers {
		s, err := as("eve").Start(t.Context(), a, 451, nil)
		require.NoError(t, err)
		defer s.Close()
		n, err := s.Int()
		require.NoError(t, err)
		require.EqualValues(t, 400_000, n)
	}
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(readers*len(accounts.report)/10))
}
