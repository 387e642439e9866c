package htcondor_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/integration/htcondor/pooltest"
)

// TestFacesAsStock goes live in the pool of a stock negotiator, and compares what HTCondor's tools
// show before and after: the Negotiator ad, the users, the daemons and why a limit keeps a job out.
func TestFacesAsStock(t *testing.T) {
	t.Parallel()
	const lines = stockPace + "\nXSW_LIMIT = 1"
	pool := pooltest.Start(t, lines)
	named := filepath.Join(t.TempDir(), "condor_negotiator") // condor_who looks for such names in MasterLog
	require.NoError(t, os.Symlink(built(t, "../../negotiator/cmd/negotiator"), named))
	program := pool.Install(named)
	pool.Submit("bob", sleep(1, 100, 1)) // never runs
	pool.Submit("alice", sleep(600, 1, 3, "concurrency_limits = XSW"))
	before := facesOf(t, pool)
	pool.As("root", "condor_off", "-daemon", "negotiator")
	pool.Config("NEGOTIATOR="+program, lines+"\nBACKFILL_ESTIMATE_ATTRIBUTES = EstimatedRunTime\nBACKFILL_DEFAULT_ESTIMATE = 600")
	pool.As("root", "condor_on", "-daemon", "negotiator")
	began, odd := time.Now(), []string{}
	alive := regexp.MustCompile(`(?m)^Negotiator +yes +\d+ +\d+ +no .*` + program)
	pool.Wait("condor_who to know our negotiator", time.Minute, func() bool {
		who := pool.As("root", "condor_who", "-daemons")
		for line := range strings.Lines(who) {
			if strings.HasPrefix(line, "Negotiator ") {
				odd = append(odd, time.Since(began).Round(100*time.Millisecond).String()+" "+line)
			}
		}
		return alive.MatchString(who)
	})
	t.Log(odd)
	after := facesOf(t, pool)
	var missing []string
	for _, name := range slices.Sorted(maps.Keys(before.ad)) {
		if _, has := after.ad[name]; !has {
			missing = append(missing, name)
		}
	}
	require.Empty(t, missing, "attributes of the stock negotiator's ad")
	require.Equal(t, before.users, after.users)
	require.Equal(t, before.rejected, after.rejected)
}

// faces are what a negotiator shows of itself.
type faces struct {
	ad       pooltest.Ad
	users    []string // lines of condor_userprio, without times and use
	rejected string
}

var (
	moment   = regexp.MustCompile(`\d+/\d+/?\d* \d+:\d+|\d*\+?\d+:\d+|\d+\.\d+|<now>`)
	rejected = regexp.MustCompile(`Rejected 2\.\d alice@\S+ .*(concurrency limit .* reached)\n`)
)

func facesOf(t *testing.T, pool *pooltest.Pool) (f faces) {
	t.Helper()
	began := time.Now().Unix()
	pool.Wait("three cycles", 2*time.Minute, func() bool {
		ads := pool.Ads("-negotiator")
		if len(ads) != 1 || int64(ads[0].Int("LastNegotiationCycleTime2")) < began {
			return false
		}
		f.ad = ads[0]
		return true
	})
	pool.Wait("a limit to be reached", time.Minute, func() bool {
		log := pool.Log("NegotiatorLog")
		if found := rejected.FindAllStringSubmatch(log, -1); len(found) > 0 {
			f.rejected = found[len(found)-1][1]
		}
		return f.rejected != ""
	})
	for _, options := range [][]string{{}, {"-allusers"}, {"-all", "-allusers"}} {
		out := pool.As("root", append([]string{"condor_userprio"}, options...)...)
		t.Log(out)
		for line := range strings.Lines(out) {
			if strings.Contains(line, "@") {
				f.users = append(f.users, strings.Join(strings.Fields(moment.ReplaceAllString(line, "T")), " "))
			}
		}
	}
	return f
}
