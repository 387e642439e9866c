package security

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/internal/tape"
)

// Our client repeats, byte for byte, recorded conversations with a collector of HTCondor 23.9.6 and
// understands its answers. That pool, its keys and its token no longer exist. The conversation with
// 25.13.2 was not recorded but written from its sources (daemon_command.cpp: a key is agreed on
// without authentication, too, and sock.cpp: AES encrypts whatever was agreed).
func TestClientSaysItAgain(t *testing.T) {
	methods := map[string][]Method{
		"query-unauthenticated": nil, "query-unauthenticated-25": nil, "query-idtokens": {Token},
	}
	all := tape.Read(t, "testdata/recorded")
	require.Len(t, all, len(methods))
	for name, r := range all {
		t.Run(name, func(t *testing.T) {
			c := &Client{
				Name: "NEGOTIATOR", Methods: methods[name], Tokens: []string{"testdata/token"},
				Random: r.Random(), Clock: func() time.Time { return time.Unix(r.Clock, 0) }, pid: r.Pid,
			}
			a, err := cedar.ParseAddress(r.Address)
			require.NoError(t, err)
			for _, frames := range [][]frame{r.Frames, r.Resumed} {
				if frames == nil {
					continue
				}
				said := tape.New(t, "client", "127.0.0.1:9730", frames)
				c.Connect = func(context.Context, string) (net.Conn, error) { return said, nil }
				s, err := c.Start(t.Context(), a, 53, nil)
				require.NoError(t, err)
				s.PutAd(slotQuery(t))
				require.NoError(t, s.Send())
				for range 2 {
					more, wrong := s.Int()
					require.NoError(t, wrong)
					require.EqualValues(t, 1, more)
					ad, wrong := s.Ad()
					require.NoError(t, wrong)
					cpus, _ := ad.Int("Cpus")
					require.EqualValues(t, 8, cpus)
				}
				more, err := s.Int()
				require.NoError(t, err)
				require.Zero(t, more)
				s.Close()
				said.Done()
			}
		})
	}
}

func slotQuery(t *testing.T) *classad.ClassAd {
	t.Helper()
	ad, err := classad.ParseOld(`MyType = "Query"
MachineProjection = "MyType Name Cpus Start"
MachineRequirements = true
TargetType = "Machine"
Requirements = true`)
	require.NoError(t, err)
	return ad
}
