package server_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/integration/poll"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/client"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/server"
)

// TestOneQuestionAtATime: a machine that asks a second question while the first is answered is told so
// at once. The first is answered all the same, and start times are told meanwhile.
func TestOneQuestionAtATime(t *testing.T) {
	begun, answer := make(chan string), make(chan struct{})
	n := &server.Negotiator{
		WhatIf: func(_ context.Context, question string) *classad.ClassAd {
			begun <- question
			<-answer
			ad := classad.New()
			ad.SetString("Answer", "yes, "+question)
			return ad
		},
		Plans: func(context.Context, string) (*server.Ads, error) { return server.NewAds(classad.New()), nil },
	}
	a := listen(t, &server.Port{Security: guard(), Handlers: n.Handlers()})
	asked := client.Negotiator{Security: as("worker"), Address: a}
	type result struct {
		reply client.Reply
		err   error
	}
	results := make(chan result)
	go func() {
		reply, err := asked.WhatIf(t.Context(), "first")
		results <- result{reply, err}
	}()
	require.Equal(t, "first", <-begun)
	reply, err := asked.WhatIf(t.Context(), "second")
	require.NoError(t, err)
	require.Contains(t, reply.Failed, "busy")
	plans, err := asked.Plans(t.Context(), `1 + 1 == 2`)
	require.NoError(t, err)
	require.Len(t, plans, 1)
	close(answer)
	require.Equal(t, result{client.Reply{Answer: "yes, first"}, nil}, <-results)
	go func() { <-begun }()
	reply, err = asked.WhatIf(t.Context(), "third")
	require.NoError(t, err)
	require.Equal(t, "yes, third", reply.Answer)
}

// TestAQuestionEndsWithItsClient: a question whose client has hung up is given up, and its machine may
// ask the next one.
func TestAQuestionEndsWithItsClient(t *testing.T) {
	begun, ended := make(chan struct{}), make(chan error, 1)
	n := &server.Negotiator{WhatIf: func(ctx context.Context, question string) *classad.ClassAd {
		if question == "long" {
			close(begun)
			<-ctx.Done()
			ended <- context.Cause(ctx)
		}
		ad := classad.New()
		ad.SetString("Answer", "yes, "+question)
		return ad
	}}
	a := listen(t, &server.Port{Security: guard(), Handlers: n.Handlers()})
	asked := client.Negotiator{Security: as("worker"), Address: a}
	ctx, hangUp := context.WithCancel(t.Context())
	failed := make(chan error)
	go func() {
		_, err := asked.WhatIf(ctx, "long")
		failed <- err
	}()
	<-begun
	hangUp()
	require.Error(t, <-failed)
	require.ErrorContains(t, <-ended, "the client does not wait for the answer")
	reply := poll.Until(t, "the next answer", func() (client.Reply, bool) {
		reply, err := asked.WhatIf(t.Context(), "short")
		require.NoError(t, err)
		return reply, reply.Answer != ""
	})
	require.Equal(t, "yes, short", reply.Answer)
}

// TestNobodyAnswers: a daemon without answers refuses questions.
func TestNobodyAnswers(t *testing.T) {
	n := &server.Negotiator{Ad: classad.New}
	a := listen(t, &server.Port{Security: guard(), Handlers: n.Handlers()})
	_, err := client.Negotiator{Security: as("worker"), Address: a}.WhatIf(t.Context(), "anything")
	require.ErrorContains(t, err, "what if")
}
