package observe

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/client"
)

// list is an expression of that many names, constants and signs or a few more, unlike any other.
func list(id, tokens int) string {
	return fmt.Sprintf("size({%s%d}) >= 0", strings.Repeat("1,", tokens/2), id)
}

// TestPriceIsWhatAdsTake compares the price of ads with the memory that they take.
func TestPriceIsWhatAdsTake(t *testing.T) {
	for name, e := range map[string]string{
		"constants": list(1, 15_000), "names": strings.Repeat("a+", 7000) + "1", "ads": strings.Repeat("[]+", 5000) + "1",
		"ads with attributes": strings.Repeat("[a=1]+", 2500) + "1", "calls": strings.Repeat("f(1)+", 3000) + "1",
		"selections": strings.Repeat("a.b+", 3700) + "1", "a text": `"` + strings.Repeat("a+", 100_000) + `"`,
		"one name": strings.Repeat("a", 200_000), "strings": `{` + strings.Repeat(`"a",`, 7000) + `1}`,
	} {
		lines := cedar.Lines(strings.Replace(job(""), "Requirements = true", "Requirements = "+e, 1))
		heap := func() int {
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			return int(m.HeapAlloc)
		}
		o := quiet()
		before := heap()
		k := newIntake(question{most: maxQueue})
		require.NoError(t, k.add(lines, len(lines)))
		groups := k.all()
		g, _, err := o.readNew(groups[0].lines, "s@test")
		require.NoError(t, err)
		_ = g.Spec.Ad.Eval("Requirements", nil)
		took := heap() - before
		require.LessOrEqual(t, took, k.size+16<<10, name) // what an observer has anyway
		runtime.KeepAlive(o)
		runtime.KeepAlive(g)
		runtime.KeepAlive(groups)
	}
}

// TestManyTokens says that a job with too many names, constants and signs is not planned, is not
// even parsed, and does not hide the others of its schedd.
func TestManyTokens(t *testing.T) {
	p := newSite(t, "s@test")
	huge := strings.Replace(job("ClusterId = 2\nUser = \"mallory@test\"\n"), "Requirements = true",
		"Requirements = "+list(0, 240_000), 1)
	p.schedds[0].SetJobs(job(""), huge)
	s := p.see().Schedds["s@test"]
	_, leftOut := ids(s, "alice")
	require.Zero(t, leftOut)
	all, leftOut := ids(s, "mallory")
	require.Len(t, all, 1)
	require.Equal(t, 1, leftOut)
	require.Less(t, p.parser.Parsed(), 100)
	for _, g := range s.Groups {
		if g.Spec.leftOut {
			require.ErrorContains(t, g.Spec.Wrong, "its ad has more than 16384 names, constants and signs")
		}
	}
}

// TestIntakeCountsTokens says that ads of little text that would take much memory are bounded like
// long ones, and that a text that many ads have is paid for once.
func TestIntakeCountsTokens(t *testing.T) {
	const most = 64 << 20
	k := newIntake(question{name: "s@test", most: most})
	for i := range 2000 {
		lines := fmt.Sprintf("User = \"mallory@test\"\nJobStatus = 1\nRequirements = %s\nJobIds = \"2.%d\"\n",
			list(i, 1000), i)
		require.NoError(t, k.add(cedar.Lines(lines), len(lines)))
		require.LessOrEqual(t, k.size, most)
	}
	require.Less(t, len(k.all()), most/bytesPerToken/1000)
	k = newIntake(question{name: "s@test", most: most})
	for range 2 {
		for i := range 2000 {
			lines := fmt.Sprintf("User = \"alice@test\"\nJobStatus = 1\nQDate = %d\nRequirements = %s\nJobIds = \"2.%d\"\n",
				i, list(0, 1000), i)
			require.NoError(t, k.add(cedar.Lines(lines), len(lines)))
		}
	}
	require.Len(t, k.all(), 4000)
	require.Less(t, k.size, most/2)
}

// TestOneGreedyHost says that a host whose hundred schedds tell of endless queues takes no more
// than its half, and nothing from the schedds of others.
func TestOneGreedyHost(t *testing.T) {
	stock := newStock(16 << 20)
	begin := func(name, host string) *intake {
		k := newIntake(question{
			name: name, most: 8 << 20, stock: stock, schedd: client.Schedd{Address: cedar.Address{Host: host}},
		})
		return k
	}
	honest := begin("a@test", "10.0.0.1")
	var greedy []*intake
	for i := range 100 {
		greedy = append(greedy, begin(fmt.Sprintf("s%d@test", i), "10.0.0.2"))
	}
	add := func(k *intake, user string, i, tokens int) {
		lines := fmt.Sprintf("User = %q\nJobStatus = 1\nRequirements = %s\nJobIds = \"1.%d\"\n", user, list(i, tokens), i)
		require.NoError(t, k.add(cedar.Lines(lines), len(lines)))
		require.LessOrEqual(t, stock.size, stock.most)
		require.LessOrEqual(t, stock.hosts["10.0.0.2"].size, stock.most/2)
	}
	for i := range 1000 {
		add(greedy[i%100], "mallory@test", i, 3000)
		if i%20 == 0 {
			add(honest, "alice@test", i, 800)
		}
	}
	require.Len(t, honest.all(), 50)
	require.Zero(t, honest.surplus)
	jobs := 0
	for _, k := range greedy {
		for _, g := range k.all() {
			jobs += len(strings.Fields(string(g.ids)))
		}
		stock.end(k.share)
	}
	require.Equal(t, 1000, jobs, "none is lost")
	size := honest.size
	stock.end(honest.share)
	require.Zero(t, stock.total())
	require.ErrorIs(t, honest.add(cedar.Lines("User = \"a\"\n"), 1), errEnded)
	stock.keep("a@test", portion{host: "10.0.0.1", size: size})
	again := begin("a@test", "10.0.0.1")
	require.Zero(t, stock.total())
	stock.end(again.share)
	require.Equal(t, size, stock.total())
	stock.keep("a@test", portion{})
	require.Zero(t, stock.total())
	require.Empty(t, stock.hosts)
}

// TestReadingIsCharged says that a user whose new ads are expensive to read waits for later looks
// with some of them, while the jobs of others are read, and that no look takes much more than it
// may.
func TestReadingIsCharged(t *testing.T) {
	p := newSite(t, "s@test")
	const jobs = 100
	var all []string
	for i := range jobs {
		greedy := job(fmt.Sprintf("ClusterId = 2\nProcId = %d\nUser = \"mallory@test\"\n", i))
		all = append(all, strings.Replace(greedy, "Requirements = true", "Requirements = "+list(i, 15_000), 1))
	}
	p.schedds[0].SetJobs(append(all, job(""))...)
	before := jobs
	for range 10 {
		parsed := p.parser.Parsed()
		look := p.see()
		s := look.Schedds["s@test"]
		require.LessOrEqual(t, p.parser.Parsed()-parsed, readsOfAll/4+maxGroupTokens)
		require.Positive(t, look.Kept)
		mine, leftOut := ids(s, "alice")
		require.Len(t, mine, 1)
		require.Zero(t, leftOut)
		theirs, leftOut := ids(s, "mallory")
		require.Len(t, theirs, jobs)
		require.Equal(t, leftOut, look.LeftOut)
		for _, g := range s.Groups {
			if g.Spec.leftOut {
				require.True(t, g.Spec.unread)
				require.ErrorContains(t, g.Spec.Wrong, errReadLater.Error())
			}
		}
		if leftOut == 0 {
			require.Less(t, before, jobs, "some waited")
			return
		}
		require.Less(t, leftOut, before)
		before = leftOut
	}
	t.Fatal("some are never read")
}

// TestExpensiveStateIsCheap says that attributes that tell of a job's state take few steps,
// whatever users write there, and are charged.
func TestExpensiveStateIsCheap(t *testing.T) {
	o := quiet()
	lines := job("DeferralTime = " + tooMuch + "\nProjectName = " + tooMuch + "\nJobPrio = " + tooMuch + "\n")
	_, _, err := o.readNew([]byte(lines), "s@test")
	require.NoError(t, err)
	require.LessOrEqual(t, o.meter.Steps(), int64(20*classad.FewSteps))
	require.Greater(t, o.reads.all, 2*classad.FewSteps/stepsPerRead)
}
