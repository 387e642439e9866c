package htcondor_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/integration/htcondor/pooltest"
)

// besideStock are lines of configuration that start HTCondor's own negotiator beside ours, each for
// one of two nodes.
const besideStock = `
NEGOTIATOR_NAME = ours
NEGOTIATOR_SLOT_CONSTRAINT = regexp("@n1@", Name)
NEGOTIATOR_STOCK = $(SBIN)/condor_negotiator
NEGOTIATOR_STOCK_ARGS = -f -local-name stock
stock.NEGOTIATOR_NAME = stock
stock.NEGOTIATOR_LOG = $(LOG)/NegotiatorLog.stock
stock.NEGOTIATOR_ADDRESS_FILE = $(LOG)/.negotiator_address.stock
stock.NEGOTIATOR_SLOT_CONSTRAINT = regexp("@n2@", Name)
DAEMON_LIST = $(DAEMON_LIST) NEGOTIATOR_STOCK
DC_DAEMON_LIST = $(DC_DAEMON_LIST) NEGOTIATOR_STOCK
`

// TestBesideStock runs HTCondor's own negotiator and ours side by side, each on its half of the pool;
// ours steps back when the halves overlap.
func TestBesideStock(t *testing.T) {
	t.Parallel()
	const others = "BACKFILL_OTHER_SLOT_CONSTRAINT = "
	pool := ours(t, []string{"NODES=2", "CPUS=4"}, besideStock, others+`regexp("@n2@", Name)`)
	pool.Wait("both negotiators", time.Minute, func() bool { return len(pool.Ads("-negotiator")) == 2 })
	out := pool.As("alice", "sh", "-c", "negotiator start-times 2>&1")
	require.Contains(t, out, "negotiator: stock@"+pooltest.Host+", HTCondor's own negotiator, tells no start times")
	jobs := pool.Submit("alice", sleep(8, 4, 6))
	pool.WaitDone(2*time.Minute, jobs...)
	nodes := map[string]int{}
	for _, run := range pool.Audit().Runs {
		nodes[run.Node]++
	}
	require.Positive(t, nodes["n1"], "ours matched there: %v", nodes)
	require.Positive(t, nodes["n2"], "the stock one matched there: %v", nodes)
	log := pool.Log("NegotiatorLog")
	require.Contains(t, log, "started=1")
	require.NotContains(t, log, "was not started in time")

	pool.errors = []string{"NOTHING IS MATCHED: another negotiator, stock@"}
	pool.Config("EXTRA=" + ourNegotiator + besideStock + others + `Name isnt ""`)
	pool.Wait("ours to step back", time.Minute, func() bool {
		return strings.Contains(pool.Log("NegotiatorLog"), "slots away, such as slot1@n1@")
	})
}
