package client

import (
	"context"
	"fmt"

	"github.com/condor-backfill/condor-backfill/classad"
	"github.com/condor-backfill/condor-backfill/negotiator/htcondor/cedar"
)

// queryAccounting is the command that asks a negotiator for its accounts.
const queryAccounting = 78

// maxAccounts bounds the bytes of the answer: each account takes less than a thousand.
const maxAccounts = 64 << 20

// Accounts calls the callback with the Accounting ad of each submitter and group; ads that cannot be
// read are passed over.
func (n Negotiator) Accounts(ctx context.Context, each func(*classad.ClassAd)) error {
	ad := classad.New()
	ad.SetString("MyType", "Query")
	ad.SetString("TargetType", "Accounting")
	ad.SetBool("Requirements", true)
	_, err := query(ctx, n.Security, n.Address, queryAccounting, ad, maxAccounts, func(l cedar.Lines) error {
		if account, wrong := l.Ad(); wrong == nil {
			each(account)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("ask the negotiator at %v for its accounts: %w", n.Address, err)
	}
	return nil
}
