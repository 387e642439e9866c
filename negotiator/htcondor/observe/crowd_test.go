package observe

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/client"
)

// begin begins the reading of a schedd on a host.
func begin(stock *stock, name, host string, most int) *intake {
	return newIntake(question{
		name: name, most: most, stock: stock, schedd: client.Schedd{Address: cedar.Address{Host: host}},
	})
}

// idle are the lines of a waiting job.
func idle(user string, cluster int, more string) cedar.Lines {
	return cedar.Lines(fmt.Sprintf("User = %q\nJobStatus = 1\nQDate = %d\n%sJobIds = \"%d.0\"\n", user, cluster, more, cluster))
}

// TestRoomForOneMoreIsCheap says that an ad for which there is no room takes no longer to take in,
// the more users and ads there are: by what is allocated for two hundred of them.
func TestRoomForOneMoreIsCheap(t *testing.T) {
	for name, user := range map[string]func(i int) string{
		"many users": func(i int) string { return fmt.Sprintf("u%d@test", i) },
		"one user":   func(int) string { return "mallory@test" },
	} {
		allocated := func(most int) uint64 {
			k := begin(newStock(2*most), "s@test", "10.0.0.1", most)
			n, pad := 0, strings.Repeat("x", 4000)
			add := func() {
				n++
				lines := idle(user(n), n, fmt.Sprintf("A%d = \"%s\"\n", n, pad))
				require.NoError(t, k.add(lines, len(lines)))
				require.LessOrEqual(t, k.size, most)
			}
			for range most / 16_000 {
				add()
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for range 1000 {
				add()
			}
			runtime.ReadMemStats(&after)
			return after.TotalAlloc - before.TotalAlloc
		}
		few, many := allocated(8<<20), allocated(32<<20)
		require.Less(t, many, 2*few, name)
	}
}

// TestReadingsDoNotWaitForEachOther says that what is done with one queue's ads does not hold up
// the reading of another, nor a look.
func TestReadingsDoNotWaitForEachOther(t *testing.T) {
	stock := newStock(16 << 20)
	greedy, honest := begin(stock, "m@test", "10.0.0.2", 8<<20), begin(stock, "a@test", "10.0.0.1", 8<<20)
	greedy.mu.Lock()
	defer greedy.mu.Unlock()
	lines := idle("alice@test", 1, "")
	require.NoError(t, honest.add(lines, len(lines)))
	require.Positive(t, stock.total())
	require.Len(t, honest.all(), 1)
	stock.end(greedy.share)
	stock.end(honest.share)
	require.Zero(t, stock.total())
}

// TestOutlinesAreTheirUsers says that what is left of a user's ads counts as his, and that at last
// nothing is kept of those of his jobs that wait: not a job of another user is left out for it.
func TestOutlinesAreTheirUsers(t *testing.T) {
	const most = 4 << 20
	k := begin(nil, "s@test", "10.0.0.1", most)
	for i := range 20_000 {
		lines := idle("mallory@test", i, fmt.Sprintf("AccountingGroup = \"g%d.mallory\"\n", i))
		require.NoError(t, k.add(lines, len(lines)))
		if i%100 == 0 {
			lines = idle("alice@test", 100_000+i, fmt.Sprintf("Environment = %q\n", strings.Repeat("e", 400)))
			require.NoError(t, k.add(lines, len(lines)))
		}
		if i%1000 == 0 {
			lines = cedar.Lines(strings.Replace(string(idle("mallory@test", 200_000+i, "")), "JobStatus = 1", "JobStatus = 2", 1))
			require.NoError(t, k.add(lines, len(lines)))
		}
		require.LessOrEqual(t, k.size, most)
	}
	require.Equal(t, "mallory@test", strings.Trim(k.surplus.user, `"`))
	whole, running := 0, 0
	for _, g := range k.all() {
		if strings.Contains(string(g.lines), "Environment") {
			whole++
		}
		if runs(g.lines) {
			running += countIDs(g.ids)
		}
	}
	require.Equal(t, 200, whole, "alice's")
	require.Equal(t, 20, running, "mallory's, which are never lost")
}

// TestStoppedJobsAndLimitsAreCounted says that what schedds tell besides of the jobs that may run
// counts as memory, is left out first, and that the newest cluster is known all the same.
func TestStoppedJobsAndLimitsAreCounted(t *testing.T) {
	const most = 1 << 20
	stock := newStock(4 * most)
	k := begin(stock, "s@test", "10.0.0.1", most)
	lines := idle("alice@test", 1, "")
	require.NoError(t, k.add(lines, len(lines)))
	jobs := k.size
	require.NoError(t, k.addStopped(JobKey{"s@test", 7, 0}, 20))
	require.NoError(t, k.addRecord(record{name: "alice@test", jobs: 3}, 40))
	require.Equal(t, jobs+bytesPerStopped+record{name: "alice@test"}.price(), stock.total())
	for i := range most / bytesPerStopped {
		require.NoError(t, k.addStopped(JobKey{"s@test", int64(i), 0}, 20))
		require.LessOrEqual(t, k.size, most)
	}
	require.NoError(t, k.addRecord(record{name: "alice@test", jobs: 3}, 40))
	require.Len(t, k.all(), 1)
	require.Equal(t, besides{leftOut: true, highest: most/bytesPerStopped - 1}, k.besides)
	require.Equal(t, jobs, stock.total())

	p := newSite(t, "s@test")
	p.see()
	s := p.Observer.schedds["s@test"]
	s.limit([]record{{name: "alice@test", jobs: 3}})
	room := s.limits.users["alice@test"]
	p.digest(s, reading{question: question{began: p.at}, besides: k.besides, size: k.size}, p.number+1)
	require.Same(t, room, s.limits.users["alice@test"], "what is known of limits stands")
	require.EqualValues(t, most/bytesPerStopped-1, s.NewestStopped)
	require.Equal(t, k.size+s.limits.size, p.stock.total())
	s.limit([]record{{name: "alice@test", jobs: 3}})
	require.Same(t, room, s.limits.users["alice@test"], "nothing is made anew")
}

// TestEarlierAnswersAreCounted says that what only earlier answers of a look have counts as memory,
// and that these are not kept if they would fill half of the stock.
func TestEarlierAnswersAreCounted(t *testing.T) {
	for _, most := range []int{maxStock, 1 << 20} {
		p := newSite(t, "s@test")
		p.see()
		p.stock = newStock(most)
		s := p.Observer.schedds["s@test"]
		s.answers = nil
		tell := func(first, number int) {
			k := begin(p.stock, "s@test", "10.0.0.1", 64<<20)
			for i := range 100 {
				lines := idle("alice@test", first+i, fmt.Sprintf("Environment = \"%d%s\"\n", first+i, strings.Repeat("e", 2000)))
				require.NoError(t, k.add(lines, len(lines)))
			}
			r := reading{question: question{began: p.at}, groups: k.all(), size: k.size}
			p.stock.end(k.share)
			p.digest(s, r, number)
		}
		tell(0, 7)
		once := p.stock.total()
		tell(50, 8)
		if most < maxStock {
			require.Len(t, s.answers, 1)
			require.LessOrEqual(t, p.stock.total(), once+bytesPerUser)
			continue
		}
		require.Len(t, s.answers, 2)
		require.InEpsilon(t, once+once/2, p.stock.total(), 0.1, "half of it changed")
	}
}

// TestCurbsOfManyHosts says that a host whose schedds refer to ever new attributes hides none of
// others'.
func TestCurbsOfManyHosts(t *testing.T) {
	o := quiet()
	curb := func(name, host string, answered bool, expression string) {
		ad := classad.New()
		require.NoError(t, ad.SetExpr("CurbMatchmaking", expression))
		o.schedds[name] = &schedd{Schedd: Schedd{Name: name, Address: cedar.Address{Host: host}}, answered: answered}
		o.readCurb(o.schedds[name], ad, lookOf(1))
	}
	for i := range 300 {
		all := []string{"false"}
		for j := range 100 {
			all = append(all, fmt.Sprintf("A%d_%d", i, j))
		}
		curb(fmt.Sprintf("a%d@test", i), "10.0.0.2", true, strings.Join(all, " || "))
		curb(fmt.Sprintf("b%d@test", i), fmt.Sprintf("10.0.1.%d", i), false, fmt.Sprintf("B%d > 1", i))
	}
	curb("honest@test", "10.0.0.1", true, "Foo > 3 && RecentDaemonCoreDutyCycle > 0.98")
	curb("new@test", "10.0.0.1", false, "Bar > 3")
	names := o.curbed()
	require.Len(t, names, maxOfOne)
	require.Contains(t, names, "foo")
	require.Contains(t, names, "bar")
	require.False(t, slices.Contains(names, "recentdaemoncoredutycycle"), "it is asked for anyway")
}

// TestManyReadingsAtOnce has schedds of several hosts read at the same time, which take more than
// there is room for: nothing hangs, no more is kept than may be, and an honest one keeps all.
func TestManyReadingsAtOnce(t *testing.T) {
	stock := newStock(8 << 20)
	honest := begin(stock, "a@test", "10.0.0.1", 4<<20)
	var all sync.WaitGroup
	var readings []*intake
	for i := range 20 {
		k := begin(stock, fmt.Sprintf("m%d@test", i), fmt.Sprintf("10.0.1.%d", i%4), 4<<20)
		readings = append(readings, k)
		all.Go(func() {
			for j := range 200 {
				lines := idle(fmt.Sprintf("u%d@test", j%7), j, fmt.Sprintf("A%d = %q\n", j, strings.Repeat("e", 2000)))
				if err := k.add(lines, len(lines)); err != nil {
					if !errors.Is(err, errNoRoom) {
						t.Error(err)
					}
					return
				}
			}
		})
	}
	for i := range 50 {
		lines := idle("alice@test", i, fmt.Sprintf("A%d = %q\n", i, strings.Repeat("e", 2000)))
		require.NoError(t, honest.add(lines, len(lines)))
	}
	all.Wait()
	require.LessOrEqual(t, stock.total(), stock.most)
	require.Len(t, honest.all(), 50)
	require.Zero(t, honest.surplus)
	for _, k := range append(readings, honest) {
		stock.end(k.share)
	}
	require.Zero(t, stock.total())
	require.Empty(t, stock.hosts)
	require.Empty(t, stock.greedy)
}
