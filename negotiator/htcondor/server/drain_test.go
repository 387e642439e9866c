package server_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/client"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/security"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/server"
)

// TestDrainOverTheWire: an administrator has slots drained, who is named by how he has authenticated;
// everybody may list them, and nobody else may drain.
func TestDrainOverTheWire(t *testing.T) {
	said := func(text string) *classad.ClassAd {
		ad := classad.New()
		ad.SetString("Answer", text)
		return ad
	}
	var asked []string
	n := &server.Negotiator{
		Drain: func(_ context.Context, user, request string) *classad.ClassAd {
			asked = append(asked, user+" "+request)
			return said("done")
		},
		Drains: func(context.Context) *classad.ClassAd { return said("all") },
	}
	g := guard()
	g.Allow = func(p security.Peer, need security.Permission) bool {
		return need == security.Read || need == security.Administrator && p.User == "root@test"
	}
	address := listen(t, &server.Port{Security: g, Handlers: n.Handlers()})
	root := client.Negotiator{Security: as("root"), Address: address}
	reply, err := root.Drain(t.Context(), `{"slots": ["n1"]}`)
	require.NoError(t, err)
	require.Equal(t, client.Reply{Answer: "done"}, reply)
	require.Equal(t, []string{`root@test {"slots": ["n1"]}`}, asked)

	worker := client.Negotiator{Security: as("worker"), Address: address}
	_, err = worker.Drain(t.Context(), `{"slots": ["n1"]}`)
	require.ErrorContains(t, err, "to drain slots")
	denied := &security.DeniedError{}
	require.ErrorAs(t, err, &denied)
	require.Len(t, asked, 1)
	reply, err = worker.Drains(t.Context())
	require.NoError(t, err)
	require.Equal(t, client.Reply{Answer: "all"}, reply)
}

// TestNobodyDrains: a daemon without drains says so.
func TestNobodyDrains(t *testing.T) {
	n := &server.Negotiator{Ad: classad.New}
	a := listen(t, &server.Port{Security: guard(), Handlers: n.Handlers()})
	_, err := client.Negotiator{Security: as("worker"), Address: a}.Drains(t.Context())
	require.ErrorContains(t, err, "which slots are drained")
}
