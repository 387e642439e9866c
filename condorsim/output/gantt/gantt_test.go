package gantt_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/condorsim"
	"github.com/condor-backfill/condor-backfill/condorsim/input/workload"
	"github.com/condor-backfill/condor-backfill/condorsim/output/gantt"
	"github.com/condor-backfill/condor-backfill/condorsim/output/page/pagetest"
	"github.com/condor-backfill/condor-backfill/negotiator/instant"
)

// made returns the page of a simulation.
func made(tb testing.TB, title string, r *condorsim.Result) string {
	tb.Helper()
	chart, err := gantt.New(title, r)
	require.NoError(tb, err)
	var out bytes.Buffer
	require.NoError(tb, chart.Write(&out))
	return out.String()
}

func simulated(tb testing.TB, n int, scheduler string) *condorsim.Result {
	tb.Helper()
	r, err := pagetest.Simulate(pagetest.Trace("made-up", n, 64, 1), scheduler)
	require.NoError(tb, err)
	return r
}

// columns decodes the page's data.
func columns(t *testing.T, html string) (data struct {
	Title   string
	Begin   int64
	Clocks  []instant.Stretch
	Users   []string
	Hows    []string
	Names   []string
	Columns map[string]string
}, column func(string) []int64,
) {
	t.Helper()
	_, rest, found := strings.Cut(html, `<script type="application/json" id="data">`)
	require.True(t, found)
	text, _, _ := strings.Cut(rest, "</script>")
	require.NoError(t, json.Unmarshal([]byte(text), &data))
	return data, func(name string) (values []int64) {
		packed, err := base64.StdEncoding.DecodeString(data.Columns[name])
		require.NoError(t, err)
		for len(packed) > 0 {
			v, n := binary.Varint(packed)
			require.Positive(t, n)
			values, packed = append(values, v), packed[n:]
		}
		return values
	}
}

func TestThePageHasAllOfTheJobs(t *testing.T) {
	r := simulated(t, 300, "conservative")
	data, column := columns(t, made(t, "made-up", r))
	require.Equal(t, []instant.Stretch{{From: data.Begin, Shift: 1_000_000_000, Zone: "UTC"}}, data.Clocks)
	at, id := data.Begin, int64(0)
	submit, wait, run, rest, promise, ids := column("submit"), column("wait"), column("run"), column("rest"),
		column("promise"), column("ids")
	how, user, cpus, pieces, lanes := column("how"), column("user"), column("cpus"), column("pieces"), column("lanes")
	for i, j := range r.Workload.Jobs {
		o := r.Outcomes[i]
		at, id = at+submit[i], id+ids[i]
		require.Equal(t, int64(j.Submit), at)
		require.Equal(t, int64(o.Start), at+wait[i])
		require.Equal(t, int64(o.End), at+wait[i]+run[i])
		require.Equal(t, int64(o.Estimate), run[i]+rest[i])
		require.Equal(t, int64(o.Guarantee), at+promise[i])
		require.Equal(t, int64(i+1), id)
		require.Equal(t, o.How.String(), data.Hows[how[i]])
		require.Equal(t, j.User, data.Users[user[i]])
		require.Equal(t, j.Cpus, cpus[i])
		var sum int64
		for ; pieces[i] > 0; pieces[i]-- {
			sum += lanes[1]
			lanes = lanes[2:]
		}
		require.Equal(t, j.Cpus, sum)
	}
	require.Empty(t, lanes)
}

func TestJobsWithNamesAndWithoutARun(t *testing.T) {
	r := simulated(t, 3, "easy")
	r.Workload.Jobs[0].Name = "1.0"
	r.Outcomes[1] = condorsim.Outcome{Held: "fits nowhere"}
	data, column := columns(t, made(t, "x", r))
	require.Equal(t, []string{"1.0", "2", "3"}, data.Names)
	require.NotContains(t, data.Columns, "ids")
	require.Equal(t, int64(-1), column("wait")[1])
	require.Zero(t, column("pieces")[1])
	require.Equal(t, "held", data.Hows[column("how")[1]])
	require.Equal(t, int64(-1), column("promise")[0], "easy promises nothing")
}

// However many jobs in a row were dropped, they take little room.
func TestDroppedJobsAreRanges(t *testing.T) {
	r := simulated(t, 3, "easy")
	before := len(made(t, "x", r))
	r.Workload.Cleaning.BeyondMax, r.Workload.Cleaning.Removed = 100_000, 7
	for id := range int64(100_000) {
		r.Workload.Drops = append(r.Workload.Drops, workload.Drop{ID: 4 + id, Why: workload.WhyBeyondMax})
	}
	html := made(t, "x", r)
	require.Less(t, len(html), before+100)
	require.Contains(t, html, `"unlisted":7`)
}

func TestThePageIsTheSameTwiceAndSmall(t *testing.T) {
	r := simulated(t, 3000, "easy")
	page := made(t, "made-up", r)
	require.Equal(t, page, made(t, "made-up", r))
	require.Less(t, len(page), 60_000+3000*40, "2 MB hold 30,000 jobs")
}

func TestTextsAreNoMarkup(t *testing.T) {
	r := simulated(t, 3, "easy")
	const evil = `</script><img src=x onerror="alert(1)">`
	r.Workload.Jobs[0].User, r.Workload.Jobs[1].Name = evil, evil
	html := made(t, evil, r)
	require.NotContains(t, html, "<img")
	data, _ := columns(t, html)
	require.Contains(t, data.Users, evil)
	require.Equal(t, evil, data.Title)
}
