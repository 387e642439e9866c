//go:build browser

package livepage_test

import (
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/negotiator/livepage"
	"github.com/condor-backfill/condor-backfill/negotiator/livepage/browsertest"
	"github.com/condor-backfill/condor-backfill/negotiator/livepage/picture"
)

// TestSeveralNegotiators: where several are at work, the head says whose slots are shown and leads to the pages of the
// others, and Pool adds up what all have. Of one alone nothing is said.
func TestSeveralNegotiators(t *testing.T) {
	p := picture.Picture{Head: picture.Head{
		Pool: "pool", Now: base, Policy: "easy", Order: "fcfs", Resources: []string{"cpus"}, Capacity: []int64{8}, Use: []int64{2},
		Problems: []string{},
	}}
	server := livepage.New(toldPool{}, "e1")
	server.Show(&p)
	web := httptest.NewServer(server)
	t.Cleanup(web.CloseClientConnections)
	t.Cleanup(web.Close)
	page := browsertest.Visit(t, web.URL, "/#/pool", browsertest.View{Width: 1200, Height: 800, Breaks: true})
	waitFor(page, "document.querySelector('section[data-view=pool] .facts')")
	const head, body = "document.getElementById('parts').textContent", "document.querySelector('section[data-view=pool]').innerText"
	require.Empty(t, browsertest.Eval[string](page, head))
	require.NotContains(t, browsertest.Eval[string](page, body), "All negotiators")
	several := p
	several.Head.Now++
	several.Head.Parts = []picture.Part{
		{Negotiator: "east@h", Own: true, Has: picture.Has{Slots: 2, Cpus: 8, InUse: 2, Running: 1, Waiting: 1234}},
		{Negotiator: "west@h", Page: "http://west.example:90/", Has: picture.Has{Slots: 5, Cpus: 40, InUse: 20, Running: 9, Waiting: 1233}},
		{Negotiator: "north@h"},
	}
	several.Head.Whole = picture.WholeOf(several.Head.Parts)
	server.Show(&several)
	waitFor(page, head+" === 'slots of east; see also west, north'")
	require.Equal(t, "http://west.example:90/", browsertest.Eval[string](page, "document.querySelector('#parts a').href"))
	waitFor(page, body+".includes('All negotiators')")
	require.Equal(t, "all|7|48|22|10|1,234", browsertest.Eval[string](page,
		"[...document.querySelectorAll('section[data-view=pool] table')[0].querySelectorAll('tbody tr:last-child > *')].map(e => e.innerText).join('|')"))
}
