package client

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
)

const queryUsers = 540

// maxUsers bounds the users and projects that a schedd tells of.
const maxUsers = 100_000

// maxUsersAnswer bounds the bytes of the answer: each user takes a few hundred.
const maxUsersAnswer = 64 << 20

// Users calls the callback with what a schedd has written down of each user and project of which the
// expression is true; of each only these attributes. The lines are valid only during the call.
func (s Schedd) Users(ctx context.Context, requirements string, attributes []string, each func(cedar.Lines) error) error {
	if err := s.users(ctx, requirements, attributes, each); err != nil {
		return fmt.Errorf("query the users at %v: %w", s.Address, errors.Join(err, ctx.Err()))
	}
	return nil
}

func (s Schedd) users(ctx context.Context, requirements string, attributes []string, each func(cedar.Lines) error) error {
	ad := classad.New()
	if err := ad.SetExpr("Requirements", requirements); err != nil {
		return err
	}
	ad.SetString("TargetType", "Owner,Project")
	ad.SetString("Projection", strings.Join(attributes, "\n"))
	stream, err := s.Security.Start(ctx, s.Address, queryUsers, nil)
	if err != nil {
		return err
	}
	defer stream.Close()
	stream.Limit(maxUsersAnswer)
	stream.PutAd(ad)
	if err = stream.Send(); err != nil {
		return err
	}
	var lines cedar.Lines
	for range maxUsers {
		if lines, _, err = stream.AppendShort(lines[:0], maxJob, ""); err == nil {
			err = stream.End()
		}
		if err != nil {
			return err
		}
		if isEnd(lines) {
			return nil
		}
		if err = each(lines); err != nil {
			return err
		}
	}
	return fmt.Errorf("the answer does not end after %d users", maxUsers)
}

// isEnd reports whether an ad is the summary that ends an answer, and not of a user or project.
func isEnd(lines cedar.Lines) bool {
	kind, _ := lines.Find("MyType")
	_, user := lines.Find("User")
	_, named := lines.Find("Name")
	return string(kind) == `"Summary"` && !user && !named
}
