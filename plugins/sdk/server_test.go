package sdk

import (
	"net"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/backfill"
	"github.com/condor-backfill/condor-backfill/backfill/policies/easy"
	"github.com/condor-backfill/condor-backfill/backfill/profile"
	"github.com/condor-backfill/condor-backfill/plugins/policyv1"
	"github.com/condor-backfill/condor-backfill/plugins/wire"
)

// talk starts a policy that converses on a channel, and returns the host's end and the error with
// which the policy ends.
func talk(t *testing.T) (host net.Conn, over <-chan error) {
	t.Helper()
	host, plugin := net.Pipe()
	ended := make(chan error, 1)
	s := &server{spec: easy.Spec(), log: hclog.NewNullLogger()}
	go func() { ended <- s.converse(wire.NewChannel(plugin, wire.MaxMessage)) }()
	t.Cleanup(func() { _ = host.Close() })
	return host, ended
}

func TestASessionOnAChannel(t *testing.T) {
	t.Parallel()
	conn, over := talk(t)
	host := wire.NewChannel(conn, wire.MaxMessage)
	say := func(messages ...*policyv1.HostMessage) *policyv1.PolicyMessage {
		for _, m := range messages {
			_, err := host.Send(m)
			require.NoError(t, err)
		}
		answer := &policyv1.PolicyMessage{}
		_, err := host.Receive(answer)
		require.NoError(t, err)
		return answer
	}
	require.NotNil(t, say(configure(nil)).GetReady())
	state := wire.EncodeSnapshot(backfill.NewState([]string{"cpus"}, profile.Pack).Snapshot())
	require.Len(t, say(syncMessage(state), ask(0, 0, slotAndJob(1))).GetDecision().GetJournal(), 1)
	require.NoError(t, conn.Close())
	require.NoError(t, <-over)
}

func TestNonsenseEndsASession(t *testing.T) {
	t.Parallel()
	conn, over := talk(t)
	_, err := conn.Write([]byte("\xff\xff\xff\xff"))
	require.NoError(t, err)
	require.ErrorContains(t, <-over, "receive: a message of 4294967295 bytes")
}
