package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
)

// jobs makes the ads of many jobs.
func jobs(n int) *Ads {
	var all []*classad.ClassAd
	for i := range n {
		ad := classad.New()
		ad.SetString("Name", fmt.Sprintf("%d.0", i))
		ad.SetString("Owner", []string{"alice", "bob"}[i%2])
		all = append(all, ad)
	}
	return NewAds(all...)
}

func constrained(t *testing.T, constraint string) Query {
	t.Helper()
	e, err := classad.ParseExpr(constraint)
	require.NoError(t, err)
	return Query{Requirements: e}
}

// The first constraint takes some thousand steps for each ad, the second one more than it may.
var costly, endless = sumOf(4000), sumOf(20_000)

func sumOf(ones int) string { return "sum({1" + strings.Repeat(",1", ones) + "}) > 0" }

// TestSelects checks that an evaluation ends when the client has gone, at the limit of a whole
// query, and at that of one ad.
func TestSelects(t *testing.T) {
	never := func() error { return nil }
	for constraint, want := range map[string]error{
		`Owner == "bob"`: nil, costly: errExpensive, endless: errExpensive,
	} {
		chosen, err := jobs(2000).selects(constrained(t, constraint), nil, never)
		require.ErrorIs(t, err, want, len(constraint))
		if want == nil {
			require.Len(t, chosen, 1000)
		}
	}
	_, err := jobs(1).selects(constrained(t, costly), nil, never)
	require.NoError(t, err)
	_, err = jobs(1).selects(constrained(t, endless), nil, never)
	require.ErrorIs(t, err, errExpensive)
	left, asked := errors.New("gone"), 0
	_, err = jobs(2000).selects(constrained(t, "true"), nil, func() error {
		if asked++; asked == 10 {
			return left
		}
		return nil
	})
	require.ErrorIs(t, err, left)
	ctx, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	require.ErrorIs(t, interest(ctx, nil)(), context.DeadlineExceeded)
}

// TestRemembered checks that a list remembers the constraints that were used last, and no long one.
func TestRemembered(t *testing.T) {
	ads := jobs(4)
	ads.remember(selection{strings.Repeat("x", longestRemembered+1), nil})
	require.Empty(t, ads.wanted)
	for i := range mostSelections {
		ads.remember(selection{strconv.Itoa(i), []int32{int32(i)}})
	}
	for range 2 {
		chosen, known := ads.remembered("0")
		require.True(t, known)
		require.Equal(t, []int32{0}, chosen)
		ads.remember(selection{"another", nil})
		ads.remember(selection{"one more", nil})
	}
	require.Len(t, ads.wanted, mostSelections)
	_, known := ads.remembered("1")
	require.False(t, known, "it was not used for long")
}

// TestTurns checks that a host has one turn at a time, that the next one begins when it ends, and
// that nobody waits for longer than his context.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all turns
		here, next := asker{host: netip.MustParsePrefix("10.1.1.1/32")}, make(chan func())
		done, err := all.take(t.Context(), here)
		require.NoError(t, err)
		go func() {
			second, failed := all.take(t.Context(), here)
			if failed == nil {
				next <- second
			}
		}()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err = all.take(ctx, here)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		select {
		case <-next:
			t.Fatal("two turns at once")
		default:
		}
		done()
		(<-next)()
		done, err = all.take(t.Context(), here)
		require.NoError(t, err)
		done()
		require.Empty(t, all.busy)
	})
}

// TestGuestsThatWaitForTheirTurn checks that a connection counts as one that keeps us waiting while
// its host has another turn: otherwise such connections could hold all places.
func TestGuestsThatWaitForTheirTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var all turns
		here := asker{host: netip.MustParsePrefix("10.1.1.1/32")}
		done, err := all.take(t.Context(), here)
		require.NoError(t, err)
		guest := &Guest{}
		go func() {
			second, failed := all.take(WithGuest(t.Context(), guest), here)
			if failed == nil {
				second()
			}
		}()
		time.Sleep(ripe)
		require.GreaterOrEqual(t, guest.waited(), ripe)
		done()
	})
}

// TestAdsAreMadeWhenTheyAreSent checks that an answer makes no more ads than its client reads.
func TestAdsAreMadeWhenTheyAreSent(t *testing.T) {
	made, before := 0, 0
	ads := MakeAds(100_000, func(i int) *classad.ClassAd {
		made++
		ad := classad.New()
		ad.SetString("Text", strings.Repeat("x", 10_000))
		ad.SetInt("Number", int64(i))
		return ad
	})
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		call := &security.Call{Stream: cedar.NewStream(ours, 0)}
		ended := make(chan error, 1)
		go func() { ended <- new(Negotiator).answer(t.Context(), call, Query{}, ads) }()
		_, err := theirs.Read(make([]byte, 100))
		require.NoError(t, err)
		synctest.Wait()
		require.InDelta(t, bytesPerTurn/10_000, made, 1)
		before = made
		require.NoError(t, theirs.Close())
		require.Error(t, <-ended)
	})
	require.Equal(t, before, made, "nor any for one that has gone")
}

// counted is a list that counts how many ads it makes.
type counted struct {
	ads  *Ads
	made int
}

func (c *counted) Len() int { return c.ads.n }

func (c *counted) At(i int) *classad.ClassAd { c.made++; return c.ads.at(i) }

// TestAccountingAdsAreWrittenOnce checks that all who ask for whole ads get what was written for
// the first, the same as one who gets ads that are written for him.
func TestAccountingAdsAreWrittenOnce(t *testing.T) {
	const n = 100
	ads := jobs(n)
	list, kept := &counted{ads: ads}, accounts{}
	told := func(ads *Ads, q Query) string {
		ours, theirs := net.Pipe()
		call := &security.Call{Stream: cedar.NewStream(ours, 0)}
		go func() {
			_ = new(Negotiator).answer(t.Context(), call, q, ads) // who reads all would miss what is not sent
			call.Close()
		}()
		text, err := io.ReadAll(theirs)
		require.NoError(t, err)
		return string(text)
	}
	want := told(ads, Query{})
	for range 3 {
		require.Equal(t, want, told(kept.of(list), Query{}))
	}
	require.Equal(t, n, list.made)
	constraint := constrained(t, `Owner == "bob"`)
	require.Equal(t, told(ads, constraint), told(kept.of(list), constraint))
	made := list.made
	projected := Query{Ad: classad.New()}
	projected.Ad.SetString("Projection", "Owner none")
	require.NoError(t, projected.of(""))
	require.Equal(t, told(ads, projected), told(kept.of(list), projected))
	require.Equal(t, made, list.made)
	require.NotSame(t, kept.of(list), kept.of(&counted{ads: ads}))
}

func TestProjection(t *testing.T) {
	q := Query{Ad: classad.New()}
	q.Ad.SetString("Projection", "Name owner\nNAME,Owner")
	require.NoError(t, q.of(""))
	require.Equal(t, []string{"Name", "owner"}, q.Projection, "each once")
	for _, list := range []string{strings.Repeat(" ", longestProjection+1), many(mostProjected + 1)} {
		q.Ad.SetString("Projection", list)
		require.ErrorContains(t, q.of(""), "at most")
	}
}

// TestProjectionOfMoreThanThereIs checks that an ad with fewer attributes than the query asks for
// is projected as any other.
func TestProjectionOfMoreThanThereIs(t *testing.T) {
	ad := classad.New()
	ad.SetString("Name", "1.0")
	ad.SetString("Owner", "alice")
	q := Query{Ad: classad.New()}
	for _, more := range []int{0, 1, 400} {
		q.Ad.SetString("Projection", "oWNER "+many(more))
		require.NoError(t, q.of(""))
		got := q.Project(ad)
		require.Equal(t, 1, got.Len(), more)
		owner, _ := got.Text("Owner")
		require.Equal(t, "alice", owner, more)
	}
}

// BenchmarkProjection measures what 100,000 ads cost for a query that asks for names that none has.
func BenchmarkProjection(b *testing.B) {
	q := Query{Ad: classad.New()}
	q.Ad.SetString("Projection", many(mostProjected))
	require.NoError(b, q.of(""))
	ads := jobs(100_000).All()
	for b.Loop() {
		for _, ad := range ads {
			q.Project(ad)
		}
	}
}

// many lists this many names.
func many(n int) string {
	var list strings.Builder
	for i := range n {
		fmt.Fprintf(&list, "A%d ", i)
	}
	return list.String()
}

// BenchmarkQuery measures what 100,000 ads cost: a new constraint, the same one again, and sending
// all of them.
func BenchmarkQuery(b *testing.B) {
	ads := jobs(100_000)
	e, err := classad.ParseExpr(`Owner =?= "alice"`)
	require.NoError(b, err)
	q := Query{Requirements: e}
	ours, theirs := net.Pipe()
	defer ours.Close()   //nolint:errcheck // a test's
	defer theirs.Close() //nolint:errcheck // a test's
	quiet := cedar.NewStream(ours, 0)
	b.Run("new", func(b *testing.B) {
		for b.Loop() {
			_, err = ads.selects(q, nil, interest(b.Context(), quiet))
			require.NoError(b, err)
		}
	})
	b.Run("again", func(b *testing.B) {
		ads.remember(selection{e.String(), nil})
		for b.Loop() {
			_, known := ads.remembered(e.String())
			require.True(b, known)
		}
	})
}
